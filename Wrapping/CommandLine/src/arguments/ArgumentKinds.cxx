/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentKinds.h"

#include <utility>

namespace gigapixel::commandline
{
namespace
{
using Type = ArgumentType;
using Channel = ArgumentChannel;

// Headings of the help.
constexpr const char * Reading = "Slides";
constexpr const char * Window = "Sliding window";
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

Argument
SlideResolution()
{
  return Resolution("slide-mpp", "", "Resolution of level 0, where a file tells none or nonsense.")
    .Details("What a file tells holds, and is not to be contradicted.")
    .Group(Reading)
    .OfSlideFiles();
}

Argument
SlideImage()
{
  return OptionText("image", "N|NAME", "Image of a file with several. Default: the largest.")
    .Details("By its number or name; gigapixel info lists them. number:2 is a number where names are numbers, too.")
    .Group(Reading)
    .OfSlideFiles();
}

Argument
SlideFocalPlane()
{
  return OptionInteger("plane", "", 1, 65535, "Focal plane, by its number from the lowest.")
    .Words({ "middle", "max", "focus" })
    .Details("max: the maximum of all planes. focus: the sharpest pixels of them. With --image: a plane of that image. "
             "Without it: the plane nearest to the focus (SVS, NDPI), else the middle one.")
    .Group(Reading)
    .OfSlideFiles();
}

Argument
SlideChannel()
{
  return OptionText("channel", "N|NAME", "Channel of the slide.")
    .Details("By its name or its number from 1, a name first; gigapixel info lists them.")
    .Group(Reading)
    .OfSlideFiles()
    .Repeated();
}

Argument
SlideWindow(const std::string & several, const std::string & otherwise)
{
  Argument window{ "window", ArgumentType::Interval, "LOW,HIGH", "Values of channels that become 0 and 255." };
  return window.Words({ "auto" })
    .Details(
      "Values between are scaled, others cut. auto: the 0.1 and 99.9 percentile of each channel, on the coarsest "
      "level of a million pixels or more, the same for the whole slide. " +
      several + " Without it: " + otherwise + '.')
    .Group(Reading)
    .OfSlideFiles();
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
Level()
{
  return OneOf("level", Integer("level", "", 0, 63, "Pyramid level; 0 is the finest, and the default."))
    .Group(Reading)
    .OfSlideFiles();
}

Argument
LevelResolution()
{
  return OneOf("level", Resolution("mpp", "", "Resample to exactly this resolution."))
    .Details("Each pixel is the mean of its area.")
    .Group(Reading)
    .OfSlideFiles();
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
    .Group(Running);
}

Argument
Retry()
{
  return Switch("retry", "Try slides again that failed in an earlier run.")
    .Details(
      "Without it, a slide of failed.csv in the folder of results is tried again only if it or an option has changed, "
      "or if the machine was to blame: its disk, its memory.")
    .Group(Running)
    .DecidesNothing();
}

Argument
Replace()
{
  return Switch("overwrite", "Replace the output if it exists, which is an error without this.").Group(Running);
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
    .Group(Reading);
}

std::vector<Argument>
CommonArguments()
{
  Argument threads = Integer("threads", "0", 0, 4096, "Threads to use; 0: as many as there are cores.")
                       .Details("More are no faster. No result depends on it.")
                       .Group(Computing)
                       .DecidesNothing();
  Argument quiet =
    Switch("quiet", "No progress and no messages but warnings and errors.").Group(Running).DecidesNothing();
  quiet.shortName = 'q';
  Argument help = Switch("help", "Show the arguments, a line each; --help-all: with details and ranges.")
                    .Group(Running)
                    .DecidesNothing();
  help.shortName = 'h';
  return {
    threads,
    quiet,
    Switch("json", "Print the result on stdout as JSON; messages stay on stderr.").Group(Running).DecidesNothing(),
    help,
    Switch("help-all", "Show the arguments with details and ranges.").Group(Running).DecidesNothing()
  };
}

Argument
SlidingWindow()
{
  return Switch("sliding-window", "The network sees each patch by itself, not the whole slide.")
    .Details(
      "As MONAI and nnU-Net apply networks that were trained on patches of that size. The network pads at the borders "
      "of patches, and the logits of patches that overlap are blended. Of volumes as nnU-Net does it.")
    .Group(Window)
    .Formerly("semantics", "patch", "whole");
}

Argument
PatchSize()
{
  Argument side = Integer("patch", "512", 1, 8192, "Side of a patch, in pixels of the model's resolution.");
  side.unit = "px";
  return side
    .Details("A multiple of the network's stride. A slide that is smaller lies in the middle of it, on white. Of "
             "volumes in voxels, any side; without it the patches that the model "
             "was trained on.")
    .Group(Window)
    .Needs("sliding-window");
}

Argument
PatchOverlap()
{
  return Number("overlap", "0.25", 0, 0.95, "What neighboring patches share of a side.")
    .Details("Of volumes at least, 0.5 where it is not given.")
    .Group(Window)
    .Needs("sliding-window");
}

Argument
PatchBlending()
{
  return Choice("blending", { "gaussian", "constant" }, "gaussian", "Weights of a patch's pixels.")
    .Details("gaussian: a Gaussian around the patch's center (sigma an eighth of the side); constant: 1.")
    .Group(Window)
    .Needs("sliding-window");
}

Argument
Mirror()
{
  return Switch("mirror", "The mean over mirror images of each patch, four times as long.")
    .Details(
      "The mean of the logits of each patch and its three mirror images; of volumes along the axes that the model "
      "was trained with, or all three: eight times as long.")
    .Group(Window)
    .Needs("sliding-window");
}

} // namespace gigapixel::commandline
