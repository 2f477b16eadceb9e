/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// One entry for each option of what becomes of a network's probabilities. Whoever includes this list says before what
// becomes of an entry:
//   GIGAPIXEL_SEGMENTATION_OPTION(type, Name, member, value, option)
// as of gigapixelLearningOptionList.h, and GIGAPIXEL_OPTIONAL_OPTION as of gigapixelPatchOptionList.h.
// GIGAPIXEL_MASK_OPTION is for entries that need the whole mask of a slide. Filters for volumes, and those that see
// only a part of the mask, define it as empty. Such an entry has OfMasks(), by which it is refused for volumes, for
// probabilities and for more than two classes.
//
// To add an option of segment, add its entry here, and the line that uses its member. A mask option is a stage behind
// the network: an if in MakeMaskStages() of itkSlideSegmentationStages.h. A switch needs itkBooleanMacro() in the
// filter as well.
//
// This file has no guard: it is included once for each purpose.
#ifndef GIGAPIXEL_SEGMENTATION_OPTION
#  define GIGAPIXEL_SEGMENTATION_OPTION(type, Name, member, value, option)
#endif
#ifndef GIGAPIXEL_OPTIONAL_OPTION
#  define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                             \
    GIGAPIXEL_SEGMENTATION_OPTION(std::optional<type>, Name, member, std::nullopt, option)
#endif
#ifndef GIGAPIXEL_MASK_OPTION
#  define GIGAPIXEL_MASK_OPTION GIGAPIXEL_SEGMENTATION_OPTION
#endif

/** For a network with one output channel: the object is where its probability is at least this, 0 to 1; without it,
 * the default, 0.5. Where there is an output for each class, the greatest decides, and a threshold that was set is
 * refused. */
GIGAPIXEL_OPTIONAL_OPTION(
  double,
  Threshold,
  threshold,
  0.5,
  OptionNumber("threshold", "0.5", 0, 1, "Least probability of the object.")
    .Details("Of networks with one output; where there is one for each class, the greatest decides."))

/** Makes holes in the object part of it, whatever their size; labels of two classes only. Default off. */
GIGAPIXEL_MASK_OPTION(
  bool,
  FillHoles,
  fillHoles,
  false,
  OptionSwitch("fill-holes", "Make holes in the object part of it, whatever their size.")
    .Details("As label does; a network cannot see that a hole wider than its reach (32 µm for remedios2023) is one. "
             "For two classes, without --probability.")
    .OfMasks())

#undef GIGAPIXEL_SEGMENTATION_OPTION
#undef GIGAPIXEL_OPTIONAL_OPTION
#undef GIGAPIXEL_MASK_OPTION
