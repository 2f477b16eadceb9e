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
const ObjectiveKind &
GetClassesKind()
{
  static const ObjectiveKind kind = [] {
    ObjectiveKind entry;
    entry.name = "classes";
    entry.columns = { "label" };
    entry.prediction = "p_";
    entry.found = "predicted";
    entry.numbers = "probabilities";
    entry.score = "AUC";
    entry.scoreColumn = "validation_auc";
    entry.isExclusive = true;
    entry.isBalanced = true;
    entry.countOutputs = CountOutputs;
    return entry;
  }();
  return kind;
}

} // namespace gigapixel
