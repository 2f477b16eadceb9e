/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gigapixel
{
namespace schema
{
namespace
{

/** \param roles Role::Bits */
OperationSchema
MakeEntry(const char * type, Keeps (*getKeeps)(const Operation &), unsigned roles, const char * summary = "")
{
  OperationSchema entry(type);
  entry.summary = summary;
  entry.getKeeps = getKeeps;
  entry.mayOverwrite = true;
  entry.roles = roles;
  return entry;
}

constexpr double Infinity = std::numeric_limits<double>::infinity();

/** Values that are no less and no greater than two numbers: those between them stay what they are. */
ValueForms
Clip(const Operation & operation, ValueBounds & bounds, double least, double greatest)
{
  const ValueForms & given = bounds.GetInput(operation);
  const int          channels = bounds.GetChannels(operation.name);
  const ValueForms   unknown(given.empty() ? channels : 0, ValueForm{ 0, { { -1, 1.0 } } });
  ValueForms         clipped;
  for (const ValueForm & form : given.empty() ? unknown : given)
  {
    const ValueRange range = bounds.GetRange(form);
    if (range.least >= least && range.greatest <= greatest)
    {
      clipped.push_back(form);
      continue;
    }
    const bool       isClip = !std::isfinite(range.greatest) || bounds.IsClipped(form);
    const ValueRange left{ std::clamp(range.least, least, greatest), std::clamp(range.greatest, least, greatest) };
    const ValueForms source = bounds.MakeSources({ left }, isClip);
    clipped.insert(clipped.end(), source.begin(), source.end());
  }
  return static_cast<int>(clipped.size()) == channels ? clipped : ValueForms();
}

ValueForms
BoundRectified(const Operation & operation, ValueBounds & bounds)
{
  return Clip(operation, bounds, 0, Infinity);
}

ValueForms
BoundClipped(const Operation & operation, ValueBounds & bounds)
{
  return Clip(operation, bounds, operation.GetNumber("min_val"), operation.GetNumber("max_val"));
}

ValueForms
BoundByOne(const Operation & operation, ValueBounds & bounds)
{
  return BoundEach(operation, bounds, { 0, 1 });
}

ValueForms
BoundByOneAtBothSides(const Operation & operation, ValueBounds & bounds)
{
  return BoundEach(operation, bounds, { -1, 1 });
}

ValueForms
BoundBelow(const Operation & operation, ValueBounds & bounds)
{
  return BoundEach(operation, bounds, { 0, Infinity });
}

/** Logarithms of probabilities are 0 or less. */
ValueForms
BoundLogarithm(const Operation & operation, ValueBounds & bounds)
{
  const double            eps = operation.GetNumber("eps");
  std::vector<ValueRange> ranges = bounds.GetRanges(bounds.GetInput(operation));
  for (ValueRange & range : ranges)
  {
    range = { range.least <= eps ? -Infinity : std::log(range.least), std::log(std::max(range.greatest, eps)) };
  }
  return bounds.MakeSources(ranges);
}

ValueForms
BoundShares(const Operation & operation, ValueBounds & bounds)
{
  return bounds.MakeShares(bounds.GetChannels(operation.name), 1);
}

OperationSchema
MakeReLU()
{
  OperationSchema entry = MakeEntry("relu", &KeepOutput, Role::Rectifier);
  entry.getBounds = &BoundRectified;
  entry.gradient = InputGradient::InPlace;
  return entry;
}

OperationSchema
MakeLeakyReLU()
{
  OperationSchema entry = MakeEntry("leaky_relu", &KeepInput, Role::Rectifier);
  entry.attributes = { Number("negative_slope", 0.01) };
  return entry;
}

/** One slope below zero for each channel, or one for all of them. */
std::string
CheckSlopes(const Operation & operation, const Channels & channels)
{
  const std::int64_t slopes = operation.GetInteger("num_parameters");
  return slopes == 1 || slopes == channels.front()
           ? ""
           : "its " + std::to_string(slopes) + " slopes are neither one nor one for each of its " +
               FormatCount(channels.front(), "channel");
}

Parameters
GetSlopes(const Operation & operation, const Channels &)
{
  return { { "weight", { operation.GetInteger("num_parameters") }, true, 0.25 } }; // PyTorch's initial slope
}

OperationSchema
MakePReLU()
{
  OperationSchema entry =
    MakeEntry("prelu", &KeepInput, Role::Rectifier, "trained slopes, one or one for each channel, 0.25 at first");
  entry.attributes = { Integer("num_parameters", 1, 1) };
  entry.needsFloat = &AlwaysNeedFloat; // for its slopes' gradient, a sum
  entry.getPassMaps = &HoldOneMap;
  entry.mayOverwrite = false;
  entry.check = &CheckSlopes;
  entry.getParameters = &GetSlopes;
  return entry;
}

OperationSchema
MakeELU()
{
  OperationSchema entry = MakeEntry("elu", &KeepInput, Role::Rectifier);
  entry.attributes = { Number("alpha", 1) };
  return entry;
}

OperationSchema
MakeGELU()
{
  OperationSchema entry = MakeEntry("gelu", &KeepInput, Role::Rectifier);
  entry.attributes = { Word("approximate", "none", { "none", "tanh" }) };
  entry.mayOverwrite = false; // LibTorch has none that does
  return entry;
}

OperationSchema
MakeMish()
{
  OperationSchema entry = MakeEntry("mish", &KeepInput, Role::Rectifier);
  entry.needsFloat = &AlwaysNeedFloat; // LibTorch 1.13 has none in bf16
  return entry;
}

std::string
CheckRange(const Operation & operation, const Channels &)
{
  return operation.GetNumber("min_val") < operation.GetNumber("max_val") ? "" : "its min_val is not below its max_val";
}

OperationSchema
MakeHardTanh()
{
  OperationSchema entry = MakeEntry("hardtanh", &KeepInput, Role::Rectifier, "ReLU6 is 0 to 6");
  entry.getBounds = &BoundClipped;
  entry.attributes = { Number("min_val", -1), Number("max_val", 1) };
  entry.needsFloat = &AlwaysNeedFloat; // LibTorch 1.13 has no gradient of it in bf16
  entry.check = &CheckRange;
  return entry;
}

/** Over the channels of each pixel. */
OperationSchema
MakeSoftmax()
{
  OperationSchema entry = MakeEntry("softmax", &KeepOutput, Role::None, "over the channels of each pixel");
  entry.getBounds = &BoundShares;
  entry.needsFloat = &AlwaysNeedFloat; // for its gradient, which has a sum
  entry.getPassMaps = &HoldOneMap;
  entry.mayOverwrite = false;
  return entry;
}

/** An activation whose values lie between two numbers. */
OperationSchema
MakeSquash(const char * type,
           Keeps (*getKeeps)(const Operation &),
           ValueForms (*getBounds)(const Operation &, ValueBounds &))
{
  OperationSchema entry = MakeEntry(type, getKeeps, Role::None);
  entry.getBounds = getBounds;
  return entry;
}

/** log(1 + exp(beta x)) / beta. */
OperationSchema
MakeSoftplus()
{
  OperationSchema entry = MakeEntry("softplus", &KeepInput, Role::Rectifier);
  entry.attributes = { Number("beta", 1), Number("threshold", 20) };
  entry.attributes.front().positive = true;
  entry.needsFloat = &AlwaysNeedFloat; // LibTorch 1.13 has no gradient of it in bf16
  entry.mayOverwrite = false;          // nor one in place
  entry.getBounds = &BoundBelow;
  return entry;
}

std::string
CheckLeast(const Operation & operation, const Channels &)
{
  return operation.GetNumber("eps") < 0.5 ? "" : "its eps is not below 0.5";
}

/** Logits of probabilities: p becomes log(p), whose softmax is p again where all p have the sum 1, or log(p / (1 - p)),
 * whose sigmoid is p. Below eps, and above 1 - eps, p counts as that. */
OperationSchema
MakeLogits(const char * type,
           double       eps,
           ValueForms (*getBounds)(const Operation &, ValueBounds &),
           const char * summary)
{
  OperationSchema entry = MakeEntry(type, &KeepInput, Role::None, summary);
  entry.getBounds = getBounds;
  entry.attributes = { Number("eps", eps) };
  entry.attributes.front().positive = true;
  entry.needsFloat = &AlwaysNeedFloat; // 1 - p has its digits
  entry.getPassMaps = &HoldOneMap;
  entry.check = &CheckLeast;
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeActivations()
{
  return { MakeReLU(),
           MakeLeakyReLU(),
           MakePReLU(),
           MakeELU(),
           MakeGELU(),
           MakeEntry("silu", &KeepInput, Role::Rectifier),
           MakeMish(),
           MakeEntry("hardswish", &KeepInput, Role::Rectifier),
           MakeSquash("sigmoid", &KeepOutput, &BoundByOne),
           MakeSquash("hardsigmoid", &KeepInput, &BoundByOne),
           MakeSquash("tanh", &KeepOutput, &BoundByOneAtBothSides),
           MakeHardTanh(),
           MakeSoftmax(),
           MakeSoftplus(),
           MakeLogits("log", 1e-30, &BoundLogarithm, "logarithm; smaller values count as eps"),
           MakeLogits("logit", 1e-7, nullptr, "log(p / (1 - p)), p from eps to 1 - eps") };
}

} // namespace schema
} // namespace gigapixel
