/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ModelDescription.h"

#include <algorithm>

namespace gigapixel::commandline
{
namespace
{
using JSON = nlohmann::ordered_json;

JSON
CountOperations(const NetworkDescription & network)
{
  std::map<std::string, int> counts;
  for (const Layer & layer : network.layers)
  {
    ++counts[layer.kind == Layer::Kind::Convolution ? "convolution" : "transposed convolution"];
  }
  for (const Operation & operation : network.graph.operations)
  {
    ++counts[operation.type];
  }
  return counts;
}

/** The multiple that images are padded to. */
std::int64_t
GetMultiple(const NetworkDescription & network)
{
  if (network.graph.IsEmpty())
  {
    return network.GetStride();
  }
  const auto & operations = network.graph.operations;
  const auto   found = std::find_if(operations.begin(), operations.end(), [&](const Operation & operation) {
    return operation.type == "pad" && operation.inputs.front() == operations.front().name;
  });
  return found == operations.end() ? 1 : found->GetInteger("multiple");
}

JSON
DescribeInput(const NetworkDescription & network)
{
  JSON json{ { "channels", network.channels } };
  if (network.mean.empty())
  {
    json["invert"] = network.invert;
  }
  else
  {
    json["mean"] = network.mean;
    json["deviation"] = network.deviation;
  }
  json["multiple"] = GetMultiple(network);
  return json;
}

std::string
FormatInput(const JSON & input)
{
  std::string text = input["channels"].dump() + (input["channels"] == 1 ? " channel, " : " channels, ");
  text += !input.contains("mean") ? (input["invert"].get<bool>() ? "(255 - pixel) / 255" : "pixel / 255")
                                  : "(pixel / 255 - " + input["mean"].dump() + ") / " + input["deviation"].dump();
  return text + (input["multiple"] == 1 ? ", images of any size"
                                        : ", images are padded to multiples of " + input["multiple"].dump());
}
} // namespace

JSON
DescribeComposition(const NetworkDescription & network)
{
  std::int64_t trained = 0, kept = 0;
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    (parameter.trained ? trained : kept) += parameter.GetNumberOfValues();
  }
  JSON json{ { "name", network.name }, { "operations", CountOperations(network) } };
  json["parameters"] = trained;
  json["keptParameters"] = kept;
  json["channels"] = network.channels;
  json["classes"] = network.GetNumberOfClasses();
  json["input"] = DescribeInput(network);
  json["halo"] = network.GetHalo();
  json["stride"] = network.GetStride();
  json["provenance"] = network.provenance.empty() ? JSON() : JSON::parse(network.provenance);
  return json;
}

std::string
FormatComposition(const JSON & json)
{
  std::string operations;
  int         count = 0;
  for (const auto & item : json["operations"].items())
  {
    operations += (operations.empty() ? "" : ", ") + item.value().dump() + ' ' + item.key();
    count += item.value().get<int>();
  }
  std::string text = "  operations  " + std::to_string(count) + ": " + operations + '\n';
  text += "  parameters  " + json["parameters"].dump();
  text += json["keptParameters"] == 0 ? "" : " and " + json["keptParameters"].dump() + " of frozen statistics";
  text += "\n  input       " + FormatInput(json["input"]);
  text += "\n  classes     " + json["classes"].dump();
  text += "\n  halo        " + json["halo"].dump() + " px, stride " + json["stride"].dump() + " px\n";
  if (json["provenance"].is_null())
  {
    return text;
  }
  for (const auto & item : json["provenance"].items())
  {
    // Arrays of an import may be many; --json has them.
    text += item.key() == "shapes"
              ? ""
              : "  " + item.key() + ": " +
                  (item.value().is_string() ? item.value().get<std::string>() : item.value().dump()) + '\n';
  }
  return text;
}

} // namespace gigapixel::commandline
