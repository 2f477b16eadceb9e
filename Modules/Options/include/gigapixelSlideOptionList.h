/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// One entry for each option of what is read of slides. Whoever includes this list says before what becomes of an entry:
//   GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option)
// as of gigapixelLearningOptionList.h, and GIGAPIXEL_OPTIONAL_OPTION as of gigapixelPatchOptionList.h. What has no use
// for some of them says besides what becomes of those:
//   GIGAPIXEL_RESAMPLING_OPTION: of what reads slides at a resolution that no model states
//   GIGAPIXEL_CONTENT_OPTION: of the file itself, see gigapixelSlideContent.h. The reader has a Set for each
// Reads() says which commands have an option: SlideReading::File is for all that open slides.
//
// This file has no guard: it is included once for each purpose.
#ifndef GIGAPIXEL_SLIDE_OPTION
#  define GIGAPIXEL_SLIDE_OPTION(type, Name, member, value, option)
#endif
#ifndef GIGAPIXEL_OPTIONAL_OPTION
#  define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                             \
    GIGAPIXEL_SLIDE_OPTION(std::optional<type>, Name, member, std::nullopt, option)
#endif
#ifndef GIGAPIXEL_RESAMPLING_OPTION
#  define GIGAPIXEL_RESAMPLING_OPTION GIGAPIXEL_SLIDE_OPTION
#endif
#ifndef GIGAPIXEL_CONTENT_OPTION
#  define GIGAPIXEL_CONTENT_OPTION GIGAPIXEL_SLIDE_OPTION
#endif

/** The level of a slide's file to read; of a model, where the resolution of the slide or of the model is unknown.
 * Without it level 0, or pixels of the model's resolution. */
GIGAPIXEL_OPTIONAL_OPTION(unsigned int,
                          Level,
                          level,
                          0,
                          OptionInteger("level", "", 0, 63, "Pyramid level; 0 is the finest, and the default.")
                            .OneOf("level")
                            .Reads(SlideReading::Resolution))

/** Micrometers per pixel that slides' files are resampled to, in place of a level; 0, the default: the level as it is.
 * See WholeSlideImageIO::SetMicronsPerPixel(). */
GIGAPIXEL_RESAMPLING_OPTION(double,
                            MicronsPerPixel,
                            micronsPerPixel,
                            0,
                            OptionNumber("mpp", "", 0.05, 1000, "Resample to exactly this resolution.")
                              .Unit("µm/px")
                              .Details("Each pixel is the mean of its area.")
                              .OneOf("level")
                              .Reads(SlideReading::Resolution))

/** Micrometers per pixel of level 0 of slides whose files have none; 0, the default: unknown. */
GIGAPIXEL_CONTENT_OPTION(
  double,
  LevelZeroMicronsPerPixel,
  levelZeroMicronsPerPixel,
  0,
  OptionNumber("slide-mpp", "", 0.05, 1000, "Resolution of level 0, where a file tells none or nonsense.")
    .Unit("µm/px")
    .Details("What a file tells holds, and is not to be contradicted.")
    .Reads(SlideReading::File))

/** Number (from 1) or name of the image to read, of a slide's file with several, as WholeSlideImageIO::SetImage() takes
 * it; empty, the default: the main one. */
GIGAPIXEL_CONTENT_OPTION(
  std::string,
  SlideImage,
  image,
  {},
  OptionText("image", "N|NAME", "Image of a file with several. Default: the largest.")
    .Details("By its number or name; gigapixel info lists them. number:2 is a number where names are numbers, too.")
    .Reads(SlideReading::File))

/** Which focal plane of it, as WholeSlideImageIO::SetFocalPlane() takes it. */
GIGAPIXEL_CONTENT_OPTION(
  std::string,
  SlideFocalPlane,
  plane,
  {},
  OptionInteger("plane", "", 1, 65535, "Focal plane, by its number from the lowest.")
    .Words({ "middle", "max", "focus" })
    .Details("max: the maximum of all planes. focus: the sharpest pixels of them. With --image: a plane of that image. "
             "Without it: the plane nearest to the focus (SVS, NDPI), else the middle one.")
    .Reads(SlideReading::File))

/** Channels of a slide's file, as WholeSlideImageIO::SetChannels() takes them; by default those that the model was
 * trained on, or all. */
GIGAPIXEL_CONTENT_OPTION(std::vector<std::string>,
                         SlideChannels,
                         channels,
                         {},
                         OptionText("channel", "N|NAME", "Channel of the slide.")
                           .Details("By its name or its number from 1, a name first; gigapixel info lists them.")
                           .Reads(SlideReading::Values)
                           .Repeated())

/** The window that makes 8 bit of them, as WholeSlideImageIO::SetWindow() takes it; by default that of the model's
 * training, or samples as they are. */
GIGAPIXEL_CONTENT_OPTION(
  std::string,
  SlideWindow,
  window,
  {},
  OptionInterval("window", "LOW,HIGH", "Values of channels that become 0 and 255.")
    .Words({ "auto" })
    .Details("Values between are scaled, others cut. auto: the 0.1 and 99.9 percentile of each channel, on the "
             "coarsest level of a million pixels or more, the same for the whole slide. ")
    .Reads(SlideReading::Values))

/** Where there is tissue: a mask (1 or 255) of the only slide, on any grid, or a folder of masks that are named as
 * gigapixel label names them (gigapixel::FindMask). What is no tissue is white to the network and takes no part.
 * Empty, the default: everything counts. */
GIGAPIXEL_SLIDE_OPTION(
  std::string,
  Tissue,
  tissue,
  {},
  OptionText("tissue", "MASK|FOLDER", "Mask of tissue, or label's folder of masks.")
    .Of("label")
    .Details(
      "The mask of one slide, at any resolution, or those of several (SLIDE-NAME.pyramid.tif). What is no tissue "
      "is white to the network and not even read; ")
    .Reads(SlideReading::Tissue))

#undef GIGAPIXEL_SLIDE_OPTION
#undef GIGAPIXEL_OPTIONAL_OPTION
#undef GIGAPIXEL_RESAMPLING_OPTION
#undef GIGAPIXEL_CONTENT_OPTION
