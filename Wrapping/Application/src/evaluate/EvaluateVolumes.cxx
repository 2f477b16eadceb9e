/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "EvaluateKinds.h"

#include "gigapixelFormatCount.h"

#include "VolumeFile.h"

#include "gigapixelFreeMemory.h"
#include "gigapixelLabelAgreement.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <iomanip>
#include <iterator>
#include <limits>
#include <locale>
#include <optional>
#include <sstream>
#include <vector>

namespace gigapixel::application
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
      look.hasSlices = itk::GigapixelIsNamedAsVolumeOnly(name);
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
    throw Refusal(Diagnostic("E-MEMORY",
                             "to compare " + prediction.name + " with " + truth.name + " takes " +
                               FormatBytes(static_cast<double>(bytes)) + " of memory, and " +
                               FormatBytes(static_cast<double>(free)) + " are free",
                             "compare them on a larger machine")
                    .OfFile(prediction.name));
  }
}

/** All digits of a value that is no label, such as 1e-30. */
std::string
FormatLabel(float value)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::setprecision(std::numeric_limits<float>::max_digits10) << value;
  return text.str();
}

/** \class LabelNumbers
 * \brief The labels of both volumes, of which there are few, as bytes: in the order in which they come, 0 first. */
class LabelNumbers
{
public:
  /** \throw std::runtime_error it is no whole number from 0 to 65535, or there are more than 256 different ones */
  std::uint8_t
  GetByte(float value, const std::string & file)
  {
    const auto refuse = [&file, value](const std::string & why) {
      const std::string text = FormatLabel(value);
      throw Refusal(Diagnostic("E-LABEL-VALUE", "it has the value " + text + ", " + why).OfFile(file).OfValue(text));
    };
    if (!(value >= 0 && value <= Greatest) || value != std::floor(value))
    {
      refuse("which is no label: labels are whole numbers from 0 to " + std::to_string(Greatest));
    }
    const int label = static_cast<int>(value);
    if (m_Bytes[static_cast<std::size_t>(label)] < 0)
    {
      if (m_Labels.size() == NumberOfLabels)
      {
        refuse("and " + std::to_string(NumberOfLabels) + " other labels: no more than these are compared at a time");
      }
      m_Bytes[static_cast<std::size_t>(label)] = static_cast<std::int16_t>(m_Labels.size());
      m_Labels.push_back(label);
    }
    return static_cast<std::uint8_t>(m_Bytes[static_cast<std::size_t>(label)]);
  }

  int
  GetLabel(std::uint8_t byte) const
  {
    return m_Labels[byte];
  }

private:
  static constexpr int Greatest = 65535;

  std::vector<int>          m_Labels{ 0 };
  std::vector<std::int16_t> m_Bytes = [] {
    std::vector<std::int16_t> bytes(Greatest + 1, -1);
    bytes[0] = 0;
    return bytes;
  }();
};

/** The volume's own voxels are dropped. \throw std::runtime_error a value is no label */
LabelVolume
ReadLabels(itk::GigapixelVolume & volume, LabelNumbers & numbers)
{
  const Size & size = volume.grid.size;
  LabelVolume  result{ { size.width, size.height, size.depth }, volume.grid.spacing, {} };
  if (volume.voxels->GetNumberOfChannels() != 1)
  {
    throw Refusal(Diagnostic("E-MASK-FORMAT",
                             "it has " + FormatCount(volume.voxels->GetNumberOfChannels(), "channel") +
                               "; a volume of labels has one")
                    .OfFile(volume.name)
                    .OfValue(std::to_string(volume.voxels->GetNumberOfChannels())));
  }
  std::vector<float> slice(static_cast<std::size_t>(size.width * size.height));
  result.labels.reserve(slice.size() * static_cast<std::size_t>(size.depth));
  for (std::int64_t z = 0; z < size.depth; ++z)
  {
    ThrowIfInterrupted();
    volume.voxels->Read({ 0, 0, size.width, size.height, z, 1 }, reinterpret_cast<std::uint8_t *>(slice.data()));
    std::transform(slice.begin(), slice.end(), std::back_inserter(result.labels), [&](float value) {
      return numbers.GetByte(value, volume.name);
    });
  }
  volume.voxels.reset();
  return result;
}

using Agreements = std::vector<LabelAgreement>;

