/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelArgument.h"
#include "gigapixelOptionTable.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace gigapixel::application
{
namespace
{
constexpr std::size_t LineWidth = 100;
constexpr std::size_t MostHead = 34; ///< of an argument's name and placeholder, with what stands around them

/** Letters, not bytes: "µ" is one. */
std::size_t
CountLetters(const std::string & text)
{
  std::size_t letters = 0;
  for (const char byte : text)
  {
    letters += (static_cast<unsigned char>(byte) & 0xC0u) != 0x80u;
  }
  return letters;
}

/** Words filled into lines; the first line goes on where the caller stands. */
std::string
Wrap(const std::string & text, std::size_t indent)
{
  std::istringstream words(text);
  std::string        result;
  std::string        word;
  std::size_t        column = indent;
  while (words >> word)
  {
    const std::size_t length = CountLetters(word);
    if (column > indent && column + 1 + length > LineWidth)
    {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    }
    else if (column > indent)
    {
      result += ' ';
      ++column;
    }
    result += word;
    column += length;
  }
  return result;
}

/** Description, choices or range with unit, default. */
std::string
Explain(const Argument & argument, bool withDetails)
{
  std::string text = argument.description;
  if (argument.repeated && !argument.IsPositional())
  {
    text += " May be given several times.";
  }
  if (withDetails && !argument.details.empty())
  {
    text += ' ' + argument.details;
  }
  std::vector<std::string> notes;
  if (argument.type == ArgumentType::Choice)
  {
    notes.push_back(JoinWithOr(argument.choices));
  }
  if (const std::string range = argument.GetRange(); withDetails && !range.empty())
  {
    notes.push_back(range);
  }
  // The short help leaves out a zero, which mostly says that nothing happens.
  const bool        isRangeShown = withDetails && !argument.GetRange().empty();
  const std::string unit = isRangeShown ? std::string() : argument.unit;
  if (!argument.defaultValue.empty() && (withDetails || argument.defaultValue != "0"))
  {
    notes.push_back("default " + argument.defaultValue + (unit.empty() ? "" : " ") + unit);
  }
  else if (!unit.empty())
  {
    notes.push_back(unit);
  }
  if (argument.required && !argument.IsPositional())
  {
    notes.emplace_back("required");
  }
  for (std::size_t i = 0; i < notes.size(); ++i)
  {
    text += (i == 0 ? " (" : ", ") + notes[i] + (i + 1 == notes.size() ? ")" : "");
  }
  return text;
}

std::string
FormatHead(const Argument & argument)
{
  std::string head = "  ";
  if (argument.shortName)
  {
    head += std::string("-") + argument.shortName + ", ";
  }
  head += argument.GetDisplayName();
  if (!argument.IsPositional() && argument.type != ArgumentType::Switch)
  {
    head += ' ' + argument.placeholder;
  }
  return head + "  ";
}

/** The column at which texts begin: behind the longest head that is not too long. */
std::size_t
FindTextColumn(const std::vector<Argument> & arguments)
{
  std::size_t column = 0;
  for (const Argument & argument : arguments)
  {
    const std::size_t length = CountLetters(FormatHead(argument));
    column = length <= MostHead ? std::max(column, length) : column;
  }
  return column;
}

std::string
FormatArgument(const Argument & argument, std::size_t column, bool withDetails)
{
  std::string       head = FormatHead(argument);
  const std::size_t length = CountLetters(head);
  head += length > column ? '\n' + std::string(column, ' ') : std::string(column - length, ' ');
  return head + Wrap(Explain(argument, withDetails), column) + '\n';
}

std::string
FormatUsage(const Command & command)
{
  std::string text = "gigapixel " + command.name;
  for (const Argument & argument : command.arguments)
  {
    if (argument.IsPositional())
    {
      const std::string word = argument.name + (argument.repeated ? "..." : "");
      text += argument.required ? ' ' + word : " [" + word + ']';
    }
    else if (argument.required)
    {
      const std::string option = argument.shortName ? std::string("-") + argument.shortName : "--" + argument.name;
      text += ' ' + option + ' ' + argument.placeholder;
    }
  }
  return text + " [options]";
}

const char *
GetTypeName(ArgumentType type)
{
  switch (type)
  {
    case ArgumentType::Switch:
      return "switch";
    case ArgumentType::Text:
      return "text";
    case ArgumentType::Choice:
      return "choice";
    case ArgumentType::Integer:
      return "integer";
    case ArgumentType::Number:
      return "number";
    case ArgumentType::Memory:
      return "memory";
    case ArgumentType::Extent:
      return "extent";
    case ArgumentType::Box:
      return "box";
    case ArgumentType::Region:
      return "region";
    case ArgumentType::Numbers:
      return "numbers";
    case ArgumentType::Interval:
      return "interval";
    case ArgumentType::File:
      return "file";
  }
  return "";
}

nlohmann::ordered_json
Describe(const Argument & argument)
{
  nlohmann::ordered_json json{ { "name", argument.name }, { "type", GetTypeName(argument.type) } };
  json["description"] = argument.description;
  if (!argument.details.empty())
  {
    json["details"] = argument.details;
  }
  if (argument.isRangeForSlips)
  {
    json["rangeForSlips"] = true;
  }
  if (!argument.property.empty())
  {
    json["property"] = argument.property;
  }
  if (MayBeUnset(argument))
  {
    json["mayBeUnset"] = true;
  }
  if (argument.isForShells)
  {
    json["forShells"] = true;
  }
  if (argument.scope >= OptionScope::Slides && argument.scope <= OptionScope::SlideFiles)
  {
    json["scope"] = "slides";
  }
  if (!argument.group.empty())
  {
    json["group"] = argument.group;
  }
  if (argument.shortName)
  {
    json["short"] = std::string(1, argument.shortName);
  }
  if (!argument.defaultValue.empty())
  {
    json["default"] = argument.defaultValue;
  }
  if (!argument.unit.empty())
  {
    json["unit"] = argument.unit;
  }
  if (argument.minimum)
  {
    json["minimum"] = *argument.minimum;
  }
  if (argument.maximum)
  {
    json["maximum"] = *argument.maximum;
  }
  if (!argument.choices.empty())
  {
    json["choices"] = argument.choices;
  }
  if (argument.channel != ArgumentChannel::None)
  {
    json["channel"] = argument.channel == ArgumentChannel::Input ? "input" : "output";
    json["content"] = argument.content;
  }
  json["positional"] = argument.IsPositional();
  json["required"] = argument.required;
  json["repeated"] = argument.repeated;
  if (!argument.alternative.empty())
  {
    json["alternative"] = argument.alternative;
  }
  return json;
}
} // namespace

std::string
GetHelp(const Command & command, bool withDetails)
{
  const std::size_t column = FindTextColumn(command.arguments);
  // The short help says in a sentence what the command does; all else is in the long one.
  const std::size_t        end = withDetails ? std::string::npos : command.description.find(". ");
  const std::string        description = command.description.substr(0, end) + (end == std::string::npos ? "" : ".");
  std::string              text = "Usage: " + FormatUsage(command) + "\n\n" + Wrap(description, 0) + "\n\n";
  std::vector<std::string> groups{ "" };
  for (const Argument & argument : command.arguments)
  {
    if (std::find(groups.begin(), groups.end(), argument.group) == groups.end())
    {
      groups.push_back(argument.group);
    }
  }
  // How the program runs is said last.
  std::stable_partition(groups.begin(), groups.end(), [](const std::string & group) { return group != "Running"; });
  for (const std::string & group : groups)
  {
    text += group.empty() ? "" : '\n' + group + ":\n";
    for (const Argument & argument : command.arguments)
    {
      const bool isTold = withDetails || argument.name != "help-all"; // the line of --help tells of it
      text += argument.group == group && isTold ? FormatArgument(argument, column, withDetails) : "";
    }
  }
  const std::size_t examples = withDetails ? command.examples.size() : 1;
  text += examples > 1 ? "\nExamples:\n" : "\nExample:";
  for (std::size_t i = 0; i < examples; ++i)
  {
    text += (examples > 1 ? "  " : " ") + command.examples[i] + '\n';
  }
  return text;
}

std::string
GetHelp()
{
  std::string text = "Usage: gigapixel COMMAND [arguments]\n\n"
                     "Whole-slide images: read, label, train on, segment, compare.\n\n";
  for (const Command & command : GetCommands())
  {
    text += "  " + command.name + std::string(12 - command.name.size(), ' ') + command.summary + '\n';
  }
  text += "\n  gigapixel COMMAND --help   arguments and examples of a command; --help-all: all there is to say\n"
          "  gigapixel --version        the version\n"
          "  gigapixel --codes          the codes of errors and warnings\n"
          "  gigapixel --describe       all commands and arguments as JSON, for front ends\n\n"
          "Example:\n";
  return text + "  " + GetCommands().front().examples.front() + '\n';
}

std::string
DescribeCommands()
{
  auto all = nlohmann::ordered_json::array();
  for (const Command & command : GetCommands())
  {
    nlohmann::ordered_json json{ { "name", command.name }, { "summary", command.summary } };
    json["description"] = command.description;
    json["examples"] = command.examples;
    json["arguments"] = nlohmann::ordered_json::array();
    for (const Argument & argument : command.arguments)
    {
      json["arguments"].push_back(Describe(argument));
    }
    all.push_back(json);
  }
  return all.dump(2);
}

} // namespace gigapixel::application
