/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
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
           ? "its inputs have " + std::to_string(channels[0]) + " and " + FormatCount(channels[1], "channel")
           : "";
}

/** One that is multiplied by a number does not show in its gradient. */
Keeps
KeepInputsOfProduct(const Operation & operation)
{
  return operation.inputs.size() == 1 ? Keeps::Nothing : Keeps::Input;
}

ValueForms
BoundConcatenated(const Operation & operation, ValueBounds & bounds)
{
  ValueForms all;
  for (std::size_t i = 0; i < operation.inputs.size(); ++i)
  {
    const ValueForms & forms = bounds.GetInput(operation, i);
    all.insert(all.end(), forms.begin(), forms.end());
  }
  return static_cast<int>(all.size()) == bounds.GetChannels(operation.name) ? all : ValueForms();
}

ValueForms
BoundPadded(const Operation & operation, ValueBounds & bounds)
{
  ValueForms forms = bounds.GetInput(operation);
  if (!forms.empty())
  {
    forms.insert(forms.begin(), operation.GetInteger("before"), ValueForm());
    forms.insert(forms.end(), operation.GetInteger("after"), ValueForm());
  }
  return forms;
}

ValueForms
BoundSliced(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms & forms = bounds.GetInput(operation);
  const auto         first = forms.begin() + (forms.empty() ? 0 : operation.GetInteger("start"));
  return { first, first + (forms.empty() ? 0 : operation.GetInteger("channels")) };
}

/** A number, as the form of each channel. */
ValueForms
GetSecond(const Operation & operation, ValueBounds & bounds)
{
  return operation.inputs.size() == 2
           ? bounds.GetInput(operation, 1)
           : ValueForms(bounds.GetChannels(operation.name), ValueForm{ operation.GetNumber("other") });
}

/** \param factor of the second one */
ValueForms
BoundSum(const Operation & operation, ValueBounds & bounds, double factor)
{
  ValueForms       sums = bounds.GetInput(operation);
  const ValueForms others = GetSecond(operation, bounds);
  sums.resize(others.empty() ? 0 : sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
  {
    bounds.Add(sums[i], factor, others[i]);
  }
  return sums;
}

ValueForms
BoundAddition(const Operation & operation, ValueBounds & bounds)
{
  return BoundSum(operation, bounds, 1);
}

ValueForms
BoundSubtraction(const Operation & operation, ValueBounds & bounds)
{
  return BoundSum(operation, bounds, -1);
}

ValueForms
BoundProduct(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms & given = bounds.GetInput(operation);
  const ValueForms   others = GetSecond(operation, bounds);
  ValueForms         products;
  for (std::size_t i = 0; i < given.size() && !others.empty(); ++i)
  {
    products.push_back(bounds.Multiply(given[i], others[others.size() == 1 ? 0 : i]));
  }
  return products;
}

ValueForms
BoundMean(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms & forms = bounds.GetInput(operation);
  ValueForms         mean(forms.empty() ? 0 : 1);
  for (const ValueForm & form : forms)
  {
    bounds.Add(mean.front(), 1 / static_cast<double>(forms.size()), form);
  }
  return mean;
}

ValueForms
BoundGreatestChannel(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms &            forms = bounds.GetInput(operation);
  const std::vector<ValueRange> ranges = bounds.GetRanges(forms);
  if (forms.empty())
  {
    return {};
  }
  ValueRange greatest = ranges.front();
  for (const ValueRange & range : ranges)
  {
    greatest = { std::max(greatest.least, range.least), std::max(greatest.greatest, range.greatest) };
  }
  return bounds.MakeSources({ greatest }, bounds.IsClipped(forms));
}

/** The operation that takes the greater, or the lesser, value of two maps. */
template <bool TIsGreater>
ValueForms
BoundOneOfBoth(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms & first = bounds.GetInput(operation);
  const ValueForms   second = GetSecond(operation, bounds);
  const auto         choose = [](double a, double b) { return TIsGreater ? std::max(a, b) : std::min(a, b); };
  if (first.empty() || second.empty())
  {
    return {};
  }
  std::vector<ValueRange> ranges = bounds.GetRanges(first);
  for (std::size_t i = 0; i < ranges.size(); ++i)
  {
    const ValueRange other = bounds.GetRange(second[i]);
    ranges[i] = { choose(ranges[i].least, other.least), choose(ranges[i].greatest, other.greatest) };
  }
  return bounds.MakeSources(ranges, bounds.IsClipped(first) || bounds.IsClipped(second));
}

OperationSchema
MakeConcatenation()
{
  OperationSchema entry("cat", 1, 64);
  entry.summary = "concatenates channels";
  entry.gradient = InputGradient::Shared;
  entry.getChannels = &SumChannels;
  entry.getSize = &KeepCommonSize;
  entry.getCost = &CostNothing;
  entry.getBounds = &BoundConcatenated;
  return entry;
}

OperationSchema
MakeChannelPadding()
{
  OperationSchema entry("pad_channels");
  entry.summary = "adds channels of zeros";
  entry.attributes = { Integer("before", 0, 0), Integer("after", 0, 0) };
  entry.gradient = InputGradient::Shared;
  entry.getChannels = &AddChannels;
  entry.getBounds = &BoundPadded;
  entry.getCost = &CostNothing;
  return entry;
}

/** Some channels, one behind the other. */
OperationSchema
MakeChannelSlicing()
{
  OperationSchema entry("slice_channels");
  entry.summary = "keeps some channels";
  entry.getBounds = &BoundSliced;
  entry.attributes = { Integer("start", 0, 0), NeededInteger("channels", 1) };
  entry.check = &CheckSlicedChannels;
  entry.getChannels = &GetSlicedChannels;
  entry.getCost = &CostNothing;
  return entry;
}

/** An operation of two maps, or a map and a number. */
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
  entry.summary = "sum with other, a number, or with a second input";
  entry.roles = Role::Linear | Role::Sum;
  entry.getBounds = &BoundAddition;
  return entry;
}

