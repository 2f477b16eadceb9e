/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWeightsFile.h"
#include "gigapixelDiagnostic.h"
#include "graph/json/gigapixelFileKind.h"
#include "model/gigapixelModelFile.h"
#include "model/gigapixelSafeTensors.h"
#include "kernels/gigapixelStoredNumbers.h"
#include "gigapixelTorchFile.h"
#include "gigapixelWeightsSet.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace gigapixel
{
namespace
{

template <typename T>
std::vector<float>
Convert(std::string_view bytes)
{
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) // else there is no address, which is no address of 0 bytes either
  {
    std::memcpy(static_cast<void *>(values.data()), bytes.data(), values.size() * sizeof(T));
  }
  std::vector<float> floats(values.size());
  std::transform(values.begin(), values.end(), floats.begin(), [](T value) { return static_cast<float>(value); });
  return floats;
}

/** \return empty: numbers of a type that is none of weights */
std::vector<float>
ToFloats(const SafeTensors::Tensor & tensor)
{
  return tensor.type == "F32"    ? Convert<float>(tensor.bytes)
         : tensor.type == "F64"  ? Convert<double>(tensor.bytes)
         : tensor.type == "F16"  ? Convert<Float16>(tensor.bytes)
         : tensor.type == "BF16" ? Convert<BFloat16>(tensor.bytes)
                                 : std::vector<float>();
}

constexpr std::uintmax_t GiB = std::uintmax_t{ 1 } << 30;

/** Of files that are read for a network: checkpoints hold more than its weights, such as an optimizer's moments. */
std::uintmax_t
GetMostBytes(const NetworkDescription & network)
{
  return GiB + 4 * sizeof(double) * static_cast<std::uintmax_t>(network.GetNumberOfParameters());
}

TorchFile
LoadArrays(const std::string & nameOrFolder, const NetworkDescription & network)
{
  if (Model::IsReady(nameOrFolder))
  {
    return { SafeTensors::Parse(GetReadyContent(nameOrFolder), nameOrFolder), {} };
  }
  const std::string path = FindModelFile(nameOrFolder);
  // Before all of it is read: a slide that is given for weights has gigabytes.
  const FileKind kind = FindFileKind(path);
  if (kind == FileKind::ONNX || kind == FileKind::JSON || kind == FileKind::Text)
  {
    throw Refusal(DescribeFileKind(kind).OfFile(path));
  }
  std::error_code error;
  const auto      bytes = std::filesystem::file_size(path, error);
  if (const std::uintmax_t most = GetMostBytes(network); !error && bytes > most)
  {
    throw Refusal(Diagnostic("E-FILE-LIMIT",
                             "it has " + std::to_string(bytes / GiB) + " GiB, where at most " +
                               std::to_string(most / GiB) + " GiB are read for the network \"" + network.name + "\"",
                             "save its weights alone")
                    .OfFile(path));
  }
  if (kind != FileKind::PyTorch)
  {
    return { SafeTensors::Load(path), {} };
  }
  try
  {
    const auto numbers = static_cast<std::size_t>(network.GetNumberOfParameters());
    return ReadTorchFile(ReadFile(path), 4 * sizeof(double) * numbers);
  }
  catch (const std::invalid_argument & damage)
  {
    throw Refusal(Diagnostic::Of(damage).OfFile(path));
  }
}

/** Up to the last dot, which stays; empty: there is none. */
std::string
GetParent(const std::string & name)
{
  return name.substr(0, name.rfind('.') + 1);
}

/** Exporters merge norms into the convolutions before them, whose weights are others then, under the same names.
 * \throw std::runtime_error the file has a norm that the network lacks, beside arrays that are taken */
void
CheckNorms(const std::string & path, const std::string & network, const TakenWeights & weights)
{
  const std::string statistics = "running_var";
  for (const std::string & name : weights.notInNetwork)
  {
    const std::string norm = GetParent(name);
    if (norm.empty() || name.substr(norm.size()) != statistics)
    {
      continue;
    }
    const std::string beside = GetParent(norm.substr(0, norm.size() - 1));
    if (std::any_of(weights.taken.begin(), weights.taken.end(), [&](const std::string & taken) {
          return taken.compare(0, beside.size(), beside) == 0;
        }))
    {
      throw Refusal(
        Diagnostic("E-WEIGHTS-MISMATCH",
                   "it has the norm \"" + norm.substr(0, norm.size() - 1) + "\", and the network \"" + network +
                     "\" has none there: it was exported with its norms merged into its convolutions, which have other "
                     "weights then",
                   "import it with its norms (gp.import_network, or an ONNX file that torch.onnx.export writes of the "
                   "module in eval() with dynamo=False and training=torch.onnx.TrainingMode.PRESERVE)")
          .OfFile(path));
    }
  }
}

} // namespace

TakenWeights
TakeWeights(const std::string &        path,
            const NetworkDescription & network,
            std::vector<double> &      parameters,
            const std::string &        set)
{
  TorchFile           loaded = LoadArrays(path, network);
  SafeTensors &       file = loaded.arrays;
  TakenWeights        result;
  std::vector<double> values = parameters;
  std::size_t         next = 0;
  try
  {
    const WeightsSet chosen = ChooseWeightsSet(file, loaded.dictionaries, network, set);
    result.set = chosen.prefix;
    result.warning = chosen.warning;
    result.remedy = chosen.remedy;
  }
  catch (const std::invalid_argument & error)
  {
    throw Refusal(Diagnostic::Of(error).OfFile(path));
  }
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    const std::size_t begin = next;
    next += parameter.GetNumberOfValues();
    const auto found = file.tensors.find(result.set + parameter.name);
    if (found == file.tensors.end())
    {
      result.notInFile.push_back(parameter.name);
      continue;
    }
    const std::vector<float> floats = ToFloats(found->second);
    const bool               fits = FitsParameter(found->second, parameter);
    if (!std::all_of(floats.begin(), floats.end(), [](float value) { return std::isfinite(value); }))
    {
      throw Refusal(Diagnostic("E-NOT-FINITE", "\"" + parameter.name + "\" holds a value that is no finite number")
                      .OfFile(path)
                      .OfValue(parameter.name));
    }
    (fits ? result.taken : result.ofOtherShape).push_back(parameter.name);
    if (fits)
    {
      std::copy(floats.begin(), floats.end(), values.begin() + static_cast<std::ptrdiff_t>(begin));
    }
    file.tensors.erase(found);
  }
  for (const auto & item : file.tensors)
  {
    if (item.first.rfind(result.set, 0) == 0)
    {
      result.notInNetwork.push_back(item.first.substr(result.set.size()));
    }
  }
  CheckNorms(path, network.name, result);
  parameters = std::move(values);
  return result;
}

} // namespace gigapixel
