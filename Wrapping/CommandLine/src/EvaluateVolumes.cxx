/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "EvaluateVolumes.h"

#include "VolumeFile.h"

#include "gigapixelSurfaceDistance.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <stdexcept>

namespace gigapixel::commandline
{
namespace
{
using JSON = nlohmann::ordered_json;

constexpr std::size_t NumberOfLabels = 256;

bool
HasSlices(const std::string & name)
{
  if (!IsVolume(name))
  {
    return false;
  }
  try
  {
    return OpenVolume(name).grid.size.depth > 1;
  }
  catch (const std::exception &) // of another shape: whoever opens it as a mask says what is wrong
  {
    return name.find(".nii") != std::string::npos;
  }
}

/** \throw std::runtime_error a value is no whole number from 0 to 255 */
LabelVolume
ReadLabels(const itk::GigapixelVolume & volume)
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
  return result;
}

JSON
DescribeLabel(std::uint8_t                                     label,
              const std::array<std::int64_t, NumberOfLabels> & predicted,
              const std::array<std::int64_t, NumberOfLabels> & isTrue,
              std::int64_t                                     both,
              const std::optional<SurfaceDistance> &           distance,
              double                                           voxelMl)
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
  const bool isVolume = HasSlices(prediction), trueIs = HasSlices(truth);
  if (isVolume != trueIs)
  {
    throw std::runtime_error((isVolume ? prediction : truth) + " is a volume, and " + (isVolume ? truth : prediction) +
                             " is none: they cannot be compared.");
  }
  return isVolume;
}

int
RunEvaluateVolumes(const ArgumentValues & values, const Session & session)
{
  RefuseOptions(values);
  const auto        predictionFile = OpenVolume(values.GetText("PREDICTION"));
  const auto        truthFile = OpenVolume(values.GetText("TRUTH"));
  const std::string difference = truthFile.grid.DescribeDifference(predictionFile.grid);
  if (!difference.empty())
  {
    throw std::runtime_error(predictionFile.name + ' ' + difference + " as " + truthFile.name +
                             ": resample one of them to the other's grid before.");
  }
  const LabelVolume                        prediction = ReadLabels(predictionFile), truth = ReadLabels(truthFile);
  std::array<std::int64_t, NumberOfLabels> predicted{}, isTrue{}, both{};
  for (std::size_t i = 0; i < truth.labels.size(); ++i)
  {
    ++predicted[prediction.labels[i]];
    ++isTrue[truth.labels[i]];
    both[truth.labels[i]] += prediction.labels[i] == truth.labels[i] ? 1 : 0;
  }
  const auto & spacing = truth.spacing;
  const double voxelMl = spacing[0] * spacing[1] * spacing[2] / 1000;
  JSON         json{ { "prediction", predictionFile.name }, { "truth", truthFile.name } };
  json["voxels"] = truth.labels.size();
  json["spacingMm"] = spacing;
  json["labels"] = JSON::array();
  double   sum = 0;
  Progress progress(session, "evaluate");
  for (std::size_t label = 1; label < NumberOfLabels; ++label)
  {
    ThrowIfInterrupted();
    progress.Update(static_cast<double>(label) / NumberOfLabels);
    if (predicted[label] + isTrue[label] > 0)
    {
      const auto number = static_cast<std::uint8_t>(label);
      json["labels"].push_back(DescribeLabel(
        number, predicted, isTrue, both[label], MeasureSurfaceDistance(prediction, truth, number), voxelMl));
      sum += json["labels"].back()["dice"].get<double>();
    }
  }
  const auto number = static_cast<double>(json["labels"].size());
  json["meanDice"] = number > 0 ? JSON(sum / number) : JSON();
  progress.Finish();
  session.PrintResult(Format(json), json.dump(2, ' ', false, JSON::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
