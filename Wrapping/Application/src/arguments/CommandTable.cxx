/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentKinds.h"
#include "SlideCommandTable.h"
#include "itkGigapixelVolumeFormats.h"
#include "gigapixelClassificationOptions.h"
#include "gigapixelComputingOptions.h"
#include "gigapixelJoinNames.h"
#include "gigapixelLearningOptions.h"
#include "gigapixelLossOptions.h"
#include "gigapixelObjective.h"
#include "gigapixelPatchOptions.h"
#include "gigapixelSegmentationOptions.h"
#include "gigapixelSlideOptions.h"

#include <utility>

namespace gigapixel::application
{
namespace
{
using Type = ArgumentType;

/** "auto" and the names of all kinds. */
std::vector<std::string>
NameObjectives()
{
  std::vector<std::string> names{ "auto" };
  for (const ObjectiveKind * const kind : ObjectiveKind::GetAll())
  {
    names.push_back(kind->name);
  }
  return names;
}

/** "classes (label), findings (label:NAME)" and so on */
std::string
DescribeObjectives()
{
  std::vector<std::string> texts;
  for (const ObjectiveKind * const kind : ObjectiveKind::GetAll())
  {
    texts.push_back(kind->Describe());
  }
  return JoinNames(texts);
}

Command
Info()
{
  return {
    "info",
    "what a slide file, or a model, holds",
    "Shows format, decoder, pyramid levels, resolution, physical size, associated images and warnings of slides. Of "
    "models (a .safetensors file, a run's folder, or the name of a preset or ready model): operations, parameters, "
    "channels, classes, what pixels become, the multiple that images are padded to, halo, and where the network comes "
    "from.",
    Join({ { Slides("Slide files, or folders of slides; models; volumes.")
               .Details("In a folder, a DICOM series is one slide. Volumes are " + itk::GigapixelNameVolumeFormats() +
                        " files.") },
           SlideArguments(),
           { OptionText("associated", "NAME", "Save this associated image (label, macro, thumbnail) to --output.")
               .OfSlideFiles()
               .Needs("output"),
             Output("PNG", "picture", "Where the associated image goes.").OfSlideFiles().Needs("associated"),
             Switch("check", "Decode all tiles of all levels, and tell how many are damaged.")
               .Details(
                 "Exit code 1 if any cannot be decoded (or, with --strict, is damaged). All are counted, five named.")
               .OfImages(),
             Strict(),
             Replace() } }),
    { "gigapixel info slide.svs",
      "gigapixel info slides/ --json",
      "gigapixel info nuclei.safetensors",
      "gigapixel info slide.svs --check",
      "gigapixel info slide.svs --associated macro -o macro.png" }
  };
}

/** What a network is shown of slides. \param window what values are without one \param tissue what becomes of what is
 * no tissue */
std::map<std::string, std::string>
DescribeInput(const std::string & channel, const std::string & window, const std::string & tissue = {})
{
  return { { "channel", channel },
           { "window", "The network gets as many channels as are named. Without it: " + window + '.' },
           { "tissue", tissue } };
}

constexpr const char * AsStored = "values as they are stored, of 8 bit";

/** The same of commands with a model. */
std::vector<Argument>
SlidesForModel(const std::string & tissue)
{
  std::vector<Argument> arguments =
    SlideArguments({ SlideReading::Values, SlideReading::Tissue },
                   DescribeInput(" Without it: those that the model was trained on, found by their names, else all.",
                                 std::string("those of the model's training, else ") + AsStored,
                                 tissue));
  Argument level = FindOption<SlideOptions>("level").Details(
    "Without it: the level of the model's resolution (10 % allowed), else pixels are resampled to it.");
  level.description = "Pyramid level, for slides or models of unknown resolution.";
  level.alternative.clear();
  arguments.insert(arguments.begin(), level);
  return arguments;
}

/** What a run's folder does not say. */
std::string
NameGivenAgain()
{
  std::vector<std::string> names{ "--cohort", "--objective" };
  for (const Argument & argument : OptionsOf<SlideOptions>())
  {
    names.push_back(argument.GetDisplayName());
  }
  return JoinNames(names);
}

Command
Train()
{
  return {
    "train",
    "a network on whole slides",
    "Trains a network on whole slides, one slide a step, exactly, in the memory that you allow. With masks it trains "
    "networks that label pixels, with one label for each slide those that label images; in place of a slide a region "
    "may stand. The run folder gets best.safetensors, last.safetensors and history.csv after each epoch.",
    Join(
      { {
          Required(InputFile("cohort", "CSV", "table", "Table with the columns slide, split, and mask or label."))
            .Details(
              "split is train, validation or test. If wanted, region (x,y,width,height in level-0 pixels) and patient "
              "(none is in two splits). label is the class of the whole slide, by a name, for networks that label "
              "images; without masks and --network resnet18 is taken. In place of label other truths of whole slides: "
              "label:NAME for each of several findings (1: there, 0: not, empty: not known), grade (a whole number), "
              "or value:NAME for each of several values (a number, with its unit in the name if you like). Paths are "
              "relative to the table's folder; where the table is a link, to the link's folder or to that of the "
              "table. Masks are pyramids, PNG, MetaImage or NRRD, such as a segmentation of 3D Slicer (.seg.nrrd; "
              "label values are classes)."),
          Required(Output("RUN", "folder", "Folder of this run.")),
          Switch("resume", "Go on with the run that the folder holds, or begin it.")
            .Sets("Resume")
            .Details(
              "With the same slides, masks and regions, from whatever folder and by whatever paths: they are known by "
              "what is in the files. To be given again, where they were, are " +
              NameGivenAgain() +
              ". All others that decide on the result, such as --network, "
              "--loss, --weights, "
              "--optimizer, --jitter or --seed, are the run's and may be left out; other values are refused. New ones "
              "may have --epochs (but those of the schedule cosine), --early-stopping, --device, --memory, --threads, "
              "--scratch and --shared-memory. Where there is no run yet, one begins, which is said: a script may "
              "always give --resume."),
        },
        SlideArguments(
          { SlideReading::Resolution, SlideReading::Values, SlideReading::Tissue },
          DescribeInput(
            " All slides have the same names for them. The model keeps "
            "names and window, and finds the channels of other slides by their names.",
            AsStored,
            "it takes no part in the loss of networks that label pixels, nor in what those pool that label images.")),
        { Choice("objective", NameObjectives(), "auto", "What is learnt of whole slides.")
            .Details("Where the table has several kinds: columns of " + DescribeObjectives() +
                     ". auto: classes "
                     "where there is the column label or mask, else the only kind that there is.")
            .Group("Slides"),
          Integer("folds", "", 2, 100, "Cross-validation with so many folds.")
            .Details(
              "Of networks that label images. The slides of the split train (all, where there is no column split) are "
              "dealt out to so many folds, "
              "those of a patient to one, each label evenly, by a rule that depends on names alone. For each fold a "
              "network is trained on the others, in RUN/fold-1 and so on, and says what it makes of the slides that "
              "were held back; together that is RUN/predictions.csv, which evaluate takes. Slides of the split "
              "validation validate in each. With --resume, finished folds are kept.")
            .Group("Slides"),
          Integer("fold", "", 1, 100, "Only this fold, for other processes to do the others.")
            .Group("Slides")
            .Needs("folds"),
          Network().Sets("Network") },
        OptionsOf<LossOptions>(),
        OptionsOf<ComputingOptions>(),
        { Strict() },
        OptionsOf<LearningOptions>() }),
    { "gigapixel train --cohort cohort.csv -o run --epochs 20 --memory 2G",
      "gigapixel train --cohort cohort.csv -o run --epochs 40 --resume",
      "gigapixel train --cohort labels.csv -o study --network resnet18 --balance --folds 5 --resume",
      "gigapixel train --cohort findings.csv -o run --network resnet18 --objective findings",
      "gigapixel train --cohort cohort.csv -o run --optimizer sgd --learning-rate 0.05 --weight-decay 1e-4",
      "gigapixel train --cohort cohort.csv -o run --epochs 40 --learning-rate-schedule cosine --warmup 10" }
  };
}

Command
Segment()
{
  const Argument region =
    Argument{ "region", Type::Region, "X,Y,W,H", "Only this rectangle: x, y, width and height in level-0 pixels." }
      .Unit("px")
      .Details("As far as the slide reaches. The mask has its size.")
      .Group("Slides")
      .OfSlides();
  return {
    "segment",
    "slides with a trained network",
    "Applies a trained network to whole slides and writes mask pyramids at the resolution that it was trained at: 255 "
    "where the probability reaches the threshold, else 0 (class numbers for more than two classes). Slides have as "
    "many channels as the network takes, of 8 bits; color is made gray where it takes one. Models for volumes write "
    "volumes of class numbers, with the place in the patient that the input has.",
    Join(
      { { Slides("Slide files, folders, patterns ('*.svs'), tables or manifests; or volumes.")
            .Details(
              "In a folder, a DICOM series is one slide. A table has a column slide, with paths as seen from the "
              "table. A "
              "manifest is the manifest.json of a folder of results. Volumes, for a model for volumes, are " +
              itk::GigapixelNameVolumeFormats() +
              " files, or folders of "
              "them; the files of several modalities are joined by commas (flair.nii.gz,t1.nii.gz), in the network's "
              "order."),
          Required(
            InputFile("model", "NAME|RUN|FILE", "model", "A ready model, a run's folder, or a .safetensors file."))
            .Details("A ready model is tissue (tissue from glass, at 0.5 µm/px). Of a run its best weights are taken."),
          Required(Output("OUT", "label", "The mask of one slide, or a folder for those of several."))
            .Details("A .tif file for one slide (.ome.tif: OME-TIFF); a folder (for several slides or a folder of "
                     "them, or ending "
                     "in /) that gets SLIDE-NAME.pyramid.tif for each. Of volumes: " +
                     itk::GigapixelNameLabelEndings() +
                     ", in a folder NAME.nii.gz; "
                     "what exists is an error without --overwrite."),
          OutputFile("probability", "FILE", "probability", "Write the probabilities, too, as a pyramid; 255 is 1.")
            .Details("The same rules as for --output.")
            .OfSlides() },
        OptionsOf<SegmentationOptions>(),
        SlidesForModel("it becomes 0."),
        { region },
        OptionsOf<ComputingOptions>(),
        OptionsOf<PatchOptions>(),
        { ReportOfBatch(), Strict(), Retry(), Overwrite() } }),
    { "gigapixel segment slide.svs --model tissue -o slide.mask.tif",
      "gigapixel segment slides/ --model run -o masks/ --memory 2G",
      "gigapixel segment slides/ --model run -o masks/ --tissue tissue/",
      "gigapixel segment slide.svs --model run -o mask.tif --sliding-window --patch 256 --mirror",
      "gigapixel segment t1.nii.gz --model brain.safetensors -o labels.nii.gz --memory 4G",
      "gigapixel segment t1.nii.gz --model nnunet.safetensors -o labels.nii.gz --sliding-window --mirror" }
  };
}

Command
Classify()
{
  return {
    "classify",
    "slides with a trained network that labels images",
    "Says of whole slides which class they are of, and how probable each class is, with a network that was trained on "
    "one label for each slide (train, with the column label). The table has a row for each slide: its file, its most "
    "probable class, and the probability of each class (p_CLASS). With a network that was trained on other truths: the "
    "probability of each finding (p_label:NAME), the grade (predicted_grade) and the probability of each "
    "(p_grade:GRADE), or the values (predicted_value:NAME). A batch that was interrupted goes on where it was when it "
    "is "
    "started again.",
    Join(
      { {
          SlidesOfBatch(),
          Required(InputFile(
            "model", "RUN|FILE", "model", "A training run's folder (its best weights) or a .safetensors file.")),
          Required(Output("CSV", "table", "The table, a .csv file.")),
          InputFile("cohort", "CSV", "table", "Table with patients or truths of the slides, which the output then has.")
            .Details("Columns slide and patient or label, or the other truths that train takes. Slides are known by "
                     "the ends of their paths."),
          OutputFile("per-patient", "CSV", "table", "A table with a row for each patient of --cohort.")
            .Details("The means of the probabilities, or values, of all slides."),
        },
        SlidesForModel("the label is made of the tissue alone. Give masks where the model was trained with masks, and "
                       "none where it was not."),
        { OutputFile("maps", "FOLDER", "folder", "Show what each label comes from: maps and pictures.")
            .Details("For each slide a map, SLIDE-NAME.pyramid.tif, floats on a coarse grid in mm, and a picture of "
                     "the slide in its colors, SLIDE-NAME.png. For networks that pool by attention it is the "
                     "attention, for others the class activation (grad-CAM). Takes twice the time.") },
        OptionsOf<ClassificationOptions>(),
        OptionsOf<ComputingOptions>({ "shared-memory", "scratch" }),
        { ReportOfBatch(), Strict(), Replace() } }),
    { "gigapixel classify slides/ --model run -o predictions.csv",
      "gigapixel classify slides/ --model run -o slides.csv --cohort cohort.csv --per-patient patients.csv",
      "gigapixel classify slide.svs --model run -o slide.csv --tissue slide.pyramid.tif",
      "gigapixel classify slides/ --model run -o predictions.csv --maps maps/" }
  };
}

Command
Features()
{
  return {
    "features",
    "vectors that a network makes of slides",
    "Writes what a network that labels images makes of slides before its last layers of neurons: a vector for each "
    "position of the map that it pools last (every 32 pixels for ResNets), and the one that they are pooled to, each "
    "seeing exactly what the whole slide shows it. For each slide an HDF5 file as TRIDENT and CLAM read it: features "
    "(a "
    "row for each position), coords (x and y, at level 0, of the square that it stands for), and slide_features.",
    Join({ {
             SlidesOfBatch(),
             Required(InputFile(
               "model", "RUN|FILE", "model", "A training run's folder (its best weights) or a .safetensors file.")),
             Required(Output("OUT", "features", "The vectors of one slide, or a folder for those of several.")
                        .Details("An .h5 file for one slide; a folder (for several slides or a folder of them, or "
                                 "ending in /) that gets SLIDE-NAME.h5 for each.")),
           },
           SlidesForModel("only positions of tissue are written."),
           OptionsOf<ComputingOptions>({ "shared-memory", "scratch" }),
           { Strict(), Retry(), Overwrite() } }),
    { "gigapixel features slides/ --model run -o features/ --tissue masks/",
      "gigapixel features slide.svs --model resnet50.safetensors -o slide.h5" }
  };
}

Command
Plan()
{
  Argument slide = Slide("Slide file; for a network for volumes a volume's, as segment takes it.");
  slide.required = false;
  slide.alternative = "image";
  Argument size{ "size", Type::Box, "WxH|WxHxD", "Sides of an image, or of a volume, instead of a slide." };
  size.unit = "px";
  size.alternative = "image";
  return { "plan",
           "memory that a slide will take",
           "Shows for training and inference what a slide would take before anything is started, in tiles, from shared "
           "memory and in one piece: tiles, their number, estimated peak memory of the process. With networks of wide "
           "halos training, and segmentation of volumes, is in segments: which maps are kept between them, and what "
           "room these take, is said, too.",
           Join({ { slide, size, Network() },
                  SlideArguments({ SlideReading::Resolution, SlideReading::Values }, DescribeInput("", AsStored)),
                  { FindOption<LossOptions>("loss"), FindOption<LearningOptions>("freeze") },
                  OptionsOf<PatchOptions>({ "blending" }),
                  OptionsOf<ComputingOptions>({ "device", "shared-memory" }),
                  { Switch("measure", "Shows the time, too, by computing a small image.") } }),
           { "gigapixel plan slide.svs --memory 2G",
             "gigapixel plan --size 16000x64000 --json",
             "gigapixel plan --size 240x240x155 --network unet3d:channels=4,classes=4 --memory 4G" } };
}

Command
Networks()
{
  Argument network{ "NETWORK", Type::Text, "", "A preset, a JSON file or a model. Without it, all presets." };
  network.details = "A preset with options, if it has some: unet:base=32,depth=3.";
  return {
    "networks",
    "networks that there are, and what they cost",
    "Lists the presets that --network takes, with their options, and shows of each, or of the one that is named: "
    "parameters, multiply-adds for a pixel of the slide, halo and stride, channels and classes, and the memory "
    "that the maps of a tile take, in training and inference.",
    { OneOf("what", network),
      OneOf("what", Switch("operations", "List the operations that a network file may have, in place of networks.")) },
    { "gigapixel networks",
      "gigapixel networks unet:base=32,depth=3",
      "gigapixel networks mine.json --json",
      "gigapixel networks --operations" }
  };
}

Command
Import()
{
  const Argument name{ "name", Type::Text, "NAME", "Name of the network. Without it its own." };
  const Argument logits =
    OptionText("logits", "NAME", "Which of several outputs of an ONNX file has the logits. Without it: the first.")
      .Excludes({ "weights" });
  const Argument mean =
    OptionNumbers("mean", "M0,M1,...", "Means of the pixels that it takes, for each channel. Without it 0.")
      .Details("As shares of 255; of volumes and normalized slides in the units of their values.")
      .Needs("deviation");
  const Argument deviation =
    OptionNumbers("deviation", "D0,D1,...", "Standard deviations: input is (pixel / 255 - mean) / deviation.")
      .Needs("mean");
  Argument orientation{
    "orientation", Type::Text, "LETTERS|stored", "Of volumes: sides of the patient that x, y and z pointed to."
  };
  orientation.details = "In training, such as RAS. Volumes are brought to it, and labels back. stored: it took them as "
                        "their files have them. Without it: not known.";
  return {
    "import",
    "a network that was trained elsewhere",
    "Takes over a network with its weights from an ONNX file, as PyTorch, TensorFlow, MATLAB and others write it, as a "
    "model for segment, and for train to begin with. It is computed exactly, in tiles, on images of any size. Batch "
    "norms keep their statistics (see --norms), dropout is left out, and so is a sigmoid or softmax over classes at "
    "the end. Several "
    "inputs become one image with their channels behind each other. What labels whole images by the mean of its maps "
    "is a model for classify. What cannot be taken over is refused with the list of its operations that are missing, "
    "or see the whole image where nothing computes that yet.",
    { Required(InputFile(
        "NETWORK", "", "network", "The network, an .onnx file; with --weights a preset, a JSON file or a model.")),
      Required(Output("MODEL", "model", "The model, a .safetensors file.")),
      InputFile("weights", "FILE", "weights", "All weights of the network, by name and shape.")
        .Details("A model, a PyTorch module's state_dict as torch.save writes it (.pth, .pt, .th; nothing in it is "
                 "run), or a safetensors file."),
      FindOption<LearningOptions>("weights-set"),
      name,
      logits,
      mean,
      deviation,
      Resolution("mpp", "", "Resolution of the pixels that it was trained on. Without it: unknown."),
      Integer("tile-size", "", 8, 65536, "Side of a tile's core, up to a multiple of the stride.")
        .Details("Without it: 1024, of networks for volumes 64."),
      orientation,
      Choice("axis-order", { "zyx", "xyz" }, "zyx", "Of volumes: what depth, height and width of the network are.")
        .Details("zyx: as in arrays of SimpleITK and nnU-Net; xyz: as in those of nibabel and MONAI."),
      Choice("norms", { "frozen", "image" }, "frozen", "What becomes of batch norms that keep statistics.")
        .Details(
          "frozen: they take those, in training, too, as in PyTorch's eval(). image: each channel takes those of the "
          "whole slide or volume, exactly, in passes over it, as PyTorch's norms in training do of a batch of one."),
      Replace() },
    { "gigapixel import nuclei.onnx -o nuclei.safetensors --mpp 0.5",
      "gigapixel import mine.json --weights mine.pth -o mine.safetensors",
      "gigapixel import nuclei.onnx -o nuclei.safetensors --norms image",
      "gigapixel import brain.onnx -o brain.safetensors --orientation RAS --axis-order xyz",
      "gigapixel import nuclei.onnx -o nuclei.safetensors --mean 0.7,0.5,0.6 --deviation 0.2,0.2,0.2" }
  };
}

Command
Doctor()
{
  return {
    "doctor",
    "whether this installation is healthy",
    "Shows versions, cores, memory, codecs, whether OpenSlide and the network module load, and tries to write and "
    "read a small pyramid. Exit code 1 where something is wrong.",
    {},
    { "gigapixel doctor", "gigapixel doctor --json" }
  };
}

} // namespace

const std::vector<Command> &
GetCommands()
{
  static const std::vector<Command> commands = [] {
    std::vector<Command> all{ Info(),     Label(),     Train(),    Segment(), Evaluate(), Overlay(),    Report(),
                              Status(),   Rasterize(), Outline(),  Measure(), Convert(),  Synthesize(), Classify(),
                              Features(), Plan(),      Networks(), Import(),  Doctor() };
    for (Command & command : all)
    {
      for (Argument & argument : CommonArguments())
      {
        command.arguments.push_back(std::move(argument));
      }
    }
    return all;
  }();
  return commands;
}

} // namespace gigapixel::application
