/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// One entry for each option of what is said of an image beside its label. Whoever includes this list says before what
// becomes of an entry:
//   GIGAPIXEL_CLASSIFICATION_OPTION(type, Name, member, value, option)
// as of gigapixelLearningOptionList.h.
//
// To add an option of classify, add its entry here, and the line that uses its member.
//
// This file has no guard: it is included once for each purpose.

/** Class whose activation the map shows. Empty, the default: of two classes the second one, which is the finding, of
 * several the most probable one. Or the finding, grade or value: by default the most probable, the predicted and the
 * first one. */
GIGAPIXEL_CLASSIFICATION_OPTION(
  std::string,
  MapClass,
  mapClass,
  {},
  OptionText("map-class", "NAME", "Class, finding, grade or value whose activation the maps show.")
    .Details("Without it: of two classes the second one, of several the most probable one of each slide, likewise of "
             "findings; its grade; the first value."))

#undef GIGAPIXEL_CLASSIFICATION_OPTION
