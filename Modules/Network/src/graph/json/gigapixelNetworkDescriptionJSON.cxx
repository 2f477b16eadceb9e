/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelOption.h"
#include "gigapixelNetworkDescription.h"
#include "gigapixelJSONValues.h"
#include "graph/gigapixelLayerChain.h"
#include "gigapixelNetworkInputJSON.h"
#include "gigapixelJoinNames.h"
#include "gigapixelPrintable.h"
#include "gigapixelUniqueKeys.h"
#include "graph/gigapixelValueBounds.h"
#include "losses/gigapixelLossEntry.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using namespace jsonvalues;

constexpr std::size_t MostBytesOfText = 1024;

void
CheckText(const std::string & text)
{
  if (text.size() > MostBytesOfText)
  {
    Refuse("it holds a text of " + std::to_string(text.size()) + " bytes, where none has more than " +
           std::to_string(MostBytesOfText) + ": \"" + GetPrintable(text.substr(0, MostBytesShown)) + " ...\"");
  }
}

/** Names are shown in sentences, and are written with the model. */
void
CheckTexts(const Json & value)
{
  if (value.is_string())
  {
    CheckText(value.get_ref<const std::string &>());
  }
  for (const auto & item : value.items())
  {
    if (value.is_object())
    {
      CheckText(item.key());
    }
    if (value.is_structured() && item.key() != "provenance")
    {
      CheckTexts(item.value());
    }
  }
}

/** The reason why a layer type is not among those that stream. */
[[noreturn]] void
RefuseType(const std::string & where, const std::string & type)
{
  std::string lower = type;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char * global :
       { "norm", "global", "adaptive", "attention", "squeeze", "linear", "dense", "fully", "transformer" })
  {
    if (lower.find(global) != std::string::npos)
    {
      Refuse(where + ": a layer of type \"" + type +
               "\" sees the whole image, so that a tile could not be computed exactly from its surroundings; use only "
               "\"convolution\" and \"transposed convolution\"",
             "E-NETWORK-OPERATION");
    }
  }
  Refuse(where + ": unknown type \"" + type +
           "\"; use \"convolution\" (with a stride in place of pooling) or \"transposed convolution\"",
         "E-NETWORK-OPERATION");
}

Layer
ReadLayer(const Json & json, std::size_t index)
{
  std::string where = "layer " + std::to_string(index + 1);
  if (!json.is_object())
  {
    Refuse(where + " must be a JSON object");
  }
  Layer layer;
  layer.name = Get<std::string>(json, where, "name");
  where = "layer \"" + layer.name + "\"";
  const std::string type = Get<std::string>(json, where, "type");
  if (type != "convolution" && type != "transposed convolution")
  {
    RefuseType(where, type); // before the keys: such a layer brings its own
  }
  CheckKeys(json, where, { "name", "type", "in", "out", "kernel", "stride", "padding", "activation", "add" });
  layer.kind = type == "convolution" ? Layer::Kind::Convolution : Layer::Kind::TransposedConvolution;
  layer.inputChannels = Get<int>(json, where, "in");
  layer.outputChannels = Get<int>(json, where, "out");
  layer.kernel = Get<int>(json, where, "kernel");
  layer.stride = Get<int>(json, where, "stride", 1);
  layer.padding = Get<int>(json, where, "padding", 0);
  const std::string activation = Get<std::string>(json, where, "activation");
  if (activation != "relu" && activation != "none")
  {
    Refuse(where + ": unknown activation \"" + activation + "\"; use \"relu\" or \"none\"");
  }
  layer.activation = activation == "relu" ? Layer::Activation::ReLU : Layer::Activation::None;
  layer.add = Get<std::string>(json, where, "add", "");
  return layer;
}

void
ReadLoss(const Json & json, NetworkDescription & network)
{
  const std::string where = "\"loss\"";
  CheckKeys(json, where, { "type", "class weights", "ignored label", "ignore unscanned" });
  const auto &      all = LossEntry::GetAll();
  const std::string type = Get<std::string>(json, where, "type", all.front().name);
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto & entry) { return entry.name == type; });
  if (found == all.end())
  {
    std::vector<std::string> names;
    std::transform(all.begin(), all.end(), std::back_inserter(names), [](const auto & entry) { return entry.name; });
    Refuse("unknown loss \"" + type + "\"; use " + JoinWithOr(names));
  }
  network.loss = static_cast<NetworkDescription::Loss>(found - all.begin());
  const Json weights = json.contains("class weights") ? json.at("class weights") : Json::array();
  if (!weights.is_array() || !std::all_of(weights.begin(), weights.end(), [](const Json & w) { return w.is_number(); }))
  {
    Refuse(where + ": \"class weights\" must be a list of numbers, not " + Show(weights));
  }
  network.classWeights = weights.get<std::vector<double>>();
  network.ignoredLabel = Get<int>(json, where, "ignored label", LabelSource::Ignored);
  network.ignoreUnscanned = Get<bool>(json, where, "ignore unscanned", true);
}

