/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNetworkDescription.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelExecutor.h"
#include "gigapixelLearningOptions.h"
#include "gigapixelLossOptions.h"
#include "graph/json/gigapixelFileKind.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelImageKind.h"
#include "gigapixelJoinNames.h"
#include "gigapixelModel.h"
#include "gigapixelNetworkPresets.h"
#include "losses/gigapixelLossEntry.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{

std::vector<std::int64_t>
Layer::GetWeightShape() const
{
  return kind == Kind::Convolution ? std::vector<std::int64_t>{ outputChannels, inputChannels, kernel, kernel }
                                   : std::vector<std::int64_t>{ inputChannels, outputChannels, kernel, kernel };
}

void
NetworkDescription::SetLoss(const std::string & lossName)
{
  const int    channels = GetNumberOfOutputChannels();
  const auto & all = LossEntry::GetAll();
  const auto   found = std::find_if(
    all.begin(), all.end(), [&](const LossEntry & entry) { return entry.option == lossName && entry.IsFor(channels); });
  if (found == all.end())
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "unknown loss \"" + lossName + "\"; use " + JoinWithOr(GetLossNames()))
        .OfValue(lossName));
  }
  loss = static_cast<Loss>(found - all.begin());
}

void
NetworkDescription::SetLoss(const LossOptions & asked)
{
  if (!asked.loss.empty() && asked.loss != "network")
  {
    SetLoss(asked.loss);
  }
  if (!asked.classWeights.empty())
  {
    classWeights = asked.classWeights;
  }
  if (asked.ignoredLabel != LabelSource::Ignored)
  {
    ignoredLabel = asked.ignoredLabel;
  }
}

const ImageKind &
NetworkDescription::GetImageKind() const
{
  return ImageKind::Of(graph.GetNumberOfAxes());
}

bool
NetworkDescription::TakesFloats() const
{
  return this->GetImageKind().areFloats || this->IsNormalized();
}

const LossEntry &
NetworkDescription::GetLoss() const
{
  return LossEntry::GetAll()[static_cast<std::size_t>(loss)];
}

bool
NetworkDescription::TakesSumsFirst() const
{
  return GetLoss().formula.overlap != nullptr;
}

namespace
{

NetworkDescription
LoadFromModel(const std::string & path)
{
  try
  {
    return Model::Load(path).network;
  }
  catch (const std::runtime_error & error)
  {
    throw InvalidArgument(Diagnostic::Of(error));
  }
}

} // namespace

bool
NetworkDescription::IsModel(const std::string & nameOrFile)
{
  std::error_code ignored;
  return NetworkPreset::Find(nameOrFile) == nullptr &&
         (Model::IsReady(nameOrFile) || std::filesystem::is_directory(nameOrFile, ignored) ||
          FindFileKind(nameOrFile) == FileKind::SafeTensors ||
          std::filesystem::path(nameOrFile).extension() == ".safetensors");
}

NetworkDescription
NetworkDescription::Load(const std::string & nameOrFile)
{
  constexpr std::uintmax_t MaximumBytes = 16 << 20; // another file than a description is not read to its end
  if (const NetworkPreset * preset = NetworkPreset::Find(nameOrFile))
  {
    return preset->Make(nameOrFile);
  }
  std::stringstream content;
  std::error_code   ignored;
  const FileKind    kind = FindFileKind(nameOrFile);
  if (IsModel(nameOrFile))
  {
    return LoadFromModel(nameOrFile);
  }
  if (kind != FileKind::JSON && kind != FileKind::Unknown)
  {
    throw InvalidArgument(DescribeFileKind(kind).OfFile(nameOrFile));
  }
  if (std::filesystem::is_regular_file(nameOrFile, ignored)) // a pipe would wait for a writer for ever
  {
    if (std::filesystem::file_size(nameOrFile, ignored) > MaximumBytes)
    {
      throw InvalidArgument(
        Diagnostic("E-FILE-LIMIT", "it has more bytes than a network's description can have").OfFile(nameOrFile));
    }
    RequireReadable(nameOrFile);
    content << std::ifstream(nameOrFile).rdbuf();
  }
  if (kind == FileKind::Unknown)
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-FORMAT",
                                     "network \"" + nameOrFile + "\" is neither a preset (" + JoinNames(GetPresets()) +
                                       "), nor a ready model (" + JoinNames(Model::GetNames()) +
                                       "), nor a file that can be read and holds a network in JSON, or a model")
                            .OfValue(nameOrFile));
  }
  try
  {
    return FromJSON(content.str());
  }
  catch (const std::invalid_argument & error)
  {
    throw InvalidArgument(Diagnostic::Of(error).OfFile(nameOrFile));
  }
}

std::vector<std::string>
NetworkDescription::GetPresets()
{
  std::vector<std::string> names;
  for (const NetworkPreset & preset : NetworkPreset::GetAll())
  {
    names.push_back(preset.name);
  }
  return names;
}

std::vector<ParameterDescription>
NetworkDescription::GetParameters() const
{
  return graph.GetParameters();
}

std::int64_t
NetworkDescription::GetNumberOfParameters() const
{
  std::int64_t number = 0;
  for (const ParameterDescription & parameter : GetParameters())
  {
    number += parameter.GetNumberOfValues();
  }
  return number;
}

std::int64_t
NetworkDescription::GetNumberOfTrainedParameters() const
{
  std::int64_t number = 0;
  for (const ParameterDescription & parameter : GetParameters())
  {
    number += parameter.trained ? parameter.GetNumberOfValues() : 0;
  }
  return number;
}

int
NetworkDescription::GetNumberOfOutputChannels() const
{
  return graph.GetOutputChannels();
}

int
NetworkDescription::GetNumberOfClasses() const
{
  return GetNumberOfOutputChannels() == 1 ? 2 : GetNumberOfOutputChannels();
}

int
NetworkDescription::GetStride() const
{
  return Executor::Of(*this).GetStride(*this);
}

int
NetworkDescription::GetHalo() const
{
  return Executor::Of(*this).GetHalo(*this);
}

} // namespace gigapixel
