/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

namespace gigapixel
{
namespace schema
{
namespace
{

// A map becomes one pixel, or a few. Beside each reduction stands what its sums are, for maps of C channels; the
// executor computes those of a part.

using Sums = std::vector<double>;

/** Of one number and as many more as are added to it.
 * \return by what sums that were scaled for `greatest` are multiplied for `other`, the greater one */
double
Rescale(double greatest, double other)
{
  return greatest == other ? 1 : std::exp(greatest - other); // also where both are infinite
}

// Mean: of each cell C sums, and the number of pixels.

void
AddToMean(const Operation &, Sums & sums, const Sums & part, const Box &)
{
  sums.resize(part.size());
  std::transform(part.begin(), part.end(), sums.begin(), sums.begin(), std::plus<>());
}

std::size_t
CountCells(const Operation & operation)
{
  std::size_t cells = 1;
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    cells *= static_cast<std::size_t>(operation.GetAlong("output_size", axis));
  }
  return cells;
}

std::int64_t
CountSumsOfMean(const Operation & operation, std::int64_t channels)
{
  return static_cast<std::int64_t>(CountCells(operation)) * (channels + 1);
}

Sums
FinishMean(const Operation & operation, const Sums & sums)
{
  const std::size_t ofCell = sums.size() / CountCells(operation);
  Sums              means;
  for (std::size_t i = 0; i < sums.size(); i += ofCell)
  {
    const double number = std::max(1.0, sums[i + ofCell - 1]);
    std::transform(sums.begin() + i, sums.begin() + i + ofCell - 1, std::back_inserter(means), [number](double sum) {
      return sum / number;
    });
  }
  return means;
}

// Greatest: of each channel of each cell the greatest, and its place along each axis; of equal ones the first in the
// image's rows.

/** The place of the greatest of a cell none of whose pixels was seen. */
constexpr double Nowhere = -1;

void
AddToGreatest(const Operation &, Sums & sums, const Sums & part, const Box & box)
{
  const std::ptrdiff_t axes = box.GetNumberOfAxes();
  sums.resize(part.size(), Nowhere);
  auto ours = sums.begin();
  for (auto other = part.begin(); other != part.end(); ours += 1 + axes, other += 1 + axes)
  {
    if (other[1] == Nowhere)
    {
      continue;
    }
    PerAxis<double> place(static_cast<int>(axes));
    std::transform(box.begin(), box.end(), other + 1, place.begin(), [](const Interval & interval, double inPart) {
      return inPart + static_cast<double>(interval.begin);
    });
    const bool before = std::lexicographical_compare(place.begin(), place.end(), ours + 1, ours + 1 + axes);
    // What is no number stays to be seen.
    if (ours[1] == Nowhere || *other > *ours || (*other == *ours && before) || std::isnan(*other))
    {
      *ours = *other;
      std::copy(place.begin(), place.end(), ours + 1);
    }
  }
}

std::int64_t
CountSumsOfGreatest(const Operation & operation, std::int64_t channels)
{
  return static_cast<std::int64_t>(CountCells(operation)) * channels * (1 + operation.axes);
}

Sums
FinishGreatest(const Operation & operation, const Sums & sums)
{
  Sums greatest;
  for (std::size_t i = 0; i < sums.size(); i += 1 + operation.axes)
  {
    greatest.push_back(sums[i + 1] == Nowhere ? 0 : sums[i]); // as the mean of no pixels
  }
  return greatest;
}

bool
HoldsGreatest(const Sums & sums, const Sums & gradient, const Box & box)
{
  const auto holds = [](const Interval & interval, double place) {
    return static_cast<double>(interval.begin) <= place && place < static_cast<double>(interval.end);
  };
  auto sum = sums.begin();
  for (std::size_t c = 0; c < gradient.size(); ++c, sum += 1 + box.GetNumberOfAxes())
  {
    if (gradient[c] != 0 && std::equal(box.begin(), box.end(), sum + 1, holds))
    {
      return true;
    }
  }
  return false;
}

// log(mean(exp(r x))) / r: of each channel the greatest r x, and the sum of exp(r x - that); and the number of pixels.

constexpr std::size_t LogSums = 2;

void
AddToLogSum(const Operation &, Sums & sums, const Sums & part, const Box &)
{
  if (sums.empty())
  {
    sums = part;
    return;
  }
  for (std::size_t i = 0; i + 1 < part.size(); i += LogSums)
  {
    const double greatest = std::max(sums[i], part[i]);
    sums[i + 1] = sums[i + 1] * Rescale(sums[i], greatest) + part[i + 1] * Rescale(part[i], greatest);
    sums[i] = greatest;
  }
  sums.back() += part.back();
}

std::int64_t
CountLogSums(const Operation &, std::int64_t channels)
{
  return LogSums * channels + 1;
}

Sums
FinishLogSum(const Operation & operation, const Sums & sums)
{
  Sums values;
  for (std::size_t i = 0; i + 1 < sums.size(); i += LogSums)
  {
    values.push_back((sums[i] + std::log(sums[i + 1] / sums.back())) / operation.GetNumber("r"));
  }
  return values;
}

// Attention: of each channel the sum of values times exp(score - the greatest score), the sum of these weights, and the
// greatest score.

void
AddToAttention(const Operation &, Sums & sums, const Sums & part, const Box &)
{
  if (sums.empty())
  {
    sums = part;
    return;
  }
  const double greatest = std::max(sums.back(), part.back());
  const double ofSums = Rescale(sums.back(), greatest), ofPart = Rescale(part.back(), greatest);
  std::transform(part.begin(), part.end(), sums.begin(), sums.begin(), [&](double ours, double others) {
    return others * ofSums + ours * ofPart;
  });
  sums.back() = greatest;
}

std::int64_t
CountSumsOfAttention(const Operation &, std::int64_t channels)
{
  return channels + 2;
}

Sums
FinishAttention(const Operation &, const Sums & sums)
{
  Sums means(sums.size() - 2);
  std::transform(sums.begin(), sums.end() - 2, means.begin(), [&](double sum) { return sum / sums.end()[-2]; });
  return means;
}

std::int64_t
GetPooledSize(const Operation & operation, int axis, const Sizes &)
{
  return operation.GetAlong("output_size", axis);
}

OperationSchema
MakeEntry(const char * type, const char * typeOfVolumes, std::size_t inputs)
{
  OperationSchema entry(type, inputs, inputs);
  entry.typeOfVolumes = typeOfVolumes;
  entry.needsFloat = &AlwaysNeedFloat; // for sums in double of what is not rounded again
  entry.getRequired = &RequireAll;
  entry.getSize = &GetOnePixel;
  return entry;
}

/** To one pixel, or to cells, in which pixels count by where they lie. \return null: to too many */
const ReductionSchema *
ReduceToCells(const Operation & operation, const ReductionSchema & toOne, const ReductionSchema & toSeveral)
{
  constexpr std::size_t MostCells = 4096; // whose sums each tile has
  const std::size_t     cells = CountCells(operation);
  return cells == 1 ? &toOne : cells <= MostCells ? &toSeveral : nullptr;
}

const ReductionSchema *
ReduceToMean(const Operation & operation)
{
  static const ReductionSchema mean{ &AddToMean, &FinishMean, &CountSumsOfMean, nullptr },
    means{ &AddToMean, &FinishMean, &CountSumsOfMean, nullptr, true };
  return ReduceToCells(operation, mean, means);
}

const ReductionSchema *
ReduceToGreatest(const Operation & operation)
{
  static const ReductionSchema greatest{ &AddToGreatest, &FinishGreatest, &CountSumsOfGreatest, &HoldsGreatest },
    ofCells{ &AddToGreatest, &FinishGreatest, &CountSumsOfGreatest, &HoldsGreatest, true };
  return ReduceToCells(operation, greatest, ofCells);
}

const ReductionSchema *
ReduceToLogSum(const Operation &)
{
  static const ReductionSchema logSum{ &AddToLogSum, &FinishLogSum, &CountLogSums, nullptr };
  return &logSum;
}

const ReductionSchema *
ReduceByAttention(const Operation &)
{
  static const ReductionSchema attention{ &AddToAttention, &FinishAttention, &CountSumsOfAttention, nullptr };
  return &attention;
}

ValueForms
BoundGreatest(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms & forms = bounds.GetInput(operation);
  return bounds.MakeSources(bounds.GetRanges(forms), bounds.IsClipped(forms));
}

/** To a map of the attribute's size. */
OperationSchema
MakeAdaptivePool(const char * type,
                 const char * typeOfVolumes,
                 const char * summary,
                 const ReductionSchema * (*getReduction)(const Operation &))
{
  OperationSchema entry = MakeEntry(type, typeOfVolumes, 1);
  entry.summary = summary;
  entry.attributes = { NeededAlongAxes("output_size", 1) };
  entry.getSize = &GetPooledSize;
  entry.getReduction = getReduction;
  entry.getBounds = getReduction == &ReduceToMean ? &BoundLikeInput : &BoundGreatest;
  return entry;
}

OperationSchema
MakeLogSum()
{
  OperationSchema entry = MakeEntry("logsumexp_pool2d", "logsumexp_pool3d", 1);
  entry.summary = "log(mean of exp(r x)) / r";
  entry.attributes = { Number("r", 10) };
  entry.attributes.back().positive = true;
  entry.getKeeps = &KeepInput;
  entry.getReduction = &ReduceToLogSum;
  return entry;
}

std::string
CheckScores(const Operation &, const Channels & channels)
{
  return channels[1] == 1
           ? ""
           : "its second input, the scores, has " + FormatCount(channels[1], "channel") + " instead of one";
}

OperationSchema
MakeAttention()
{
  OperationSchema entry = MakeEntry("attention_pool2d", "attention_pool3d", 2);
  entry.summary = "mean weighted by the softmax of scores; inputs: map, scores";
  entry.getKeeps = &KeepInput;
  entry.check = &CheckScores;
  entry.getReduction = &ReduceByAttention;
  entry.getBounds = &BoundLikeInput;
  return entry;
}

} // namespace

} // namespace schema

Interval
GetCells(std::int64_t pixel, std::int64_t pixels, std::int64_t cells)
{
  return { schema::DivideDown(pixel * cells, pixels), schema::DivideUp((pixel + 1) * cells, pixels) };
}

namespace schema
{

std::vector<OperationSchema>
MakeGlobalPooling()
{
  return { MakeAdaptivePool(
             "adaptive_avg_pool2d", "adaptive_avg_pool3d", "means of cells, at most 4096 of them", &ReduceToMean),
           MakeAdaptivePool("adaptive_max_pool2d",
                            "adaptive_max_pool3d",
                            "greatest value of cells, at most 4096 of them",
                            &ReduceToGreatest),
           MakeLogSum(),
           MakeAttention() };
}

} // namespace schema
} // namespace gigapixel