void
ReadProbabilities(const Json & json, NetworkDescription & network)
{
  const std::string word = Get<std::string>(json, "the network", "probabilities", "softmax");
  if (word != "softmax" && word != "sigmoid")
  {
    Refuse("unknown \"probabilities\" \"" + word + "\"; use \"softmax\" or \"sigmoid\"");
  }
  network.probabilities =
    word == "sigmoid" ? NetworkDescription::Probabilities::Sigmoid : NetworkDescription::Probabilities::Softmax;
}

/** The output becomes logits of classes; other objectives say what their outputs are. */
void
Settle(NetworkDescription & network)
{
  if (network.objective.GetKind().takesProbabilities && SettleOutput(network.graph).isOfEach)
  {
    network.probabilities = NetworkDescription::Probabilities::Sigmoid;
  }
}

void
ReadLayers(const Json & json, NetworkDescription & network)
{
  if (!json.is_array() || json.empty() || json.size() > NetworkDescription::MostOperations)
  {
    Refuse("\"layers\" must be a list of 1 to " + std::to_string(NetworkDescription::MostOperations) + " JSON objects");
  }
  for (const Json & layer : json)
  {
    network.layers.push_back(ReadLayer(layer, network.layers.size()));
  }
}

/** A list of names; none where there is no such key. */
std::vector<std::string>
ReadNames(const Json & json, const char * key)
{
  const Json names = json.contains(key) ? json.at(key) : Json::array();
  if (!names.is_array() || !std::all_of(names.begin(), names.end(), [](const Json & name) { return name.is_string(); }))
  {
    Refuse("\"" + std::string(key) + "\" must be a list of names, not " + Show(names));
  }
  return names.get<std::vector<std::string>>();
}

std::vector<double>
ReadNumbers(const Json & json, const char * key)
{
  const Json numbers = json.contains(key) ? json.at(key) : Json::array();
  if (!numbers.is_array() || !std::all_of(numbers.begin(), numbers.end(), [](const Json & n) { return n.is_number(); }))
  {
    Refuse("\"" + std::string(key) + "\" must be a list of numbers, not " + Show(numbers));
  }
  return numbers.get<std::vector<double>>();
}

/** What is said of images, if no classes. */
void
ReadObjective(const Json & json, Objective & objective)
{
  const std::string where = "\"objective\"";
  CheckKeys(json, where, { "type", "names", "means", "deviations" });
  const std::string     type = Get<std::string>(json, where, "type");
  const ObjectiveKind * kind = ObjectiveKind::Find(type);
  if (!kind)
  {
    Refuse("unknown objective \"" + type + "\"; use " + ObjectiveKind::NameAll());
  }
  objective.kind = kind;
  objective.names = ReadNames(json, "names");
  objective.means = ReadNumbers(json, "means");
  objective.deviations = ReadNumbers(json, "deviations");
}

Json
WriteObjective(const Objective & objective)
{
  Json json{ { "type", objective.GetKind().name }, { "names", objective.names } };
  if (!objective.means.empty())
  {
    json["means"] = objective.means;
    json["deviations"] = objective.deviations;
  }
  return json;
}

void
ReadOperations(const Json & json, NetworkDescription & network)
{
  const Json & operations = json.at("operations");
  if (!operations.is_array() || operations.empty() || operations.size() > NetworkDescription::MostOperations)
  {
    Refuse("\"operations\" must be a list of 1 to " + std::to_string(NetworkDescription::MostOperations) +
           " JSON objects");
  }
  network.graph = NetworkGraph::FromJSON(operations.dump(), Get<std::string>(json, "the network", "output"));
  std::set<std::string> arrays;
  for (const ParameterDescription & parameter : network.graph.GetParameters())
  {
    arrays.insert(parameter.name);
  }
  for (const std::string & name : ReadNames(json, "constants"))
  {
    if (arrays.count(name) == 0)
    {
      Refuse("\"constants\" names \"" + GetPrintable(name) + "\", which is no array of the network");
    }
    network.graph.constants.insert(name);
  }
}

Json
WriteLayer(const Layer & layer)
{
  Json item;
  item["name"] = layer.name;
  item["type"] = layer.kind == Layer::Kind::Convolution ? "convolution" : "transposed convolution";
  item["in"] = layer.inputChannels;
  item["out"] = layer.outputChannels;
  item["kernel"] = layer.kernel;
  item["stride"] = layer.stride;
  item["padding"] = layer.padding;
  item["activation"] = layer.activation == Layer::Activation::ReLU ? "relu" : "none";
  if (!layer.add.empty())
  {
    item["add"] = layer.add;
  }
  return item;
}

