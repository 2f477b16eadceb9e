/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ArgumentKinds_h
#define ArgumentKinds_h

#include "gigapixelArgument.h"

#include <string>
#include <vector>

// The words that the table of commands is written in.
namespace gigapixel::commandline
{

Argument Slides(const std::string & description);

Argument Slide(const std::string & description);

Argument InputFile(const std::string & name,
                   const std::string & placeholder,
                   const std::string & content,
                   const std::string & text);

Argument OutputFile(const std::string & name,
                    const std::string & placeholder,
                    const std::string & content,
                    const std::string & text);

Argument Output(const std::string & placeholder, const std::string & content, const std::string & text);

Argument Switch(const std::string & name, const std::string & text);

Argument Choice(const std::string &      name,
                std::vector<std::string> choices,
                const std::string &      value,
                const std::string &      text);

Argument Integer(const std::string & name,
                 const std::string & value,
                 double              least,
                 double              most,
                 const std::string & text);

Argument Number(const std::string & name,
                const std::string & value,
                double              least,
                double              most,
                const std::string & text);

/** Between 0.05 and 20 µm is what microscopes of slides give. */
Argument Resolution(const std::string & name, const std::string & value, const std::string & text);

Argument SlideResolution();

Argument Required(Argument argument);

Argument OneOf(const std::string & alternative, Argument argument);

Argument Level();

Argument LevelResolution();

Argument Network();

Argument Memory();

Argument TileSize();

Argument Overwrite();

/** Those that every command takes. */
std::vector<Argument> CommonArguments();

} // namespace gigapixel::commandline

#endif
