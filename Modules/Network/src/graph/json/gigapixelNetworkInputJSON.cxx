/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNetworkInputJSON.h"
#include "gigapixelJSONValues.h"

#include <cmath>
#include <iterator>

namespace gigapixel
{

using namespace jsonvalues;

namespace
{

Normalization
ReadNormalization(const Json & json)
{
  using Kind = Normalization::Kind;
  const std::string where = "\"normalization\"";
  Normalization     normalization;
  if (!json.is_object())
  {
    Refuse(where + " must be a JSON object");
  }
  const auto type = Get<std::string>(json, where, "type");
  for (const Kind kind : { Kind::ZScore, Kind::Percentiles, Kind::Window, Kind::Clip, Kind::None })
  {
    normalization.kind = kind;
    if (type == normalization.GetName())
    {
      break;
    }
  }
  if (type != normalization.GetName())
  {
    Refuse("unknown normalization \"" + type +
           "\"; use \"none\", \"z-score\", \"percentiles\", \"window\" or "
           "\"clip\"");
  }
  switch (normalization.kind)
  {
    case Kind::None:
      CheckKeys(json, where, { "type" });
      return normalization;
    case Kind::ZScore:
      CheckKeys(json, where, { "type", "voxels" });
      break;
    case Kind::Percentiles:
      CheckKeys(json, where, { "type", "voxels", "low", "high" });
      break;
    case Kind::Window:
    case Kind::Clip:
      CheckKeys(json, where, { "type", "low", "high" });
      break;
  }
  const auto voxels = Get<std::string>(json, where, "voxels", "all");
  using Voxels = Normalization::Voxels;
  for (const Voxels counted : { Voxels::NonZero, Voxels::Box, Voxels::Filled, Voxels::All })
  {
    normalization.voxels = counted;
    if (voxels == normalization.GetVoxelsName())
    {
      break;
    }
  }
  if (voxels != normalization.GetVoxelsName())
  {
    Refuse(where + ": \"voxels\" must be \"all\", \"non-zero\", \"non-zero-box\" or \"non-zero-filled\", not \"" +
           voxels + "\"");
  }
  if (normalization.kind != Kind::ZScore)
  {
    normalization.low = ReadNumber(json, where, "low");
    normalization.high = ReadNumber(json, where, "high");
  }
  return normalization;
}

Normalizations
ReadNormalizations(const Json & json)
{
  if (!json.is_array())
  {
    const Normalization ofAll = ReadNormalization(json);
    return ofAll.kind == Normalization::Kind::None ? Normalizations() : Normalizations{ ofAll };
  }
  if (json.empty() || json.size() > 65536)
  {
    Refuse("\"normalization\" must be a JSON object, or a list of one for each channel");
  }
  Normalizations normalizations;
  std::transform(json.begin(), json.end(), std::back_inserter(normalizations), ReadNormalization);
  return normalizations;
}

Json
WriteNormalization(const Normalization & normalization)
{
  using Kind = Normalization::Kind;
  Json json{ { "type", normalization.GetName() } };
  if (normalization.voxels != Normalization::Voxels::All)
  {
    json["voxels"] = normalization.GetVoxelsName();
  }
  if (normalization.kind != Kind::ZScore && normalization.kind != Kind::None)
  {
    json["low"] = normalization.low;
    json["high"] = normalization.high;
  }
  return json;
}

/** Numbers along z, y and x. */
std::array<double, 3>
ReadAxes(const Json & json, const std::string & where, const char * key)
{
  const Json numbers = json.contains(key) ? json.at(key) : Json();
  const auto isNumber = [](const Json & number) { return number.is_number(); };
  if (!numbers.is_array() || numbers.size() != 3 || !std::all_of(numbers.begin(), numbers.end(), isNumber))
  {
    Refuse(where + ": \"" + key + "\" must be three numbers, along z, y and x");
  }
  return { numbers[0].get<double>(), numbers[1].get<double>(), numbers[2].get<double>() };
}

} // namespace

void
ReadInput(const Json & json, NetworkDescription & network)
{
  const std::string where = "\"input\"";
  const bool        isOfLayers = !network.layers.empty(); // whose graph follows from the input
  if (isOfLayers && json.contains("normalization"))
  {
    Refuse(where +
           ": a chain of layers takes 8 bit and no normalization; write the network as a graph of operations, or "
           "choose a window for slides of 16 bit (--window)");
  }
  if (isOfLayers)
  {
    CheckKeys(json, where, { "channels", "invert" });
  }
  else
  {
    CheckKeys(
      json,
      where,
      { "channels", "invert", "mean", "deviation", "normalization", "crop", "spacing", "orientation", "axis order" });
  }
  const int channels = isOfLayers ? 1 : network.graph.GetInputChannels();
  network.channels = Get<int>(json, where, "channels", channels);
  const bool standardized = json.contains("mean") || json.contains("deviation");
  if (standardized && (!json.contains("mean") || !json.contains("deviation") || json.contains("invert")))
  {
    Refuse(where + ": \"mean\" and \"deviation\" go together, and not with \"invert\"");
  }
  if (json.contains("normalization"))
  {
    network.normalization = ReadNormalizations(json.at("normalization"));
  }
  // Slides are bright where nothing is.
  network.invert = Get<bool>(json, where, "invert", !standardized && !network.TakesFloats());
  if (standardized)
  {
    network.mean = ReadNumbers(json, "mean");
    network.deviation = ReadNumbers(json, "deviation");
  }
  const auto crop = Get<std::string>(json, where, "crop", "none");
  if (crop != "none" && crop != "non-zero")
  {
    Refuse(where + ": \"crop\" must be \"none\" or \"non-zero\", not \"" + crop + "\"");
  }
  network.cropsToNonZero = crop == "non-zero";
  if (json.contains("spacing"))
  {
    network.spacing = ReadAxes(json, where, "spacing");
  }
  network.orientation = Get<std::string>(json, where, "orientation", "");
  const auto order = Get<std::string>(json, where, "axis order", "zyx");
  if (order != "zyx" && order != "xyz")
  {
    Refuse(where + ": \"axis order\" must be \"zyx\" or \"xyz\", not \"" + order + "\"");
  }
  network.takesXFirst = order == "xyz";
}

Json
WriteInput(const NetworkDescription & network)
{
  Json                   json{ { "channels", network.channels } };
  const Normalizations & normalizations = network.normalization;
  if (normalizations.size() == 1)
  {
    json["normalization"] = WriteNormalization(normalizations.front());
  }
  for (std::size_t c = 0; normalizations.size() > 1 && c < normalizations.size(); ++c)
  {
    json["normalization"].push_back(WriteNormalization(normalizations[c]));
  }
  if (network.cropsToNonZero)
  {
    json["crop"] = "non-zero";
  }
  if (network.spacing != std::array<double, 3>{})
  {
    json["spacing"] = network.spacing;
  }
  if (!network.orientation.empty())
  {
    json["orientation"] = network.orientation;
  }
  if (network.takesXFirst)
  {
    json["axis order"] = "xyz";
  }
  if (network.mean.empty())
  {
    json["invert"] = network.invert;
    return json;
  }
  json["mean"] = network.mean;
  json["deviation"] = network.deviation;
  return json;
}

void
ReadPatches(const Json & json, VolumePatches & patches)
{
  const std::string where = "\"patches\"";
  CheckKeys(json, where, { "size", "overlap", "blending", "mirror" });
  const std::array<double, 3> size = ReadAxes(json, where, "size");
  for (const double side : size)
  {
    if (!(side >= 1 && side <= VolumePatches::GreatestSide && side == std::floor(side)))
    {
      Refuse(where + ": \"size\" must be three whole numbers from 1 to " + std::to_string(VolumePatches::GreatestSide));
    }
  }
  patches.size = { static_cast<std::int64_t>(size[2]),
                   static_cast<std::int64_t>(size[1]),
                   static_cast<std::int64_t>(size[0]) };
  patches.overlap = json.contains("overlap") ? ReadNumber(json, where, "overlap") : patches.overlap;
  const auto blending = Get<std::string>(json, where, "blending", "gaussian");
  if (blending != "gaussian" && blending != "constant")
  {
    Refuse(where + ": \"blending\" must be \"gaussian\" or \"constant\", not \"" + blending + "\"");
  }
  patches.gaussian = blending == "gaussian";
  if (!json.contains("mirror"))
  {
    return;
  }
  const Json & mirror = json.at("mirror");
  const auto   isFlag = [](const Json & flag) { return flag.is_boolean(); };
  if (!mirror.is_array() || mirror.size() != 3 || !std::all_of(mirror.begin(), mirror.end(), isFlag))
  {
    Refuse(where + ": \"mirror\" must be three times true or false, along z, y and x");
  }
  patches.mirror = { mirror[0].get<bool>(), mirror[1].get<bool>(), mirror[2].get<bool>() };
}

Json
WritePatches(const VolumePatches & patches)
{
  return { { "size", { patches.size.depth, patches.size.height, patches.size.width } },
           { "overlap", patches.overlap },
           { "blending", patches.gaussian ? "gaussian" : "constant" },
           { "mirror", patches.mirror } };
}

} // namespace gigapixel
