/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

#include "Engine.h"
#include "ModelDescription.h"

#include "gigapixelJoinNames.h"
#include "gigapixelModel.h"
#include "gigapixelNetworkPresets.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace gigapixel::application
{
namespace
{
using JSON = nlohmann::ordered_json;

bool
IsPreset(const std::string & name)
{
  return !std::filesystem::exists(name) && NetworkPreset::Find(name) != nullptr;
}

JSON
Describe(const std::string & name)
{
  if (IsPreset(name))
  {
    JSON json{ { "model", JSON() } };
    json.update(DescribeComposition(NetworkDescription::Load(name)));
    return json;
  }
  // A file is meant where there is one, as of slides.
  const bool  isFile = std::filesystem::exists(name);
  const Model model = Model::Load(isFile ? (std::filesystem::path(".") / name).string() : name);
  JSON        json{ { "model", name } };
  json.update(DescribeComposition(model.network));
  json["mpp"] = model.micronsPerPixel > 0 ? JSON(model.micronsPerPixel) : JSON();
  json["tileSize"] = model.tileSize;
  if (model.tissueOnly)
  {
    json["tissueOnly"] = *model.tissueOnly;
  }
  if (!model.channels.empty())
  {
    json["slideChannels"] = model.channels;
    json["window"] = model.window.empty() ? JSON() : JSON(model.window);
  }
  if (!model.plane.empty())
  {
    json["focalPlane"] = model.plane;
  }
  return json;
}

std::string
Format(const std::string & name, const JSON & json)
{
  std::string text = name + '\n' + "  network     " + json["name"].get<std::string>();
  text += json["model"].is_null() ? ", a preset, without weights\n" : "\n";
  text += FormatComposition(json);
  if (json["model"].is_null())
  {
    return text;
  }
  if (json["axes"] == 2)
  {
    text += "  resolution  " +
            (json["mpp"].is_null() ? std::string("unknown") : FormatNumber(json["mpp"].get<double>(), 4) + " µm/px") +
            '\n';
  }
  if (json.contains("tissueOnly"))
  {
    text += std::string("  trained on  ") + (json["tissueOnly"] ? "tissue alone (--tissue)" : "whole slides") + '\n';
  }
  if (json.contains("slideChannels"))
  {
    text += "  of slides   channels " + JoinNames(json["slideChannels"].get<std::vector<std::string>>()) +
            (json["window"].is_null() ? "" : ", window " + json["window"].get<std::string>()) + '\n';
  }
  if (json.contains("focalPlane"))
  {
    text += "  of slides   focal plane " + json["focalPlane"].get<std::string>() + '\n';
  }
  return text + "  tiles       of " + json["tileSize"].dump() + GetUnit(json) + '\n';
}
} // namespace

bool
IsNetworkName(const std::string & name)
{
  std::error_code ignored;
  return !std::filesystem::exists(name, ignored) && name.find_first_of("./\\") == std::string::npos &&
         (NetworkPreset::Find(name) != nullptr || Model::IsReady(name));
}

int
RunModelInfo(const ArgumentValues & values, const Session & session)
{
  const std::string reason = values.GetTexts("SLIDE").front() + " is a model or a network";
  RefuseOptions(values, reason, OptionScope::Images);
  JSON        all = JSON::array();
  std::string text;
  for (const std::string & name : values.GetTexts("SLIDE"))
  {
    all.push_back(Describe(name));
    text += Format(name, all.back());
  }
  const JSON & result = all.size() == 1 ? all.front() : all;
  session.ShowResult(text, result);
  return Success;
}

} // namespace gigapixel::application
