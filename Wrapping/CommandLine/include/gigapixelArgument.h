/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelArgument_h
#define gigapixelArgument_h

#include "GigapixelCommandLineExport.h"

#include <optional>
#include <string>
#include <vector>

namespace gigapixel::commandline
{

/** What a value is, and so how its text is checked. */
enum class ArgumentType
{
  Switch,  ///< given or not; takes no value
  Text,    ///<
  Choice,  ///< one of Argument::choices
  Integer, ///<
  Number,  ///<
  Memory,  ///< bytes: 512M, 2G, 1.5G (powers of 1024)
  Extent,  ///< width x height in pixels: 16000x64000
  Box,     ///< the same, or width x height x depth in voxels: 240x240x155
  Region,  ///< x,y,width,height in pixels
  File     ///< a file or a folder
};

/** Which way a file goes: front ends make a file dialog of the one kind or of the other. */
enum class ArgumentChannel
{
  None,
  Input,
  Output
};

/** \class Argument
 * \brief The one definition of an argument: parsing, help, and the descriptions that other front ends (Slicer, Python)
 * are made of come from it. */
struct GigapixelCommandLine_EXPORT Argument
{
  std::string  name{}; ///< "memory" for --memory; capital letters for an argument without a dash: "SLIDE"
  ArgumentType type{ ArgumentType::Text };
  std::string  placeholder{}; ///< of its value in the help: "BYTES"
  std::string  description{};
  std::string  defaultValue{};        ///< as the user would write it; empty: no default, the description says what then
  std::string  unit{};                ///< "µm/px", "px", ...; empty: none
  std::optional<double>    minimum{}; ///< inclusive
  std::optional<double>    maximum{}; ///< inclusive
  std::vector<std::string> choices{}; ///< of an Integer: words that may stand in the number's place
  ArgumentChannel          channel{ ArgumentChannel::None };
  std::string              content{}; ///< of a file: "slide", "label", "model", "table", "folder", ...
  char                     shortName{ 0 };
  bool                     required{ false };
  bool                     repeated{ false }; ///< may be given several times
  std::string              alternative{};     ///< arguments with the same word here exclude each other

  bool IsPositional() const;

  /** "--memory" or "SLIDE". */
  std::string GetDisplayName() const;

  /** "0.05 to 20 µm/px"; empty where any value goes. */
  std::string GetRange() const;
};

/** A command of the program. */
struct GigapixelCommandLine_EXPORT Command
{
  std::string              name{};
  std::string              summary{}; ///< one line
  std::string              description{};
  std::vector<Argument>    arguments{};
  std::vector<std::string> examples{};            ///< whole command lines
  bool                     needsNetwork{ false }; ///< lives in the module that needs LibTorch

  /** Null where there is none of that name. */
  const Argument * Find(const std::string & argumentName) const;
};

/** All commands, in the order of the help. The arguments that every command takes are part of each. */
GigapixelCommandLine_EXPORT const std::vector<Command> & GetCommands();

/** Null where there is none of that name. */
GigapixelCommandLine_EXPORT const Command * FindCommand(const std::string & name);

/** Help for one command: usage, arguments with defaults, units and ranges, examples. */
GigapixelCommandLine_EXPORT std::string GetHelp(const Command & command);

/** Help for the program: its commands. */
GigapixelCommandLine_EXPORT std::string GetHelp();

/** The whole table as JSON, for front ends that are generated from it. */
GigapixelCommandLine_EXPORT std::string DescribeCommands();

/** "a, b or c"; for messages. */
GigapixelCommandLine_EXPORT std::string JoinWithOr(const std::vector<std::string> & words);

} // namespace gigapixel::commandline

#endif
