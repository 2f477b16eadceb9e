/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Module_h
#define Module_h

#include "gigapixelProgram.h"

#include "itkWholeSlideImageIO.h"

#include <string>
#include <vector>

namespace gigapixel::slicer
{
using application::Argument;
using application::ArgumentType;
using application::ArgumentValues;
using application::Command;
using application::Session;

/** An argument of a module, in the terms of Slicer's command-line modules: names without dashes, a value for everything
 * (the graphical form always gives one), enumerations instead of switches. */
struct ModuleArgument
{
  Argument     argument;                   ///< as the module parses it
  std::string  tableName{};                ///< in the command of `gigapixel` behind it; empty: the module's own
  ArgumentType type{ ArgumentType::Text }; ///< in that command
};

/** A number that a module returns (`--returnparameterfile`): a member of the command's JSON result. */
struct ModuleResult
{
  std::string name;
  std::string type; ///< "integer", "double" or "string"
  std::string label;
  std::string key{}; ///< in the JSON result, where an argument has that name already; empty: the name
};

/** A command-line module: one command of `gigapixel` as Slicer and slicer_cli_web know it. */
struct Module
{
  std::string                  name;
  std::string                  title;
  std::string                  description;
  std::string                  commandName; ///< of `gigapixel`; empty: the module does its own work
  std::vector<ModuleArgument>  arguments;
  std::vector<ModuleResult>    results;
  application::CommandFunction function;
  std::string                  example{}; ///< arguments of a useful call, for the help

  /** The module's arguments, for parsing and help. */
  Command GetCommand() const;
};

/** Volumes that a form takes for one patient. */
constexpr int MostModalities = 4;

/** SlideInfo, SlideRegion, TissueLabel, GigapixelUNetTrain, GigapixelUNetSegment, GigapixelVolumeSegment,
 * GigapixelClassify. */
const std::vector<Module> & GetModules();

/** "slide-mpp" becomes "slideMpp", "SLIDE" becomes "slide": Slicer takes letters and digits only. */
std::string GetModuleName(const std::string & tableName);

/** Null where there is none of that name. */
const Module * FindModule(const std::string & name);

/** The module's description as Slicer's Execution Model wants it. */
std::string GetXML(const Module & module);

/** The command line of the `gigapixel` command behind the module. What stands at its default is left out, so that only
 * what the user chose can contradict itself.
 * \param replaced arguments of the command that get other values than the user's (outputs)
 * \throw UsageError a region that is none */
std::vector<std::string> MakeCommandLine(const Module &                             module,
                                         const ArgumentValues &                     values,
                                         const std::map<std::string, std::string> & replaced);

/** The module's slide, with the resolution that the user states, if any; level 0 is selected.
 * \throw Refusal, itk::ExceptionObject the file cannot be read as a slide */
itk::WholeSlideImageIO::Pointer OpenSlide(const ArgumentValues & values);

/** `left,top,width,height` in pixels of level 0 of the module's argument "region": given so (-1,-1,-1,-1 is the whole
 * slide: empty), or as center and half sizes in mm (LPS) as Slicer gives a region of interest.
 * \throw UsageError neither */
std::string GetRegionInPixels(const ArgumentValues & values);

/** Refuses, before any work, outputs that would destroy something or cannot be written: one that is an input's file or
 * another output's, that is no file (a folder, a device), or whose folder is not there; and names that belie what is
 * written. \throw Refusal, UsageError */
void CheckOutputs(const Module & module, const ArgumentValues & values);

/** The whole slide as a PNG, its longer side at most 512 pixels. */
void WriteThumbnail(const ArgumentValues & values, const std::string & file);

/** A module's whole program. */
int RunModule(const std::string & name, const std::vector<std::string> & words);

int RunSlideInfo(const ArgumentValues & values, const Session & session);
int RunSlideRegion(const ArgumentValues & values, const Session & session);
int RunTissueLabel(const ArgumentValues & values, const Session & session);
int RunTrain(const ArgumentValues & values, const Session & session);
int RunSegment(const ArgumentValues & values, const Session & session);
int RunSegmentVolume(const ArgumentValues & values, const Session & session);
int RunClassify(const ArgumentValues & values, const Session & session);

} // namespace gigapixel::slicer

#endif
