/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelModelFile.h"
#include "graph/json/gigapixelFileKind.h"
#include "gigapixelHash.h"
#include "gigapixelJoinNames.h"
#include "graph/presets/gigapixelPresets.h"
#include "gigapixelPrintable.h"
#include "gigapixelValueRange.h"
#include "graph/gigapixelOperationSchema.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Version of the metadata's meaning. Networks of layers are still written as the first one, so that older programs
 * read them; of a graph these say that a newer program wrote it. */
const char * const FormatKey = "gigapixel";
const char * const FormatOfLayers = "1";
const char * const FormatOfGraphs = "2";

const char * const writeAgain = "write the model again, by train or import";

const char * const TissueKey = "tissue_only"; ///< absent in models of earlier versions
const char * const ChannelsKey = "channels";  ///< names as a JSON array; absent where none were chosen
const char * const WindowKey = "window";

std::string
GetText(const SafeTensors & file, const std::string & path, const char * key)
{
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end())
  {
    throw Refusal(Diagnostic("E-MODEL-FORMAT",
                             std::string("it holds no model of this program, since its metadata lacks \"") + key + '"',
                             "make weights alone a model with their network (gigapixel import NETWORK --weights FILE)")
                    .OfFile(path));
  }
  return found->second;
}

/** Empty: the file does not say. */
std::string
FindText(const SafeTensors & file, const char * key)
{
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? std::string() : found->second;
}

template <typename T>
T
GetNumber(const SafeTensors & file, const std::string & path, const char * key)
{
  const std::string text = GetText(file, path, key);
  T                 value{};
  const auto        end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc{} || end.ptr != text.data() + text.size())
  {
    throw Refusal(Diagnostic("E-MODEL-FORMAT",
                             '"' + std::string(key) + "\" is no number: \"" + text.substr(0, 80) + "\"",
                             writeAgain)
                    .OfFile(path)
                    .OfValue(key));
  }
  return value;
}

std::vector<std::string>
ReadChannels(const SafeTensors & file)
{
  const auto found = file.metadata.find(ChannelsKey);
  if (found == file.metadata.end())
  {
    return {};
  }
  const auto json = nlohmann::json::parse(found->second, nullptr, false);
  const auto isName = [](const nlohmann::json & each) { return each.is_string(); };
  if (!json.is_array() || !std::all_of(json.begin(), json.end(), isName))
  {
    throw InvalidArgument(
      Diagnostic("E-MODEL-FORMAT", "its channels are no list of names", writeAgain).OfValue(ChannelsKey));
  }
  return json.get<std::vector<std::string>>();
}

Parameter
ToParameter(const SafeTensors::Tensor & tensor)
{
  Parameter parameter{ tensor.shape, std::vector<float>(tensor.bytes.size() / sizeof(float)) };
  std::memcpy(parameter.values.data(), tensor.bytes.data(), tensor.bytes.size());
  return parameter;
}

void
CheckParameter(const Model & model, const ParameterDescription & parameter)
{
  const std::string & name = parameter.name;
  const auto          found = model.parameters.find(name);
  if (found == model.parameters.end())
  {
    throw InvalidArgument(
      Diagnostic("E-WEIGHTS-MISMATCH",
                 "the network \"" + model.network.name + "\" needs the weights \"" + name + "\", which are missing")
        .OfValue(name));
  }
  const Parameter & given = found->second;
  if (given.shape != parameter.shape || static_cast<std::int64_t>(given.values.size()) != parameter.GetNumberOfValues())
  {
    throw InvalidArgument(Diagnostic("E-WEIGHTS-MISMATCH",
                                     "the weights \"" + name + "\" are not of the shape that the network \"" +
                                       model.network.name + "\" needs")
                            .OfValue(name));
  }
  for (const float value : given.values)
  {
    if (!std::isfinite(value))
    {
      throw InvalidArgument(
        Diagnostic("E-NOT-FINITE", "the weights \"" + name + "\" hold a value that is no finite number").OfValue(name));
    }
  }
}

