/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelArgumentValues.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <locale>
#include <sstream>

namespace gigapixel::commandline
{
namespace
{

/** The whole text as a number; nothing where it is none. Independent of the locale. */
std::optional<double>
ReadNumber(const std::string & text)
{
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double value = 0;
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) || !(stream >> value) || !stream.eof() ||
      !std::isfinite(value))
  {
    return std::nullopt;
  }
  return value;
}

std::optional<std::int64_t>
ReadInteger(const std::string & text)
{
  const std::size_t firstDigit = !text.empty() && (text.front() == '-' || text.front() == '+') ? 1 : 0;
  const bool        digits = std::all_of(text.begin() + static_cast<std::ptrdiff_t>(firstDigit),
                                  text.end(),
                                  [](unsigned char c) { return std::isdigit(c); });
  if (!digits || text.size() == firstDigit || text.size() > 18 + firstDigit)
  {
    return std::nullopt;
  }
  return std::stoll(text);
}

std::vector<std::int64_t>
ReadIntegers(const std::string & text, const std::string & separators)
{
  std::vector<std::int64_t> values;
  std::size_t               begin = 0;
  while (begin <= text.size())
  {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    const auto        value = ReadInteger(text.substr(begin, end - begin));
    if (!value)
    {
      return {};
    }
    values.push_back(*value);
    begin = end + 1;
  }
  return values;
}

[[noreturn]] void
Refuse(const std::string & name, const std::string & value, const std::string & wanted)
{
  throw UsageError(name + " wants " + wanted + ", not \"" + value + "\".");
}

void
CheckRange(const Argument & argument, double number, const std::string & value)
{
  if ((argument.minimum && number < *argument.minimum) || (argument.maximum && number > *argument.maximum))
  {
    Refuse(argument.GetDisplayName(),
           value,
           (argument.type == ArgumentType::Integer ? "a whole number from " : "a number from ") + argument.GetRange());
  }
}

void
CheckRectangle(const Argument & argument, const std::string & value)
{
  if (argument.type == ArgumentType::Extent)
  {
    const auto sides = ReadIntegers(value, "xX");
    if (sides.size() != 2 || sides[0] < 1 || sides[1] < 1 || sides[0] > INT32_MAX || sides[1] > INT32_MAX)
    {
      Refuse(argument.GetDisplayName(), value, "width and height in pixels like 16000x64000");
    }
    return;
  }
  const auto numbers = ReadIntegers(value, ",");
  if (numbers.size() != 4 || numbers[0] < 0 || numbers[1] < 0 || numbers[2] < 1 || numbers[3] < 1)
  {
    Refuse(argument.GetDisplayName(), value, "x,y,width,height in pixels like 0,0,4096,4096");
  }
}

/** \throw UsageError unless the text is a value of the argument's type and range. */
void
CheckValue(const Argument & argument, const std::string & value)
{
  const std::string name = argument.GetDisplayName();
  switch (argument.type)
  {
    case ArgumentType::Switch:
      break;
    case ArgumentType::Text:
    case ArgumentType::File:
      if (value.empty())
      {
        throw UsageError(name + " is empty.");
      }
      break;
    case ArgumentType::Choice:
      if (std::find(argument.choices.begin(), argument.choices.end(), value) == argument.choices.end())
      {
        Refuse(name, value, JoinWithOr(argument.choices));
      }
      break;
    case ArgumentType::Integer: {
      const auto number = ReadInteger(value);
      if (!number)
      {
        Refuse(name, value, "a whole number");
      }
      CheckRange(argument, static_cast<double>(*number), value);
      break;
    }
    case ArgumentType::Number: {
      const auto number = ReadNumber(value);
      if (!number)
      {
        Refuse(name, value, "a number");
      }
      CheckRange(argument, *number, value);
      break;
    }
    case ArgumentType::Memory:
      ParseMemory(name, value);
      break;
    case ArgumentType::Extent:
    case ArgumentType::Region:
      CheckRectangle(argument, value);
      break;
  }
}

/** Letters to change, add or take away to make one word of the other (Levenshtein). */
std::size_t
EditDistance(const std::string & a, const std::string & b)
{
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j)
  {
    row[j] = j;
  }
  for (std::size_t i = 0; i < a.size(); ++i)
  {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j)
    {
      const std::size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({ substituted, row[j] + 1, row[j + 1] + 1 });
    }
  }
  return row.back();
}

[[noreturn]] void
RefuseUnknownOption(const Command & command, const std::string & word)
{
  std::string advice;
  std::size_t nearest = 3;
  for (const Argument & argument : command.arguments)
  {
    const std::size_t distance = EditDistance(word, argument.GetDisplayName());
    if (!argument.IsPositional() && distance < nearest)
    {
      nearest = distance;
      advice = " Did you mean " + argument.GetDisplayName() + '?';
    }
  }
  throw UsageError("gigapixel " + command.name + " has no option " + word + '.' + advice);
}

/** The option that a word names: "--memory" or "-o". */
const Argument &
FindOption(const Command & command, const std::string & word)
{
  for (const Argument & argument : command.arguments)
  {
    const bool isShort = argument.shortName && word == std::string{ '-', argument.shortName };
    if (!argument.IsPositional() && (isShort || word == "--" + argument.name))
    {
      return argument;
    }
  }
  RefuseUnknownOption(command, word);
}

} // namespace

UsageError::~UsageError() = default;

