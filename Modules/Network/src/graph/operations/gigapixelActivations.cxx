/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

namespace gigapixel
{
namespace schema
{
namespace
{

/** \param roles Role::Bits */
OperationSchema
MakeEntry(const char * type, Keeps (*getKeeps)(const Operation &), unsigned roles)
{
  OperationSchema entry(type);
  entry.getKeeps = getKeeps;
  entry.mayOverwrite = true;
  entry.roles = roles;
  return entry;
}

OperationSchema
MakeReLU()
{
  OperationSchema entry = MakeEntry("relu", &KeepOutput, Role::Rectifier | Role::NoLogits);
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
               std::to_string(channels.front()) + " channels";
}

Parameters
GetSlopes(const Operation & operation, const Channels &)
{
  return { { "weight", { operation.GetInteger("num_parameters") }, true, 0.25 } }; // PyTorch's initial slope
}

OperationSchema
MakePReLU()
{
  OperationSchema entry = MakeEntry("prelu", &KeepInput, Role::Rectifier);
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
  OperationSchema entry = MakeEntry("hardtanh", &KeepInput, Role::Rectifier | Role::NoLogits);
  entry.attributes = { Number("min_val", -1), Number("max_val", 1) };
  entry.needsFloat = &AlwaysNeedFloat; // LibTorch 1.13 has no gradient of it in bf16
  entry.check = &CheckRange;
  return entry;
}

/** Over the channels of each pixel. */
OperationSchema
MakeSoftmax()
{
  OperationSchema entry = MakeEntry("softmax", &KeepOutput, Role::NoLogits);
  entry.needsFloat = &AlwaysNeedFloat; // for its gradient, which has a sum
  entry.getPassMaps = &HoldOneMap;
  entry.mayOverwrite = false;
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
           MakeEntry("sigmoid", &KeepOutput, Role::NoLogits),
           MakeEntry("hardsigmoid", &KeepInput, Role::NoLogits),
           MakeEntry("tanh", &KeepOutput, Role::NoLogits),
           MakeHardTanh(),
           MakeSoftmax() };
}

} // namespace schema
} // namespace gigapixel