/** A norm takes their root. */
void
CheckVariances(const Model & model)
{
  for (const Operation & operation : model.network.graph.operations)
  {
    const auto found = operation.parameters.find("running_var");
    if (found == operation.parameters.end())
    {
      continue;
    }
    const std::vector<float> & variances = model.parameters.at(found->second).values;
    if (std::any_of(variances.begin(), variances.end(), [](float variance) { return variance < 0; }))
    {
      throw InvalidArgument(
        Diagnostic("E-MODEL-FORMAT", "the variances \"" + found->second + "\" hold a negative number", writeAgain)
          .OfValue(found->second));
    }
  }
}

} // namespace

void
CheckParameters(const Model & model)
{
  const std::vector<ParameterDescription> parameters = model.network.GetParameters();
  for (const ParameterDescription & parameter : parameters)
  {
    CheckParameter(model, parameter);
  }
  if (model.parameters.size() != parameters.size())
  {
    throw InvalidArgument(Diagnostic(
      "E-WEIGHTS-MISMATCH", "there are weights that the network \"" + model.network.name + "\" does not have"));
  }
  CheckValueRange(model);
  CheckVariances(model);
  if (model.tileSize > MaximumTileSize)
  {
    throw InvalidArgument(
      Diagnostic("E-MODEL-FORMAT",
                 "the tile size " + std::to_string(model.tileSize) + " is above " + std::to_string(MaximumTileSize),
                 "give the model a smaller one (import --tile-size)")
        .OfValue(std::to_string(model.tileSize)));
  }
  model.network.CheckTileSize(model.tileSize);
  const double resolution = model.micronsPerPixel;
  if (resolution != 0 &&
      !(resolution >= 1e-6 && resolution <= 1e9)) // products with sizes stay far from a double's ends
  {
    throw InvalidArgument(Diagnostic("E-MODEL-FORMAT",
                                     "the microns per pixel must be from 1e-6 to 1e9, or 0 for unknown",
                                     "give the model its resolution (import --mpp)")
                            .OfValue(std::to_string(resolution)));
  }
}

Model
ToModel(const SafeTensors & file, const std::string & path)
{
  const std::string format = GetText(file, path, FormatKey);
  if (format != FormatOfLayers && format != FormatOfGraphs)
  {
    throw Refusal(Diagnostic("E-MODEL-FORMAT",
                             "it was written by a newer version of this program",
                             "use that version, or write the model with this one")
                    .OfFile(path)
                    .OfValue(format));
  }
  Model model;
  try
  {
    model.network = NetworkDescription::FromJSON(GetText(file, path, "network"));
    model.micronsPerPixel = GetNumber<double>(file, path, "microns_per_pixel");
    model.tileSize = GetNumber<std::int64_t>(file, path, "tile_size");
    if (const auto found = file.metadata.find(TissueKey); found != file.metadata.end())
    {
      model.tissueOnly = found->second == "true";
    }
    model.channels = ReadChannels(file);
    model.window = FindText(file, WindowKey);
    model.plane = FindText(file, PlaneKey);
    for (const auto & [name, tensor] : file.tensors)
    {
      if (name.rfind(TrainingPrefix, 0) == 0)
      {
        continue;
      }
      if (tensor.type != "F32")
      {
        throw InvalidArgument(
          Diagnostic("E-MODEL-FORMAT", "the weights \"" + name + "\" are not 32-bit floats", writeAgain).OfValue(name));
      }
      model.parameters[name] = ToParameter(tensor);
    }
    CheckParameters(model);
  }
  catch (const std::invalid_argument & error)
  {
    throw Refusal(Diagnostic::Of(error).OfFile(path));
  }
  return model;
}

Model
ToModelOf(const NetworkDescription & network, const SafeTensors & file, const std::string & path)
{
  Model      model = ToModel(file, path);
  const auto theirs = model.network.GetParameters(), ours = network.GetParameters();
  const auto isSame = [](const ParameterDescription & a, const ParameterDescription & b) {
    return a.name == b.name && a.shape == b.shape;
  };
  if (!std::equal(theirs.begin(), theirs.end(), ours.begin(), ours.end(), isSame))
  {
    throw Refusal(Diagnostic("E-RUN-CONFLICT", "it is of another network than \"" + network.name + '"')
                    .OfFile(path)
                    .OfValue(network.name));
  }
  return model;
}