OperationSchema
MakeSubtraction()
{
  OperationSchema entry = MakePair("sub");
  entry.summary = "difference to other, a number, or to a second input";
  entry.gradient = InputGradient::FirstPassed;
  entry.getBounds = &BoundSubtraction;
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
  entry.summary = "product with other, a number, or with a second input, of which one channel multiplies all";
  entry.check = &CheckProduct;
  entry.getBounds = &BoundProduct;
  entry.gradient = InputGradient::Computed;
  entry.getKeeps = &KeepInputsOfProduct;
  return entry;
}

int
GetOneChannel(const Operation &, const Channels &)
{
  return 1;
}

/** Places of the greatest values, numbers of 64 bits. */
PassMaps
HoldPlaces(const Operation &, const MapSizes &)
{
  return { { 0, 3, 0 }, { 0, 3, 0 } };
}

/** Where the first one is chosen, as numbers. */
PassMaps
HoldChoice(const Operation &, const MapSizes &)
{
  return { { 0, 1, 0 }, { 0, 2, 0 } };
}

OperationSchema
MakeChannelMean()
{
  OperationSchema entry("channel_mean");
  entry.summary = "mean of all channels";
  entry.needsFloat = &AlwaysNeedFloat; // a sum
  entry.getPassMaps = &HoldOneMap;
  entry.getChannels = &GetOneChannel;
  entry.getBounds = &BoundMean;
  return entry;
}

/** The greatest value of all channels of a pixel; its gradient is that of the first one of them. */
OperationSchema
MakeGreatestChannel()
{
  OperationSchema entry("channel_max");
  entry.summary = "greatest of all channels";
  entry.getKeeps = &KeepInput;
  entry.getPassMaps = &HoldPlaces;
  entry.getChannels = &GetOneChannel;
  entry.getBounds = &BoundGreatestChannel;
  return entry;
}

/** The greater or less value of two maps, or of a map and a number. */
OperationSchema
MakeOneOfBoth(const char * type, ValueForms (*getBounds)(const Operation &, ValueBounds &), const char * summary)
{
  OperationSchema entry = MakePair(type);
  entry.summary = summary;
  entry.gradient = InputGradient::Computed;
  entry.mayOverwrite = false;
  entry.getKeeps = &KeepInput;
  entry.getPassMaps = &HoldChoice;
  entry.getBounds = getBounds;
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeArithmetic()
{
  return { MakeConcatenation(),
           MakeChannelPadding(),
           MakeChannelSlicing(),
           MakeAddition(),
           MakeSubtraction(),
           MakeProduct(),
           MakeChannelMean(),
           MakeGreatestChannel(),
           MakeOneOfBoth("maximum", &BoundOneOfBoth<true>, "greater value, of other, a number, or of a second input"),
           MakeOneOfBoth("minimum", &BoundOneOfBoth<false>, "lesser value, likewise") };
}

} // namespace schema
} // namespace gigapixel
