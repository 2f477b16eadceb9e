/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNetworkDescription.h"
#include "gigapixelNetworkGeometry.h"
#include "gigapixelPresets.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using Json = nlohmann::ordered_json;

[[noreturn]] void
Refuse(const std::string & reason)
{
  throw std::invalid_argument(reason);
}

/** Only known keys: a misspelt one would otherwise silently mean its default. */
void
CheckKeys(const Json & object, const std::string & where, std::initializer_list<const char *> known)
{
  if (!object.is_object())
  {
    Refuse(where + " must be a JSON object");
  }
  for (const auto & item : object.items())
  {
    if (std::none_of(known.begin(), known.end(), [&](const char * key) { return item.key() == key; }))
    {
      std::string names;
      for (const char * key : known)
      {
        names += (names.empty() ? "" : ", ") + std::string(key);
      }
      Refuse(where + " has the unknown key \"" + item.key() + "\" (known: " + names + ")");
    }
  }
}

template <typename T>
bool
HasType(const Json & value)
{
  if constexpr (std::is_same_v<T, std::string>)
  {
    return value.is_string();
  }
  else if constexpr (std::is_same_v<T, bool>)
  {
    return value.is_boolean();
  }
  else
  {
    return value.is_number_integer() && value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() <= 65536;
  }
}

template <typename T>
T
Get(const Json & object, const std::string & where, const char * key)
{
  if (!object.contains(key))
  {
    Refuse(where + " lacks the key \"" + key + "\"");
  }
  if (!HasType<T>(object.at(key)))
  {
    const char * wanted = std::is_same_v<T, std::string> ? "a string"
                          : std::is_same_v<T, bool>      ? "true or false"
                                                         : "a whole number from 0 to 65536";
    Refuse(where + ": \"" + key + "\" must be " + wanted + ", not " + object.at(key).dump());
  }
  return object.at(key).get<T>();
}

template <typename T>
T
Get(const Json & object, const std::string & where, const char * key, const T & defaultValue)
{
  return object.contains(key) ? Get<T>(object, where, key) : defaultValue;
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
             "\"convolution\" and \"transposed convolution\"");
    }
  }
  Refuse(where + ": unknown type \"" + type +
         "\"; use \"convolution\" (with a stride in place of pooling) or \"transposed convolution\"");
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
CheckShape(const Layer & layer, const std::string & where)
{
  if (layer.name.empty() || layer.name.find_first_of("./\" \t\n") != std::string::npos)
  {
    Refuse(where + ": a layer's name must not be empty nor hold a dot, slash, quote or space");
  }
  if (layer.name == "training")
  {
    Refuse(where + ": model files keep what a training needs under this name; use another one");
  }
  if (layer.inputChannels < 1 || layer.outputChannels < 1 || layer.kernel < 1 || layer.stride < 1 ||
      layer.inputChannels > 4096 || layer.outputChannels > 4096 || layer.kernel > 256 || layer.stride > 256)
  {
    Refuse(where + ": in and out must be 1 to 4096, kernel and stride 1 to 256");
  }
  // With n inputs, n a multiple of the stride, a convolution gives floor((n + 2p - k) / s) + 1 outputs, a transposed
  // one (n - 1) s - 2p + k: exactly n / s and n s only under these conditions.
  const int reach = layer.kernel - 2 * layer.padding;
  if (layer.kind == Layer::Kind::Convolution && (reach < 1 || reach > layer.stride))
  {
    Refuse(where + ": its output is not of its input's size divided by the stride; kernel - 2 * padding is " +
           std::to_string(reach) + " and must be from 1 to the stride (" + std::to_string(layer.stride) + ")");
  }
  if (layer.kind == Layer::Kind::TransposedConvolution && reach != layer.stride)
  {
    Refuse(where + ": its output is not of its input's size times the stride; kernel - 2 * padding is " +
           std::to_string(reach) + " and must be the stride (" + std::to_string(layer.stride) + ")");
  }
}

