/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

#include <cmath>
#include <utility>

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

/** A scale and a shift of each channel, where their numbers are known. */
ValueForms
BoundScaled(const Operation & operation, ValueBounds & bounds)
{
  const std::vector<float> * const weight = bounds.FindParameter(operation, "weight");
  const std::vector<float> * const bias = bounds.FindParameter(operation, "bias");
  const bool                       hasBias = operation.GetFlag("bias");
  if (!weight || (hasBias && !bias))
  {
    return {};
  }
  const ValueForms & forms = bounds.GetInput(operation);
  const auto         choose = [](const std::vector<float> & values, std::size_t channel) {
    return double{ values[values.size() == 1 ? 0 : channel] };
  };
  ValueForms scaled(forms.size());
  for (std::size_t i = 0; i < forms.size(); ++i)
  {
    bounds.Add(scaled[i], choose(*weight, i), forms[i]);
    scaled[i].constant += hasBias ? choose(*bias, i) : 0;
    const ValueRange range = bounds.GetRange(scaled[i]);
    if (!std::isfinite(range.least) || !std::isfinite(range.greatest)) // learned numbers make logits of them
    {
      return {};
    }
  }
  return scaled;
}

/** A scale and a shift of each channel, by kept statistics. */
ValueForms
BoundNormalized(const Operation & operation, ValueBounds & bounds)
{
  const auto * const mean = bounds.FindParameter(operation, "running_mean");
  const auto * const variance = bounds.FindParameter(operation, "running_var");
  const auto * const weight = bounds.FindParameter(operation, "weight");
  const auto * const bias = bounds.FindParameter(operation, "bias");
  const ValueForms & forms = bounds.GetInput(operation);
  if (!mean || !variance || mean->size() != forms.size() || (operation.GetFlag("affine") && (!weight || !bias)))
  {
    return {};
  }
  ValueForms normalized(forms.size());
  for (std::size_t i = 0; i < forms.size(); ++i)
  {
    const double scale = (weight ? (*weight)[i] : 1) / std::sqrt((*variance)[i] + operation.GetNumber("eps"));
    bounds.Add(normalized[i], scale, forms[i]);
    normalized[i].constant += (bias ? (*bias)[i] : 0) - scale * (*mean)[i];
  }
  return BoundWeighted(std::move(normalized), bounds);
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
  entry.summary = "uses running_mean and running_var, which training keeps";
  entry.getBounds = &BoundNormalized;
  entry.attributes = { Epsilon(), Flag("affine", true) };
  entry.mayOverwrite = true;
  entry.roles = Role::Linear | Role::FrozenNorm;
  return entry;
}

OperationSchema
MakeAffine()
{
  OperationSchema entry = MakeEntry("affine", &GetScaleAndShiftIfBias);
  entry.summary = "factor and summand: for each channel, or with num_parameters 1 one for all";
  entry.getBounds = &BoundScaled;
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
  entry.summary = "one summand for all values";
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
  entry.summary = "over the channels of each pixel";
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
