/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"
#include "gigapixelFormatCount.h"

#include "ModelDescription.h"
#include "OutputCheck.h"
#include "SlideFile.h"

#include "gigapixelNetworkImport.h"
#include "gigapixelNetworkPresets.h"
#include "gigapixelVolumeOrientation.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace gigapixel::application
{
namespace
{
ImportOptions
GetOptions(const ArgumentValues & values)
{
  ImportOptions options;
  options.weightsSet = values.GetText("weights-set");
  options.name = values.GetText("name");
  options.output = values.GetText("logits");
  options.mean = values.GetNumbers("mean");
  options.deviation = values.GetNumbers("deviation");
  options.micronsPerPixel = values.GetNumber("mpp");
  options.tileSize = values.GetInteger("tile-size");
  options.norms = values.GetText("norms") == "image" ? ImportedNorms::Image : ImportedNorms::Frozen;
  options.orientation = values.GetText("orientation");
  options.takesXFirst = values.GetText("axis-order") == "xyz";
  if (!options.orientation.empty() && options.orientation != StoredOrientation && !IsOrientation(options.orientation))
  {
    throw UsageError(
      Diagnostic("E-OPTION-VALUE",
                 "--orientation is three letters, one of R and L, one of A and P, and one of S and I, or stored, not " +
                   options.orientation,
                 "write RAS or LPS, for instance, or stored where the training took volumes as their files have them")
        .OfOption("--orientation", options.orientation));
  }
  if (options.mean.size() != options.deviation.size())
  {
    throw UsageError(Diagnostic("E-OPTION-CONFLICT",
                                "--mean has " + std::to_string(options.mean.size()) + " and --deviation " +
                                  FormatCount(options.deviation.size(), "number"),
                                "give both one for each channel")
                       .OfOption("--mean", values.GetText("mean")));
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
      throw Refusal(
        Diagnostic("E-FILE-KIND",
                   network.string() + (isFolder ? " is the folder" : " is of the folder") +
                     " of a MeshNet as brainchop has it, which is imported in Python",
                   "use gp.import_network(gp.load_meshnet(FOLDER), \"model.safetensors\", example=(96, 96, 96), ...)")
          .OfFile(network.string()));
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
    throw Refusal(Diagnostic("E-OPTION-NEEDS",
                             network + " is a preset, without weights",
                             "give them (--weights FILE), or an ONNX file in its place")
                    .OfOption("NETWORK", network));
  }
  if (Model::IsReady(network))
  {
    throw Refusal(Diagnostic("E-FILE-KIND", network + " is a ready model, which needs no import", "use it as MODEL")
                    .OfFile(network));
  }
}

Model
ImportModel(const ArgumentValues & values, const ImportOptions & options, const Session & session)
{
  if (const std::string & weights = values.GetText("weights"); !weights.empty())
  {
    SayIfModelHidesFile(weights, session);
    return ImportWeights(LoadNetwork(values, "NETWORK", session), weights, options);
  }
  const std::string & network = values.GetText("NETWORK");
  RefuseName(network);
  RefuseMeshNet(network);
  CheckInputFile(network);
  return ImportONNX(network, options);
}
} // namespace

int
RunImport(const ArgumentValues & values, const Session & session)
{
  const std::string output = values.GetText("output");
  ImportOptions     options = GetOptions(values);
  options.warn = [&session](const Diagnostic & warning) { session.Warn(warning); };
  CheckOutputFile(values, "output");
  const Model model = ImportModel(values, options, session);
  model.Save(output, values.Has("overwrite"));
  if (const std::string warning = model.GetWarning(); !warning.empty())
  {
    session.Warn(Diagnostic("W-MODEL", warning).OfFile(output));
  }
  nlohmann::ordered_json json{ { "model", output } };
  json.update(DescribeComposition(model.network));
  session.ShowResult(output + '\n' + FormatComposition(json), json);
  return Success;
}

} // namespace gigapixel::application
