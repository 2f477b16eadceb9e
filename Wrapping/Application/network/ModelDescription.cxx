/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ModelDescription.h"
#include "InputKind.h"
#include "gigapixelExecutor.h"
#include "gigapixelImageKind.h"
#include "gigapixelJoinNames.h"
#include "gigapixelLabeling.h"
#include "gigapixelPatchDifference.h"
#include "gigapixelVolumeOrientation.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace gigapixel::application
{
namespace
{
using JSON = nlohmann::ordered_json;

/** The multiple that images are padded to. */
std::int64_t
GetMultiple(const NetworkDescription & network)
{
  const auto & operations = network.graph.operations;
  const auto   found = std::find_if(operations.begin(), operations.end(), [&](const Operation & operation) {
    return operation.type == "pad" && operation.inputs.front() == operations.front().name;
  });
  return found == operations.end() ? 1 : found->GetInteger("multiple");
}

JSON
DescribePatches(const NetworkDescription & network)
{
  const PatchDifference difference = PatchDifference::Make(network);
  return { { "borders", difference.borders },
           { "multiple", difference.multiple },
           { "sizes", difference.sizes },
           { "reductions", difference.reductions } };
}

/** "1 interpolate, 2 pad (zeros)" */
std::string
FormatCounts(const JSON & counts)
{
  std::string text;
  for (const auto & item : counts.items())
  {
    text += (text.empty() ? "" : ", ") + item.value().dump() + ' ' + item.key();
  }
  return text;
}

std::string
FormatPatches(const JSON & patches, const std::string & unit)
{
  const bool  follows = !patches["sizes"].empty();
  const auto  multiple = patches["multiple"].get<std::int64_t>();
  std::string text;
  const auto  add = [&text](const std::string & part) {
    text += (text.empty() ? "differ from the whole image " : "; ") + part;
  };
  if (!patches["reductions"].empty())
  {
    add("everywhere, by the pixels that are summed up for " + FormatCounts(patches["reductions"]));
  }
  if (multiple == 0)
  {
    add("everywhere, by " + FormatCounts(patches["sizes"]));
  }
  if (!patches["borders"].empty())
  {
    add("up to the halo from their borders, by " + FormatCounts(patches["borders"]));
  }
  if (multiple > 1)
  {
    add("everywhere where they begin at no multiple of " + std::to_string(multiple) + unit +
        ", as the last ones at an image's end may");
  }
  if (multiple > 0 && follows)
  {
    add("everywhere in images whose sides are no multiples of " + std::to_string(multiple) + unit + ", by " +
        FormatCounts(patches["sizes"]));
  }
  return text.empty() ? "as in the whole image" : text;
}

JSON
DescribeObjective(const NetworkDescription & network)
{
  const Objective & objective = network.objective;
  JSON              json{ { "type", objective.GetKind().name } };
  json["names"] = objective.names.empty() ? network.classNames : objective.names;
  if (objective.GetKind().hasUnits)
  {
    json["means"] = objective.means;
    json["deviations"] = objective.deviations;
  }
  return json;
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
  if (network.TakesFloats())
  {
    json["normalization"] = gigapixel::Describe(network.normalization);
  }
  InputKind::Of(network).Describe(network, json);
  return json;
}

std::string
FormatInput(const JSON & input)
{
  std::string text = input["channels"].dump() + (input["channels"] == 1 ? " channel, " : " channels, ");
  const bool  isVolume = input.contains("axes");
  const bool  isStored = input.contains("normalization"); // values are what the file says, not 255ths
  const auto  before = isStored ? input["normalization"].get<std::string>() : std::string();
  if (input.contains("mean"))
  {
    text += (isStored ? before + ", (value - " : "(pixel / 255 - ") + input["mean"].dump() + ") / " +
            input["deviation"].dump();
  }
  else
  {
    text += isStored ? before : input["invert"].get<bool>() ? "(255 - pixel) / 255" : "pixel / 255";
  }
  text += isVolume ? "; volumes" : "";
  text += isVolume && input["crop"] == "non-zero" ? " cropped to what is not 0" : "";
  const auto orientation = isVolume && !input["orientation"].is_null() ? input["orientation"].get<std::string>() : "";
  text += orientation.empty() ? "" : orientation == StoredOrientation ? " as stored" : " oriented " + orientation;
  text += isVolume && input["axisOrder"] == "xyz" ? ", x first" : "";
  text += isVolume && !input["spacingMm"].is_null()
            ? " at " + input["spacingMm"].dump() + " mm along depth, height and width"
            : "";
  text +=
    isVolume && !input["trainedPatches"].is_null() ? ", trained on " + input["trainedPatches"].get<std::string>() : "";
  return text + (input["multiple"] == 1 ? ", images of any size"
                                        : ", images are padded to multiples of " + input["multiple"].dump());
}
/** "classes     2, of whole images: normal, tumor" */
std::string
FormatNames(const JSON & json)
{
  const bool  ofImages = json["labels"] == "images";
  const bool  areClasses = !ofImages || json["objective"]["type"] == "classes";
  const auto  kind = areClasses ? "classes" : json["objective"]["type"].get<std::string>();
  const auto  names = (areClasses ? json["classNames"] : json["objective"]["names"]).get<std::vector<std::string>>();
  std::string text = kind + std::string(12 - kind.size(), ' ') +
                     (areClasses ? json["classes"].dump() : std::to_string(names.size())) +
                     (ofImages ? ", of whole images" : "");
  text += names.empty() ? "" : ": " + JoinNames(names);
  text += json["classes"] > 2 && json["probabilities"] == "sigmoid" ? "; each has a probability of its own" : "";
  return text;
}

} // namespace

void
VolumeInput::Describe(const NetworkDescription & network, JSON & input) const
{
  input["axes"] = network.graph.GetNumberOfAxes();
  input["crop"] = network.cropsToNonZero ? "non-zero" : "none";
  input["spacingMm"] = network.spacing == std::array<double, 3>{} ? JSON() : JSON(network.spacing);
  input["orientation"] = network.orientation.empty() ? JSON() : JSON(network.orientation);
  input["axisOrder"] = network.takesXFirst ? "xyz" : "zyx";
  input["trainedPatches"] = network.patches.IsKnown() ? JSON(network.patches.Describe()) : JSON();
}

std::string
GetUnit(const JSON & json)
{
  return " " + ImageKind::Of(json["axes"]).unit;
}

JSON
DescribeComposition(const NetworkDescription & network)
{
  std::int64_t trained = 0, kept = 0;
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    (parameter.trained ? trained : kept) += parameter.GetNumberOfValues();
  }
  JSON json{ { "name", network.name }, { "operations", Executor::Of(network).CountSteps(network) } };
  json["parameters"] = trained;
  json["keptParameters"] = kept;
  json["axes"] = network.graph.GetNumberOfAxes();
  json["channels"] = network.channels;
  json["classes"] = network.GetNumberOfClasses();
  json["classNames"] = network.classNames;
  const bool isOfEach =
    network.probabilities == NetworkDescription::Probabilities::Sigmoid || network.GetNumberOfOutputChannels() == 1;
  json["probabilities"] = isOfEach ? "sigmoid" : "softmax";
  const bool ofImages = network.LabelsImage(); // patches of an image have no labels of their own, nor pixels objectives
  json["objective"] = ofImages ? DescribeObjective(network) : JSON();
  json["labels"] = Labeling::Of(network.graph).name;
  json["input"] = DescribeInput(network);
  json["halo"] = network.GetHalo();
  json["stride"] = network.GetStride();
  json["patches"] = ofImages ? JSON() : DescribePatches(network);
  json["provenance"] = network.provenance.empty() ? JSON() : JSON::parse(network.provenance);
  return json;
}

std::string
FormatComposition(const JSON & json)
{
  int count = 0;
  for (const auto & number : json["operations"])
  {
    count += number.get<int>();
  }
  std::string text = "  operations  " + std::to_string(count) + ": " + FormatCounts(json["operations"]) + '\n';
  text += "  parameters  " + json["parameters"].dump();
  text += json["keptParameters"] == 0 ? "" : " and " + json["keptParameters"].dump() + " of frozen statistics";
  text += "\n  input       " + FormatInput(json["input"]);
  text += "\n  " + FormatNames(json);
  text += "\n  halo        " + json["halo"].dump() + GetUnit(json) + ", stride " + json["stride"].dump() +
          GetUnit(json) + '\n';
  text += json["patches"].is_null() ? "" : "  patches     " + FormatPatches(json["patches"], GetUnit(json)) + '\n';
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

} // namespace gigapixel::application
