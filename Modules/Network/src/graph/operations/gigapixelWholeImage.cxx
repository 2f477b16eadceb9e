/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

#include <algorithm>
#include <functional>

namespace gigapixel
{
namespace schema
{
namespace
{

// Each value of these depends on all pixels of a map.

Interval
RequireAll(const Operation &, int, std::size_t input, const Interval &, const AxisSizes & sizes)
{
  return { 0, sizes.inputs[input] };
}

OperationSchema
MakeEntry(const char * type)
{
  OperationSchema entry(type);
  entry.getRequired = &RequireAll;
  return entry;
}

std::int64_t
GetPooledSize(const Operation & operation, int axis, const Sizes &)
{
  return operation.GetAlong("output_size", axis);
}

/** To a map of this size, whatever the input's is. */
OperationSchema
MakeAdaptivePool(const char * type)
{
  OperationSchema entry = MakeEntry(type);
  entry.attributes = { NeededAlongAxes("output_size", 1) };
  entry.getSize = &GetPooledSize;
  return entry;
}

void
AddSums(std::vector<double> & sums, const std::vector<double> & part)
{
  sums.resize(part.size());
  std::transform(part.begin(), part.end(), sums.begin(), sums.begin(), std::plus<>());
}

std::vector<double>
DividePixels(const std::vector<double> & sums, double pixels)
{
  std::vector<double> means(sums.size());
  std::transform(sums.begin(), sums.end(), means.begin(), [pixels](double sum) { return sum / pixels; });
  return means;
}

const ReductionSchema *
ReduceToMean(const Operation & operation)
{
  static const ReductionSchema mean{ &AddSums, &DividePixels };
  for (int axis = 0; axis < Axes; ++axis)
  {
    if (operation.GetAlong("output_size", axis) != 1)
    {
      return nullptr;
    }
  }
  return &mean;
}

OperationSchema
MakeAdaptiveMean()
{
  OperationSchema entry = MakeAdaptivePool("adaptive_avg_pool2d");
  entry.getReduction = &ReduceToMean;
  return entry;
}

Parameters
GetScaleAndShift(const Operation & operation, const Channels & channels)
{
  return operation.GetFlag("affine")
           ? Parameters{ { "weight", { channels.front() }, true, 1 }, { "bias", { channels.front() }, true } }
           : Parameters{};
}

std::string
CheckGroups(const Operation & operation, const Channels & channels)
{
  return channels.front() % operation.GetInteger("num_groups") == 0
           ? ""
           : "its " + std::to_string(channels.front()) + " channels are no multiple of its groups";
}

OperationSchema
MakeInstanceNorm()
{
  OperationSchema entry = MakeEntry("instance_norm");
  entry.attributes = { Epsilon(), Flag("affine", false) };
  entry.getParameters = &GetScaleAndShift;
  return entry;
}

OperationSchema
MakeGroupNorm()
{
  OperationSchema entry = MakeEntry("group_norm");
  entry.attributes = { NeededInteger("num_groups", 1), Epsilon(), Flag("affine", true) };
  entry.check = &CheckGroups;
  entry.getParameters = &GetScaleAndShift;
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeWholeImage()
{
  return { MakeAdaptiveMean(), MakeAdaptivePool("adaptive_max_pool2d"), MakeInstanceNorm(), MakeGroupNorm() };
}

} // namespace schema
} // namespace gigapixel