std::int64_t
ParseMemory(const std::string & argumentName, const std::string & text)
{
  const std::string wanted = "an amount of memory like 2G or 512M";
  std::string       digits = text;
  if (digits.size() > 1 && (digits.back() == 'B' || digits.back() == 'b'))
  {
    digits.pop_back();
  }
  if (digits.size() > 1 && digits.back() == 'i')
  {
    digits.pop_back();
  }
  double factor = 1;
  if (const auto power = std::string("KMGT").find(static_cast<char>(std::toupper(digits.empty() ? 0 : digits.back())));
      power != std::string::npos)
  {
    factor = std::pow(1024.0, static_cast<double>(power) + 1);
    digits.pop_back();
  }
  const auto number = ReadNumber(digits);
  if (!number || *number * factor < 1 || *number * factor > 1e18)
  {
    Refuse(argumentName, text, wanted);
  }
  return static_cast<std::int64_t>(*number * factor);
}

ArgumentValues::ArgumentValues(const Command & command)
  : m_Command(&command)
{
  for (const Argument & argument : command.arguments)
  {
    if (!argument.defaultValue.empty())
    {
      m_Defaults[argument.name] = { argument.defaultValue };
    }
  }
}

ArgumentValues
ArgumentValues::Parse(const Command & command, const std::vector<std::string> & words)
{
  ArgumentValues           values(command);
  std::vector<std::string> positionals;
  bool                     optionsEnded = false;
  for (std::size_t i = 0; i < words.size(); ++i)
  {
    const std::string & word = words[i];
    if (optionsEnded || word.size() < 2 || word.front() != '-')
    {
      positionals.push_back(word);
      continue;
    }
    if (word == "--")
    {
      optionsEnded = true;
      continue;
    }
    const std::size_t equals = word.rfind("--", 0) == 0 ? word.find('=') : std::string::npos;
    const Argument &  argument = FindOption(command, word.substr(0, equals));
    if (argument.type == ArgumentType::Switch)
    {
      if (equals != std::string::npos)
      {
        throw UsageError(argument.GetDisplayName() + " takes no value.");
      }
      values.Add(argument, "on");
    }
    else if (equals != std::string::npos)
    {
      values.Add(argument, word.substr(equals + 1));
    }
    else if (i + 1 < words.size())
    {
      values.Add(argument, words[++i]);
    }
    else
    {
      throw UsageError(argument.GetDisplayName() + " wants a value (" + argument.placeholder + ").");
    }
  }
  auto positional = positionals.begin();
  for (const Argument & argument : command.arguments)
  {
    while (argument.IsPositional() && positional != positionals.end())
    {
      values.Add(argument, *positional++);
      if (!argument.repeated)
      {
        break;
      }
    }
  }
  if (positional != positionals.end())
  {
    throw UsageError("gigapixel " + command.name + " does not know what to do with \"" + *positional + "\".");
  }
  // Who asks for help need not have the rest right.
  if (!values.Has("help"))
  {
    values.CheckCompleteness();
  }
  return values;
}

void
ArgumentValues::Add(const Argument & argument, const std::string & value)
{
  CheckValue(argument, value);
  std::vector<std::string> & given = m_Given[argument.name];
  if (!given.empty() && !argument.repeated && argument.type != ArgumentType::Switch)
  {
    throw UsageError(argument.GetDisplayName() + " is given twice.");
  }
  given.push_back(value);
}

void
ArgumentValues::CheckCompleteness() const
{
  const Command & command = *m_Command;
  for (const Argument & argument : command.arguments)
  {
    if (argument.required && !IsGiven(argument.name))
    {
      const std::string placeholder = argument.IsPositional() ? "" : ' ' + argument.placeholder;
      throw UsageError("gigapixel " + command.name + " needs " + argument.GetDisplayName() + placeholder + '.');
    }
    for (const Argument & other : command.arguments)
    {
      if (&other != &argument && !argument.alternative.empty() && other.alternative == argument.alternative &&
          IsGiven(argument.name) && IsGiven(other.name))
      {
        throw UsageError(argument.GetDisplayName() + " and " + other.GetDisplayName() + " exclude each other.");
      }
    }
  }
}

const Argument &
ArgumentValues::GetArgument(const std::string & name) const
{
  if (const Argument * argument = m_Command->Find(name))
  {
    return *argument;
  }
  throw std::logic_error("gigapixel " + m_Command->name + " has no argument " + name);
}

bool
ArgumentValues::IsGiven(const std::string & name) const
{
  return m_Given.count(GetArgument(name).name) > 0;
}

bool
ArgumentValues::Has(const std::string & name) const
{
  return IsGiven(name) || m_Defaults.count(name) > 0;
}

const std::vector<std::string> &
ArgumentValues::GetTexts(const std::string & name) const
{
  const auto given = m_Given.find(GetArgument(name).name);
  if (given != m_Given.end())
  {
    return given->second;
  }
  const auto value = m_Defaults.find(name);
  if (value == m_Defaults.end())
  {
    throw std::logic_error("there is no value for " + name);
  }
  return value->second;
}

const std::string &
ArgumentValues::GetText(const std::string & name) const
{
  return GetTexts(name).front();
}

double
ArgumentValues::GetNumber(const std::string & name) const
{
  return ReadNumber(GetText(name)).value();
}

std::int64_t
ArgumentValues::GetInteger(const std::string & name) const
{
  return ReadInteger(GetText(name)).value();
}

std::int64_t
ArgumentValues::GetMemory(const std::string & name) const
{
  return ParseMemory(GetArgument(name).GetDisplayName(), GetText(name));
}

std::array<std::int64_t, 2>
ArgumentValues::GetExtent(const std::string & name) const
{
  const auto sides = ReadIntegers(GetText(name), "xX");
  return { sides.at(0), sides.at(1) };
}

std::array<std::int64_t, 4>
ArgumentValues::GetRegion(const std::string & name) const
{
  const auto numbers = ReadIntegers(GetText(name), ",");
  return { numbers.at(0), numbers.at(1), numbers.at(2), numbers.at(3) };
}

} // namespace gigapixel::commandline
