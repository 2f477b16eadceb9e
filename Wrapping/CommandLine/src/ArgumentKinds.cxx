/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentKinds.h"

#include <utility>

namespace gigapixel::commandline
{
namespace
{
using Type = ArgumentType;
using Channel = ArgumentChannel;

Argument
Numeric(Type                type,
        const std::string & name,
        const std::string & value,
        double              least,
        double              most,
        const std::string & text)
{
  Argument argument{ name, type, type == Type::Integer ? "N" : "X", text, value };
  argument.minimum = least;
  argument.maximum = most;
  return argument;
}
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
ReportOfBatch()
{
  return OutputFile("report", "HTML", "report", "Write a page on all slides as well, as the command report does.");
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
Switch(const std::string & name, const std::string & text)
{
  return Argument{ name, Type::Switch, "", text };
}

Argument
Choice(const std::string & name, std::vector<std::string> choices, const std::string & value, const std::string & text)
{
  Argument argument{ name, Type::Choice, "NAME", text, value };
  argument.choices = std::move(choices);
  return argument;
}

Argument
Integer(const std::string & name, const std::string & value, double least, double most, const std::string & text)
{
  return Numeric(Type::Integer, name, value, least, most, text);
}

Argument
Number(const std::string & name, const std::string & value, double least, double most, const std::string & text)
{
  return Numeric(Type::Number, name, value, least, most, text);
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
  return Resolution(
    "slide-mpp",
    "",
    "Resolution of level 0, for slides whose file does not tell it or tells nonsense; what a file tells holds, and is "
    "not to be contradicted.");
}

Argument
SlideImage()
{
  return {
    "image", Type::Text, "N|NAME", "Image of a file with several, by number or name (see info). Default: the largest."
  };
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
  return OneOf("level", Integer("level", "", 0, 63, "Pyramid level by its number; 0 is the finest, and the default."));
}

Argument
LevelResolution()
{
  return OneOf("level",
               Resolution("mpp", "", "Resample to exactly this resolution: each pixel is the mean of its area."));
}

Argument
Network()
{
  return Argument{
    "network",
    Type::Text,
    "NAME|FILE.json",
    "The network: a preset, with options if it has some (remedios2023, unet:base=32,depth=3; see gigapixel "
    "networks), a JSON file of layers or operations, or a model (.safetensors, or a run's folder), whose network is "
    "taken without its weights. A preset's name means the preset; a file of that name is meant by ./NAME.",
    "remedios2023"
  };
}

Argument
ComputingDevice()
{
  Argument argument{ "device",
                     Type::Text,
                     "NAME",
                     "What computes: cpu; cuda or cuda:N, one of NVIDIA's GPUs; auto, one of those if there is one, "
                     "else the CPU (Apple's GPUs are not used). Last bits differ between devices." };
  argument.defaultValue = "cpu";
  return argument;
}

Argument
NumberPrecision()
{
  return Choice("precision",
                { "fp32", "tf32", "bf16", "fp16" },
                "fp32",
                "How maps, their gradients and weights are kept; sums stay fp32 or finer. Networks made of operations "
                "(unet, resnet18-unet, imported ones) are computed in fp32, or in bf16 with less time and memory where "
                "the CPU has instructions for that (AVX512-BF16, AMX), on a GPU also in tf32. Of chains of layers "
                "(remedios2023) bf16 and fp16 (with loss scaling) halve a GPU's maps; the CPU rounds alike, which "
                "saves it nothing.");
}

Argument
Memory()
{
  return Argument{
    "memory",
    Type::Memory,
    "BYTES",
    "Peak resident memory that the whole process may take, for instance 2G or 512M, which are powers of 1024 as the "
    "GiB and MiB that are told. It decides how much is in flight, which changes no result. Only where not even one "
    "tile fits, training and the segmentation of volumes make tiles smaller or divide the network in another way, "
    "which changes last bits, and say so; --tile-size is the same with any memory. Without it: what is free."
  };
}

Argument
Scratch()
{
  return InputFile(
    "scratch",
    "DIR",
    "folder",
    "Folder on a fast disk for maps that a network keeps while it goes over an image in segments; plan tells "
    "what room they take. It has to be there. Its files have no name, and nothing is left of them. Without it the maps "
    "lie in memory. Changes no result, unless there is not the memory for the same segments without it, which is "
    "said.");
}

Argument
TileSize(const std::string & otherwise)
{
  Argument argument =
    Integer("tile-size",
            "",
            8, // of a volume, 512 voxels
            65536,
            "Side of a tile's core, a multiple of the network's stride; image: each image (or region) "
            "in one piece, if there is memory for it. Changes last bits only. Without it: " +
              otherwise + '.');
  argument.placeholder = "N|image";
  argument.choices = { "image" };
  argument.unit = "px";
  return argument;
}

Argument
SharedMemory(const std::string & what)
{
  return Switch("shared-memory",
                what + ", in memory that CPU and GPU share and that may be more than the GPU has (on a CPU memory like "
                       "any other). Changes no result.");
}

Argument
Overwrite()
{
  return Switch(
    "overwrite",
    "Replace outputs that exist. Without it, a whole output that was made of the same slide in the same way "
    "(it tells so itself) is kept and skipped, so that an interrupted batch goes on where it was; what was "
    "made otherwise is an error.");
}

Argument
Replace()
{
  return Switch("overwrite", "Replace the output if it exists, which is an error without this.");
}

Argument
Strict()
{
  return Switch(
    "strict",
    "Refuse a slide of which a damaged JPEG tile is read: what was read is what is judged, which may be another "
    "level than the damaged one (gigapixel info --check reads all). Without it such a tile gives what pixels can be "
    "decoded, as in other programs; the first five are named in warnings, and the result tells how many there were. "
    "Refused, too, is a DICOM slide beside which a .dcm file lies that cannot be read, since it may be its finest "
    "level; "
    "without this it is named in a warning.");
}

std::vector<Argument>
CommonArguments()
{
  Argument threads =
    Integer("threads",
            "0",
            0,
            4096,
            "Threads to use; 0: as many as there are cores, and more are no faster. No result depends on it.");
  Argument quiet = Switch("quiet", "No progress and no messages but warnings and errors.");
  quiet.shortName = 'q';
  Argument help = Switch("help", "Show this help.");
  help.shortName = 'h';
  return { threads, quiet, Switch("json", "Print the result on stdout as JSON; messages stay on stderr."), help };
}

Argument
Semantics()
{
  return Choice(
    "semantics",
    { "whole", "patch" },
    "whole",
    "What the network sees: the whole slide, exactly, or each patch by itself, as a sliding window does "
    "(MONAI, nnU-Net), for networks that were trained on patches of that size. There, it pads at the "
    "borders of patches, and the logits of patches that overlap are blended. Of volumes as nnU-Net does it.");
}

Argument
PatchSize()
{
  Argument side =
    Integer("patch",
            "512",
            1,
            8192,
            "Side of a patch, a multiple of the network's stride, in pixels of the model's resolution. A "
            "slide that is smaller lies in the middle of it, on white. Of --semantics patch, as the next "
            "three. Of volumes in voxels, any side; without it the patches that the model was trained on.");
  side.unit = "px";
  return side;
}

Argument
PatchOverlap()
{
  return Number("overlap",
                "0.25",
                0,
                0.95,
                "What neighboring patches share of a side; of volumes at least, 0.5 where it is not given.");
}

Argument
PatchBlending()
{
  return Choice("blending",
                { "gaussian", "constant" },
                "gaussian",
                "The weight of a patch's pixel: a Gaussian around its center (sigma an eighth of the side), or 1.");
}

Argument
Mirror()
{
  return Switch(
    "mirror",
    "The mean of the logits of each patch and its three mirror images, which takes four times as long; of volumes "
    "along the axes that the model was trained with, or all three: eight times.");
}

} // namespace gigapixel::commandline
