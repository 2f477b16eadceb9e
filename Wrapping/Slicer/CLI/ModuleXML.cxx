/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Module.h"
#include "OutputCheck.h"
#include "gigapixelJoinNames.h"

#include <algorithm>
#include <cctype>
#include <locale>
#include <sstream>

namespace gigapixel::slicer
{
namespace
{
using application::ArgumentChannel;

/** What a file is in Slicer: its element, with the endings of its names. */
struct FileElement
{
  std::string element;
  std::string attributes;
};

/** ".tif,.tiff" for a pyramid: what is read may have other endings than what is written. */
std::string
JoinEndings(const Argument & argument)
{
  static const std::map<std::string, std::string> read{
    { "scan", ".nrrd,.nii.gz,.nii,.mha" },
    { "slide", JoinNames(itk::WholeSlideImageIO::New()->GetSupportedReadExtensions(), ",") },
    { "table", ".csv" },
    { "label", ".tif,.tiff,.png,.mha,.nrrd" },
    { "model", ".safetensors" },
    { "annotations", ".geojson,.json,.xml" },
  };
  if (argument.channel == ArgumentChannel::Input)
  {
    return read.at(argument.content);
  }
  return JoinNames(application::GetEndings(argument.content), ",");
}

FileElement
GetFileElement(const Argument & argument)
{
  if (argument.content == "folder")
  {
    return { "directory", "" };
  }
  const std::string                               endings = " fileExtensions=\"" + JoinEndings(argument) + '"';
  static const std::map<std::string, std::string> images{
    { "segmentation", "label" }, { "volume", "vector" }, { "scan", "scalar" }, { "map", "scalar" }
  };
  if (const auto image = images.find(argument.content); image != images.end())
  {
    return { "image", " type=\"" + image->second + '"' + endings };
  }
  return { "file", endings };
}

FileElement
GetElement(const ModuleArgument & each)
{
  switch (each.argument.type)
  {
    case ArgumentType::File:
      return GetFileElement(each.argument);
    case ArgumentType::Choice:
      return { "string-enumeration", "" };
    case ArgumentType::Integer:
      return { "integer", "" };
    case ArgumentType::Number:
      return { "double", "" };
    default:
      return each.type == ArgumentType::Region ? FileElement{ "region", " multiple=\"false\" coordinateSystem=\"lps\"" }
                                               : FileElement{ "string", "" };
  }
}

std::string
Escape(const std::string & text)
{
  std::string escaped;
  for (const char letter : text)
  {
    switch (letter)
    {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

std::string
Element(const std::string & name, const std::string & text)
{
  return '<' + name + '>' + Escape(text) + "</" + name + '>';
}

/** "slideMpp" becomes "Slide mpp". */
std::string
GetLabel(const std::string & name)
{
  std::string label;
  for (const char letter : name)
  {
    if (std::isupper(static_cast<unsigned char>(letter)) != 0)
    {
      label += ' ';
    }
    label += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  label.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(label.front())));
  return label;
}

/** Slicer's spin boxes count in 32 bits. */
std::string
GetConstraints(const Argument & argument)
{
  if (!argument.minimum || !argument.maximum)
  {
    return {};
  }
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(10);
  text << "      <constraints><minimum>" << *argument.minimum << "</minimum><maximum>"
       << std::min(*argument.maximum, 2147483647.0) << "</maximum>";
  if (argument.type == ArgumentType::Integer)
  {
    text << "<step>1</step>";
  }
  return text.str() + "</constraints>\n";
}

std::string
GetParameter(const ModuleArgument & each)
{
  const Argument &  argument = each.argument;
  const FileElement element = GetElement(each);
  std::string text = "    <" + element.element + element.attributes + ">\n      " + Element("name", argument.name);
  text += Element("label", GetLabel(argument.name)) + Element("longflag", argument.name) + '\n';
  const std::string unit = argument.unit.empty() ? "" : " [" + argument.unit + ']';
  text += "      " + Element("description", argument.description + unit) + '\n';
  if (argument.channel != ArgumentChannel::None)
  {
    text += "      " + Element("channel", argument.channel == ArgumentChannel::Input ? "input" : "output") + '\n';
  }
  else if (!argument.defaultValue.empty())
  {
    text += "      " + Element("default", argument.defaultValue) + '\n';
  }
  for (const std::string & choice : argument.choices)
  {
    text += "      " + Element("element", choice) + '\n';
  }
  return text + GetConstraints(argument) + "    </" + element.element + ">\n";
}

std::string
GetResult(const ModuleResult & result)
{
  return "    <" + result.type + ">\n      " + Element("name", result.name) + Element("label", result.label) + '\n' +
         "      " + Element("description", result.label + ".") + Element("channel", "output") +
         Element("default", result.type == "string" ? "" : "0") + "\n    </" + result.type + ">\n";
}

std::string
GetGroup(const std::string & label, const std::string & description, const std::string & parameters)
{
  return "  <parameters>\n    " + Element("label", label) + Element("description", description) + '\n' + parameters +
         "  </parameters>\n";
}
} // namespace

std::string
GetXML(const Module & module)
{
  std::string files;
  std::string settings;
  for (const ModuleArgument & each : module.arguments)
  {
    (each.argument.channel == ArgumentChannel::None ? settings : files) += GetParameter(each);
  }
  std::string results;
  for (const ModuleResult & result : module.results)
  {
    results += GetResult(result);
  }
  return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<executable>\n  " + Element("category", "Pathology") + "\n  " +
         Element("title", module.title) + "\n  " + Element("description", module.description) + "\n  " +
         Element("version", GIGAPIXEL_VERSION) + "\n  " +
         Element("documentation-url", "https://arxiv.org/abs/2304.12149") + "\n  " + Element("license", "Apache-2.0") +
         "\n  " + Element("contributor", "The ITKGigapixel Authors") + "\n  " +
         Element("acknowledgements",
                 "The presets follow L. W. Remedios et al., Exploring shared memory architectures for end-to-end "
                 "gigapixel deep learning, MIDL 2023 (arXiv:2304.12149).") +
         '\n' + GetGroup("Files", "What is read and what is written.", files) +
         GetGroup("Settings", "How it is done.", settings) +
         GetGroup("Results", "Filled in when the module has run.", results) + "</executable>\n";
}

} // namespace gigapixel::slicer
