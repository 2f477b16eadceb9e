/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelArgumentValues.h"

#include "ArgumentText.h"
#include "gigapixelNearestNames.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <locale>
#include <sstream>

namespace gigapixel::application
{
namespace
{

[[noreturn]] void
RefuseUnknownOption(const Command & command, const std::string & word)
{
  std::string advice;
  std::size_t nearest = 3;
  for (const Argument & argument : command.arguments)
  {
    const std::size_t distance = GetEditDistance(word, argument.GetDisplayName());
    if (!argument.IsPositional() && distance < nearest)
    {
      nearest = distance;
      advice = "did you mean " + argument.GetDisplayName() + '?';
    }
  }
  throw UsageError(Diagnostic("E-OPTION-UNKNOWN", command.name + " has no option " + word, advice).OfOption(word));
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
        throw UsageError(Diagnostic("E-OPTION-VALUE", argument.GetDisplayName() + " takes no value")
                           .OfOption(argument.GetDisplayName(), word.substr(equals + 1)));
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
      throw UsageError(
        Diagnostic("E-OPTION-VALUE", argument.GetDisplayName() + " wants a value (" + argument.placeholder + ')')
          .OfOption(argument.GetDisplayName()));
    }
  }
  auto positional = positionals.begin();
  auto argumentsLeft = std::count_if(command.arguments.begin(), command.arguments.end(), [](const Argument & argument) {
    return argument.IsPositional();
  });
  for (const Argument & argument : command.arguments)
  {
    if (!argument.IsPositional() || positional == positionals.end())
    {
      continue;
    }
    --argumentsLeft;
    values.Add(argument, *positional++);
    // A repeated one leaves to each behind it its own, as cp does: SLIDE... OUT.
    while (argument.repeated && positionals.end() - positional > argumentsLeft)
    {
      values.Add(argument, *positional++);
    }
  }
  if (positional != positionals.end())
  {
    throw UsageError(
      Diagnostic("E-OPTION-UNKNOWN", command.name + " does not know what to do with \"" + *positional + '"')
        .OfValue(*positional));
  }
  // Who asks for help need not have the rest right.
  if (!values.Has("help") && !values.Has("help-all"))
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
    throw UsageError(Diagnostic("E-OPTION-REPEATED", argument.GetDisplayName() + " is given twice")
                       .OfOption(argument.GetDisplayName(), value));
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
      const std::string placeholder =
        argument.IsPositional() || argument.placeholder.empty() ? "" : ' ' + argument.placeholder;
      throw UsageError(
        Diagnostic("E-OPTION-MISSING", command.name + " needs " + argument.GetDisplayName() + placeholder)
          .OfOption(argument.GetDisplayName()));
    }
    // A run that goes on has its own values of what is not given.
    const bool isOfRun = !argument.neededValue.empty() && command.Find("resume") && Has("resume");
    if (IsGiven(argument.name) && command.Find(argument.needs) && !isOfRun)
    {
      const std::string name = argument.GetDisplayName(), needed = command.Find(argument.needs)->GetDisplayName();
      const std::string value = GetText(argument.needs);
      if (argument.neededValue.empty() ? !Has(argument.needs) : value != argument.neededValue)
      {
        throw UsageError(
          Diagnostic("E-OPTION-NEEDS",
                     name + " is of " + needed +
                       (argument.neededValue.empty() ? ", which is not given"
                                                     : ' ' + argument.neededValue + ", and it is " + value))
            .OfOption(name, argument.type == ArgumentType::Switch ? "" : GetText(argument.name)));
      }
    }
    for (const Argument & other : command.arguments)
    {
      const bool isAlternative = !argument.alternative.empty() && other.alternative == argument.alternative;
      const bool isExcluded =
        isAlternative || std::count(argument.excludes.begin(), argument.excludes.end(), other.name) > 0;
      if (&other != &argument && isExcluded && IsGiven(argument.name) && IsGiven(other.name))
      {
        throw UsageError(
          Diagnostic("E-OPTION-CONFLICT",
                     argument.GetDisplayName() + " and " + other.GetDisplayName() + " exclude each other",
                     "leave one of them out")
            .OfOption(argument.GetDisplayName()));
      }
    }
  }
}

