/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

#include <cmath>

namespace gigapixel
{
namespace schema
{
namespace
{

// Norms whose statistics are those of the whole image are two operations: statistics, which reduce a map to one pixel,
// and what each pixel becomes by them.

using Sums = std::vector<double>;

/** 0 stands for as many groups as channels. */
std::int64_t
GetNumberOfGroups(const Operation & operation, int channels)
{
  const bool         hasGroups = operation.attributes.count("num_groups") > 0;
  const std::int64_t groups = hasGroups ? operation.GetInteger("num_groups") : 0;
  return groups == 0 ? channels : groups;
}

std::string
CheckGroups(const Operation & operation, const Channels & channels)
{
  return channels.front() % GetNumberOfGroups(operation, channels.front()) == 0
           ? ""
           : "its " + std::to_string(channels.front()) + " channels are no multiple of its groups";
}

// Statistics: the number of pixels, of each channel the mean, and of each channel the sum of squared differences to it.
// Statistics of parts are taken together as Chan, Golub and LeVeque do (Updating formulae and a pairwise algorithm for
// computing sample variances, COMPSTAT 1982), so that a large mean costs no digits of a small deviation.

void
AddToMoments(const Operation &, Sums & sums, const Sums & part, const Box &)
{
  if (sums.empty())
  {
    sums = part;
    return;
  }
  const std::size_t channels = (part.size() - 1) / 2;
  const double      before = sums[0], number = part[0], all = before + number;
  for (std::size_t c = 1; c <= channels; ++c)
  {
    const double difference = part[c] - sums[c];
    sums[c] += difference * (number / all);
    sums[channels + c] += part[channels + c] + difference * difference * (before * number / all);
  }
  sums[0] = all;
}

std::int64_t
CountMoments(const Operation &, std::int64_t channels)
{
  return 2 * channels + 1;
}

/** The mean of each group, then one over each group's deviation. */
Sums
FinishMoments(const Operation & operation, const Sums & sums)
{
  const std::size_t channels = (sums.size() - 1) / 2;
  const auto        groups = static_cast<std::size_t>(GetNumberOfGroups(operation, static_cast<int>(channels)));
  const std::size_t ofGroup = channels / groups;
  const double      epsilon = operation.GetNumber("eps");
  Sums              statistics(2 * groups);
  for (std::size_t g = 0; g < groups; ++g)
  {
    const double * const means = sums.data() + 1 + g * ofGroup;
    const double * const squares = means + channels;
    double               mean = 0, square = 0;
    for (std::size_t c = 0; c < ofGroup; ++c)
    {
      mean += means[c] / static_cast<double>(ofGroup);
    }
    for (std::size_t c = 0; c < ofGroup; ++c)
    {
      square += squares[c] + sums[0] * (means[c] - mean) * (means[c] - mean);
    }
    statistics[g] = mean;
    statistics[groups + g] = 1 / std::sqrt(square / (sums[0] * static_cast<double>(ofGroup)) + epsilon);
  }
  return statistics;
}

const ReductionSchema *
ReduceToMoments(const Operation &)
{
  static const ReductionSchema moments{ &AddToMoments, &FinishMoments, &CountMoments, nullptr };
  return &moments;
}

int
GetStatisticsChannels(const Operation & operation, const Channels & channels)
{
  return static_cast<int>(2 * GetNumberOfGroups(operation, channels.front()));
}

OperationSchema
MakeStatistics()
{
  OperationSchema entry(StatisticsType);
  entry.attributes = { Integer("num_groups", 0, 0), Epsilon() };
  entry.getKeeps = &KeepInput;
  entry.needsFloat = &AlwaysNeedFloat;
  entry.check = &CheckGroups;
  entry.getChannels = &GetStatisticsChannels;
  entry.getRequired = &RequireAll;
  entry.getSize = &GetOnePixel;
  entry.getReduction = &ReduceToMoments;
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
CheckStatistics(const Operation & operation, const Channels & channels)
{
  const std::string groups = CheckGroups(operation, channels);
  const bool        has = channels.size() == 1 || channels[1] == GetStatisticsChannels(operation, channels);
  return !groups.empty() || has ? groups : "its second input has not the channels that its statistics have";
}

/** The same pixels of the map, and all of the statistics, which is one pixel. */
Interval
RequireStatistics(const Operation &, int, std::size_t input, const Interval & output, const AxisSizes & sizes)
{
  return input == 0 ? output : Interval{ 0, sizes.inputs[input] };
}

bool
IsStatistics(const Operation &, std::size_t input, const AxisSizes &)
{
  return input == 1;
}

/** The second input, the statistics, is written out by NetworkGraph::Validate() where it is not given. */
OperationSchema
MakeNorm(const char * type)
{
  OperationSchema entry(type, 1, 2);
  entry.getKeeps = &KeepInput;
  entry.needsFloat = &AlwaysNeedFloat;
  entry.mayOverwrite = true;
  entry.roles = Role::WholeImageNorm;
  entry.check = &CheckStatistics;
  entry.getRequired = &RequireStatistics;
  entry.isSpread = &IsStatistics;
  entry.getParameters = &GetScaleAndShift;
  return entry;
}

OperationSchema
MakeInstanceNorm()
{
  OperationSchema entry = MakeNorm("instance_norm");
  entry.summary = "mean and variance of each channel";
  entry.attributes = { Epsilon(), Flag("affine", false) };
  return entry;
}

OperationSchema
MakeGroupNorm()
{
  OperationSchema entry = MakeNorm("group_norm");
  entry.summary = "mean and variance of each group of channels";
  entry.attributes = { NeededInteger("num_groups", 1), Epsilon(), Flag("affine", true) };
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeGlobalNorms()
{
  return { MakeStatistics(), MakeInstanceNorm(), MakeGroupNorm() };
}

} // namespace schema
} // namespace gigapixel
