/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTrainingSettings.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFileIdentity.h"
#include "gigapixelFormatCount.h"
#include "gigapixelFrozenParameters.h"
#include "gigapixelLabeling.h"
#include "gigapixelNormCalibration.h"
#include "gigapixelOptimizer.h"
#include "gigapixelRequireAxes.h"
#include "gigapixelTrainingState.h"
#include "model/gigapixelModelFile.h"
#include "schedule/gigapixelTileGrid.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** A file's name need not be UTF-8, which JSON must be. Such a one is kept as its bytes, so that different names stay
 * different. */
nlohmann::ordered_json
ToJson(const std::string & name)
{
  using Json = nlohmann::ordered_json;
  const Json json = name;
  const auto dump = [&](Json::error_handler_t handler) { return json.dump(-1, ' ', false, handler); };
  const bool isText = dump(Json::error_handler_t::ignore) == dump(Json::error_handler_t::replace);
  return isText ? json : Json(std::vector<unsigned char>(name.begin(), name.end()));
}

nlohmann::ordered_json
ToJson(const std::vector<Sample> & samples)
{
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Sample & sample : samples)
  {
    const Size size = sample.pixels->GetSize();
    list.push_back({ ToJson(sample.name), size.width, size.height, ToJson(sample.identity) });
    if (size.depth > 1)
    {
      list.back().push_back(size.depth);
    }
  }
  return list;
}

void
CheckOptions(const TrainingOptions &     options,
             const std::vector<Sample> & training,
             const std::vector<Sample> & validation)
{
  const auto refuse = [](const std::string & what) { throw InvalidArgument(Diagnostic("E-OPTION-VALUE", what)); };
  if (training.empty())
  {
    refuse("there is no training sample");
  }
  CheckRanges(options);
  if (options.learningRateSchedule == "plateau" && validation.empty())
  {
    refuse("the learning-rate schedule plateau needs validation samples");
  }
  if (options.earlyStopping > 0 && validation.empty())
  {
    refuse("early stopping needs validation samples");
  }
}

void
CheckSample(const Sample & sample, const NetworkDescription & network)
{
  const Size pixels = sample.pixels->GetSize(), labels = sample.labels->GetSize();
  if (pixels.width < 1 || pixels.height < 1 || pixels.depth < 1)
  {
    throw InvalidArgument(
      Diagnostic("E-NETWORK-IMAGE-SIZE", "sample \"" + sample.name + "\" has no pixels").OfFile(sample.name));
  }
  if (pixels.depth > 1)
  {
    RequireAxes(network, 3, sample.name);
  }
  const Size wanted = Labeling::Of(network.graph).GetSize(pixels);
  if (wanted.width != labels.width || wanted.height != labels.height || wanted.depth != labels.depth)
  {
    throw InvalidArgument(Diagnostic("E-MASK-GRID",
                                     "sample \"" + sample.name + "\": the labels are of another size (" +
                                       ToText(labels) + ") than the pixels (" + ToText(pixels) + ")")
                            .OfFile(sample.name));
  }
  if (static_cast<int>(sample.pixels->GetNumberOfChannels()) != network.channels)
  {
    throw InvalidArgument(
      Diagnostic("E-MODEL-INPUT",
                 "sample \"" + sample.name + "\" has " + FormatCount(sample.pixels->GetNumberOfChannels(), "channel") +
                   ", the network \"" + network.name + "\" takes " + std::to_string(network.channels))
        .OfFile(sample.name));
  }
  const Objective & objective = network.objective;
  const std::size_t truths = objective.CountTruths();
  if (sample.truth.size() != truths)
  {
    throw InvalidArgument(Diagnostic("E-MODEL-INPUT",
                                     "sample \"" + sample.name + "\" has " + FormatCount(sample.truth.size(), "truth") +
                                       ", and the network \"" + network.name + "\", whose objective is " +
                                       objective.GetKind().name + ", takes " + std::to_string(truths))
                            .OfFile(sample.name));
  }
  try
  {
    network.CheckImage(pixels);
  }
  catch (const std::invalid_argument & unsuitable)
  {
    Diagnostic problem = Diagnostic::Of(unsuitable);
    problem.why = "sample \"" + sample.name + "\": " + problem.why;
    throw InvalidArgument(problem.OfFile(sample.name));
  }
}

} // namespace

