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

bool
IsAbove(const Operation & operation, const char * attribute, std::int64_t most)
{
  return operation.GetAlong(attribute, 0) > most || operation.GetAlong(attribute, 1) > most;
}

/** What an operation takes for pixels beyond the border of its map; empty: it needs none. */
std::string
GetBorder(const Operation & operation)
{
  const std::string & type = operation.type;
  if (type == "conv2d")
  {
    const bool pads =
      operation.IsWord("padding") ? IsAbove(operation, "kernel_size", 1) : IsAbove(operation, "padding", 0);
    return pads ? operation.GetWord("padding_mode") : "";
  }
  if (type == "conv_transpose2d")
  {
    const bool overlaps = operation.GetAlong("kernel_size", 0) > operation.GetAlong("stride", 0) ||
                          operation.GetAlong("kernel_size", 1) > operation.GetAlong("stride", 1);
    return overlaps ? "zeros" : "";
  }
  if (type == "max_pool2d" || type == "avg_pool2d")
  {
    return !IsAbove(operation, "padding", 0) ? "" : type == "max_pool2d" ? "nothing" : "zeros";
  }
  if (type == "pad")
  {
    return operation.GetWord("mode");
  }
  return type == "interpolate" && operation.GetWord("mode") == "bilinear" ? "replicate" : "";
}

/** Operations whose result at the border of a patch is another than there in the whole image, with what they take for
 * the pixels beyond it. There are none that see all of their map, and all norms keep their statistics. */
JSON
CountBorders(const NetworkDescription & network)
{
  JSON       counts = JSON::object();
  const auto count = [&counts](const std::string & type, const std::string & border) {
    const std::string name = type + " (" + border + ')';
    counts[name] = counts.value(name, 0) + 1;
  };
  for (const Layer & layer : network.layers)
  {
    const bool plain = layer.kind == Layer::Kind::Convolution;
    if (plain ? layer.padding > 0 : layer.kernel > layer.stride)
    {
      count(plain ? "convolution" : "transposed convolution", "zeros");
    }
  }
  for (const Operation & operation : network.graph.operations)
  {
    const std::string border = GetBorder(operation);
    if (!border.empty())
    {
      count(operation.type, border);
    }
  }
  return counts;
}

std::string
FormatBorders(const JSON & json)
{
  std::string borders;
  for (const auto & item : json["borders"].items())
  {
    borders += (borders.empty() ? "" : ", ") + item.value().dump() + ' ' + item.key();
  }
  return borders.empty() ? "as in the whole image: no operation needs pixels beyond a patch"
                         : "differ from the whole image up to the halo from their borders, by " + borders;
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
  json["borders"] = CountBorders(network);
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
  text += "  patches     " + FormatBorders(json) + '\n';
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
