/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "XMLTag.h"

namespace gigapixel
{
namespace
{
const std::string whitespace = " \t\r\n";
}

std::size_t
FindXMLTag(const std::string & xml, const std::string & name, std::size_t from)
{
  const std::string start = '<' + name;
  std::size_t       at = xml.find(start, from);
  const auto        endsName = [&xml](std::size_t place) {
    return place < xml.size() && (whitespace + "/>").find(xml[place]) != std::string::npos;
  };
  while (at != std::string::npos && !endsName(at + start.size()))
  {
    at = xml.find(start, at + 1); // another name that begins with this one
  }
  return at;
}

std::string
GetXMLTag(const std::string & xml, std::size_t at)
{
  return xml.substr(at, xml.find_first_of("<>", at + 1) - at);
}

std::string
GetXMLAttribute(const std::string & xml, const std::string & name)
{
  const std::string start = name + "=\"";
  std::size_t       at = xml.find(start, 1);
  while (at != std::string::npos && whitespace.find(xml[at - 1]) == std::string::npos)
  {
    at = xml.find(start, at + 1);
  }
  const std::size_t end = at == std::string::npos ? at : xml.find('"', at + start.size());
  return end == std::string::npos ? std::string() : xml.substr(at + start.size(), end - at - start.size());
}

} // namespace gigapixel
