/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "FormerNames.h"

#include "gigapixelArgumentValues.h"

#include <algorithm>
#include <set>

namespace gigapixel::commandline
{
using application::Argument;
using application::ArgumentType;
using application::Command;
using application::UsageError;

std::vector<std::string>
ReplaceFormerNames(const Command & command, const std::vector<std::string> & words, std::vector<Diagnostic> & warnings)
{
  std::vector<std::string> replaced;
  std::set<std::string>    known; // options that a former one stands for
  const auto               find = [&command](const auto & isIt) {
    const auto found = std::find_if(command.arguments.begin(), command.arguments.end(), isIt);
    return found == command.arguments.end() ? nullptr : &*found;
  };
  for (auto word = words.begin(); word != words.end(); ++word)
  {
    if (*word == "--")
    {
      replaced.insert(replaced.end(), word, words.end());
      break;
    }
    const std::size_t equals = word->find('=');
    const std::string name = word->rfind("--", 0) == 0 ? word->substr(2, equals - 2) : std::string();
    const auto        present = find([&](const Argument & each) {
      const bool isShort = each.shortName != 0 && *word == std::string{ '-', each.shortName };
      return isShort || (!name.empty() && !each.IsPositional() && each.name == name);
    });
    const auto argument = find([&name](const Argument & each) { return !name.empty() && each.formerName == name; });
    if (present != nullptr || argument == nullptr)
    {
      replaced.push_back(*word);
      // What stands behind an option is its value, whatever it looks like.
      if (present != nullptr && present->type != ArgumentType::Switch && equals == std::string::npos &&
          word + 1 != words.end())
      {
        replaced.push_back(*++word);
      }
      continue;
    }
    if (!argument->formerValue.empty() &&
        (!known.insert(name).second ||
         std::find(words.begin(), words.end(), argument->GetDisplayName()) != words.end()))
    {
      throw UsageError(
        Diagnostic("E-OPTION-REPEATED", argument->GetDisplayName() + " is given twice").OfOption("--" + name));
    }
    const std::string now = argument->GetDisplayName();
    std::string       remedy = "write " + now;
    if (argument->formerValue.empty())
    {
      replaced.push_back(now + (equals == std::string::npos ? std::string() : word->substr(equals)));
    }
    else
    {
      const bool        hasNext = equals == std::string::npos && word + 1 != words.end();
      const std::string value = hasNext ? *++word : equals == std::string::npos ? "" : word->substr(equals + 1);
      if (value != argument->formerValue && value != argument->formerOtherwise)
      {
        throw UsageError(Diagnostic("E-OPTION-VALUE",
                                    "--" + name + " was " + argument->formerOtherwise + " or " + argument->formerValue +
                                      ", and is now " + now,
                                    "write " + now + ", or leave it out")
                           .OfOption("--" + name, value));
      }
      value == argument->formerValue ? replaced.push_back(now) : void();
      remedy =
        value == argument->formerValue ? remedy : "leave it out: " + argument->formerOtherwise + " is the default";
    }
    warnings.push_back(
      Diagnostic("W-OPTION-RENAMED", "--" + name + " has another name now, and goes in this version only", remedy)
        .OfOption("--" + name));
  }
  return replaced;
}

} // namespace gigapixel::commandline