SafeTensors
FromModel(const Model & model)
{
  CheckParameters(model);
  SafeTensors file;
  file.metadata = { { FormatKey, model.network.layers.empty() ? FormatOfGraphs : FormatOfLayers },
                    { "network", model.network.ToJSON() },
                    { "microns_per_pixel", FormatShortest(model.micronsPerPixel) },
                    { "tile_size", std::to_string(model.tileSize) } };
  if (model.tissueOnly)
  {
    file.metadata[TissueKey] = *model.tissueOnly ? "true" : "false";
  }
  if (!model.channels.empty())
  {
    file.metadata[ChannelsKey] = nlohmann::json(model.channels).dump();
  }
  if (!model.window.empty())
  {
    file.metadata[WindowKey] = model.window;
  }
  if (!model.plane.empty())
  {
    file.metadata[PlaneKey] = model.plane;
  }
  for (const auto & [name, parameter] : model.parameters)
  {
    file.Add(name, parameter.shape, parameter.values);
  }
  return file;
}

std::string
FindModelFile(const std::string & path)
{
  if (!std::filesystem::is_directory(path))
  {
    return path;
  }
  std::string best = (std::filesystem::path(path) / "best.safetensors").string();
  if (!std::filesystem::exists(best))
  {
    const std::filesystem::path fold = std::filesystem::path(path) / "fold-1";
    if (std::filesystem::exists(fold / "best.safetensors"))
    {
      throw Refusal(Diagnostic("E-RUN-FORMAT",
                               "it is of a cross-validation, with a model for each fold",
                               "name one of them, such as \"" + fold.string() + "\"")
                      .OfFile(path));
    }
    throw Refusal(
      Diagnostic("E-RUN-FORMAT", "it holds no finished epoch of a training run (best.safetensors is missing)")
        .OfFile(path));
  }
  return best;
}

const std::string &
GetReadyContent(const std::string & name)
{
  const auto & ready = GetReadyModels();
  return std::find_if(ready.begin(), ready.end(), [&](const ReadyModel & model) { return model.name == name; })
    ->content;
}

Model
Model::Load(const std::string & path)
{
  if (IsReady(path))
  {
    return ToModel(SafeTensors::Parse(GetReadyContent(path), path), path);
  }
  if (!std::filesystem::exists(path))
  {
    throw Refusal(
      Diagnostic("E-FILE-MISSING",
                 "it is neither a file, nor a run's folder, nor a ready model (" + JoinNames(GetNames()) + ")")
        .OfFile(path));
  }
  const std::string file = FindModelFile(path);
  if (const FileKind kind = FindFileKind(file); kind != FileKind::SafeTensors && kind != FileKind::Unknown)
  {
    throw Refusal(DescribeFileKind(kind).OfFile(file));
  }
  return ToModel(SafeTensors::Load(file), file);
}

std::vector<std::string>
Model::GetNames()
{
  std::vector<std::string> names;
  for (const ReadyModel & model : GetReadyModels())
  {
    names.push_back(model.name);
  }
  return names;
}

bool
Model::IsReady(const std::string & name)
{
  const auto & ready = GetReadyModels();
  return std::any_of(ready.begin(), ready.end(), [&](const ReadyModel & model) { return model.name == name; });
}

std::string
Model::GetIdentity() const
{
  Hash              hash;
  const std::string json = network.ToJSON();
  hash.Add(json.data(), json.size());
  for (const auto & [name, parameter] : parameters)
  {
    hash.Add(name.data(), name.size());
    hash.Add(parameter.values.data(), parameter.values.size() * sizeof(float));
  }
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(hash.Get()));
  return text.data();
}

std::string
Model::GetWarning() const
{
  std::string name;
  if (const int last = FindLastWeighted(network.graph); last >= 0)
  {
    name = network.graph.operations[last].GetParameter("weight");
  }
  const auto found = parameters.find(name);
  if (found == parameters.end() ||
      std::any_of(found->second.values.begin(), found->second.values.end(), [](float value) { return value != 0; }))
  {
    return {};
  }
  return "the weights \"" + name + "\" of the model are all 0: it finds the same at every pixel, whatever is there";
}

void
Model::Save(const std::string & path, bool mayReplace) const
{
  FromModel(*this).Save(path, mayReplace);
}

} // namespace gigapixel