ArgumentValues
ArgumentValues::With(const std::string & name, const std::string & value) const
{
  ArgumentValues other = *this;
  other.m_Given.erase(name);
  other.Add(GetArgument(name), value);
  return other;
}

std::string
ArgumentValues::Describe() const
{
  std::string text;
  for (const auto & [name, words] : m_Given)
  {
    if (GetArgument(name).effect == OptionEffect::Bits)
    {
      text += name;
      for (const std::string & word : words)
      {
        text += '\0' + word;
      }
      text += '\n';
    }
  }
  return text;
}

const Argument &
ArgumentValues::GetArgument(const std::string & name) const
{
  if (const Argument * argument = m_Command->Find(name))
  {
    return *argument;
  }
  throw RefusalOf<std::logic_error>(Diagnostic("E-INTERNAL", m_Command->name + " has no argument " + name));
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
  static const std::vector<std::string> none;
  const auto                            value = m_Defaults.find(name);
  return value == m_Defaults.end() ? none : value->second;
}

const std::string &
ArgumentValues::GetText(const std::string & name) const
{
  static const std::string none;
  return GetTexts(name).empty() ? none : GetTexts(name).front();
}

double
ArgumentValues::GetNumber(const std::string & name) const
{
  return Has(name) ? ReadNumber(GetText(name)).value() : 0;
}

std::int64_t
ArgumentValues::GetInteger(const std::string & name) const
{
  const auto   number = Has(name) ? ReadInteger(GetText(name)) : 0;
  const auto & words = GetArgument(name).choices;
  return number ? *number : words.begin() - std::find(words.begin(), words.end(), GetText(name)) - 1;
}

std::vector<double>
ArgumentValues::GetNumbers(const std::string & name) const
{
  return Has(name) ? *ReadNumbers(GetText(name)) : std::vector<double>();
}

std::int64_t
ArgumentValues::GetMemory(const std::string & name) const
{
  return Has(name) ? ParseMemory(GetArgument(name).GetDisplayName(), GetText(name)) : 0;
}

std::array<std::int64_t, 2>
ArgumentValues::GetExtent(const std::string & name) const
{
  const auto sides = ReadIntegers(GetText(name), "xX");
  return { sides.at(0), sides.at(1) };
}

std::array<std::int64_t, 3>
ArgumentValues::GetBox(const std::string & name) const
{
  const auto sides = ReadIntegers(GetText(name), "xX");
  return { sides.at(0), sides.at(1), sides.size() > 2 ? sides[2] : 0 };
}

std::array<std::int64_t, 4>
ArgumentValues::GetRegion(const std::string & name) const
{
  if (!Has(name))
  {
    return {};
  }
  const auto numbers = ReadIntegers(GetText(name), ",");
  return { numbers.at(0), numbers.at(1), numbers.at(2), numbers.at(3) };
}

void
RefuseOptions(const ArgumentValues & values, const std::string & reason, OptionScope first, OptionScope last)
{
  std::vector<std::string> names;
  for (const Argument & argument : values.GetCommand().arguments)
  {
    if (argument.scope >= first && argument.scope <= last)
    {
      names.push_back(argument.name);
    }
  }
  RefuseOptions(values, names, reason);
}

void
RefuseOptions(const ArgumentValues &           values,
              const std::vector<std::string> & names,
              const std::string &              reason,
              const std::string &              remedy)
{
  for (const std::string & name : names)
  {
    if (values.IsGiven(name))
    {
      const Argument &  argument = *values.GetCommand().Find(name);
      const std::string shown = argument.GetDisplayName();
      throw UsageError(Diagnostic("E-OPTION-APPLIES", shown + " does not apply, since " + reason, remedy)
                         .OfOption(shown, argument.type == ArgumentType::Switch ? "" : values.GetText(name)));
    }
  }
}

} // namespace gigapixel::application