std::string
Describe(int channels, const MapScale & scale)
{
  return std::to_string(channels) + " channels at " + std::to_string(scale.numerator) + "/" +
         std::to_string(scale.denominator) + " of the input";
}

void
CheckChain(const NetworkDescription & network)
{
  if (network.channels < 1)
  {
    Refuse("the input must have at least one channel");
  }
  if (network.layers.empty())
  {
    Refuse("a network needs at least one layer");
  }
  // The product of the strides has to stay an integer.
  double stride = 1;
  for (const Layer & layer : network.layers)
  {
    CheckShape(layer, "layer \"" + layer.name + "\"");
    stride *= layer.kind == Layer::Kind::Convolution ? layer.stride : 1;
  }
  if (stride > 65536)
  {
    Refuse("the strides multiply to more than 65536");
  }
  const std::vector<MapScale> scales = GetMapScales(network.layers);
  std::set<std::string>       names;
  for (std::size_t i = 0; i < network.layers.size(); ++i)
  {
    const Layer &     layer = network.layers[i];
    const std::string where = "layer \"" + layer.name + "\"";
    const int         before = i == 0 ? network.channels : network.layers[i - 1].outputChannels;
    if (layer.inputChannels != before)
    {
      Refuse(where + " takes " + std::to_string(layer.inputChannels) + " channels, but what comes before it has " +
             std::to_string(before));
    }
    if (!layer.add.empty())
    {
      const auto end = network.layers.begin() + i;
      const auto skip = std::find_if(network.layers.begin(), end, [&](const Layer & l) { return l.name == layer.add; });
      if (skip == end)
      {
        Refuse(where + " adds \"" + layer.add + "\", which is no earlier layer");
      }
      const MapScale & scale = scales[skip - network.layers.begin()];
      if (skip->outputChannels != layer.outputChannels || !(scale == scales[i]))
      {
        Refuse(where + " (" + Describe(layer.outputChannels, scales[i]) + ") adds \"" + layer.add +
               "\", whose map has another shape (" + Describe(skip->outputChannels, scale) + ")");
      }
    }
    if (!names.insert(layer.name).second)
    {
      Refuse("two layers are named \"" + layer.name + "\"");
    }
  }
  if (!(scales.back() == MapScale{}))
  {
    Refuse("the output is not of the input's size: " + Describe(network.layers.back().outputChannels, scales.back()));
  }
  if (GetCanvasStride(network.layers) > 4096)
  {
    Refuse("the strides multiply to more than 4096");
  }
}

void
CheckOutput(const NetworkDescription & network)
{
  const Layer & last = network.layers.back();
  if (last.activation != Layer::Activation::None)
  {
    Refuse("layer \"" + last.name + "\" is the last one and must have the activation \"none\": its output are logits");
  }
  const bool binary = network.loss == NetworkDescription::Loss::BinaryCrossEntropy;
  const bool softmax = network.loss == NetworkDescription::Loss::SoftmaxCrossEntropy;
  if (binary && last.outputChannels != 1)
  {
    Refuse("binary cross-entropy needs one output channel, the network has " + std::to_string(last.outputChannels) +
           "; use \"softmax cross-entropy\" for several");
  }
  if (softmax && last.outputChannels < 2)
  {
    Refuse("softmax cross-entropy needs 2 to 254 output channels, one for each class; the network has 1");
  }
  if (last.outputChannels > 254)
  {
    Refuse("a network has at most 254 output channels, one for each class, not " + std::to_string(last.outputChannels));
  }
}

