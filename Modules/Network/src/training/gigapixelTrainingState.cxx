/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTrainingState.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelHash.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelSettingsChange.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelPrintable.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using Json = nlohmann::ordered_json;

const std::string      Prefix = TrainingPrefix;
const std::string      StateKey = Prefix + "state";
const std::string      SettingsKey = Prefix + "settings";
const std::string      HashKey = Prefix + "hash";
constexpr const char * StepsKey = "optimizer_steps";
constexpr const char * EarlierStepsKey = "adam_steps"; ///< of versions that had no other optimizer

[[noreturn]] void
RefuseState(const std::string & path, const std::string & reason)
{
  throw Refusal(Diagnostic("E-RUN-FORMAT", "it " + reason).OfFile(path));
}

/** For what no run writes. */
[[noreturn]] void
RefuseDamage(const std::string & path, const std::string & damage)
{
  RefuseState(path, "has a damaged state (" + damage + ")");
}

/** Taken strictly: get() would cut 1.5 down to 1, and wrap what is too large. */
template <typename TCount>
TCount
ToCount(const Json & value, const std::string & name, const std::string & path)
{
  if (!value.is_number_unsigned() ||
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<TCount>::max()))
  {
    RefuseDamage(path, name + " is " + value.dump().substr(0, 50));
  }
  return value.get<TCount>();
}

double
ToNumber(const Json & value, const std::string & name, double least, const std::string & path)
{
  if (!value.is_number() || value.get<double>() < least)
  {
    RefuseDamage(path, name + " is " + value.dump().substr(0, 50));
  }
  return value.get<double>();
}

constexpr double LeastLoss = -1e-6; ///< next to nothing may be rounded to below 0

/** JSON knows neither NaN nor infinity: both stand as null. */
double
ToLoss(const Json & value, const std::string & name, const std::string & path, double ifNull)
{
  return value.is_null() ? ifNull : ToNumber(value, name, LeastLoss, path);
}

/** Some are below 0, as R^2 may be, without bounds. */
double
ToScore(const Json & value, const std::string & path)
{
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                         : ToNumber(value, "a score of the history", std::numeric_limits<double>::lowest(), path);
}

Json
ToJson(double value)
{
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/** \param least a value that is below it, or no finite number, would make all weights NaN at the next step */
std::vector<double>
GetArray(const SafeTensors & file, const std::string & path, const std::string & name, std::size_t size, double least)
{
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end() || found->second.type != "F64" || found->second.bytes.size() != size * sizeof(double))
  {
    RefuseState(path, "lacks the optimizer's array \"" + name + "\", or it does not fit the network");
  }
  std::vector<double> array(size);
  std::memcpy(array.data(), found->second.bytes.data(), size * sizeof(double));
  if (!std::all_of(array.begin(), array.end(), [&](double value) { return std::isfinite(value) && value >= least; }))
  {
    RefuseDamage(path, "\"" + name + "\" holds a value that no optimizer has");
  }
  return array;
}

const std::string &
GetText(const SafeTensors::Metadata & metadata, const std::string & path, const std::string & key)
{
  const auto found = metadata.find(key);
  if (found == metadata.end())
  {
    RefuseState(path, "is a model without the state of a training run: it cannot be resumed");
  }
  return found->second;
}

/** Of all texts: a learning rate that one wrong byte has changed would be as good as the right one. */
std::string
HashTexts(const SafeTensors::Metadata & metadata)
{
  Hash hash;
  for (const auto & [key, text] : metadata)
  {
    for (const std::string * part : { &key, &text })
    {
      hash.Add(part->data(), key == HashKey ? 0 : part->size());
    }
  }
  std::ostringstream digits;
  digits.imbue(std::locale::classic());
  digits << std::hex << hash.Get();
  return digits.str();
}

/** The settings of a checkpoint in the words of this version. Those of earlier ones say in a word of their own that
 * images were taken whole, and kept the tile size that the model is used with; optimizer and schedule were objects with
 * what belongs to them. What they had no choice of is what holds without the option. */
Json
ParseSettings(const std::string & kept)
{
  Json settings = Json::parse(kept);
  if (settings.value("strategy", Json()) == "whole")
  {
    settings["tile size"] = WholeImageSetting;
  }
  const std::pair<const char *, const char *> renamed[] = { { "frozen", "freeze" },
                                                            { "clip gradient", "clip-gradient" },
                                                            { "images per step", "images-per-step" },
                                                            { "learning rate", "learning-rate" },
                                                            { "learning-rate decay", "learning-rate-decay" },
                                                            { "calibration slides", "calibrate" } };
  for (const auto & [before, now] : renamed)
  {
    if (settings.contains(before))
    {
      settings[now] = settings[before];
    }
  }
  const Json optimizer = settings.value("optimizer", Json{ { "type", "adam" }, { "weight decay", 0.0 } });
  if (optimizer.is_object())
  {
    settings["optimizer"] = optimizer.at("type");
    settings["weight-decay"] = optimizer.at("weight decay");
    settings["momentum"] = optimizer.value("momentum", LearningOptions().momentum);
  }
  if (!settings.contains("learning-rate-schedule"))
  {
    const bool decays = settings.value("learning-rate-decay", 1.0) < 1;
    const Json schedule = settings.value("learning-rate schedule", Json{ { "type", decays ? "plateau" : "constant" } });
    settings["learning-rate-schedule"] = schedule.at("type");
    settings["warmup"] = schedule.value("warmup", 0);
    settings["plateau-patience"] = schedule.value("patience", 0);
    settings["epochs"] = schedule.value("epochs", LearningOptions().epochs);
  }
  const LearningOptions defaults;
  VisitLearningOptions([&](const Option & option, auto member) {
    if (!settings.contains(option.GetSettingName()))
    {
      settings[option.GetSettingName()] = defaults.*member;
    }
  });
  return settings;
}

} // namespace

