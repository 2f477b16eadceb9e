/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace gigapixel
{
namespace schema
{
namespace
{

int
SumChannels(const Operation &, const Channels & channels)
{
  return std::accumulate(channels.begin(), channels.end(), 0);
}

int
AddChannels(const Operation & operation, const Channels & channels)
{
  return static_cast<int>(channels.front() + operation.GetInteger("before") + operation.GetInteger("after"));
}

int
GetSlicedChannels(const Operation & operation, const Channels &)
{
  return static_cast<int>(operation.GetInteger("channels"));
}

std::string
CheckSlicedChannels(const Operation & operation, const Channels & channels)
{
  const std::int64_t end = operation.GetInteger("start") + operation.GetInteger("channels");
  return end <= channels.front() ? ""
                                 : "it takes channels up to number " + std::to_string(end) + " of " +
                                     std::to_string(channels.front()) + " that there are";
}

std::string
CheckPair(const Operation & operation, const Channels & channels)
{
  if (channels.size() == 1 && !std::isfinite(operation.GetNumber("other")))
  {
    return "it needs a second input, or the number \"other\"";
  }
  return channels.size() == 2 && channels[0] != channels[1]
           ? "its inputs have " + std::to_string(channels[0]) + " and " + std::to_string(channels[1]) + " channels"
           : "";
}

/** One that is multiplied by a number does not show in its gradient. */
Keeps
KeepInputsOfProduct(const Operation & operation)
{
  return operation.inputs.size() == 1 ? Keeps::Nothing : Keeps::Input;
}

OperationSchema
MakeConcatenation()
{
  OperationSchema entry("cat", 1, 64);
  entry.gradient = InputGradient::Shared;
  entry.getChannels = &SumChannels;
  entry.getSize = &KeepCommonSize;
  entry.getCost = &CostNothing;
  return entry;
}

OperationSchema
MakeChannelPadding()
{
  OperationSchema entry("pad_channels");
  entry.attributes = { Integer("before", 0, 0), Integer("after", 0, 0) };
  entry.gradient = InputGradient::Shared;
  entry.getChannels = &AddChannels;
  entry.getCost = &CostNothing;
  return entry;
}

/** Some channels, one behind the other. */
OperationSchema
MakeChannelSlicing()
{
  OperationSchema entry("slice_channels");
  entry.roles = Role::SameValues;
  entry.attributes = { Integer("start", 0, 0), NeededInteger("channels", 1) };
  entry.check = &CheckSlicedChannels;
  entry.getChannels = &GetSlicedChannels;
  entry.getCost = &CostNothing;
  return entry;
}

/** Of two maps, or a map and a number. */
OperationSchema
MakePair(const char * type)
{
  OperationSchema entry(type, 1, 2);
  entry.attributes = { Number("other", std::numeric_limits<double>::quiet_NaN()) }; // not given
  entry.gradient = InputGradient::Passed;
  entry.mayOverwrite = true;
  entry.check = &CheckPair;
  entry.getSize = &KeepCommonSize;
  return entry;
}

OperationSchema
MakeAddition()
{
  OperationSchema entry = MakePair("add");
  entry.roles = Role::Linear | Role::Sum;
  return entry;
}

OperationSchema
MakeSubtraction()
{
  OperationSchema entry = MakePair("sub");
  entry.gradient = InputGradient::FirstPassed;
  return entry;
}

/** A map of one channel multiplies all channels of the first input: attention. */
std::string
CheckProduct(const Operation & operation, const Channels & channels)
{
  return channels.size() == 2 && channels[1] == 1 ? "" : CheckPair(operation, channels);
}

OperationSchema
MakeProduct()
{
  OperationSchema entry = MakePair("mul");
  entry.check = &CheckProduct;
  entry.gradient = InputGradient::Computed;
  entry.getKeeps = &KeepInputsOfProduct;
  return entry;
}

int
GetOneChannel(const Operation &, const Channels &)
{
  return 1;
}

OperationSchema
MakeChannelMean()
{
  OperationSchema entry("channel_mean");
  entry.needsFloat = &AlwaysNeedFloat; // a sum
  entry.getPassMaps = &HoldOneMap;
  entry.getChannels = &GetOneChannel;
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeArithmetic()
{
  return { MakeConcatenation(), MakeChannelPadding(), MakeChannelSlicing(), MakeAddition(),
           MakeSubtraction(),   MakeProduct(),        MakeChannelMean() };
}

} // namespace schema
} // namespace gigapixel
