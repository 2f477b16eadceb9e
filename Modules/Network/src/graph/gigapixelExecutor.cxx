/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelExecutors.h"
#include "gigapixelGraphGeometry.h"
#include "gigapixelNetworkGeometry.h"

namespace gigapixel
{

const Executor &
Executor::Of(const NetworkDescription & network)
{
  static const FusedExecutor fused;
  static const TorchExecutor torch;
  if (network.layers.empty())
  {
    return torch;
  }
  return fused;
}

int
FusedExecutor::GetStride(const NetworkDescription & network) const
{
  return static_cast<int>(GetCanvasStride(network.layers));
}

int
TorchExecutor::GetStride(const NetworkDescription & network) const
{
  return static_cast<int>(gigapixel::GetStride(network.graph));
}

int
FusedExecutor::GetHalo(const NetworkDescription & network) const
{
  const std::int64_t stride = GetCanvasStride(network.layers);
  return static_cast<int>((GetExactHalo(network.layers) + stride - 1) / stride * stride);
}

int
TorchExecutor::GetHalo(const NetworkDescription & network) const
{
  return static_cast<int>(gigapixel::GetHalo(network.graph));
}

std::map<std::string, int>
FusedExecutor::CountSteps(const NetworkDescription & network) const
{
  std::map<std::string, int> counts;
  for (const Layer & layer : network.layers)
  {
    ++counts[layer.kind == Layer::Kind::Convolution ? "convolution" : "transposed convolution"];
  }
  return counts;
}

std::map<std::string, int>
TorchExecutor::CountSteps(const NetworkDescription & network) const
{
  std::map<std::string, int> counts;
  for (const Operation & operation : network.graph.operations)
  {
    ++counts[operation.type];
  }
  return counts;
}

void
FusedExecutor::CheckSamples(const NetworkDescription & network, const PixelSource & pixels) const
{
  if (pixels.GetSampleType() != SampleType::UInt8 || pixels.GetSize().depth > 1)
  {
    throw InvalidArgument(Diagnostic("E-MODEL-INPUT",
                                     "the network \"" + network.name +
                                       "\" is for images of two axes and 8 bits, not for volumes or samples of type "
                                       "float"));
  }
}

void
TorchExecutor::CheckSamples(const NetworkDescription &, const PixelSource &) const
{}

void
FusedExecutor::CheckMeans() const
{
  throw InvalidArgument(Diagnostic("E-OPTION-APPLIES",
                                   "it is a chain of layers, which takes pixels as its description says: means and "
                                   "deviations are for networks of operations"));
}

void
TorchExecutor::CheckMeans() const
{}

} // namespace gigapixel
