/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "FormerNames.h"

#include <algorithm>

namespace gigapixel::commandline
{

std::vector<std::string>
ReplaceFormerNames(const Command & command, const std::vector<std::string> & words, std::vector<Diagnostic> & warnings)
{
  std::vector<std::string> replaced;
  for (auto word = words.begin(); word != words.end(); ++word)
  {
    if (*word == "--")
    {
      replaced.insert(replaced.end(), word, words.end());
      break;
    }
    const std::size_t equals = word->find('=');
    const std::string name = word->rfind("--", 0) == 0 ? word->substr(2, equals - 2) : std::string();
    const auto        argument =
      std::find_if(command.arguments.begin(), command.arguments.end(), [&name](const Argument & each) {
        return !name.empty() && each.formerName == name;
      });
    if (argument == command.arguments.end() || command.Find(name))
    {
      replaced.push_back(*word);
      continue;
    }
    const std::string now = argument->GetDisplayName();
    std::string       meant = now;
    if (argument->formerValue.empty())
    {
      replaced.push_back(now + (equals == std::string::npos ? std::string() : word->substr(equals)));
    }
    else if (equals != std::string::npos || word + 1 != words.end())
    {
      // The switch stands for one value of what was a choice; the other was, and is, what holds without it.
      const std::string value = equals == std::string::npos ? *++word : word->substr(equals + 1);
      meant = value == argument->formerValue ? now : "no " + now;
      value == argument->formerValue ? replaced.push_back(now) : void();
    }
    warnings.push_back(
      Diagnostic("W-OPTION-RENAMED", "--" + name + " has another name now", "write " + meant).OfOption("--" + name));
  }
  return replaced;
}

} // namespace gigapixel::commandline