double
ReadLearningRate(const Json & json)
{
  const double rate = json.is_number() ? json.get<double>() : 0;
  if (!(rate >= NetworkDescription::LeastLearningRate && rate <= NetworkDescription::GreatestLearningRate))
  {
    Refuse("\"learning rate\" must be a number from 1e-9 to 10, not " + Show(json));
  }
  return rate;
}

/** The object of a network file, with the keys that it may have. */
Json
ParseNetwork(const std::string & text)
{
  Json json;
  try
  {
    // Values that are refused are shown: to print deeply nested ones takes a stack frame for each level.
    json = ParseUniqueKeys<Json>(text, 16);
  }
  catch (const Json::exception & error)
  {
    Refuse("no JSON: " + GetPrintableReason(error.what()));
  }
  CheckTexts(json);
  CheckKeys(json,
            "the network",
            { "name",
              "input",
              "layers",
              "operations",
              "output",
              "constants",
              "patches",
              "loss",
              "probabilities",
              "learning rate",
              "class names",
              "objective",
              "provenance" });
  if (json.contains("layers") == json.contains("operations") || json.contains("layers") == json.contains("output"))
  {
    Refuse(
      "the network needs either the list \"layers\", or the list \"operations\" and the name of the one that is the "
      "\"output\"");
  }
  if (json.contains("layers") && json.contains("constants"))
  {
    Refuse("\"constants\" are arrays of \"operations\"; layers have none");
  }
  return json;
}

NetworkDescription
ReadNetwork(const std::string & text)
{
  const Json         json = ParseNetwork(text);
  const bool         isOfLayers = json.contains("layers");
  NetworkDescription network;
  network.name = Get<std::string>(json, "the network", "name");
  if (isOfLayers)
  {
    ReadLayers(json.at("layers"), network);
  }
  else
  {
    ReadOperations(json, network);
  }
  ReadInput(json.contains("input") ? json.at("input") : Json::object(), network);
  if (json.contains("patches"))
  {
    ReadPatches(json.at("patches"), network.patches);
  }
  ReadLoss(json.contains("loss") ? json.at("loss") : Json::object(), network);
  if (json.contains("learning rate"))
  {
    network.learningRate = ReadLearningRate(json.at("learning rate"));
  }
  network.classNames = ReadNames(json, "class names");
  if (json.contains("objective"))
  {
    ReadObjective(json.at("objective"), network.objective);
  }
  if (json.contains("provenance"))
  {
    if (!json.at("provenance").is_object())
    {
      Refuse("\"provenance\" must be a JSON object");
    }
    network.provenance = json.at("provenance").dump();
  }
  ReadProbabilities(json, network);
  isOfLayers ? ExpandLayers(network) : Settle(network);
  network.Validate();
  if (!isOfLayers)
  {
    FindChain(network);
  }
  return network;
}

} // namespace

NetworkDescription
NetworkDescription::FromJSON(const std::string & text)
{
  try
  {
    return ReadNetwork(text);
  }
  catch (const std::invalid_argument & error)
  {
    Diagnostic problem = Diagnostic::Of(error);
    problem.why = GetPrintable(problem.why); // which may repeat names of the text's
    problem.value = GetPrintable(problem.value);
    throw InvalidArgument(problem);
  }
}

std::string
NetworkDescription::ToJSON() const
{
  Json json;
  json["name"] = name;
  json["input"] = WriteInput(*this);
  for (const Layer & layer : layers)
  {
    json["layers"].push_back(WriteLayer(layer));
  }
  if (layers.empty())
  {
    json["operations"] = Json::parse(graph.ToJSON());
    json["output"] = graph.output;
    if (!graph.constants.empty())
    {
      json["constants"] = graph.constants;
    }
  }
  if (patches.IsKnown())
  {
    json["patches"] = WritePatches(patches);
  }
  if (probabilities == Probabilities::Sigmoid)
  {
    json["probabilities"] = "sigmoid";
  }
  json["loss"] = { { "type", GetLoss().name } };
  if (!classWeights.empty())
  {
    json["loss"]["class weights"] = classWeights;
  }
  if (ignoredLabel != LabelSource::Ignored)
  {
    json["loss"]["ignored label"] = ignoredLabel;
  }
  json["loss"]["ignore unscanned"] = ignoreUnscanned;
  if (learningRate > 0)
  {
    json["learning rate"] = learningRate;
  }
  if (!classNames.empty())
  {
    json["class names"] = classNames;
  }
  if (!objective.names.empty()) // else it is classes
  {
    json["objective"] = WriteObjective(objective);
  }
  if (!provenance.empty())
  {
    json["provenance"] = Json::parse(provenance);
  }
  return json.dump(2);
}

} // namespace gigapixel
