/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentText.h"

#include "gigapixelArgumentValues.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <locale>
#include <sstream>

namespace gigapixel::application
{
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

std::optional<std::vector<double>>
ReadNumbers(const std::string & text)
{
  std::vector<double> numbers;
  std::size_t         begin = 0;
  while (begin <= text.size())
  {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t first = std::min(text.find_first_not_of(' ', begin), end);
    const auto        number = ReadNumber(text.substr(first, end - first));
    if (!number)
    {
      return {};
    }
    numbers.push_back(*number);
    begin = end + 1;
  }
  return numbers;
}

namespace
{
[[noreturn]] void
Refuse(const std::string & name, const std::string & value, const std::string & wanted)
{
  throw UsageError(
    Diagnostic("E-OPTION-VALUE", name + " wants " + wanted + ", not \"" + value + '"').OfOption(name, value));
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
CheckInterval(const Argument & argument, const std::string & value)
{
  const std::size_t comma = value.find(',');
  const auto        low = ReadNumber(value.substr(0, comma));
  const auto        high = ReadNumber(comma == std::string::npos ? std::string() : value.substr(comma + 1));
  const bool isWord = std::find(argument.choices.begin(), argument.choices.end(), value) != argument.choices.end();
  if (!isWord && !(low && high && *low < *high))
  {
    Refuse(argument.GetDisplayName(),
           value,
           "two numbers like 100,4000, the first below the second" +
             (argument.choices.empty() ? "" : ", or " + JoinWithOr(argument.choices)));
  }
}

void
CheckRectangle(const Argument & argument, const std::string & value)
{
  if (argument.type == ArgumentType::Extent || argument.type == ArgumentType::Box)
  {
    const bool isBox = argument.type == ArgumentType::Box;
    const auto sides = ReadIntegers(value, "xX");
    const bool isNumber = sides.size() == 2 || (isBox && sides.size() == 3);
    if (!isNumber ||
        std::any_of(sides.begin(), sides.end(), [](std::int64_t side) { return side < 1 || side > INT32_MAX; }))
    {
      Refuse(argument.GetDisplayName(),
             value,
             isBox ? "width and height in pixels like 16000x64000, or with the depth of a volume like 240x240x155"
                   : "width and height in pixels like 16000x64000");
    }
    return;
  }
  const auto numbers = ReadIntegers(value, ",");
  if (numbers.size() != 4 || numbers[0] < 0 || numbers[1] < 0 || numbers[2] < 1 || numbers[3] < 1)
  {
    Refuse(argument.GetDisplayName(), value, "x,y,width,height in pixels like 0,0,4096,4096");
  }
}

} // namespace

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
        throw UsageError(Diagnostic("E-OPTION-VALUE", name + " is empty").OfOption(name));
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
      const bool isWord = std::find(argument.choices.begin(), argument.choices.end(), value) != argument.choices.end();
      if (!number && !isWord)
      {
        Refuse(name, value, "a whole number" + (argument.choices.empty() ? "" : " or " + JoinWithOr(argument.choices)));
      }
      CheckRange(argument, isWord ? *argument.minimum : static_cast<double>(*number), value);
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
    case ArgumentType::Numbers:
      if (!ReadNumbers(value))
      {
        Refuse(name, value, "numbers separated by commas");
      }
      break;
    case ArgumentType::Interval:
      CheckInterval(argument, value);
      break;
    case ArgumentType::Memory:
      ParseMemory(name, value);
      break;
    case ArgumentType::Extent:
    case ArgumentType::Box:
    case ArgumentType::Region:
      CheckRectangle(argument, value);
      break;
  }
}

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

bool
EndsWith(const std::string & text, const std::string & ending)
{
  return text.size() >= ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

} // namespace gigapixel::application
