/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLossEntry.h"

namespace gigapixel
{
namespace
{

double
TakeCrossEntropy(double logProbability, double & slope)
{
  slope = 1;
  return -logProbability;
}

} // namespace

LossFormula
GetSoftmaxCrossEntropyLoss()
{
  return { &TakeCrossEntropy, nullptr, true };
}

LossFormula
GetBinaryCrossEntropyLoss()
{
  return GetSoftmaxCrossEntropyLoss();
}

} // namespace gigapixel
