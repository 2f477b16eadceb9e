/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// One entry for each option of a network that sees patches. Whoever includes this list says before what becomes of an
// entry:
//   GIGAPIXEL_PATCH_OPTION(type, Name, member, value, option)
// as of gigapixelLearningOptionList.h. Of some it matters whether they are given, since images and volumes have other
// values without them, or models their own:
//   GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)
// where otherwise is what Get gives without the option.
//
// This file has no guard: it is included once for each purpose.
#ifndef GIGAPIXEL_PATCH_OPTION
#  define GIGAPIXEL_PATCH_OPTION(type, Name, member, value, option)
#endif
#ifndef GIGAPIXEL_OPTIONAL_OPTION
#  define GIGAPIXEL_OPTIONAL_OPTION(type, Name, member, otherwise, option)                                             \
    GIGAPIXEL_PATCH_OPTION(std::optional<type>, Name, member, std::nullopt, option)
#endif

/** Whether the network sees each patch by itself, as MONAI's sliding window inference applies it, and not the whole
 * image, the default. */
GIGAPIXEL_PATCH_OPTION(
  bool,
  SlidingWindow,
  slidingWindow,
  false,
  OptionSwitch("sliding-window", "The network sees each patch by itself, not the whole slide.")
    .Details("As MONAI and nnU-Net apply networks that were trained on patches of that size. The network pads at the "
             "borders of patches, and the logits of patches that overlap are blended. Of volumes as nnU-Net does it.")
    .Group("Sliding window")
    .Excludes({ "tile-size", "shared-memory" }) // a patch is one piece
    .Formerly("semantics", "patch", "whole"))

/** Side of a patch in pixels, a multiple of the network's stride. */
GIGAPIXEL_OPTIONAL_OPTION(
  std::int64_t,
  PatchSize,
  side,
  512,
  OptionInteger("patch", "512", 1, 8192, "Side of a patch, in pixels of the model's resolution.")
    .Unit("px")
    .Details("A multiple of the network's stride. A slide that is smaller lies in the middle of it, on white. Of "
             "volumes in voxels, any side; without it the patches that the model "
             "was trained on.")
    .Group("Sliding window")
    .Needs("sliding-window"))

/** What neighboring patches share of a side; MONAI's default. */
GIGAPIXEL_OPTIONAL_OPTION(double,
                          PatchOverlap,
                          overlap,
                          0.25,
                          OptionNumber("overlap", "0.25", 0, 0.95, "What neighboring patches share of a side.")
                            .Details("Of volumes at least, 0.5 where it is not given.")
                            .Group("Sliding window")
                            .Needs("sliding-window"))

/** The weight of a patch's pixel where patches overlap: "gaussian", the default, or "constant", see
 * gigapixel::Patches. */
GIGAPIXEL_OPTIONAL_OPTION(
  std::string,
  Blending,
  blending,
  "gaussian",
  OptionChoice("blending", { "gaussian", "constant" }, "gaussian", "Weights of a patch's pixels.")
    .Details("gaussian: a Gaussian around the patch's center (sigma an eighth of the side); constant: 1.")
    .Group("Sliding window")
    .Needs("sliding-window"))

/** The mean of the logits of four mirrored patches, as nnU-Net's, in place of one's. */
GIGAPIXEL_PATCH_OPTION(
  bool,
  Mirror,
  mirror,
  false,
  OptionSwitch("mirror", "The mean over mirror images of each patch, four times as long.")
    .Details("The mean of the logits of each patch and its three mirror images; of volumes along the axes that the "
             "model was trained with, or all three: eight times as long.")
    .Group("Sliding window")
    .Needs("sliding-window"))

#undef GIGAPIXEL_PATCH_OPTION
#undef GIGAPIXEL_OPTIONAL_OPTION
