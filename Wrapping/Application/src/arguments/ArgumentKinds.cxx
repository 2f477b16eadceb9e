/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentKinds.h"

#include "gigapixelSlideOptions.h"

#include <utility>

namespace gigapixel::application
{
namespace
{
using Type = ArgumentType;
using Channel = ArgumentChannel;

// Headings of the help.
constexpr const char * Reading = "Slides";
constexpr const char * Computing = "Computing";
constexpr const char * Running = "Running";

} // namespace

Argument
Slides(const std::string & description)
{
  Argument argument{ "SLIDE", Type::File, "", description };
  argument.channel = Channel::Input;
  argument.content = "slide";
  argument.required = true;
  argument.repeated = true;
  return argument;
}

Argument
SlidesOfBatch()
{
  return Slides("Slide files; or folders, patterns ('*.svs'), tables (CSV) or manifests of slides.")
    .Details(
      "In a folder, a DICOM series is one slide. A table has a column slide, with paths as seen from the table. A "
      "manifest is the manifest.json of a folder of results.");
}

Argument
ReportOfBatch()
{
  return OutputFile("report", "HTML", "report", "Write a page on all slides as well, as the command report does.")
    .OfSlides()
    .ForShells()
    .DecidesNothing();
}

Argument
Slide(const std::string & description)
{
  Argument argument = Slides(description);
  argument.repeated = false;
  return argument;
}

Argument
InputFile(const std::string & name,
          const std::string & placeholder,
          const std::string & content,
          const std::string & text)
{
  Argument argument{ name, Type::File, placeholder, text };
  argument.channel = Channel::Input;
  argument.content = content;
  return argument;
}

Argument
OutputFile(const std::string & name,
           const std::string & placeholder,
           const std::string & content,
           const std::string & text)
{
  Argument argument = InputFile(name, placeholder, content, text);
  argument.channel = Channel::Output;
  return argument;
}

Argument
Output(const std::string & placeholder, const std::string & content, const std::string & text)
{
  Argument argument = OutputFile("output", placeholder, content, text);
  argument.shortName = 'o';
  return argument;
}

Argument
Resolution(const std::string & name, const std::string & value, const std::string & text)
{
  Argument argument = Number(name, value, 0.05, 1000, text);
  argument.unit = "µm/px";
  return argument;
}

std::vector<Argument>
SlideArguments(const std::vector<SlideReading> & readings, const std::map<std::string, std::string> & more)
{
  std::vector<Argument> arguments;
  for (const Argument & argument : OptionsOf<SlideOptions>())
  {
    if (argument.reading == SlideReading::File ||
        std::find(readings.begin(), readings.end(), argument.reading) != readings.end())
    {
      const auto said = more.find(argument.name);
      arguments.push_back(said == more.end() ? argument : argument.Details(argument.details + said->second));
    }
  }
  return arguments;
}

std::vector<Argument>
PictureArguments(std::vector<SlideReading> readings, const std::string & otherwise)
{
  readings.push_back(SlideReading::Values);
  return SlideArguments(
    readings, { { "window", "Several channels are added up in their colors. Without it: " + otherwise + '.' } });
}

std::vector<Argument>
Join(const std::vector<std::vector<Argument>> & parts)
{
  std::vector<Argument> all;
  for (const std::vector<Argument> & part : parts)
  {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Argument
Required(Argument argument)
{
  argument.required = true;
  return argument;
}

Argument
OneOf(const std::string & alternative, Argument argument)
{
  argument.alternative = alternative;
  return argument;
}

Argument
Network()
{
  Argument network =
    OptionText("network", "NAME|FILE", "A preset, a JSON file, or a model's.")
      .Details(
        "Presets may have options (remedios2023, unet:base=32,depth=3; see gigapixel networks). A JSON file has "
        "layers or operations. Of a model (.safetensors, or a run's folder) the weights are not taken. A preset's "
        "name means the preset; a file of that name is meant by ./NAME. unet takes RGB and needs LibTorch; "
        "remedios2023 is gray, small and fast, and needs none. Without the option, train takes resnet18 where "
        "slides have labels and no masks, and of a run that is resumed the run's.")
      .Group("Network");
  network.defaultValue = "unet";
  return network;
}

Argument
Overwrite()
{
  return Switch("overwrite", "Replace outputs that exist.")
    .Details(
      "Without it, a whole output that was made of the same slide in the same way (it, or manifest.json of its folder, "
      "tells so) is kept and "
      "skipped, so that an interrupted batch goes on where it was; what was made otherwise is an error.")
    .Group(Running)
    .ForShells();
}

Argument
Retry()
{
  return Switch("retry", "Try slides again that failed in an earlier run.")
    .Details(
      "Without it, a slide of failed.csv in the folder of results is tried again only if it or an option has changed, "
      "or if the machine was to blame: its disk, its memory.")
    .Group(Running)
    .ForShells()
    .DecidesNothing();
}

Argument
Replace()
{
  return Switch("overwrite", "Replace the output if it exists, which is an error without this.")
    .Group(Running)
    .ForShells();
}

Argument
Strict()
{
  return Switch("strict", "Refuse slides with damaged parts, and do not only warn.")
    .Details(
      "A slide is refused of which a damaged JPEG tile is read: what was read is what is judged, which may be "
      "another level than the damaged one (gigapixel info --check reads all). Without it such a tile gives what "
      "pixels can be decoded, as in other programs; the first five are named in warnings, and the result tells how "
      "many there were. Refused, too, is a DICOM slide beside which a .dcm file lies that cannot be read, since it "
      "may be its finest level; without this it is named in a warning.")
    .Group(Reading)
    .OfImages();
}

std::vector<Argument>
CommonArguments()
{
  Argument threads = Integer("threads", "0", 0, 4096, "Threads to use; 0: as many as there are cores.")
                       .Details("More are no faster. No result depends on it.")
                       .Group(Computing)
                       .DecidesNothing();
  const auto forShells = [](const std::string & name, const std::string & text, char shortName = 0) {
    Argument argument = Switch(name, text).Group(Running).DecidesNothing().ForShells();
    argument.shortName = shortName;
    return argument;
  };
  return { threads,
           forShells("quiet", "No progress and no messages but warnings and errors.", 'q'),
           forShells("json", "Print the result on stdout as JSON; messages stay on stderr."),
           forShells("help", "Show the arguments, a line each; --help-all: with details and ranges.", 'h'),
           forShells("help-all", "Show the arguments with details and ranges.") };
}

} // namespace gigapixel::application
