/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelArgument_h
#define gigapixelArgument_h

#include "GigapixelApplicationExport.h"
#include "gigapixelOption.h"

#include <string>
#include <vector>

namespace gigapixel::application
{

/** What the shell calls an option. */
using Argument = Option;
using ArgumentType = OptionType;
using ArgumentChannel = OptionChannel;

/** A command of the program. */
struct GigapixelApplication_EXPORT Command
{
  std::string              name{};
  std::string              summary{}; ///< one line
  std::string              description{};
  std::vector<Argument>    arguments{};
  std::vector<std::string> examples{}; ///< whole command lines

  /** Null where there is none of that name. */
  const Argument * Find(const std::string & argumentName) const;
};

/** All commands, in the order of the help. The arguments that every command takes are part of each. */
GigapixelApplication_EXPORT const std::vector<Command> & GetCommands();

/** Null where there is none of that name. */
GigapixelApplication_EXPORT const Command * FindCommand(const std::string & name);

/** Help for one command: usage, arguments with defaults, units and ranges, examples.
 * \param withDetails all that there is to say, and not one line for each argument */
GigapixelApplication_EXPORT std::string GetHelp(const Command & command, bool withDetails = false);

/** Help for the program: its commands. */
GigapixelApplication_EXPORT std::string GetHelp();

/** The whole table as JSON, for front ends that are generated from it. */
GigapixelApplication_EXPORT std::string DescribeCommands();

} // namespace gigapixel::application

#endif