/** Labels that one of both volumes has, but for 0, in their order. */
std::vector<int>
ListLabels(const Agreements & all, std::int64_t LabelAgreement::*count, const LabelNumbers & numbers)
{
  std::vector<int> labels;
  for (const LabelAgreement & agreement : all)
  {
    if (agreement.*count > 0)
    {
      labels.push_back(numbers.GetLabel(agreement.label));
    }
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

/** In the order of the labels. Masks have 255 where segment writes 1; as in training both are the object, where there
 * is only one class. */
Agreements
Compare(const LabelVolume & prediction, LabelVolume & truth, LabelNumbers & numbers)
{
  constexpr int Object = 255;
  Agreements    all = CountLabels(prediction, truth);
  const auto    labels = ListLabels(all, &LabelAgreement::predicted, numbers);
  const bool    isOne = labels.empty() || labels == std::vector<int>{ 1 };
  if (isOne && ListLabels(all, &LabelAgreement::isTrue, numbers) == std::vector<int>{ Object })
  {
    const std::uint8_t one = numbers.GetByte(1, {}), object = numbers.GetByte(Object, {});
    std::replace(truth.labels.begin(), truth.labels.end(), object, one);
    all = CountLabels(prediction, truth);
  }
  std::sort(all.begin(), all.end(), [&numbers](const LabelAgreement & a, const LabelAgreement & b) {
    return numbers.GetLabel(a.label) < numbers.GetLabel(b.label);
  });
  return all;
}

void
WarnOfOtherLabels(const Agreements &   all,
                  const LabelNumbers & numbers,
                  const std::string &  prediction,
                  const std::string &  truth,
                  const Session &      session)
{
  const auto ofPrediction = ListLabels(all, &LabelAgreement::predicted, numbers);
  const auto ofTruth = ListLabels(all, &LabelAgreement::isTrue, numbers);
  if (!ofPrediction.empty() && !ofTruth.empty() &&
      std::find_first_of(ofPrediction.begin(), ofPrediction.end(), ofTruth.begin(), ofTruth.end()) ==
        ofPrediction.end())
  {
    session.Warn(Diagnostic("W-LABEL-VALUE",
                            prediction + " and " + truth + " have no label in common (" +
                              std::to_string(ofPrediction.front()) + " and " + std::to_string(ofTruth.front()) +
                              " are the least)",
                            "look whether both number the classes alike")
                   .OfFile(prediction));
  }
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
  session.Warn(Diagnostic("W-VOLUME-GEOMETRY",
                          "the axes of " + volume.name + " are not perpendicular, so that no distances are measured",
                          "resample both for these")
                 .OfFile(volume.name));
  return false;
}

JSON
DescribeLabel(int                                    label,
              const LabelAgreement &                 agreement,
              const std::optional<SurfaceDistance> & distance,
              double                                 voxelMl)
{
  JSON json{ { "label", label }, { "dice", agreement.GetDice() } };
  json["hausdorff95Mm"] = distance ? JSON(distance->hausdorff95) : JSON();
  json["meanSurfaceDistanceMm"] = distance ? JSON(distance->mean) : JSON();
  json["predictionVoxels"] = agreement.predicted;
  json["truthVoxels"] = agreement.isTrue;
  json["predictionMl"] = voxelMl * static_cast<double>(agreement.predicted);
  json["truthMl"] = voxelMl * static_cast<double>(agreement.isTrue);
  return json;
}

/** Those of either. */
JSON
DescribeLabels(const LabelVolume &          prediction,
               const LabelVolume &          truth,
               const Agreements &           all,
               const LabelNumbers &         numbers,
               const itk::GigapixelVolume & volume,
               const Session &              session)
{
  const double voxelMl = volume.grid.GetVoxelVolume() / 1000;
  const bool   hasDistances = HasDistances(volume, session);
  Progress     progress(session, "evaluate");
  JSON         json = JSON::array();
  for (const LabelAgreement & agreement : all)
  {
    ThrowIfInterrupted();
    progress.Update(static_cast<double>(json.size()) / static_cast<double>(all.size()));
    const auto distance =
      hasDistances ? MeasureSurfaceDistance(prediction, truth, agreement.label) : std::optional<SurfaceDistance>();
    json.push_back(DescribeLabel(numbers.GetLabel(agreement.label), agreement, distance, voxelMl));
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
  const std::string & volume = ofTruth.hasSlices ? truth : prediction;
  const std::string & other = ofTruth.hasSlices ? prediction : truth;
  throw Refusal(Diagnostic("E-FILE-KIND", volume + " is a volume, and " + other + " is none: they cannot be compared")
                  .OfFile(other));
}

int
RunEvaluateVolumes(const ArgumentValues & values, const Session & session)
{
  RefuseOptions(values, "PREDICTION and TRUTH are volumes", OptionScope::Images, OptionScope::Predictions);
  auto              predictionFile = OpenVolume(values.GetText("PREDICTION"), session);
  auto              truthFile = OpenVolume(values.GetText("TRUTH"), session);
  const std::string difference = truthFile.grid.DescribeDifference(predictionFile.grid);
  if (!difference.empty())
  {
    throw Refusal(Diagnostic("E-VOLUME-GEOMETRY",
                             "it " + difference + " as " + truthFile.name,
                             "resample one of them to the other's grid before")
                    .OfFile(predictionFile.name));
  }
  CheckMemory(predictionFile, truthFile);
  LabelNumbers      numbers;
  const LabelVolume prediction = ReadLabels(predictionFile, numbers);
  LabelVolume       truth = ReadLabels(truthFile, numbers);
  const Agreements  all = Compare(prediction, truth, numbers);
  WarnOfOtherLabels(all, numbers, predictionFile.name, truthFile.name, session);
  JSON json{ { "prediction", predictionFile.name }, { "truth", truthFile.name } };
  json["voxels"] = truth.labels.size();
  json["spacingMm"] = truth.spacing;
  json["labels"] = DescribeLabels(prediction, truth, all, numbers, truthFile, session);
  double sum = 0;
  for (const JSON & label : json["labels"])
  {
    sum += label["dice"].get<double>();
  }
  const auto number = static_cast<double>(json["labels"].size());
  json["meanDice"] = number > 0 ? JSON(sum / number) : JSON();
  session.ShowResult(Format(json), json);
  return Success;
}

} // namespace gigapixel::application
