/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

namespace gigapixel
{
namespace schema
{
namespace
{

// Norms whose statistics do not depend on the image.

Parameters
GetScaleAndShift(const Operation &, const Channels & channels)
{
  return { { "weight", { channels.front() }, true, 1 }, { "bias", { channels.front() }, true } };
}

Parameters
GetScaleAndShiftIfAffine(const Operation & operation, const Channels & channels)
{
  return operation.GetFlag("affine") ? GetScaleAndShift(operation, channels) : Parameters{};
}

Parameters
GetScaleAndShiftIfBias(const Operation & operation, const Channels & channels)
{
  const bool isOne = operation.GetInteger("num_parameters") == 1;
  Parameters parameters = GetScaleAndShift(operation, isOne ? Channels{ 1 } : channels);
  parameters.resize(operation.GetFlag("bias") ? 2 : 1);
  return parameters;
}

Parameters
GetOneBias(const Operation &, const Channels &)
{
  return { { "bias", { 1 }, true } };
}

Parameters
GetBatchNormParameters(const Operation & operation, const Channels & channels)
{
  Parameters parameters = GetScaleAndShiftIfAffine(operation, channels);
  parameters.push_back({ "running_mean", { channels.front() }, false });
  parameters.push_back({ "running_var", { channels.front() }, false, 1 });
  return parameters;
}

OperationSchema
MakeEntry(const char * type, Parameters (*getParameters)(const Operation &, const Channels &))
{
  OperationSchema entry(type);
  entry.getKeeps = &KeepInput;
  entry.needsFloat = &AlwaysNeedFloat;
  entry.getParameters = getParameters;
  return entry;
}

OperationSchema
MakeBatchNorm()
{
  OperationSchema entry = MakeEntry("batch_norm", &GetBatchNormParameters);
  entry.attributes = { Epsilon(), Flag("affine", true) };
  entry.mayOverwrite = true;
  entry.roles = Role::Linear | Role::FrozenNorm;
  return entry;
}

OperationSchema
MakeAffine()
{
  OperationSchema entry = MakeEntry("affine", &GetScaleAndShiftIfBias);
  entry.attributes = { Flag("bias", true), Integer("num_parameters", 0, 0) };
  entry.attributes.back().greatest = 1;
  entry.mayOverwrite = true;
  entry.roles = Role::Linear;
  return entry;
}

OperationSchema
MakeShift()
{
  OperationSchema entry("shift");
  entry.needsFloat = &AlwaysNeedFloat; // for its gradient, a sum over all of the map
  entry.getParameters = &GetOneBias;
  entry.mayOverwrite = true;
  entry.roles = Role::Linear;
  return entry;
}

OperationSchema
MakeLayerNorm()
{
  OperationSchema entry = MakeEntry("layer_norm", &GetScaleAndShiftIfAffine);
  entry.attributes = { Epsilon(), Flag("affine", true) };
  entry.keptChannels = 2; // mean and deviation of each pixel
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeNorms()
{
  return { MakeBatchNorm(), MakeAffine(), MakeShift(), MakeLayerNorm() };
}

} // namespace schema
} // namespace gigapixel
