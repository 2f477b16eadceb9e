/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelArgument.h"

namespace gigapixel::application
{

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

} // namespace gigapixel::application
