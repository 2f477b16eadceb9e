/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

namespace gigapixel
{
namespace schema
{
namespace
{

std::string
CheckProbability(const Operation & operation, const Channels &)
{
  const double p = operation.GetNumber("p");
  return p >= 0 && p < 1 ? "" : "its p, the share of zeros, is not from 0 to below 1";
}

/** The mask is found again for the backward pass: nothing is kept. */
OperationSchema
MakeEntry(const char * type, const char * typeOfVolumes, const char * summary)
{
  OperationSchema entry(type);
  entry.summary = summary;
  entry.typeOfVolumes = typeOfVolumes;
  entry.attributes = { Number("p", 0.5) };
  entry.gradient = InputGradient::InPlace;
  entry.check = &CheckProbability;
  entry.mayOverwrite = true;
  entry.roles = Role::Linear;
  entry.getBounds = &BoundLikeInput;
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeDropout()
{
  return { MakeEntry(
             "dropout", nullptr, "in training, zeroes values with the probability p and divides others by 1 - p"),
           MakeEntry("dropout2d", "dropout3d", "the same for whole channels") };
}

} // namespace schema
} // namespace gigapixel
