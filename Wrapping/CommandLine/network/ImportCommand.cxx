/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

#include "ModelDescription.h"
#include "OutputCheck.h"
#include "SlideFile.h"

#include "gigapixelNetworkImport.h"
#include "gigapixelNetworkPresets.h"

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
  options.tileSize = values.Has("tile-size") ? values.GetInteger("tile-size") : 0;
  options.norms = values.GetText("norms") == "image" ? ImportedNorms::Image : ImportedNorms::Frozen;
  if (values.Has("mean") != values.Has("deviation"))
  {
    throw UsageError("--mean and --deviation go together, with a number for each channel.");
  }
  if (options.mean.size() != options.deviation.size())
  {
    throw UsageError("--mean has " + std::to_string(options.mean.size()) + " and --deviation " +
                     std::to_string(options.deviation.size()) + " numbers: give both one for each channel.");
  }
  if (values.Has("logits") && values.Has("weights"))
  {
    throw UsageError("--logits is for ONNX files, which have their weights: not with --weights.");
  }
  return options;
}

/** The folder of a MeshNet, or one of its files, is read by Python, whose pickle its weights are in. */
void
RefuseMeshNet(const std::filesystem::path & network)
{
  std::error_code ignored;
  const bool      isFolder = std::filesystem::is_directory(network, ignored);
  for (const char * description : { "model.json", "layers.json" })
  {
    if (isFolder ? std::filesystem::exists(network / description, ignored) : network.filename() == description)
    {
      throw std::runtime_error(
        network.string() + (isFolder ? " is the folder" : " is of the folder") +
        " of a MeshNet as brainchop has it, which is imported in Python: "
        "gp.import_network(gp.load_meshnet(FOLDER), \"model.safetensors\", example=(96, 96, 96), ...).");
    }
  }
}

/** Names of networks and models are no files. */
void
RefuseName(const std::string & network)
{
  std::error_code ignored;
  if (std::filesystem::exists(network, ignored))
  {
    return;
  }
  if (NetworkPreset::Find(network))
  {
    throw std::runtime_error(network + " is a preset, without weights: give them (--weights FILE), or an ONNX file in "
                                       "its place.");
  }
  if (Model::IsReady(network))
  {
    throw std::runtime_error(network + " is a ready model, which needs no import.");
  }
}

Model
ImportModel(const ArgumentValues & values, const ImportOptions & options, const Session & session)
{
  if (values.Has("weights"))
  {
    SayIfModelHidesFile(values.GetText("weights"), session);
    return ImportWeights(LoadNetwork(values, "NETWORK", session), values.GetText("weights"), options);
  }
  RefuseName(values.GetText("NETWORK"));
  RefuseMeshNet(values.GetText("NETWORK"));
  CheckInputFile(values.GetText("NETWORK"));
  return ImportONNX(values.GetText("NETWORK"), options);
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
  const Model model = ImportModel(values, options, session);
  model.Save(output, values.Has("overwrite"));
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
