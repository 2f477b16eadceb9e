/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelArgument.h"

#include <cctype>
#include <sstream>

namespace gigapixel::commandline
{

bool
Argument::IsPositional() const
{
  return std::isupper(static_cast<unsigned char>(name.front())) != 0;
}

std::string
Argument::GetDisplayName() const
{
  return IsPositional() ? name : "--" + name;
}

std::string
Argument::GetRange() const
{
  if (!minimum || !maximum)
  {
    return {};
  }
  std::ostringstream text;
  text.precision(16);
  text << *minimum << " to " << *maximum << (unit.empty() ? "" : " ") << unit;
  return text.str();
}

const Argument *
Command::Find(const std::string & argumentName) const
{
  for (const Argument & argument : arguments)
  {
    if (argument.name == argumentName)
    {
      return &argument;
    }
  }
  return nullptr;
}

const Command *
FindCommand(const std::string & name)
{
  for (const Command & command : GetCommands())
  {
    if (command.name == name)
    {
      return &command;
    }
  }
  return nullptr;
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

} // namespace gigapixel::commandline
