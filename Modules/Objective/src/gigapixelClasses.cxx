/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelObjectiveKinds.h"

namespace gigapixel
{
namespace
{

/** Two classes are told apart by one output. */
int
CountOutputs(int names)
{
  return names == 2 ? 1 : names;
}

} // namespace

/** One pixel that has a class: its loss (softmax or binary cross-entropy), balance and score are those of labels. */
const ObjectiveKind ClassesKind{ Objective::Kind::Classes,
                                 "classes",
                                 "label",
                                 "p_",
                                 "predicted",
                                 "probabilities",
                                 "AUC",
                                 "validation_auc",
                                 CountOutputs,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr };

} // namespace gigapixel