void
CheckLoss(const NetworkDescription & network)
{
  const int    classes = network.GetNumberOfClasses();
  const auto & weights = network.classWeights;
  if (!weights.empty() && static_cast<int>(weights.size()) != classes)
  {
    Refuse("there are " + std::to_string(weights.size()) + " class weights, but the network tells " +
           std::to_string(classes) + " classes apart");
  }
  const auto isWrong = [](double weight) { return !(weight >= 0) || !std::isfinite(weight); };
  if (std::any_of(weights.begin(), weights.end(), isWrong))
  {
    Refuse("class weights must be numbers of at least 0");
  }
  if (!weights.empty() && std::count(weights.begin(), weights.end(), 0.0) == classes)
  {
    Refuse("one class weight must be above 0");
  }
  if (network.ignoredLabel < classes || network.ignoredLabel > 255)
  {
    Refuse("the ignored label must be one that stands for no class, " + std::to_string(classes) +
           " to 255; a class is left out by the class weight 0");
  }
}

/** The losses' names in JSON. */
const std::pair<const char *, NetworkDescription::Loss> LossNames[] = {
  { "binary cross-entropy", NetworkDescription::Loss::BinaryCrossEntropy },
  { "softmax cross-entropy", NetworkDescription::Loss::SoftmaxCrossEntropy },
  { "dice", NetworkDescription::Loss::Dice }
};

void
ReadLoss(const Json & json, NetworkDescription & network)
{
  const std::string where = "\"loss\"";
  CheckKeys(json, where, { "type", "class weights", "ignored label", "ignore unscanned" });
  const std::string type = Get<std::string>(json, where, "type", LossNames[0].first);
  const auto *      found =
    std::find_if(std::begin(LossNames), std::end(LossNames), [&](const auto & l) { return type == l.first; });
  if (found == std::end(LossNames))
  {
    Refuse("unknown loss \"" + type + "\"; use \"binary cross-entropy\", \"softmax cross-entropy\" or \"dice\"");
  }
  network.loss = found->second;
  const Json weights = json.contains("class weights") ? json.at("class weights") : Json::array();
  if (!weights.is_array() || !std::all_of(weights.begin(), weights.end(), [](const Json & w) { return w.is_number(); }))
  {
    Refuse(where + ": \"class weights\" must be a list of numbers, not " + weights.dump());
  }
  network.classWeights = weights.get<std::vector<double>>();
  network.ignoredLabel = Get<int>(json, where, "ignored label", LabelSource::Ignored);
  network.ignoreUnscanned = Get<bool>(json, where, "ignore unscanned", true);
}

} // namespace

std::vector<std::int64_t>
Layer::GetWeightShape() const
{
  return kind == Kind::Convolution ? std::vector<std::int64_t>{ outputChannels, inputChannels, kernel, kernel }
                                   : std::vector<std::int64_t>{ inputChannels, outputChannels, kernel, kernel };
}

NetworkDescription
NetworkDescription::FromJSON(const std::string & text)
{
  NetworkDescription network;
  Json               json;
  try
  {
    // Values that are refused are shown: to print deeply nested ones takes a stack frame for each level.
    json = Json::parse(text, [](int depth, Json::parse_event_t, const Json &) {
      return depth <= 16 ? true : throw std::invalid_argument("it is nested deeper than a network's description is");
    });
  }
  catch (const Json::exception & error)
  {
    Refuse(std::string("no JSON: ") + error.what());
  }
  CheckKeys(json, "the network", { "name", "input", "layers", "loss" });
  network.name = Get<std::string>(json, "the network", "name");
  const Json & input = json.contains("input") ? json.at("input") : Json::object();
  CheckKeys(input, "\"input\"", { "channels", "invert" });
  network.channels = Get<int>(input, "\"input\"", "channels", 1);
  network.invert = Get<bool>(input, "\"input\"", "invert", true);
  if (!json.contains("layers") || !json.at("layers").is_array())
  {
    Refuse("the network lacks the list \"layers\"");
  }
  for (const Json & layer : json.at("layers"))
  {
    network.layers.push_back(ReadLayer(layer, network.layers.size()));
  }
  ReadLoss(json.contains("loss") ? json.at("loss") : Json::object(), network);
  network.Validate();
  return network;
}