double
TrainingState::GetBestLoss() const
{
  double best = std::numeric_limits<double>::infinity();
  for (const EpochRecord & record : history)
  {
    best = record.validationLoss < best ? record.validationLoss : best; // NaN is none
  }
  return best;
}

int
TrainingState::CountEpochsWithoutBetter() const
{
  const double best = GetBestLoss();
  const auto   found = std::find_if(
    history.begin(), history.end(), [best](const EpochRecord & record) { return record.validationLoss == best; });
  return found == history.end() ? 0 : static_cast<int>(history.end() - found) - 1;
}

SafeTensors
TrainingState::ToFile(const Model & model, const std::string & settings) const
{
  SafeTensors        file = FromModel(model);
  const std::int64_t number = static_cast<std::int64_t>(parameters.size());
  for (std::size_t i = 0; i < optimizer.state.size(); ++i)
  {
    file.Add(Prefix + optimizer.GetRule().state[i].name, { number }, optimizer.state[i]);
  }
  Json json{ { "epoch", epoch },
             { "step", step },
             { StepsKey, optimizer.steps },
             { "loss_sum", lossSum },
             { "learning_rate", learningRate },
             { "history", Json::array() } };
  for (const EpochRecord & record : history)
  {
    json["history"].push_back({ record.epoch,
                                ToJson(record.trainingLoss),
                                ToJson(record.validationLoss),
                                ToJson(record.validationScore),
                                record.learningRate });
  }
  file.metadata[StateKey] = json.dump();
  file.metadata[SettingsKey] = settings;
  file.metadata[HashKey] = HashTexts(file.metadata);
  return file;
}

TrainingState
TrainingState::FromFile(const SafeTensors &        file,
                        const NetworkDescription & network,
                        const Optimizer &          optimizer,
                        const std::string &        path)
{
  TrainingState state;
  try
  {
    const Json   json = Json::parse(GetText(file.metadata, path, StateKey));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    state.parameters = ToArray(ToModelOf(network, file, path));
    state.optimizer = optimizer;
    for (std::size_t i = 0; i < optimizer.state.size(); ++i)
    {
      const OptimizerState & array = optimizer.GetRule().state[i];
      state.optimizer.state[i] = GetArray(file, path, Prefix + array.name, state.parameters.size(), array.least);
    }
    const auto count = [&](const char * name) { return ToCount<int>(json.at(name), name, path); };
    state.epoch = count("epoch");
    state.step = count("step");
    const char * steps = json.contains(EarlierStepsKey) ? EarlierStepsKey : StepsKey;
    state.optimizer.steps = ToCount<std::int64_t>(json.at(steps), steps, path);
    state.lossSum = ToNumber(json.at("loss_sum"), "loss_sum", LeastLoss, path);
    state.learningRate = ToNumber(json.at("learning_rate"), "learning_rate", 0, path);
    for (const Json & record : json.at("history"))
    {
      state.history.push_back({ ToCount<int>(record.at(0), "an epoch of the history", path),
                                ToLoss(record.at(1), "a loss of the history", path, nan),
                                ToLoss(record.at(2), "a validation loss of the history", path, nan),
                                ToScore(record.at(3), path),
                                ToNumber(record.at(4), "a learning rate of the history", 0, path) });
    }
  }
  catch (const Json::exception & error)
  {
    RefuseDamage(path, GetPrintableReason(error.what()));
  }
  return state;
}

void
TrainingState::Check(int stepsPerEpoch, double firstLearningRate, const std::string & path) const
{
  const std::int64_t steps = std::int64_t{ epoch } * stepsPerEpoch + step;
  if (step > stepsPerEpoch)
  {
    RefuseDamage(path, "step " + std::to_string(step) + " of an epoch of " + std::to_string(stepsPerEpoch));
  }
  if (optimizer.steps != steps)
  {
    RefuseDamage(
      path, std::string(StepsKey) + " is " + std::to_string(optimizer.steps) + " after " + FormatCount(steps, "step"));
  }
  if (history.size() != static_cast<std::size_t>(epoch))
  {
    RefuseDamage(path, "epoch " + std::to_string(epoch) + " with a history of " + FormatCount(history.size(), "epoch"));
  }
  for (int i = 0; i < epoch; ++i)
  {
    if (history[i].epoch != i + 1)
    {
      RefuseDamage(path,
                   "its history has epoch " + std::to_string(history[i].epoch) + " in the place of " +
                     std::to_string(i + 1));
    }
  }
  if (learningRate > firstLearningRate)
  {
    RefuseDamage(path, "a learning rate above the one that the run began with");
  }
}

