/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelXMLElements.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>

// ITK's own, where it was not built with the system's.
#if __has_include("itk_expat.h")
#  include "itk_expat.h"
#else
#  include <expat.h>
#endif

namespace gigapixel
{
namespace
{

/** Elements inside of each other: no description of a slide has as many, and a damaged one should not have more. */
constexpr unsigned depthLimit = 256;

/** Between a namespace and a name; neither holds it. */
constexpr char separator = '\n';

struct Reading
{
  const std::function<bool(const XMLElement &)> &  visit;
  const std::function<void(const std::string &)> & visitText;
  XML_Parser                                       parser;
  unsigned                                         depth;
  bool                                             isBehindStart;
  bool                                             isTooDeep;
  bool                                             isEnough;
  std::exception_ptr                               failure; // is not thrown through the parser, which is C
};

void
SplitName(const char * qualified, std::string & space, std::string & name)
{
  const std::string all = qualified;
  const std::size_t at = all.rfind(separator);
  space = at == std::string::npos ? std::string() : all.substr(0, at);
  name = at == std::string::npos ? all : all.substr(at + 1);
}

void XMLCALL
StartElement(void * data, const XML_Char * name, const XML_Char ** attributes)
{
  auto & reading = *static_cast<Reading *>(data);
  reading.isTooDeep = reading.depth == depthLimit;
  reading.isBehindStart = true;
  try
  {
    XMLElement element;
    SplitName(name, element.space, element.name);
    element.depth = reading.depth++;
    for (const XML_Char ** at = attributes; *at != nullptr; at += 2)
    {
      std::string ignored;
      std::string attribute;
      SplitName(at[0], ignored, attribute);
      element.attributes.emplace(attribute, at[1]);
    }
    reading.isEnough = !reading.isTooDeep && !reading.visit(element);
  }
  catch (...)
  {
    reading.failure = std::current_exception();
  }
  if (reading.isTooDeep || reading.isEnough || reading.failure)
  {
    XML_StopParser(reading.parser, XML_FALSE);
  }
}

void XMLCALL
EndElement(void * data, const XML_Char *)
{
  auto & reading = *static_cast<Reading *>(data);
  --reading.depth;
  reading.isBehindStart = false;
}

void XMLCALL
AddText(void * data, const XML_Char * text, int length)
{
  auto & reading = *static_cast<Reading *>(data);
  try
  {
    if (reading.isBehindStart)
    {
      reading.visitText(std::string(text, static_cast<std::size_t>(length)));
    }
  }
  catch (...)
  {
    reading.failure = std::current_exception();
    XML_StopParser(reading.parser, XML_FALSE);
  }
}

/** By the lead bytes and how many follow; what they encode is for the parser to judge. */
bool
IsUTF8(const std::string & text)
{
  unsigned following = 0;
  for (const char c : text)
  {
    const auto byte = static_cast<unsigned char>(c);
    const bool isFollowing = (byte & 0xc0u) == 0x80;
    if (isFollowing != (following > 0))
    {
      return false;
    }
    following = isFollowing ? following - 1 : byte < 0x80 ? 0 : byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
  }
  return following == 0;
}

} // namespace

std::string
XMLElement::Get(const std::string & attribute) const
{
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? std::string() : found->second;
}

std::string
ReadXML(const std::string &                                     xml,
        const std::function<bool(const XMLElement & element)> & visit,
        const std::function<void(const std::string & part)> &   visitText)
{
  const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(
    XML_ParserCreateNS(IsUTF8(xml) ? "UTF-8" : "ISO-8859-1", separator), XML_ParserFree);
  if (!parser)
  {
    throw std::bad_alloc();
  }
  Reading reading{ visit, visitText, parser.get(), 0, false, false, false, nullptr };
  XML_SetUserData(parser.get(), &reading);
  XML_SetElementHandler(parser.get(), StartElement, EndElement);
  XML_SetCharacterDataHandler(parser.get(), visitText ? AddText : nullptr);
  // In parts: the parser counts bytes by int.
  constexpr std::size_t partSize = std::size_t{ 1 } << 24;
  XML_Status            status = XML_STATUS_OK;
  for (std::size_t at = 0; status == XML_STATUS_OK && (at == 0 || at < xml.size()); at += partSize)
  {
    const std::size_t size = std::min(partSize, xml.size() - at);
    status = XML_Parse(parser.get(), xml.data() + at, static_cast<int>(size), at + size == xml.size() ? 1 : 0);
  }
  if (reading.failure)
  {
    std::rethrow_exception(reading.failure);
  }
  if (status == XML_STATUS_OK || reading.isEnough)
  {
    return {};
  }
  const std::string what = reading.isTooDeep
                             ? "more than " + std::to_string(depthLimit) + " elements inside of each other"
                             : XML_ErrorString(XML_GetErrorCode(parser.get()));
  return what + " in line " + std::to_string(XML_GetCurrentLineNumber(parser.get()));
}

} // namespace gigapixel
