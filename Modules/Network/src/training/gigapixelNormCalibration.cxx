/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNormCalibration.h"
#include "gigapixelDiagnostic.h"
#include "graph/gigapixelOperationSchema.h"

#include <algorithm>
#include <stdexcept>

namespace gigapixel
{

NormCalibration::NormCalibration(const NetworkDescription & network)
  : m_Network(network)
{
  const NetworkGraph & graph = m_Network.graph;
  std::size_t          place = 0;
  for (const ParameterDescription & parameter : m_Network.GetParameters())
  {
    m_Places[parameter.name] = place;
    place += parameter.GetNumberOfValues();
  }
  bool any = false;
  for (std::size_t i = 0; i < graph.operations.size(); ++i)
  {
    const Operation & operation = graph.operations[i];
    if (OperationSchema::Find(operation.type)->Is(Role::FrozenNorm))
    {
      any = true;
      const auto & arrays = operation.parameters;
      if (std::none_of(arrays.begin(), arrays.end(), [&](const auto & a) { return graph.IsKept(a.second); }))
      {
        m_Norms.push_back(static_cast<int>(i));
      }
    }
  }
  if (!any)
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-APPLIES",
                 "the network \"" + network.name + "\" has no batch norms, so that there is nothing to calibrate"));
  }
}

void
NormCalibration::SetTiles(std::int64_t tileSize, int tilesInFlight, const Device & device)
{
  m_TileSize = tileSize;
  m_TilesInFlight = tilesInFlight;
  m_Device = device;
  m_Device.shared = false;
  m_Device.precision = device.precision == Precision::Double ? Precision::Double : Precision::Float;
}

/** What the norm gets, reduced to its moments, and an output of the network's classes behind them, as a network has to
 * have, which is not computed. */
NetworkDescription
NormCalibration::CutBefore(int norm) const
{
  NetworkDescription cut = m_Network;
  auto &             operations = cut.graph.operations;
  const Operation    original = operations[norm];
  operations.resize(norm);
  const std::string moments = original.name + ".statistics";
  cut.graph.output = original.name + ".output";
  operations.push_back({ moments, StatisticsType, original.inputs, {}, {} });
  operations.push_back(
    { cut.graph.output, "conv" + std::to_string(cut.graph.GetNumberOfAxes()) + "d", { moments }, {}, {} });
  operations.back().attributes = { { "out_channels", std::int64_t{ m_Network.GetNumberOfOutputChannels() } },
                                   { "kernel_size", std::int64_t{ 1 } } };
  cut.graph.Validate();
  cut.SetLoss("cross-entropy"); // which is not computed: an image has no weights of classes
  cut.classWeights.clear();
  return cut;
}

/** Those that it shares with the whole network; 0 for those of its output. */
std::vector<double>
NormCalibration::GetParameters(const NetworkDescription & cut, const std::vector<double> & all) const
{
  std::vector<double> parameters;
  for (const ParameterDescription & parameter : cut.graph.GetParameters())
  {
    const std::size_t begin = parameters.size(), size = parameter.GetNumberOfValues();
    parameters.resize(begin + size);
    const auto found = m_Places.find(parameter.name);
    if (found != m_Places.end())
    {
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(found->second), size, parameters.begin() + begin);
    }
  }
  return parameters;
}

bool
NormCalibration::Run(const std::vector<const Sample *> &         images,
                     Ranks &                                     ranks,
                     std::vector<double> &                       parameters,
                     const std::function<bool(const Sample &)> & report) const
{
  const int number = ranks.GetNumberOfRanks();
  for (const int norm : m_Norms)
  {
    const NetworkDescription cut = CutBefore(norm);
    StreamedNetwork          streamed(cut, m_TileSize, m_TilesInFlight, m_Device);
    streamed.SetParameters(GetParameters(cut, parameters));
    const Operation &       moments = cut.graph.operations[norm];
    const ReductionSchema & reduction = *OperationSchema::Find(moments.type)->getReduction(moments);
    const std::size_t       channels = m_Network.graph.GetChannels()[norm];
    // The number of pixels, means, and sums of squared differences to them.
    std::vector<std::vector<double>> parts(images.size(), std::vector<double>(1 + 2 * channels));
    for (std::size_t i = 0; i < images.size(); ++i)
    {
      const auto goOn = [&](double) {
        ranks.ReportProgress();
        return report(*images[i]);
      };
      if (static_cast<int>(i % number) != ranks.GetRank())
      {
        continue;
      }
      const bool isReady = !images[i]->prepare || images[i]->prepare([&] { return goOn(0); });
      if (!isReady || !streamed.ComputeSums(*images[i]->pixels, parts[i], goOn))
      {
        return false;
      }
    }
    std::vector<double> all;
    for (std::size_t i = 0; i < images.size(); ++i)
    {
      ranks.Broadcast(static_cast<int>(i % number), parts[i].data(), parts[i].size() * sizeof(double));
      reduction.add(moments, all, parts[i], {});
    }
    const auto & arrays = m_Network.graph.operations[norm].parameters;
    for (std::size_t c = 0; c < channels; ++c)
    {
      parameters[m_Places.at(arrays.at("running_mean")) + c] = all[1 + c];
      parameters[m_Places.at(arrays.at("running_var")) + c] = all[1 + channels + c] / all[0];
    }
  }
  return true;
}

} // namespace gigapixel
