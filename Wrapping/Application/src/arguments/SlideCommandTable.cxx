/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideCommandTable.h"

#include "ArgumentKinds.h"

#include "itkGigapixelVolumeFormats.h"
#include "gigapixelTissuePresets.h"

#include <utility>

namespace gigapixel::application
{
namespace
{
using Type = ArgumentType;

Argument
TissuePreset()
{
  Argument argument{ "preset", Type::Choice, "NAME", "Chain of filters that finds the tissue." };
  for (const gigapixel::TissuePresetChoice & choice : gigapixel::GetTissuePresetChoices())
  {
    argument.choices.push_back(choice.name);
    argument.details += (argument.details.empty() ? "" : " ") + choice.name + ": " + choice.purpose +
                        (choice.purpose.back() == '.' ? "" : ".");
  }
  argument.defaultValue = argument.choices.front();
  return argument.Sets("Preset");
}

Argument
LikeSlide()
{
  return Required(InputFile("like", "SLIDE", "slide", "The slide: its size and resolution count."));
}

Argument
OutlineOrigin()
{
  return Choice("origin", { "slide", "bounds" }, "slide", "Where positions are counted from.")
    .Details("slide: its corner. bounds: that of its scanned area (openslide.bounds-x, -y), as QuPath does.");
}

} // namespace

Command
Label()
{
  Argument downsample =
    Integer(
      "downsample", "8", 1, 256, "Label grid: this many level-0 pixels along each axis make one pixel of the mask.")
      .Sets("Downsample");
  return {
    "label",
    "a tissue mask, without any training",
    "Finds the tissue of slides by thresholds and morphology, or by a ready network, and writes it as a mask pyramid: "
    "255 tissue, 0 background. With --json the shares of pen and artifacts are told where the preset knows them. "
    "Slides with other channels than gray or RGB of 8 bit are seen as a picture of their channels. Sizes are rounded "
    "up; a block at the border averages its real "
    "pixels.",
    Join(
      { { SlidesOfBatch(),
          Required(Output("OUT", "label", "The mask of one slide, or a folder for those of several.")
                     .Details("A .tif file for one slide (.ome.tif: OME-TIFF); a folder (for several slides or a "
                              "folder of them, or ending in /) that gets SLIDE-NAME.pyramid.tif for each.")),
          TissuePreset(),
          InputFile("model", "FILE", "model", "Another model for the preset model (or auto).")
            .Details("In place of the one that comes with the program; see Utilities/tissue-network. With other "
                     "presets it is an error."),
          InputFile("hints", "FILE|FOLDER", "annotations", "Outlines that say what a place is, where a mask is wrong.")
            .Details("Drawn with QuPath's brush, each of the class Tissue, Glass, Pen or Artifact. What lies in them "
                     "is that, and what looks like it is judged anew, nearby above all. Of several slides a folder "
                     "with SLIDE-NAME.geojson.")
            .Sets("Hints"),
          OutlineOrigin().Needs("hints"),
          Switch("classes", "Write what is where in place of 0 and 255.")
            .Details("0 glass, 1 tissue and, with the preset model, 2 pen and 3 artifact (bubbles, dust, edges of "
                     "coverslips and frames), with their names and colors, in which overlay shows them. For evaluate "
                     "tissue is the object then; as --tissue of other commands, and to train with, all that is not 0.")
            .Sets("OutputClasses"),
          OneOf("grid", downsample),
          OneOf("grid", Resolution("mpp", "", "Label grid of exactly this resolution.")),
          Switch("full-resolution", "Write the mask at the size of level 0 instead of the label grid's.")
            .Sets("FullResolution") },
        PictureArguments(),
        { ReportOfBatch(), Strict(), Retry(), Overwrite() } }),
    { "gigapixel label slide.svs -o slide.tissue.tif",
      "gigapixel label slides/ -o masks/ --mpp 4",
      "gigapixel label slide.svs -o slide.classes.tif --preset auto --classes --json" }
  };
}

Command
Evaluate()
{
  const Argument positive = OptionText("positive-class", "NAME", "Of two classes the one that is looked for.")
                              .Details("Without it: the last, as that is what such networks are trained for.")
                              .OfPredictions()
                              .Formerly("positive");
  return {
    "evaluate",
    "a mask, or predictions of slides, against the truth",
    "Compares two masks pixel by pixel; every value above 0 is object, of label --classes tissue alone. They are laid "
    "over each other in mm (by their "
    "extents where a resolution is unknown) and compared on the pixels of the finer one, each of which takes the "
    "value of the other's pixel below its center. Both empty: Dice and IoU are 1. No object in the truth: sensitivity "
    "is 1. No background in the truth: specificity is 1. diceAllForeground is the Dice of calling everything object. "
    "Of a table that classify has written (.csv) it tells ROC-AUC with its 95 % interval (DeLong), PR-AUC (average "
    "precision), balanced accuracy, the confusion matrix, calibration, and each class against the rest; of findings "
    "each "
    "by itself; of grades the quadratic kappa, the confusion matrix and the mean error; of values RMSE, mean absolute "
    "error, R2 and correlations (Pearson, Spearman); of a table with folds, as train --folds writes it, also each "
    "fold's figures, their mean and their standard deviation. Of two volumes "
    "of "
    "labels on one grid: of each label but 0 the Dice, and in mm the 95 % Hausdorff distance and the mean distance of "
    "both surfaces.",
    { Required(
        InputFile("PREDICTION", "", "label", "The mask or volume of labels to judge, or a table of predictions.")
          .Details("A pyramid, PNG, MetaImage or NRRD (3D Slicer's .seg.nrrd). Or a volume: " +
                   itk::GigapixelNameVolumeFormats() +
                   ". Or a table (.csv) with the columns slide and p_CLASS for each class, or those that classify "
                   "writes of findings, grades or values.")),
      InputFile("TRUTH", "", "label", "The mask to judge a mask by."),
      Switch("partial", "PREDICTION covers a part of TRUTH (segment --region): only there they are compared.")
        .OfMasks(),
      InputFile("cohort", "CSV", "table", "Of predictions: the table with the slides' labels.")
        .Details(
          "Columns slide, label, or label:NAME, grade or value:NAME, and, if wanted, patient, split. Slides are known "
          "by the ends of their paths; they need not be there. Without it: the column label of the predictions.")
        .OfPredictions(),
      Choice("split", { "all", "train", "validation", "test" }, "all", "Only slides with this split in --cohort.")
        .OfPredictions(),
      Choice("case", { "slide", "patient" }, "slide", "What is a case: each slide, or each patient.")
        .Details("Patients are in the column patient of either table. Their probabilities are the means of those of "
                 "all slides.")
        .OfPredictions()
        .Formerly("by"),
      positive,
      Integer("bins", "10", 1, 1000, "Equal intervals of probability in which calibration is judged.")
        .Details("Of the positive class, or of the predicted one where there are more than two.")
        .OfPredictions(),
      OutputFile(
        "pictures", "FOLDER", "folder", "Write the ROC, the confusion matrix and the reliability diagram there.")
        .Details("As roc, confusion and reliability, .svg and .png; of findings roc, of grades confusion, of values "
                 "scatter-1 and so on.")
        .OfPredictions(),
      Replace().OfPredictions() },
    { "gigapixel evaluate slide.mask.tif slide.truth.tif",
      "gigapixel evaluate slide.mask.tif slide.truth.tif --json",
      "gigapixel evaluate labels.nii.gz truth.nii.gz",
      "gigapixel evaluate predictions.csv --cohort cohort.csv --split test",
      "gigapixel evaluate predictions.csv --cohort cohort.csv --case patient --pictures figures/ --json" }
  };
}

Command
Overlay()
{
  Argument size = Integer("picture-size", "1024", 16, 16384, "Longer side of the picture.").Formerly("size");
  size.unit = "px";
  return {
    "overlay",
    "a picture of a slide with its mask",
    "Writes a thumbnail of the slide as PNG, with the mask tinted and outlined; of a mask that names its "
    "classes (label --classes) each class in its color, with their names in a strip below that adds to the "
    "height; of a volume three slices that are perpendicular to each other, those with the most voxels that "
    "have a label, each label in a color.",
    Join({ { Slide("Slide file, or a volume (" + itk::GigapixelNameVolumeFormats() + ")."),
             Required(InputFile("MASK", "", "label", "A mask of this slide, at any resolution; labels of the volume.")
                        .Details("In any format that evaluate takes. Labels of a volume lie on its grid.")),
             Required(Output("PNG", "picture", "The picture.")),
             size,
             Switch("partial", "MASK covers a part of the slide (segment --region).").OfSlideFiles() },
           PictureArguments(),
           { Strict(), Overwrite() } }),
    { "gigapixel overlay slide.svs slide.mask.tif -o slide.png --picture-size 2000",
      "gigapixel overlay t1.nii.gz labels.nii.gz -o slices.png" }
  };
}

Command
Report()
{
  Argument results = Required(InputFile(
    "RESULT", "", "result", "Folders of masks and results, runs, tables with a column slide, results of --json."));
  results.repeated = true;
  Argument slides = InputFile(
    "slides", "FOLDER|FILE", "slide", "Slides that no result names by its path: files, folders, patterns or tables.");
  slides.repeated = true;
  Argument size =
    Integer("picture-size", "", 64, 4096, "Longer side of pictures. Without it: up to 1600, less for many slides.")
      .Formerly("size");
  size.unit = "px";
  return {
    "report",
    "a page of HTML on a batch of slides",
    "Writes one page on slides and trainings: pictures with masks, areas, doubts, warnings, probabilities, "
    "curves and figures. The page opens without a network. A page above 40 MB gets a folder for its pictures. "
    "What the results do not hold is listed as missing.",
    Join({ { results,
             Required(Output("HTML", "report", "The page, a .html file.")),
             slides,
             size,
             Switch("anonymous", "Without names, paths and messages; slides by number. Pictures stay as they are.") },
           SlideArguments(),
           { Replace() } }),
    { "gigapixel report masks/ --slides slides/ -o report.html",
      "gigapixel report masks/ predictions.csv run/ -o report.html --anonymous" }
  };
}

Command
Status()
{
  return {
    "status",
    "how far a batch is",
    "Says of a folder that label, segment, features or convert writes into how many slides are done, how many "
    "failed by code, which ones are worked on by which process, how many are left, and how long those will take. "
    "Reads the records of the folder, and no slide.",
    { Required(InputFile("FOLDER", "", "folder", "The folder of the results.")) },
    { "gigapixel status masks/", "gigapixel status masks/ --json" }
  };
}

Command
Rasterize()
{
  Argument classes{ "class", Type::Text, "NAME", "" };
  classes.description = "Only outlines of this class.";
  classes.details =
    "One class becomes 255; of several, the first becomes 1, the second 2 and so on, and outlines of the class Ignore* "
    "become 255, which training leaves out. Where none of these classes is in the file, no mask is written.";
  classes.repeated = true;
  return {
    "rasterize",
    "outlines that somebody drew, as a mask",
    "Fills the outlines of an annotation file (level-0 pixels) and writes them as a mask pyramid: "
    "255 where the center of a pixel lies inside, 0 elsewhere. Holes and multipolygons are honored; where "
    "outlines overlap, the later one counts. Outlines that all lie outside of the slide are an error; some that do, "
    "and features without a geometry, are counted in a warning.",
    Join(
      { { Required(InputFile("ANNOTATIONS",
                             "",
                             "annotations",
                             "The outlines: GeoJSON (QuPath; .gz too), or XML of ASAP, ImageScope or HALO.")),
          LikeSlide(),
          Required(Output("OUT", "label", "The mask, a .tif file (.ome.tif: OME-TIFF).")),
          classes,
          Switch("instances", "Number the outlines, in 16 or 32 bit.")
            .Details(
              "An outline whose name is a number, as outline --instances writes it, has that number, where all have "
              "one and no two the same. Else the first one is 1, the second 2, of the classes that are named, or all. "
              "Ignore* is left out. Numbers above 65535 take 32 bit."),
          Integer("downsample", "", 1, 256, "This many level-0 pixels along each axis make one pixel of the mask.")
            .Details("Without it: 8, with --instances 1, since objects are small."),
          OutlineOrigin() },
        SlideArguments(),
        { Overwrite() } }),
    { "gigapixel rasterize slide.geojson --like slide.svs -o slide.truth.tif",
      "gigapixel rasterize slide.geojson --like slide.svs -o slide.truth.tif --class Tumor --class Stroma",
      "gigapixel rasterize nuclei.geojson --like slide.svs -o nuclei.tif --instances" }
  };
}

Command
Outline()
{
  Argument name{ "class-name", Type::Text, "NAME", "What the object of a mask without classes is called.", "Tissue" };
  name.formerName = "class";
  return {
    "outline",
    "a mask, for other programs to look at and to correct",
    "Writes the outlines of a mask as GeoJSON in level-0 pixels, as QuPath and others read it: one polygon with "
    "its holes for each piece, along the edges of the mask's pixels. Or writes a segmentation of 3D Slicer "
    "(.seg.nrrd), which lies on the slide. Labels are classes, and 255 beside them is ignored. A mask of 0 "
    "and 255, of 0 and 1, or of grays shows one object.",
    Join({ { Required(InputFile(
               "MASK", "", "label", "A mask of the slide, at any resolution, in any format that evaluate takes.")),
             LikeSlide(),
             Required(Output("FILE", "outlines", "The outlines (.geojson) or the segmentation (.seg.nrrd).")),
             name,
             Switch("instances", "One outline for each label, in their order (.geojson).")
               .Details("For masks whose labels number objects, such as nuclei, also above 255. An object of several "
                        "pieces is one MultiPolygon. --class-name names the class of all, and each outline is named by "
                        "its label."),
             OutlineOrigin() },
           SlideArguments(),
           { Replace() } }),
    { "gigapixel outline slide.mask.tif --like slide.svs -o slide.geojson",
      "gigapixel outline nuclei.tif --like slide.svs -o nuclei.geojson --instances --class-name Nucleus",
      "gigapixel outline slide.mask.tif --like slide.svs -o slide.seg.nrrd" }
  };
}

Command
Measure()
{
  Argument masks = Required(InputFile("MASK", "", "label", "Masks, with labels of up to 32 bit; or folders of masks.")
                              .Details("In any format that evaluate takes; in folders *.pyramid.tif and *.ome.tif."));
  masks.repeated = true;
  return {
    "measure",
    "size, shape and color of everything in a mask, as a table",
    "Writes a row for each connected component of each label, and one for all components of a label together "
    "(component 0): area, perimeter, centroid, bounding box, number of holes and class; of the slide under it the "
    "number "
    "of pixels, and of each channel the mean, standard deviation and percentiles. Figures are those of scikit-image's "
    "regionprops. Positions are pixels of the mask (x and y from 0, centers), and mm from its corner. The pixels of "
    "the "
    "finer of mask and slide are counted. The image is read once. A batch that was interrupted goes on where it was "
    "when it is started again.",
    Join({ { masks,
             InputFile(
               "slide", "SLIDE|FOLDER", "slide", "The slide of the masks, or a folder, pattern or table of slides.")
               .Details("They are known by their names, or paired by a table's column mask."),
             Required(Output("CSV", "table", "The table, a .csv file.")),
             Choice("connectivity", { "8", "4" }, "8", "Which neighbors of a pixel are connected with it.")
               .Details("8: those that touch at a corner, too, as in scikit-image, so that thin structures stay whole. "
                        "4: only over edges, as in outline."),
             Switch("partial", "MASK covers a part of the slide (segment --region).").OfSlideFiles() },
           SlideArguments(
             { SlideReading::Resolution, SlideReading::Values },
             { { "channel", " Its name is that of its columns. Without it: all." },
               { "window", "Each channel has its columns. Without it: values as they are stored, of 8 or 16 bit." } }),
           { Strict(), Replace() } }),
    { "gigapixel measure slide.mask.tif -o table.csv",
      "gigapixel measure slide.mask.tif --slide slide.svs -o table.csv",
      "gigapixel measure masks/ --slide slides/ -o table.csv --level 1 --json" }
  };
}

Command
Convert()
{
  const Argument region =
    Argument{ "region", Type::Region, "X,Y,W,H", "Only this rectangle: x, y, width and height in level-0 pixels." }
      .Unit("px")
      .Details("Tiles are copied if it begins and ends at tiles.");
  Argument out = OutputFile("OUT", "", "slide", "The pyramid of one slide, or a folder for those of several.")
                   .Details("A .tif file for one slide (.ome.tif: OME-TIFF); a folder (for several slides or a folder "
                            "of them, or ending in /) that gets SLIDE-NAME.pyramid.tif for each.");
  Argument tileSize =
    Integer("tile-size", "256", 16, 4096, "Side of the tiles, where they are not copied: 16, 32, ...");
  tileSize.unit = "px";
  return {
    "convert",
    "any slide to a pyramid that everybody opens",
    "Writes a slide, one of its levels, a resolution or a region of it as a tiled TIFF pyramid. Compressed tiles are "
    "copied as they "
    "are, without loss and without decoding them, where the slide is a tiled TIFF of one of the codecs below; levels "
    "that it lacks are computed. A copied tile that is damaged, or cannot be decoded at all, is copied as it is; with "
    "--strict copied tiles are decoded, too, and such a one is refused. Slides are written with all channels, or those "
    "of --channel, of 8 or 16 bit or float; --window makes a picture of them. Resolution, objective "
    "power, vendor, color profile, classes, and names, colors and wavelengths of channels are kept; the label and "
    "macro "
    "pictures and what the file says of patient, operator and date are left out.",
    Join({ { SlidesOfBatch(), Required(out) },
           PictureArguments({ SlideReading::Resolution }, "values as they are stored, of each channel"),
           { region,
             Choice("compression", { "copy", "jpeg", "webp", "deflate", "zstd" }, "copy", "How tiles are compressed.")
               .Details("copy: tiles as they are where that is possible, else JPEG for pictures of 8 bit and deflate "
                        "for all others and for channels that are chosen without a window. Another: all tiles are "
                        "decoded and compressed so; deflate and zstd lose nothing more. OpenSlide opens no WebP."),
             Integer("quality", "80", 1, 100, "Of JPEG and WebP (100: WebP without loss), where tiles are not copied."),
             Choice("subsampling",
                    { "4:4:4", "4:2:2", "4:2:0" },
                    "4:2:0",
                    "Of the colors of JPEG, where tiles are not copied."),
             Choice("content",
                    { "automatic", "picture", "labels" },
                    "automatic",
                    "How levels are reduced: pictures by the mean, labels by picking pixels.")
               .Details("Automatic: what our own pyramids say of themselves; else color, JPEG, floats and channels "
                        "with a name, a color or that are chosen are pictures, another single channel or a palette is "
                        "labels, whose values are kept."),
             Choice("colors", { "stored", "srgb", "luma", "gray" }, "stored", "What becomes of colors.")
               .Details("stored: as they are, with their color profile. srgb: converted by that profile, where there "
                        "is one. luma: gray as JPEG stores it, without decoding colors. gray: gray computed from the "
                        "decoded colors (Rec. 601)."),
             tileSize,
             Switch("bilevel", "One bit a pixel, for masks of 0 and 255; no tiles are copied."),
             Switch("bigtiff", "BigTIFF, whatever the size. Without it: where the file may grow beyond 4 GiB."),
             Switch("keep-label",
                    "Keep label, macro and thumbnail images, and texts as --keep-text. They may name the patient.")
               .Sets("KeepLabel"),
             Switch("keep-text", "Keep the slide's texts: description, properties, dates. They may name the patient.")
               .Sets("KeepText"),
             Strict(),
             Retry(),
             Overwrite() } }),
    { "gigapixel convert slide.svs slide.pyramid.tif",
      "gigapixel convert slides/ pyramids/ --compression jpeg --quality 85",
      "gigapixel convert slide.svs biopsy.tif --region 20480,10240,8192,8192 --mpp 0.5" }
  };
}

Command
Synthesize()
{
  Argument size{ "size", Type::Extent, "WxH", "Width and height of level 0." };
  size.unit = "px";
  Argument lesions = Number("lesions", "", 0.01, 5, "Share of the slide's area that one to three small foci take.")
                       .Details("They are crowded nuclei of twice the usual diameter. Without it: none.");
  lesions.unit = "%";
  Argument resolution = Number("slide-mpp", "0.5", 0.1, 8, "Resolution of level 0.").Formerly("mpp");
  resolution.unit = "µm/px";
  const Argument slides =
    OptionText("slides", "TRAIN,VALIDATION,TEST", "Make a cohort of so many slides; OUT is its folder.")
      .Details("One after the other from --seed on, half with lesions, half with decoys. The folder has slides/, "
               "tissue/ (masks, for train --tissue), outlines/ and cohort.csv, for train --cohort.")
      .Needs("lesions");
  return {
    "synthesize",
    "a slide with known truth",
    "Draws an H&E-like slide (glass noise, tissue with holes, pale tissue, debris, pen) as a JPEG pyramid, and the "
    "mask of its tissue. The same seed gives the same slide, to the bit of each pixel before JPEG. Lesions and decoys "
    "of them cannot be told apart by colors or amounts: one pattern is the other magnified, and slides with either "
    "have "
    "as many nuclei of each size, in the mean, which elsewhere lie singly.",
    { Required(OutputFile("OUT", "", "slide", "The slide, a .tif file; with --slides a folder.")),
      Required(size),
      Integer("seed", "1", 0, 4294967295.0, "Which slide."),
      lesions,
      Switch("decoys", "Of --lesions: the foci are crowds of nuclei of the usual size.")
        .Excludes({ "slides" })
        .Needs("lesions"),
      OutputFile("outlines", "FILE", "annotations", "Write the outlines of the foci here, as GeoJSON.")
        .Excludes({ "slides" }) // a cohort has all of that in its folder
        .Needs("lesions"),
      slides,
      OutputFile("truth", "FILE", "label", "Write the mask of the tissue here (255 tissue, 0 background).")
        .Excludes({ "slides" }),
      resolution,
      Switch("brown", "Stained brown (diaminobenzidine), as in immunohistochemistry, in place of eosin."),
      Switch("artifacts", "With what laboratories and scanners leave.")
        .Details("Pens of five colors, threads, debris, bubbles, the coverslip's edge, seams, a black frame, an "
                 "unscanned corner."),
      Integer("quality", "80", 1, 100, "Of the JPEG compression."),
      Overwrite() },
    { "gigapixel synthesize slide.tif --size 16000x64000 --seed 1 --truth truth.tif",
      "gigapixel synthesize slide.tif --size 2048x2048 --slide-mpp 1 --lesions 0.3 --outlines slide.geojson",
      "gigapixel synthesize cohort/ --size 2048x2048 --slide-mpp 1 --lesions 0.3 --slides 400,60,100" }
  };
}

} // namespace gigapixel::application
