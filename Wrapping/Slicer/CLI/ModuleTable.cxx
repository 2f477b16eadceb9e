/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentKinds.h"
#include "Module.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>

namespace gigapixel::slicer
{
using application::ArgumentChannel;

std::string
GetModuleName(const std::string & tableName)
{
  std::string name;
  bool        isCapital = false;
  for (const char letter : tableName)
  {
    if (letter == '-')
    {
      isCapital = true;
      continue;
    }
    const auto code = static_cast<unsigned char>(letter);
    name += static_cast<char>(isCapital ? std::toupper(code) : std::tolower(code));
    isCapital = false;
  }
  return name;
}

namespace
{

/** A form has a value in every field, so a number that may be missing needs one that means so. */
void
AddUnsetValue(Argument & argument)
{
  const bool hasZero = *argument.minimum <= 0;
  argument.defaultValue = hasZero ? "-1" : "0";
  argument.minimum = hasZero ? -1 : 0;
  argument.description += std::string(" ") + argument.defaultValue + ": not given.";
}

ModuleArgument
FromTable(const Argument & tableArgument)
{
  ModuleArgument result{ tableArgument, tableArgument.name, tableArgument.type };
  Argument &     argument = result.argument;
  argument.name = GetModuleName(argument.name);
  argument.description += argument.details.empty() ? "" : ' ' + argument.details; // a form has no longer help
  argument.shortName = 0;
  argument.repeated = false;
  // The command behind judges these, by what differs from the defaults.
  argument.alternative.clear();
  argument.needs.clear();
  argument.excludes.clear();
  switch (argument.type)
  {
    case ArgumentType::Switch:
      argument.type = ArgumentType::Choice;
      argument.choices = { "no", "yes" };
      argument.defaultValue = "no";
      break;
    case ArgumentType::Region:
      argument.type = ArgumentType::Text;
      argument.defaultValue = "-1,-1,-1,-1";
      argument.description +=
        " As left,top,width,height; -1,-1,-1,-1 is the whole slide. Slicer gives the center and the half sides of a "
        "region of interest in mm.";
      break;
    case ArgumentType::Interval:
      argument.type = ArgumentType::Text;
      argument.choices.clear();
      break;
    case ArgumentType::Integer:
    case ArgumentType::Number:
      if (!argument.choices.empty()) // a number's field takes no word
      {
        argument.type = ArgumentType::Text;
        argument.choices.clear();
        argument.minimum.reset();
        argument.maximum.reset();
        break;
      }
      if (argument.defaultValue.empty())
      {
        AddUnsetValue(argument);
      }
      break;
    default:
      break;
  }
  return result;
}

/** A module over a command, without the arguments that are for shells. */
Module
OverCommand(const std::string &          name,
            const std::string &          title,
            const std::string &          commandName,
            application::CommandFunction function)
{
  const Command & command = *application::FindCommand(commandName);
  Module          module{ name, title, command.description, commandName, {}, {}, function };
  for (const Argument & argument : command.arguments)
  {
    if (!argument.isForShells)
    {
      module.arguments.push_back(FromTable(argument));
    }
  }
  return module;
}

Argument &
Find(Module & module, const std::string & tableName)
{
  const auto found = std::find_if(module.arguments.begin(), module.arguments.end(), [&](const ModuleArgument & each) {
    return each.tableName == tableName;
  });
  if (found == module.arguments.end())
  {
    throw Refusal(Diagnostic("E-INTERNAL", "the command of " + module.name + " has no argument " + tableName));
  }
  return found->argument;
}

void
RenameOutput(Module & module, const std::string & name)
{
  Find(module, "output").name = name;
}

/** The segmentation comes first, the mask that it is made from is optional, and both have one meaning in all modules.
 */
void
AddSegmentation(Module & module)
{
  RenameOutput(module, "mask");
  Argument & mask = Find(module, "output");
  mask.required = false;
  mask.description = "Keep the mask too, as a pyramid TIFF (255 object, 0 background; class numbers for more than two "
                     "classes) at its full resolution.";
  Argument segmentation = application::OutputFile(
    "outputSegmentation", "FILE", "segmentation", "The result for Slicer: a segmentation (.seg.nrrd) in mm.");
  Argument level = application::Integer(
    "segmentationLevel",
    "-1",
    -1,
    63,
    "Level of the mask's pyramid that becomes the segmentation; 0 is the mask itself, each further one has half the "
    "sides. -1: the finest with no side above 4096 pixels, which Slicer shows without delay.");
  module.arguments.insert(module.arguments.begin() + 1, { segmentation, "", ArgumentType::File });
  module.arguments.insert(module.arguments.begin() + 2, { level, "", ArgumentType::Integer });
  module.results.push_back({ "objectFraction", "double", "Object's part of all pixels of the mask" });
  module.results.push_back({ "objectMm2", "double", "Object's area in mm2" });
  module.results.push_back({ "segmentationDownsample", "double", "Level-0 pixels per pixel of the segmentation" });
  module.results.push_back({ "segmentationMpp", "double", "Resolution of the segmentation in um/px" });
}

Module
SlideInfo()
{
  Module module = OverCommand("SlideInfo", "Slide Info", "info", RunSlideInfo);
  module.example = "--slide slide.svs --thumbnail slide.png";
  RenameOutput(module, "picture");
  const Argument thumbnail = application::OutputFile(
    "thumbnail", "FILE", "picture", "Write a picture (.png) of the whole slide, its longer side at most 512 pixels.");
  module.arguments.insert(module.arguments.begin() + 1, { thumbnail, "", ArgumentType::File });
  module.results = { { "vendor", "string", "Format" },
                     { "decoder", "string", "Read as" },
                     { "width", "integer", "Width in pixels" },
                     { "height", "integer", "Height in pixels" },
                     { "channels", "integer", "Channels" },
                     { "channelEntries", "string", "Names, colors and wavelengths of channels (JSON)" },
                     { "mpp", "double", "Resolution in um/px" },
                     { "spacingX", "double", "Pixel width in mm (1 where unknown)" },
                     { "spacingY", "double", "Pixel height in mm (1 where unknown)" },
                     { "magnification", "double", "Objective" },
                     { "widthMm", "double", "Width in mm" },
                     { "heightMm", "double", "Height in mm" },
                     { "levels", "string", "Levels (JSON)" },
                     { "associatedImages", "string", "Associated images (JSON)" },
                     { "warnings", "string", "Warnings (JSON)" } };
  return module;
}

Module
SlideRegion()
{
  Module module{
    "SlideRegion",
    "Slide Region",
    "Reads a slide, or a region of it, as a color volume in mm (LPS; the first row on top), or as a picture. A slide "
    "has no thickness: voxels are 1 mm deep so that views show them.",
    "",
    {},
    {},
    RunSlideRegion,
    "--slide slide.svs --region 20480,10240,4096,4096 --level 0 --volume region.nrrd"
  };
  Argument region{ "region", ArgumentType::Region, "X,Y,W,H", "Only this rectangle, in level-0 pixels." };
  Argument maximum = application::Integer("max-side",
                                          "8192",
                                          16,
                                          16384,
                                          "Longest side in pixels: Slicer keeps a volume whole in memory, and graphics "
                                          "cards take no textures beyond 16384. Without a level the finest one that "
                                          "fits is taken, shrunk where none does.");
  maximum.unit = "px";
  for (const Argument & argument : application::Join(
         { {
             application::Slide("Slide file."),
             application::OutputFile("volume", "FILE", "volume", "The pixels as a volume (.nrrd)."),
             application::OutputFile("picture", "FILE", "picture", "The pixels as a picture (.png), for a thumbnail."),
             application::Integer("level", "", 0, 63, "Pyramid level by its number; 0 is the finest."),
             application::Resolution("mpp", "", "Resample to exactly this resolution, instead of a level."),
             region,
             maximum,
           },
           application::PictureArguments(),
           { application::CommonArguments().front() } }))
  {
    module.arguments.push_back(FromTable(argument));
    module.arguments.back().tableName.clear();
  }
  module.results = { { "readLevel", "integer", "Level that was read" },
                     { "downsample", "double", "Level-0 pixels per pixel" },
                     { "width", "integer", "Width in pixels" },
                     { "height", "integer", "Height in pixels" } };
  return module;
}

Module
TissueLabel()
{
  Module module = OverCommand("TissueLabel", "Tissue Label", "label", RunTissueLabel);
  module.example = "--slide slide.svs --outputSegmentation slide.seg.nrrd";
  AddSegmentation(module);
  return module;
}

Module
Train()
{
  Module module = OverCommand("GigapixelUNetTrain", "Gigapixel U-Net Train", "train", RunTrain);
  module.example = "--cohort cohort.csv --run run --epochs 20";
  RenameOutput(module, "run");
  module.results = { { "epochsDone", "integer", "Epochs done", "epochs" },
                     { "lastLoss", "double", "Loss of the last epoch", "loss" },
                     { "validationLoss", "double", "Validation loss of the last epoch" },
                     { "validationDice", "double", "Validation Dice of the last epoch" },
                     { "bestEpoch", "integer", "Best epoch" },
                     { "bestValidationLoss", "double", "Best validation loss" },
                     { "bestValidationDice", "double", "Its Dice" },
                     { "estimatedPeakBytes", "double", "Estimated peak memory in bytes" },
                     { "peakBytes", "double", "Measured peak memory in bytes" } };
  return module;
}

Module
Segment()
{
  Module module = OverCommand("GigapixelUNetSegment", "Gigapixel U-Net Segment", "segment", RunSegment);
  module.example = "--slide slide.svs --outputSegmentation slide.seg.nrrd";
  Argument & model = Find(module, "model");
  model.required = false;
  model.defaultValue = "tissue";
  model.description = "A model (.safetensors), such as best.safetensors of a training run. Without it the ready model "
                      "that comes with the program: tissue from glass, at 0.5 um/px.";
  AddSegmentation(module);
  module.results.push_back({ "estimatedPeakBytes", "double", "Estimated peak memory in bytes" });
  module.results.push_back({ "peakBytes", "double", "Measured peak memory in bytes" });
  return module;
}

void
Keep(Module & module, const std::set<std::string> & tableNames)
{
  auto & arguments = module.arguments;
  arguments.erase(std::remove_if(arguments.begin(),
                                 arguments.end(),
                                 [&](const ModuleArgument & each) { return tableNames.count(each.tableName) == 0; }),
                  arguments.end());
}

/** The same command on volumes that Slicer has loaded, one for each modality. */
Module
SegmentVolume()
{
  Module module = OverCommand("GigapixelVolumeSegment", "Gigapixel Volume Segment", "segment", RunSegmentVolume);
  module.description =
    "Segments a whole volume with a network for volumes, exactly, in the memory that you allow. Values are "
    "normalized as the network wants them, by the volume itself.";
  module.example = "--volume t1.nii.gz --model brain.safetensors --outputSegmentation brain.seg.nrrd";
  Keep(module, { "SLIDE", "model", "output", "threshold", "memory", "tile-size", "scratch", "device", "threads" });
  Argument & volume = Find(module, "SLIDE");
  volume.name = "volume";
  volume.content = "scan";
  volume.description = "The volume, of networks for several modalities the first one.";
  Argument & output = Find(module, "output");
  output.name = "outputSegmentation";
  output.content = "segmentation";
  output.description =
    "The result for Slicer: a segmentation (.seg.nrrd) with a segment for each class that was found.";
  Find(module, "model").description = "A model for volumes (.safetensors), such as best.safetensors of a training run.";
  for (int number = MostModalities; number > 1; --number)
  {
    Argument modality = volume;
    modality.name += std::to_string(number);
    modality.required = false;
    modality.description = "The volume of modality " + std::to_string(number) + ", on the same grid.";
    module.arguments.insert(module.arguments.begin() + 1, { modality, "", ArgumentType::File });
  }
  module.results = { { "classes", "string", "Milliliters of each class that was found (JSON)" },
                     { "estimatedPeakBytes", "double", "Estimated peak memory in bytes" },
                     { "peakBytes", "double", "Measured peak memory in bytes" } };
  return module;
}

/** The map is a volume, and the table may be left out. */
Module
Classify()
{
  Module module = OverCommand("GigapixelClassify", "Gigapixel Classify", "classify", RunClassify);
  module.example = "--slide slide.svs --model best.safetensors --map map.nrrd";
  RenameOutput(module, "table");
  Argument & table = Find(module, "output");
  table.required = false;
  table.description = "Keep the probabilities as a table, too (.csv).";
  Argument & map = Find(module, "maps");
  map.name = "map";
  map.content = "map";
  map.description =
    "What the label comes from, as a volume of floats (.nrrd) in mm: attention, of networks that pool by "
    "it, else the activation of a class (grad-CAM). Takes twice the time.";
  for (const char * const name : { "cohort", "per-patient" }) // of many slides
  {
    module.arguments.erase(std::find_if(module.arguments.begin(),
                                        module.arguments.end(),
                                        [&](const ModuleArgument & each) { return each.tableName == name; }));
  }
  module.results = { { "predicted", "string", "Most probable class, or grade, or the findings; none of values" },
                     { "probability", "double", "Its probability; none of findings and values" },
                     { "probabilities", "string", "Of all classes, findings or grades, or the values (JSON)" },
                     { "mapKind", "string", "What the map shows: activation or attention" },
                     { "activatedClass", "string", "Class whose activation the map shows" },
                     { "mapGreatest", "double", "Greatest value of the map" },
                     { "mapDownsample", "double", "Level-0 pixels per value of the map" },
                     { "estimatedPeakBytes", "double", "Estimated peak memory in bytes" },
                     { "peakBytes", "double", "Measured peak memory in bytes" } };
  return module;
}
} // namespace

Command
Module::GetCommand() const
{
  Command command{ name, title, description, {}, { name + " " + example } };
  for (const ModuleArgument & each : arguments)
  {
    command.arguments.push_back(each.argument);
  }
  command.arguments.push_back(
    application::OutputFile("returnparameterfile", "FILE", "text", "Where the results are written, name = value."));
  for (const Argument & argument : application::CommonArguments())
  {
    if (!command.Find(argument.name))
    {
      command.arguments.push_back(argument);
    }
  }
  return command;
}

const std::vector<Module> &
GetModules()
{
  static const std::vector<Module> modules = [] {
    std::vector<Module> all{
      SlideInfo(), SlideRegion(), TissueLabel(), Train(), Segment(), SegmentVolume(), Classify()
    };
    for (Module & module : all)
    {
      const Argument messages =
        application::Choice("messages",
                            { "text", "json" },
                            "text",
                            "How errors and warnings are written: as sentences, or as lines of JSON.");
      module.arguments.push_back({ messages, "", ArgumentType::Choice });
    }
    return all;
  }();
  return modules;
}

const Module *
FindModule(const std::string & name)
{
  const auto & modules = GetModules();
  const auto   found =
    std::find_if(modules.begin(), modules.end(), [&name](const Module & module) { return module.name == name; });
  return found == modules.end() ? nullptr : &*found;
}

} // namespace gigapixel::slicer
