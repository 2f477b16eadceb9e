/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "model/gigapixelModelFile.h"
#include "gigapixelExecutor.h"
#include "onnx/gigapixelImageNorms.h"
#include "gigapixelNetworkImport.h"
#include "gigapixelPrintable.h"
#include "gigapixelImageKind.h"
#include "gigapixelWeightsFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace gigapixel
{
namespace
{

/** A model without some of its weights would be one by chance. */
void
RequireAll(const TakenWeights & taken, const std::string & path, const std::string & network)
{
  if (!taken.AreAll())
  {
    throw Refusal(Diagnostic("E-WEIGHTS-MISMATCH", "it lacks " + taken.DescribeMissing(network)).OfFile(path));
  }
}

} // namespace

void
ImportOptions::Check(int channels, bool areStored) const
{
  for (const auto & [name, numbers] : { std::pair("mean", &mean), std::pair("deviation", &deviation) })
  {
    const auto given = numbers->size();
    if (given != 0 && given != static_cast<std::size_t>(channels))
    {
      throw InvalidArgument(Diagnostic(
        "E-OPTION-VALUE",
        "it needs a " + std::string(name) +
          (channels == 1 ? " for its channel; " : " for each of its " + FormatCount(channels, "channel") + "; ") +
          std::to_string(given) + (given == 1 ? " is given" : " are given")));
    }
  }
  if (std::any_of(deviation.begin(), deviation.end(), [](double value) { return !(value > 0); }))
  {
    throw InvalidArgument(Diagnostic("E-OPTION-VALUE", "its deviations have to be above 0"));
  }
  for (const auto & [name, numbers] : { std::pair("means", &mean), std::pair("deviations", &deviation) })
  {
    if (!areStored && std::any_of(numbers->begin(), numbers->end(), [](double value) { return value > 1; }))
    {
      throw InvalidArgument(Diagnostic("E-OPTION-VALUE",
                                       "its " + std::string(name) + " are shares of 255, and one above 1 is given",
                                       "divide them by 255"));
    }
  }
}

std::int64_t
ImportOptions::GetTileSize(const NetworkDescription & network) const
{
  const std::int64_t stride = network.GetStride();
  const std::int64_t wanted = tileSize > 0 ? tileSize : network.GetImageKind().sides.tile;
  return (wanted + stride - 1) / stride * stride;
}

void
ImportOptions::Orient(NetworkDescription & network) const
{
  network.orientation = orientation.empty() ? network.orientation : orientation;
  network.takesXFirst = network.takesXFirst || takesXFirst;
  network.Validate();
}

Model
ImportWeights(const NetworkDescription & network, const std::string & weights, const ImportOptions & options)
{
  try
  {
    options.Check(network.channels, network.TakesFloats());
    if (!options.mean.empty())
    {
      Executor::Of(network).CheckMeans();
    }
  }
  catch (const std::invalid_argument & error)
  {
    Diagnostic problem = Diagnostic::Of(error);
    problem.why = "network \"" + network.name + "\": " + problem.why;
    throw Refusal(problem);
  }
  Model model;
  model.network = network;
  model.network.name = options.name.empty() ? network.name : options.name;
  if (!options.mean.empty())
  {
    model.network.invert = false;
    model.network.mean = options.mean;
    model.network.deviation = options.deviation;
  }
  std::int64_t        numbers = network.GetNumberOfParameters();
  std::vector<double> values(static_cast<std::size_t>(numbers));
  const TakenWeights  taken = TakeWeights(weights, network, values, options.weightsSet);
  RequireAll(taken, weights, network.name);
  if (options.warn && !taken.warning.empty())
  {
    options.warn(taken.GetWarning(weights));
  }
  nlohmann::ordered_json provenance =
    network.provenance.empty() ? nlohmann::ordered_json::object() : nlohmann::ordered_json::parse(network.provenance);
  provenance["weights"] = GetPrintable(std::filesystem::path(weights).filename().string());
  if (!taken.set.empty())
  {
    provenance["weightsSet"] = GetPrintable(taken.set.substr(0, taken.set.size() - 1));
  }
  model.network.provenance = provenance.dump();
  model.network.learningRate = 0; // it is one for weights by chance
  auto next = values.begin();
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    const auto end = next + static_cast<std::ptrdiff_t>(parameter.GetNumberOfValues());
    model.parameters[parameter.name] = { parameter.shape, std::vector<float>(next, end) };
    next = end;
  }
  model.micronsPerPixel = options.micronsPerPixel;
  model.tileSize = options.GetTileSize(network);
  try
  {
    model = options.norms == ImportedNorms::Image ? TakeNormsOfImage(std::move(model)) : std::move(model);
    options.Orient(model.network);
    CheckParameters(model);
  }
  catch (const std::invalid_argument & error)
  {
    throw Refusal(Diagnostic::Of(error).OfFile(weights));
  }
  return model;
}

} // namespace gigapixel
