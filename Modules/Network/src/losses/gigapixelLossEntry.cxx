/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLossEntry.h"

namespace gigapixel
{

const std::vector<LossEntry> &
LossEntry::GetAll()
{
  static const std::vector<LossEntry> all{
#define GIGAPIXEL_LOSS(Name, file, option, least, most) { file, option, least, most, Get##Name##Loss() },
#include "gigapixelLossList.h"
  };
  return all;
}

/** Kernels know cross-entropy and any overlap. */
bool
LossFormula::IsFused() const
{
  return pixel == nullptr || pixel == GetSoftmaxCrossEntropyLoss().pixel;
}

} // namespace gigapixel