void
NetworkDescription::Validate() const
{
  CheckChain(*this);
  CheckOutput(*this);
  CheckLoss(*this);
}

void
NetworkDescription::SetLoss(const std::string & lossName)
{
  if (lossName != "cross-entropy" && lossName != "dice")
  {
    Refuse("unknown loss \"" + lossName + "\"; use \"cross-entropy\" or \"dice\"");
  }
  loss = lossName == "dice"                 ? Loss::Dice
         : GetNumberOfOutputChannels() == 1 ? Loss::BinaryCrossEntropy
                                            : Loss::SoftmaxCrossEntropy;
}

NetworkDescription
NetworkDescription::Load(const std::string & nameOrFile)
{
  constexpr std::uintmax_t MaximumBytes = 16 << 20; // another file than a description is not read to its end
  for (const Preset & preset : GetEmbeddedPresets())
  {
    if (preset.name == nameOrFile)
    {
      return FromJSON(preset.json);
    }
  }
  std::stringstream content;
  std::error_code   ignored;
  if (std::filesystem::is_regular_file(nameOrFile, ignored)) // a pipe would wait for a writer for ever
  {
    if (std::filesystem::file_size(nameOrFile, ignored) > MaximumBytes)
    {
      Refuse("network file \"" + nameOrFile + "\" has more bytes than a network's description can have");
    }
    content << std::ifstream(nameOrFile).rdbuf();
  }
  if (content.str().empty())
  {
    std::string names;
    for (const std::string & name : GetPresets())
    {
      names += (names.empty() ? "" : ", ") + name;
    }
    Refuse("network \"" + nameOrFile + "\" is neither a preset (" + names + ") nor a file that can be read");
  }
  try
  {
    return FromJSON(content.str());
  }
  catch (const std::invalid_argument & error)
  {
    Refuse("network file \"" + nameOrFile + "\": " + error.what());
  }
}

std::string
NetworkDescription::ToJSON() const
{
  Json json;
  json["name"] = name;
  json["input"] = { { "channels", channels }, { "invert", invert } };
  json["layers"] = Json::array();
  for (const Layer & layer : layers)
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
    json["layers"].push_back(item);
  }
  json["loss"] = { { "type", LossNames[static_cast<int>(loss)].first } };
  if (!classWeights.empty())
  {
    json["loss"]["class weights"] = classWeights;
  }
  if (ignoredLabel != LabelSource::Ignored)
  {
    json["loss"]["ignored label"] = ignoredLabel;
  }
  json["loss"]["ignore unscanned"] = ignoreUnscanned;
  return json.dump(2);
}

std::vector<std::string>
NetworkDescription::GetPresets()
{
  std::vector<std::string> names;
  for (const Preset & preset : GetEmbeddedPresets())
  {
    names.push_back(preset.name);
  }
  return names;
}

std::int64_t
NetworkDescription::GetNumberOfParameters() const
{
  std::int64_t number = 0;
  for (const Layer & layer : layers)
  {
    number += std::int64_t{ layer.kernel } * layer.kernel * layer.inputChannels * layer.outputChannels;
    number += layer.outputChannels;
  }
  return number;
}

int
NetworkDescription::GetNumberOfOutputChannels() const
{
  return layers.empty() ? 0 : layers.back().outputChannels;
}

int
NetworkDescription::GetNumberOfClasses() const
{
  return GetNumberOfOutputChannels() == 1 ? 2 : GetNumberOfOutputChannels();
}

int
NetworkDescription::GetStride() const
{
  return static_cast<int>(GetCanvasStride(layers));
}

int
NetworkDescription::GetHalo() const
{
  const std::int64_t stride = GetCanvasStride(layers);
  return static_cast<int>((GetExactHalo(layers) + stride - 1) / stride * stride);
}

} // namespace gigapixel
