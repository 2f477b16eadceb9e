/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// One entry for each option of what a training minimizes. Whoever includes this list says before what becomes of an
// entry:
//   GIGAPIXEL_LOSS_OPTION(type, Name, member, value, option)
// as of gigapixelLearningOptionList.h. They take the place of what the file of a network says, which a run keeps.
//
// To add such an option, add its entry here, and the line that uses its member, in NetworkDescription::SetLoss().
//
// This file has no guard: it is included once for each purpose.

/** "cross-entropy", "dice", "dice+cross-entropy" or "focal", see gigapixelLossList.h; empty, the default, or "network":
 * what the network says. */
GIGAPIXEL_LOSS_OPTION(
  std::string,
  Loss,
  loss,
  {},
  OptionChoice("loss", NameLosses(), "network", "What is minimized.")
    .Details("network: what the network's file says. Cross-entropy is binary or softmax. Dice is that of the whole "
             "slide, which takes two passes over it. focal attends to pixels that are not yet right.")
    .Group("Learning"))

/** Weights of the loss, one per class; empty, the default: what the network says. */
GIGAPIXEL_LOSS_OPTION(std::vector<double>,
                      ClassWeights,
                      classWeights,
                      {},
                      OptionNumbers("class-weights", "W0,W1,...", "Weights of the classes. Default: the network's.")
                        .Details("One for each class, in the loss.")
                        .Group("Learning"))

/** Pixels with this label take no part, nor do those with 255, the default. */
GIGAPIXEL_LOSS_OPTION(
  int,
  IgnoredLabel,
  ignoredLabel,
  255,
  OptionInteger("ignored-label", "", 0, 255, "Pixels of the mask with this value take no part.")
    .Details("It is no class. Nor do those with 255 take part where there are more than two classes. Of two, 255 is "
             "the object, and cannot be ignored.")
    .Group("Slides"))

#undef GIGAPIXEL_LOSS_OPTION
