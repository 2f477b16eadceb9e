/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "EvaluateVolumes.h"

#include "VolumeFile.h"

#include "gigapixelFreeMemory.h"
#include "gigapixelSurfaceDistance.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

namespace gigapixel::commandline
{
namespace
{
using JSON = nlohmann::ordered_json;

constexpr std::size_t NumberOfLabels = 256;

/** What a name leads to. */
struct Look
{
  bool               hasSlices{ false };
  std::exception_ptr problem; ///< with which it was opened as a volume
};

Look
LookAt(const std::string & name)
{
  Look look;
  if (IsVolume(name))
  {
    try
    {
      look.hasSlices = OpenVolume(name).grid.size.depth > 1;
    }
    catch (const std::exception &) // of another shape: whoever opens it as a mask says what is wrong
    {
      look.hasSlices = name.find(".nii") != std::string::npos;
      look.problem = std::current_exception();
    }
  }
  return look;
}

/** \throw std::runtime_error they cannot be in memory */
void
CheckMemory(const itk::GigapixelVolume & prediction, const itk::GigapixelVolume & truth)
{
  const Size &       size = truth.grid.size;
  const std::int64_t voxels = size.width * size.height * size.depth;
  // Labels of both are kept as bytes; the files are read one after the other, and then there is a map of distances.
  const std::int64_t bytes =
    std::max({ prediction.readingBytes,
               voxels + std::max(prediction.heldBytes, truth.readingBytes),
               2 * voxels + std::max(truth.heldBytes, voxels * static_cast<std::int64_t>(sizeof(float))) });
  const auto free = static_cast<std::int64_t>(GetFreeMemory());
  if (free > 0 && bytes > free)
  {
    throw std::runtime_error("to compare " + prediction.name + " with " + truth.name + " takes " +
                             FormatBytes(static_cast<double>(bytes)) + " of memory, and " +
                             FormatBytes(static_cast<double>(free)) + " are free: compare them on a larger machine.");
  }
}

/** The volume's own voxels are dropped. \throw std::runtime_error a value is no whole number from 0 to 255 */
LabelVolume
ReadLabels(itk::GigapixelVolume & volume)
{
  const Size & size = volume.grid.size;
  LabelVolume  result{ { size.width, size.height, size.depth }, volume.grid.spacing, {} };
  if (volume.voxels->GetNumberOfChannels() != 1)
  {
    throw std::runtime_error(volume.name + " has " + std::to_string(volume.voxels->GetNumberOfChannels()) +
                             " channels; a volume of labels has one.");
  }
  std::vector<float> slice(static_cast<std::size_t>(size.width * size.height));
  result.labels.reserve(slice.size() * static_cast<std::size_t>(size.depth));
  for (std::int64_t z = 0; z < size.depth; ++z)
  {
    ThrowIfInterrupted();
    volume.voxels->Read({ 0, 0, size.width, size.height, z, 1 }, reinterpret_cast<std::uint8_t *>(slice.data()));
    for (const float value : slice)
    {
      if (!(value >= 0 && value < NumberOfLabels) || value != std::floor(value))
      {
        throw std::runtime_error(volume.name + " has the value " + FormatNumber(value, 3) +
                                 ", which is no label: labels are whole numbers from 0 to 255.");
      }
      result.labels.push_back(static_cast<std::uint8_t>(value));
    }
  }
  volume.voxels.reset();
  return result;
}

using Counts = std::array<std::int64_t, NumberOfLabels>;

Counts
Count(const LabelVolume & volume)
{
  Counts counts{};
  for (const std::uint8_t label : volume.labels)
  {
    ++counts[label];
  }
  return counts;
}

/** But for 0. */
std::vector<int>
ListLabels(const Counts & counts)
{
  std::vector<int> labels;
  for (int label = 1; label < static_cast<int>(NumberOfLabels); ++label)
  {
    if (counts[static_cast<std::size_t>(label)] > 0)
    {
      labels.push_back(label);
    }
  }
  return labels;
}

/** Masks have 255 where segment writes 1; as in training both are the object, where there is only one class. */
void
ReadObjectAsOne(const Counts & predicted, Counts & isTrue, LabelVolume & truth)
{
  constexpr std::uint8_t Object = 255;
  const auto             labels = ListLabels(predicted);
  const bool             isOne = labels.empty() || labels == std::vector<int>{ 1 };
  if (isOne && ListLabels(isTrue) == std::vector<int>{ Object })
  {
    std::replace(truth.labels.begin(), truth.labels.end(), Object, std::uint8_t{ 1 });
    std::swap(isTrue[1], isTrue[Object]);
  }
}

void
WarnOfOtherLabels(const Counts &      predicted,
                  const Counts &      isTrue,
                  const std::string & prediction,
                  const std::string & truth,
                  const Session &     session)
{
  const auto ofPrediction = ListLabels(predicted), ofTruth = ListLabels(isTrue);
  if (!ofPrediction.empty() && !ofTruth.empty() &&
      std::find_first_of(ofPrediction.begin(), ofPrediction.end(), ofTruth.begin(), ofTruth.end()) ==
        ofPrediction.end())
  {
    session.Warn("gigapixel: " + prediction + " and " + truth + " have no label in common (" +
                 std::to_string(ofPrediction.front()) + " and " + std::to_string(ofTruth.front()) +
                 " are the least): look whether both number the classes alike.");
  }
}

Counts
Unite(Counts counts, const Counts & others)
{
  std::transform(counts.begin(), counts.end(), others.begin(), counts.begin(), std::plus<>());
  return counts;
}

/** Distances are computed axis by axis, as Pythagoras has it. */
bool
HasDistances(const itk::GigapixelVolume & volume, const Session & session)
{
  constexpr double Rounding = 2e-3; // of headers that have three digits
  if (volume.grid.GetShear() <= Rounding)
  {
    return true;
  }
  session.Warn("gigapixel: the axes of " + volume.name +
               " are not perpendicular, so that no distances are measured: resample both for these.");
  return false;
}

JSON
DescribeLabel(std::uint8_t                           label,
              const Counts &                         predicted,
              const Counts &                         isTrue,
              std::int64_t                           both,
              const std::optional<SurfaceDistance> & distance,
              double                                 voxelMl)
{
  const auto inAll = static_cast<double>(predicted[label] + isTrue[label]);
  JSON       json{ { "label", label } };
  json["dice"] = 2 * static_cast<double>(both) / inAll;
  json["hausdorff95Mm"] = distance ? JSON(distance->hausdorff95) : JSON();
  json["meanSurfaceDistanceMm"] = distance ? JSON(distance->mean) : JSON();
  json["predictionVoxels"] = predicted[label];
  json["truthVoxels"] = isTrue[label];
  json["predictionMl"] = voxelMl * static_cast<double>(predicted[label]);
  json["truthMl"] = voxelMl * static_cast<double>(isTrue[label]);
  return json;
}

/** Those of either. */
JSON
DescribeLabels(const LabelVolume &          prediction,
               const LabelVolume &          truth,
               const Counts &               predicted,
               const Counts &               isTrue,
               const itk::GigapixelVolume & volume,
               const Session &              session)
{
  Counts both{};
  for (std::size_t i = 0; i < truth.labels.size(); ++i)
  {
    both[truth.labels[i]] += prediction.labels[i] == truth.labels[i] ? 1 : 0;
  }
  const double voxelMl = volume.grid.GetVoxelVolume() / 1000;
  const bool   hasDistances = HasDistances(volume, session);
  Progress     progress(session, "evaluate");
  JSON         json = JSON::array();
  for (const int label : ListLabels(Unite(predicted, isTrue)))
  {
    ThrowIfInterrupted();
    progress.Update(static_cast<double>(label) / NumberOfLabels);
    const auto number = static_cast<std::uint8_t>(label);
    const auto distance =
      hasDistances ? MeasureSurfaceDistance(prediction, truth, number) : std::optional<SurfaceDistance>();
    json.push_back(DescribeLabel(number, predicted, isTrue, both[number], distance, voxelMl));
  }
  progress.Finish();
  return json;
}

std::string
FormatMm(const JSON & value)
{
  return value.is_null() ? std::string("-") : FormatNumber(value.get<double>(), 3);
}

std::string
PadLeft(const std::string & text, std::size_t width)
{
  return text.size() < width ? std::string(width - text.size(), ' ') + text : ' ' + text;
}

std::string
Format(const JSON & json)
{
  std::string text = " label      dice   hd95 mm   mean mm  predicted ml   true ml\n";
  for (const JSON & label : json["labels"])
  {
    text += PadLeft(label["label"].dump(), 6) + PadLeft(FormatNumber(label["dice"].get<double>(), 6), 10) +
            PadLeft(FormatMm(label["hausdorff95Mm"]), 10) + PadLeft(FormatMm(label["meanSurfaceDistanceMm"]), 10) +
            PadLeft(FormatNumber(label["predictionMl"].get<double>(), 3), 14) +
            PadLeft(FormatNumber(label["truthMl"].get<double>(), 3), 10) + '\n';
  }
  return text + "  mean" +
         (json["meanDice"].is_null() ? "         - (both are 0 everywhere)"
                                     : PadLeft(FormatNumber(json["meanDice"].get<double>(), 6), 10)) +
         '\n';
}

void
RefuseOptions(const ArgumentValues & values)
{
  for (const char * option : { "cohort", "split", "by", "positive", "bins", "pictures", "overwrite", "partial" })
  {
    if (values.IsGiven(option))
    {
      throw UsageError(std::string("--") + option + " is not of volumes, which PREDICTION and TRUTH are.");
    }
  }
}

} // namespace

bool
AreLabelVolumes(const std::string & prediction, const std::string & truth)
{
  const Look ofPrediction = LookAt(prediction), ofTruth = LookAt(truth);
  if (ofPrediction.hasSlices == ofTruth.hasSlices)
  {
    return ofTruth.hasSlices;
  }
  for (const Look & look : { ofPrediction, ofTruth })
  {
    if (!look.hasSlices && look.problem)
    {
      std::rethrow_exception(look.problem);
    }
  }
  throw std::runtime_error((ofTruth.hasSlices ? truth : prediction) + " is a volume, and " +
                           (ofTruth.hasSlices ? prediction : truth) + " is none: they cannot be compared.");
}

int
RunEvaluateVolumes(const ArgumentValues & values, const Session & session)
{
  RefuseOptions(values);
  auto              predictionFile = OpenVolume(values.GetText("PREDICTION"));
  auto              truthFile = OpenVolume(values.GetText("TRUTH"));
  const std::string difference = truthFile.grid.DescribeDifference(predictionFile.grid);
  if (!difference.empty())
  {
    throw std::runtime_error(predictionFile.name + ' ' + difference + " as " + truthFile.name +
                             ": resample one of them to the other's grid before.");
  }
  CheckMemory(predictionFile, truthFile);
  const LabelVolume prediction = ReadLabels(predictionFile);
  LabelVolume       truth = ReadLabels(truthFile);
  const Counts      predicted = Count(prediction);
  Counts            isTrue = Count(truth);
  ReadObjectAsOne(predicted, isTrue, truth);
  WarnOfOtherLabels(predicted, isTrue, predictionFile.name, truthFile.name, session);
  JSON json{ { "prediction", predictionFile.name }, { "truth", truthFile.name } };
  json["voxels"] = truth.labels.size();
  json["spacingMm"] = truth.spacing;
  json["labels"] = DescribeLabels(prediction, truth, predicted, isTrue, truthFile, session);
  double sum = 0;
  for (const JSON & label : json["labels"])
  {
    sum += label["dice"].get<double>();
  }
  const auto number = static_cast<double>(json["labels"].size());
  json["meanDice"] = number > 0 ? JSON(sum / number) : JSON();
  session.PrintResult(Format(json), json.dump(2, ' ', false, JSON::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
