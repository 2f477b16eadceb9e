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

/** Its mask is found again for the backward pass: nothing is kept. */
OperationSchema
MakeEntry(const char * type, const char * typeOfVolumes)
{
  OperationSchema entry(type);
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
  return { MakeEntry("dropout", nullptr), MakeEntry("dropout2d", "dropout3d") };
}

} // namespace schema
} // namespace gigapixel
