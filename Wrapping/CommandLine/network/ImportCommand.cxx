/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

#include "ModelDescription.h"
#include "OutputCheck.h"

#include "gigapixelNetworkImport.h"

#include <filesystem>

namespace gigapixel::commandline
{
namespace
{
ImportOptions
GetOptions(const ArgumentValues & values)
{
  ImportOptions options;
  options.name = values.Has("name") ? values.GetText("name") : "";
  options.output = values.Has("logits") ? values.GetText("logits") : "";
  options.mean = GetNumbers(values, "mean");
  options.deviation = GetNumbers(values, "deviation");
  options.micronsPerPixel = values.Has("mpp") ? values.GetNumber("mpp") : 0;
  options.tileSize = values.GetInteger("tile-size");
  if (options.mean.size() != options.deviation.size())
  {
    throw UsageError("--mean and --deviation go together, with a number for each channel.");
  }
  if (values.Has("logits") && values.Has("weights"))
  {
    throw UsageError("--logits is for ONNX files, which have their weights: not with --weights.");
  }
  return options;
}

Model
ImportModel(const ArgumentValues & values, const ImportOptions & options)
{
  const std::string network = values.GetText("NETWORK");
  return !values.Has("weights") ? ImportONNX(network, options)
                                : ImportWeights(NetworkDescription::Load(network), values.GetText("weights"), options);
}
} // namespace

int
RunImport(const ArgumentValues & values, const Session & session)
{
  const std::string   output = values.GetText("output");
  const ImportOptions options = GetOptions(values);
  CheckEnding("--output", output, "model");
  RefuseInput(output, { values.GetText("NETWORK"), values.Has("weights") ? values.GetText("weights") : "" });
  RefuseExisting(output, values.Has("overwrite"));
  CheckOutput(output, 0);
  const Model model = ImportModel(values, options);
  model.Save(output);
  if (const std::string warning = model.GetWarning(); !warning.empty())
  {
    session.Warn("gigapixel: " + warning + '.');
  }
  nlohmann::ordered_json json{ { "model", output } };
  json.update(DescribeComposition(model.network));
  session.PrintResult(output + '\n' + FormatComposition(json),
                      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
