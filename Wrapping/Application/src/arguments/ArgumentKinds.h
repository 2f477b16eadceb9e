/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ArgumentKinds_h
#define ArgumentKinds_h

#include "gigapixelArgument.h"

#include "gigapixelOptionTable.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

// The words that the table of commands is written in.
namespace gigapixel::application
{

GigapixelApplication_EXPORT Argument Slides(const std::string & description);

/** All that FindSlides() takes. */
GigapixelApplication_EXPORT Argument SlidesOfBatch();

GigapixelApplication_EXPORT Argument Slide(const std::string & description);

GigapixelApplication_EXPORT Argument InputFile(const std::string & name,
                                               const std::string & placeholder,
                                               const std::string & content,
                                               const std::string & text);

GigapixelApplication_EXPORT Argument OutputFile(const std::string & name,
                                                const std::string & placeholder,
                                                const std::string & content,
                                                const std::string & text);

GigapixelApplication_EXPORT Argument Output(const std::string & placeholder,
                                            const std::string & content,
                                            const std::string & text);

/** The options of a table, but for those that are named. */
template <typename TOptions>
std::vector<Argument>
OptionsOf(const std::vector<std::string> & without = {})
{
  std::vector<Argument> arguments;
  VisitOptions<TOptions>([&](const Option & option, auto) {
    if (std::find(without.begin(), without.end(), option.name) == without.end())
    {
      arguments.push_back(option);
    }
  });
  return arguments;
}

/** One of them. */
template <typename TOptions>
Argument
FindOption(const std::string & name)
{
  const std::vector<Argument> all = OptionsOf<TOptions>();
  return *std::find_if(all.begin(), all.end(), [&](const Argument & argument) { return argument.name == name; });
}

/** The arguments of all parts. */
GigapixelApplication_EXPORT std::vector<Argument> Join(const std::vector<std::vector<Argument>> & parts);

// Short names of what every table of options has.
inline constexpr auto & Switch = OptionSwitch;
inline constexpr auto & Choice = OptionChoice;
inline constexpr auto & Integer = OptionInteger;
inline constexpr auto & Number = OptionNumber;

/** Between 0.05 and 20 µm is what microscopes of slides give. */
GigapixelApplication_EXPORT Argument Resolution(const std::string & name,
                                                const std::string & value,
                                                const std::string & text);

/** The options of gigapixelSlideOptionList.h that are for every reader of slides' files, and for what else a command
 * reads. \param more what the command says of an option behind its details, by the option's name */
GigapixelApplication_EXPORT std::vector<Argument> SlideArguments(const std::vector<SlideReading> & readings = {},
                                                                 const std::map<std::string, std::string> & more = {});

/** The options of commands that see several channels as a picture. \param otherwise what is seen without a window */
GigapixelApplication_EXPORT std::vector<Argument> PictureArguments(
  std::vector<SlideReading> readings = {},
  const std::string & otherwise = "auto where channels are chosen, and where the slide is not gray or RGB of 8 bit");

GigapixelApplication_EXPORT Argument Required(Argument argument);

GigapixelApplication_EXPORT Argument OneOf(const std::string & alternative, Argument argument);

GigapixelApplication_EXPORT Argument Network();

/** Of commands that keep an output that was made in the same way. */
GigapixelApplication_EXPORT Argument Overwrite();

/** Of commands to which an output that exists is an error. */
GigapixelApplication_EXPORT Argument Replace();

/** The page that commands on many slides write. */
GigapixelApplication_EXPORT Argument ReportOfBatch();

/** The option of commands whose results of many slides go into a folder with records of them (BatchRecords). */
GigapixelApplication_EXPORT Argument Retry();

/** Of all commands that read pixels of slides. */
GigapixelApplication_EXPORT Argument Strict();

/** Those that every command takes. */
GigapixelApplication_EXPORT std::vector<Argument> CommonArguments();

} // namespace gigapixel::application

#endif