std::string
ToCSV(const std::vector<EpochRecord> & history, const std::string & score)
{
  std::ostringstream csv;
  csv.imbue(std::locale::classic());
  csv.precision(9);
  csv << "epoch,training_loss,validation_loss," << score << ",learning_rate\n";
  for (const EpochRecord & record : history)
  {
    csv << record.epoch;
    for (const double value :
         { record.trainingLoss, record.validationLoss, record.validationScore, record.learningRate })
    {
      csv << ',';
      if (!std::isnan(value))
      {
        csv << value;
      }
    }
    csv << '\n';
  }
  return csv.str();
}

std::string
GetSettings(const SafeTensors::Metadata & metadata, const std::string & path)
{
  const std::string & settings = GetText(metadata, path, SettingsKey);
  const auto          hash = metadata.find(HashKey); // earlier versions wrote none
  if (!Json::parse(settings, nullptr, false).is_object() ||
      (hash != metadata.end() && hash->second != HashTexts(metadata)))
  {
    RefuseDamage(path, "its settings, or what else it tells in words, are not as the run has written them");
  }
  try
  {
    ParseSettings(settings);
  }
  catch (const Json::exception & error)
  {
    RefuseDamage(path, "its settings are not as a run writes them: " + GetPrintableReason(error.what()));
  }
  return settings;
}

std::int64_t
GetTileSize(const std::string & settings)
{
  const Json side = ParseSettings(settings).value("tile size", Json());
  const bool isSide =
    side.is_number_unsigned() && side.get<std::uint64_t>() <= static_cast<std::uint64_t>(MaximumTileSize);
  return side == WholeImageSetting ? WholeImage : isSide ? side.get<std::int64_t>() : 0;
}

double
GetLearningRate(const std::string & settings)
{
  const Json rate = ParseSettings(settings).value("learning-rate", Json());
  return rate.is_number() ? rate.get<double>() : 0;
}

TrainingOptions
GetOptions(const std::string & settings)
{
  const Json      json = ParseSettings(settings);
  TrainingOptions options;
  VisitLearningOptions([&](const Option & option, auto member) {
    if (option.effect == OptionEffect::Bits)
    {
      json.at(option.GetSettingName()).get_to(options.*member);
    }
  });
  return options;
}

std::string
ToText(const std::vector<SegmentPlan> & segments)
{
  Json json = Json::array();
  for (const SegmentPlan & segment : segments)
  {
    json.push_back({ { "operation", segment.operation }, { "tile size", segment.tileSize } });
  }
  return json.dump();
}

std::vector<SegmentPlan>
ToSegments(const std::string & text)
{
  std::vector<SegmentPlan> segments;
  for (const Json & segment : Json::parse(text))
  {
    segments.push_back({ segment.at("operation").get<std::string>(), segment.at("tile size").get<std::int64_t>() });
  }
  return segments;
}

std::vector<SegmentPlan>
GetSegments(const std::string & settings, const std::string & path)
{
  const Json segments = ParseSettings(settings).value(SegmentsSetting, Json::array());
  try
  {
    return ToSegments(segments.dump());
  }
  catch (const Json::exception &)
  {
    RefuseDamage(path, "its segments cannot be read");
  }
}

std::string
KeepFirstWeights(const std::string & kept,
                 const std::string & now,
                 const std::string & weights,
                 const std::string & folder)
{
  const Json before = ParseSettings(kept);
  Json       settings = Json::parse(now);
  const auto found = before.find(FirstWeightsSetting);
  const bool known = found != before.end();
  if (!weights.empty() && (!known || *found != settings.at(FirstWeightsSetting)))
  {
    throw Refusal(Diagnostic("E-RUN-CONFLICT",
                             "the run in \"" + folder +
                               "\" cannot be resumed with other first weights: it began with " +
                               (known ? "those of another file than \"" + weights + "\", or that has changed since"
                                      : "weights by chance, and not with those of \"" + weights + '"'),
                             "resume it without them (--weights), or start a new run in another folder")
                    .OfFile(folder)
                    .OfValue(FirstWeightsSetting));
  }
  if (known)
  {
    settings[FirstWeightsSetting] = *found;
  }
  return settings.dump();
}

void
CheckSettings(const std::string & kept, const std::string & now, const std::string & folder)
{
  const std::optional<SettingsChange> change = FindSettingsChange(ParseSettings(kept), Json::parse(now));
  if (change)
  {
    throw Refusal(Diagnostic("E-RUN-CONFLICT",
                             "the run in \"" + folder + "\" cannot be resumed with " + change->sentence,
                             "resume it as it began, with the same slides, masks and regions at the same resolution "
                             "and with the same options, or start a new run in another folder")
                    .OfFile(folder)
                    .OfValue(change->setting));
  }
}

} // namespace gigapixel
