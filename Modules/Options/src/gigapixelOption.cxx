/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOption.h"

#include <cctype>
#include <locale>
#include <sstream>
#include <utility>

namespace gigapixel
{

bool
Option::IsPositional() const
{
  return std::isupper(static_cast<unsigned char>(name.front())) != 0;
}

std::string
Option::GetDisplayName() const
{
  return IsPositional() ? name : "--" + name;
}

bool
Option::TurnsOff() const
{
  return type == OptionType::Switch && name.rfind("no-", 0) == 0;
}

std::string
Option::GetSettingName() const
{
  return TurnsOff() ? name.substr(3) : name;
}

std::string
Option::GetRange() const
{
  if (!minimum || !maximum)
  {
    return {};
  }
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(16);
  text << *minimum << " to " << *maximum << (unit.empty() ? "" : " ") << unit;
  return text.str();
}

Option
Option::Details(const std::string & text) const
{
  Option option = *this;
  option.details = text;
  return option;
}

Option
Option::Group(const std::string & heading) const
{
  Option option = *this;
  option.group = heading;
  return option;
}

Option
Option::Default(const std::string & value) const
{
  Option option = *this;
  option.defaultValue = value;
  return option;
}

Option
Option::Unit(const std::string & name) const
{
  Option option = *this;
  option.unit = name;
  return option;
}

Option
Option::Words(const std::vector<std::string> & words) const
{
  Option option = *this;
  option.choices = words;
  for (const std::string & word : words)
  {
    option.placeholder += '|' + word;
  }
  return option;
}

Option
Option::Sets(const std::string & propertyName) const
{
  Option option = *this;
  option.property = propertyName;
  return option;
}

Option
Option::ForShells() const
{
  Option option = *this;
  option.isForShells = true;
  return option;
}

Option
Option::OfImages() const
{
  Option option = *this;
  option.scope = OptionScope::Images;
  return option;
}

Option
Option::OfPredictions() const
{
  Option option = *this;
  option.scope = OptionScope::Predictions;
  return option;
}

Option
Option::OfSlides() const
{
  Option option = *this;
  option.scope = OptionScope::Slides;
  return option;
}

Option
Option::OfMasks() const
{
  Option option = *this;
  option.scope = OptionScope::Masks;
  return option;
}

Option
Option::Of(const std::string & fileContent) const
{
  Option option = *this;
  option.type = OptionType::File;
  option.channel = OptionChannel::Input;
  option.content = fileContent;
  return option;
}

Option
Option::Repeated() const
{
  Option option = *this;
  option.repeated = true;
  return option;
}

Option
Option::OneOf(const std::string & word) const
{
  Option option = *this;
  option.alternative = word;
  return option;
}

Option
Option::Excludes(const std::vector<std::string> & options) const
{
  Option option = *this;
  option.excludes = options;
  return option;
}

Option
Option::Reads(SlideReading whatOfSlides) const
{
  Option option = this->Group("Slides");
  option.reading = whatOfSlides;
  option.scope = whatOfSlides == SlideReading::Tissue ? OptionScope::Slides : OptionScope::SlideFiles;
  return option;
}

Option
Option::DecidesWith(const std::string & other, const std::string & value) const
{
  Option option = *this;
  option.decidesWith = other;
  option.decidingValue = value;
  return option;
}

Option
Option::Formerly(const std::string & former, const std::string & value, const std::string & otherwise) const
{
  Option option = *this;
  option.formerName = former;
  option.formerValue = value;
  option.formerOtherwise = otherwise;
  return option;
}

Option
Option::RangeForSlips() const
{
  Option option = *this;
  option.isRangeForSlips = true;
  return option;
}

Option
Option::DecidesTheBegin() const
{
  Option option = *this;
  option.effect = OptionEffect::Begin;
  return option;
}

Option
Option::DecidesNothing() const
{
  Option option = *this;
  option.effect = OptionEffect::Nothing;
  return option;
}

Option
Option::OfSlideFiles() const
{
  Option option = *this;
  option.scope = OptionScope::SlideFiles;
  return option;
}

Option
Option::Needs(const std::string & other, const std::string & value) const
{
  Option option = *this;
  option.needs = other;
  option.neededValue = value;
  return option;
}

Option
OptionSwitch(const std::string & name, const std::string & text)
{
  return { name, OptionType::Switch, "", text };
}

Option
OptionChoice(const std::string &      name,
             std::vector<std::string> choices,
             const std::string &      value,
             const std::string &      text)
{
  Option option{ name, OptionType::Choice, "NAME", text, value };
  option.choices = std::move(choices);
  return option;
}

namespace
{
Option
MakeNumeric(const Option & option, double least, double most)
{
  Option ranged = option;
  ranged.minimum = least;
  ranged.maximum = most;
  return ranged;
}
} // namespace

Option
OptionInteger(const std::string & name, const std::string & value, double least, double most, const std::string & text)
{
  return MakeNumeric({ name, OptionType::Integer, "N", text, value }, least, most);
}

Option
OptionNumber(const std::string & name, const std::string & value, double least, double most, const std::string & text)
{
  return MakeNumeric({ name, OptionType::Number, "X", text, value }, least, most);
}

Option
OptionText(const std::string & name, const std::string & placeholder, const std::string & text)
{
  return { name, OptionType::Text, placeholder, text };
}

Option
OptionNumbers(const std::string & name, const std::string & placeholder, const std::string & text)
{
  return { name, OptionType::Numbers, placeholder, text };
}

Option
OptionMemory(const std::string & name, const std::string & text)
{
  return { name, OptionType::Memory, "BYTES", text };
}

std::string
JoinWithOr(const std::vector<std::string> & words)
{
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
  {
    if (i > 0)
    {
      text += i + 1 == words.size() ? " or " : ", ";
    }
    text += words[i];
  }
  return text;
}

} // namespace gigapixel
