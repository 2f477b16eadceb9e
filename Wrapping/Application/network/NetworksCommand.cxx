/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ModelDescription.h"
#include "NetworkCommands.h"

#include "gigapixelNetworkPresets.h"
#include "gigapixelNetworkSummary.h"
#include "gigapixelOperationList.h"

#include <nlohmann/json.hpp>

namespace gigapixel::application
{
namespace
{
using JSON = nlohmann::ordered_json;

JSON
DescribeOptions(const NetworkPreset & preset)
{
  JSON options = JSON::array();
  for (const PresetOption & option : preset.options)
  {
    options.push_back({ { "name", option.name },
                        { "default", option.defaultValue },
                        { "range", option.GetRange() },
                        { "description", option.description } });
  }
  return options;
}

JSON
DescribeNetwork(const NetworkDescription & network)
{
  const NetworkSummary summary = NetworkSummary::Make(network);
  JSON                 json{ { "name", network.name } };
  json["parameters"] = summary.trainedParameters;
  json["keptParameters"] = summary.keptParameters;
  json["multiplyAddsPerPixel"] = summary.multiplyAdds;
  json["halo"] = network.GetHalo();
  json["stride"] = network.GetStride();
  json["axes"] = network.graph.GetNumberOfAxes();
  json["channels"] = network.channels;
  json["classes"] = network.GetNumberOfClasses();
  if (network.TakesFloats())
  {
    json["normalization"] = gigapixel::Describe(network.normalization);
  }
  json["learningRate"] = GetDefaultLearningRate(network);
  json["arrays"] = JSON::array();
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    json["arrays"].push_back(parameter.name);
  }
  json["tiles"] = JSON::array();
  for (const NetworkSummary::Tile & tile : summary.tiles)
  {
    json["tiles"].push_back({ { "side", tile.side },
                              { "trainingBytes", tile.trainingBytes },
                              { "inferenceBytes", tile.inferenceBytes },
                              { "work", tile.workFactor } });
  }
  return json;
}

std::string
Format(const JSON & json)
{
  std::string text = json["name"].get<std::string>() + '\n';
  if (json.contains("summary"))
  {
    text += "  " + json["summary"].get<std::string>() + '\n';
    for (const JSON & option : json["options"])
    {
      text += "  " + option["name"].get<std::string>() + '=' + option["default"].get<std::string>() + " (" +
              option["range"].get<std::string>() + "): " + option["description"].get<std::string>() + '\n';
    }
  }
  text += "  " + FormatParameters(json["parameters"].get<std::int64_t>(), json["keptParameters"].get<std::int64_t>());
  text += ", " + FormatNumber(json["multiplyAddsPerPixel"].get<double>(), 0) + " multiply-adds a " +
          (json["axes"] == 3 ? "voxel\n" : "pixel\n");
  text += "  channels " + json["channels"].dump() + ", classes " + json["classes"].dump() + ", halo " +
          json["halo"].dump() + GetUnit(json) + ", stride " + json["stride"].dump() + GetUnit(json) +
          ", learning rate " + json["learningRate"].dump() + '\n' +
          (json.contains("normalization") ? "  input " + json["normalization"].get<std::string>() + '\n' : "");
  for (const JSON & tile : json["tiles"])
  {
    text += "  tile of " + tile["side"].dump() + GetUnit(json) + ": training " +
            FormatBytes(tile["trainingBytes"].get<double>()) + ", inference " +
            FormatBytes(tile["inferenceBytes"].get<double>()) + ", " + FormatNumber(tile["work"].get<double>(), 2) +
            " times the work of " + (json["axes"] == 3 ? "its voxels\n" : "its pixels\n");
  }
  return text;
}

JSON
DescribeAttributes(const OperationDescription & operation)
{
  JSON attributes = JSON::array();
  for (const OperationAttribute & attribute : operation.attributes)
  {
    attributes.push_back({ { "name", attribute.name },
                           { "default", attribute.defaultValue },
                           { "words", attribute.words },
                           { "required", attribute.required } });
  }
  return attributes;
}

int
ListOperations(const Session & session)
{
  JSON        json = JSON::array();
  std::string text;
  for (const OperationDescription & operation : DescribeOperations())
  {
    json.push_back({ { "type", operation.type },
                     { "typeOfVolumes", operation.typeOfVolumes },
                     { "summary", operation.summary },
                     { "seesWholeImage", operation.seesWholeImage },
                     { "attributes", DescribeAttributes(operation) } });
    text += operation.type + (operation.summary.empty() ? "" : ": " + operation.summary) + '\n';
    for (const OperationAttribute & attribute : operation.attributes)
    {
      text += "  " + attribute.name + (attribute.required ? " (required)" : "");
      text += (attribute.defaultValue.empty() ? "" : "=" + attribute.defaultValue) + '\n';
    }
  }
  session.ShowResult(text, json);
  return Success;
}

} // namespace

int
RunNetworks(const ArgumentValues & values, const Session & session)
{
  if (values.Has("operations"))
  {
    return ListOperations(session);
  }
  JSON networks = JSON::array();
  if (values.Has("NETWORK"))
  {
    networks.push_back(DescribeNetwork(LoadNetwork(values, "NETWORK", session)));
  }
  else
  {
    for (const NetworkPreset & preset : NetworkPreset::GetAll())
    {
      JSON json = DescribeNetwork(preset.Make(preset.name));
      json["summary"] = preset.summary;
      json["options"] = DescribeOptions(preset);
      networks.push_back(json);
    }
  }
  std::string text;
  for (const JSON & network : networks)
  {
    text += Format(network);
  }
  const JSON & result = values.Has("NETWORK") ? networks.front() : networks;
  session.ShowResult(text, result);
  return Success;
}

} // namespace gigapixel::application