void
CheckTraining(const NetworkDescription &  network,
              const TrainingOptions &     options,
              const std::vector<Sample> & training,
              const std::vector<Sample> & validation)
{
  CheckOptions(options, training, validation);
  if (const ObjectiveKind & kind = Labeling::Of(network.graph).GetKind(network); options.balance && !kind.isBalanced)
  {
    throw InvalidArgument(Diagnostic("E-OPTION-APPLIES",
                                     "classes of slides and findings are balanced, and the network \"" + network.name +
                                       "\" learns " + kind.name,
                                     "leave out the balance; classes of pixels have class weights"));
  }
  if (options.calibrate > 0)
  {
    const NormCalibration hasNorms(network);
  }
  if (network.probabilities == NetworkDescription::Probabilities::Sigmoid)
  {
    throw InvalidArgument(
      Diagnostic("E-MODEL-OUTPUT",
                 "the classes of the network \"" + network.name +
                   "\" have probabilities of their own, and the losses are of classes that exclude each other",
                 "give it logits of such classes (softmax) as its output"));
  }
  if (network.GetNumberOfClasses() > NetworkDescription::MostLabels)
  {
    throw InvalidArgument(
      Diagnostic("E-NETWORK-FORMAT",
                 "the network \"" + network.name + "\" tells " + std::to_string(network.GetNumberOfClasses()) +
                   " classes apart, and training takes at most " + std::to_string(NetworkDescription::MostLabels),
                 "give its last layer as many outputs as there are labels"));
  }
  for (const auto * samples : { &training, &validation })
  {
    for (const Sample & sample : *samples)
    {
      CheckSample(sample, network);
    }
  }
}

void
CheckLabels(const Sample & sample, const std::vector<std::int64_t> & counts, const NetworkDescription & network)
{
  const int classes = network.GetNumberOfClasses();
  for (int label = static_cast<int>(counts.size()) - 1; label >= classes; --label)
  {
    if (counts[label] > 0 && label != LabelSource::Ignored && label != network.ignoredLabel)
    {
      throw Refusal(Diagnostic("E-LABEL-VALUE",
                               "sample \"" + sample.name + "\": the labels hold the class " + std::to_string(label) +
                                 ", but the network tells only the classes 0 to " + std::to_string(classes - 1) +
                                 " apart")
                      .OfFile(sample.name)
                      .OfValue(std::to_string(label)));
    }
  }
}

std::string
DescribeNetwork(const NetworkDescription & network)
{
  return nlohmann::ordered_json{ { NetworkSetting, nlohmann::ordered_json::parse(network.ToJSON()) } }.dump();
}

namespace
{

/** Tells weights from other ones by their file's content, as IdentifyFile() does. */
std::string
IdentifyWeights(const std::string & path)
{
  return Model::IsReady(path) ? IdentifyContent(GetReadyContent(path))
                              : IdentifyFile(FindModelFile(path), HashedBytes::All);
}

} // namespace

std::string
DescribeTraining(const NetworkDescription &  network,
                 const TrainingOptions &     options,
                 const MemoryPlan &          plan,
                 double                      micronsPerPixel,
                 const std::vector<Sample> & training,
                 const std::vector<Sample> & validation)
{
  using Json = nlohmann::ordered_json;
  const Json      tileSize = options.tileSize == WholeImage ? Json(WholeImageSetting) : Json(plan.tileSize);
  const auto      description = nlohmann::ordered_json::parse(network.ToJSON());
  Json            json{ { "loss", description.at("loss") },
             { NetworkSetting, description },
             { "precision", GetName(options.device.precision) },
             { "tile size", tileSize },
             { "microns per pixel", micronsPerPixel },
             { "training samples", ToJson(training) },
             { "validation samples", ToJson(validation) } };
  TrainingOptions known = options;
  const auto      frozen = FindFrozen(network, options.freeze);
  known.freeze.assign(frozen.begin(), frozen.end());
  known.weightDecay = Optimizer::GetWeightDecay(options);
  VisitLearningOptions([&](const Option & option, auto member) {
    if (DecidesOnBits(option, known))
    {
      json[option.GetSettingName()] = known.*member;
    }
  });
  if (!plan.segments.empty())
  {
    json[SegmentsSetting] = Json::parse(ToText(plan.segments));
  }
  if (!options.weights.empty())
  {
    const std::string set = options.weightsSet.empty() ? "" : ' ' + options.weightsSet;
    json[FirstWeightsSetting] = IdentifyWeights(options.weights) + set;
  }
  return json.dump();
}

} // namespace gigapixel
