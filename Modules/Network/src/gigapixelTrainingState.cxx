/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTrainingState.h"
#include "gigapixelParameterLayout.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using Json = nlohmann::ordered_json;

const std::string Prefix = TrainingPrefix;
const std::string FirstMomentKey = Prefix + "adam.first_moment";
const std::string SecondMomentKey = Prefix + "adam.second_moment";
const std::string StateKey = Prefix + "state";
const std::string SettingsKey = Prefix + "settings";

[[noreturn]] void
RefuseState(const std::string & path, const std::string & reason)
{
  throw std::runtime_error("checkpoint \"" + path + "\" " + reason);
}

/** JSON knows neither NaN nor infinity: both stand as null. */
double
ToDouble(const Json & value, double ifNull)
{
  return value.is_null() ? ifNull : value.get<double>();
}

Json
ToJson(double value)
{
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

std::vector<double>
GetMoment(const SafeTensors & file, const std::string & path, const std::string & name, std::size_t size)
{
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end() || found->second.type != "F64" || found->second.bytes.size() != size * sizeof(double))
  {
    RefuseState(path, "lacks Adam's moments \"" + name + "\", or they do not fit the network");
  }
  std::vector<double> moment(size);
  std::memcpy(moment.data(), found->second.bytes.data(), size * sizeof(double));
  return moment;
}

const std::string &
GetText(const SafeTensors & file, const std::string & path, const std::string & key)
{
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
  {
    RefuseState(path, "is a model without the state of a training run: it cannot be resumed");
  }
  return found->second;
}

/** Whether a run has the same bits with the one and the other. */
bool
IsSame(const std::string & setting, const Json & before, const Json & now)
{
  const auto isOfTiles = [](const Json & strategy) { return strategy == "streamed" || strategy == "unified"; };
  return before == now || (setting == "strategy" && isOfTiles(before) && isOfTiles(now));
}

} // namespace

SafeTensors
TrainingState::ToFile(const Model & model, const std::string & settings) const
{
  SafeTensors        file = FromModel(model);
  const std::int64_t number = static_cast<std::int64_t>(parameters.size());
  file.Add(FirstMomentKey, { number }, adam.firstMoment);
  file.Add(SecondMomentKey, { number }, adam.secondMoment);
  Json json{ { "epoch", epoch },
             { "step", step },
             { "adam_steps", adam.steps },
             { "loss_sum", lossSum },
             { "learning_rate", learningRate },
             { "best_loss", ToJson(bestLoss) },
             { "epochs_without_better", epochsWithoutBetter },
             { "history", Json::array() } };
  for (const EpochRecord & record : history)
  {
    json["history"].push_back({ record.epoch,
                                ToJson(record.trainingLoss),
                                ToJson(record.validationLoss),
                                ToJson(record.validationDice),
                                record.learningRate });
  }
  file.metadata[StateKey] = json.dump();
  file.metadata[SettingsKey] = settings;
  return file;
}

TrainingState
TrainingState::FromFile(const SafeTensors & file, const std::string & path)
{
  TrainingState state;
  try
  {
    const Json   json = Json::parse(GetText(file, path, StateKey));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    state.parameters = ToArray(ToModel(file, path));
    state.adam.firstMoment = GetMoment(file, path, FirstMomentKey, state.parameters.size());
    state.adam.secondMoment = GetMoment(file, path, SecondMomentKey, state.parameters.size());
    json.at("epoch").get_to(state.epoch);
    json.at("step").get_to(state.step);
    json.at("adam_steps").get_to(state.adam.steps);
    json.at("loss_sum").get_to(state.lossSum);
    json.at("learning_rate").get_to(state.learningRate);
    state.bestLoss = ToDouble(json.at("best_loss"), std::numeric_limits<double>::infinity());
    json.at("epochs_without_better").get_to(state.epochsWithoutBetter);
    for (const Json & record : json.at("history"))
    {
      state.history.push_back({ record.at(0).get<int>(),
                                ToDouble(record.at(1), nan),
                                ToDouble(record.at(2), nan),
                                ToDouble(record.at(3), nan),
                                record.at(4).get<double>() });
    }
  }
  catch (const Json::exception & error)
  {
    RefuseState(path, std::string("has a damaged state: ") + error.what());
  }
  return state;
}

std::string
TrainingState::ToCSV() const
{
  std::ostringstream csv;
  csv.imbue(std::locale::classic());
  csv.precision(9);
  csv << "epoch,training_loss,validation_loss,validation_dice,learning_rate\n";
  for (const EpochRecord & record : history)
  {
    csv << record.epoch;
    for (const double value :
         { record.trainingLoss, record.validationLoss, record.validationDice, record.learningRate })
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
GetSettings(const SafeTensors & file, const std::string & path)
{
  return GetText(file, path, SettingsKey);
}

std::string
GetSetting(const SafeTensors & file, const std::string & path, const std::string & name)
{
  const Json json = Json::parse(GetSettings(file, path), nullptr, false);
  return json.is_object() && json.contains(name) ? json.at(name).dump() : std::string();
}

void
CheckSettings(const std::string & kept, const std::string & now, const std::string & folder)
{
  const Json before = Json::parse(kept, nullptr, false), after = Json::parse(now);
  for (const auto & item : after.items())
  {
    if (!before.is_object() || !before.contains(item.key()) || !IsSame(item.key(), before.at(item.key()), item.value()))
    {
      const std::string was =
        before.is_object() && before.contains(item.key()) ? before.at(item.key()).dump() : std::string("unknown");
      throw std::runtime_error("the run in \"" + folder + "\" cannot be resumed with another " + item.key() + " (" +
                               was.substr(0, 200) + " then, " + item.value().dump().substr(0, 200) +
                               " now): resume it as it began, or start a new run in another folder");
    }
  }
}

} // namespace gigapixel
