/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchModule.h"
#include "gigapixelModuleFile.h"
#include "gigapixelTorchVersion.h"
#include "gigapixelWholeNetwork.h"
#include "torch/gigapixelTorchCudaModule.h"

#include <stdexcept>

namespace gigapixel
{

const TorchModule &
TorchModule::Get()
{
  static const TorchModule & module = []() -> const TorchModule & {
    try
    {
      return *static_cast<const TorchModule *>(FindInModule("GigapixelTorchPasses", "GigapixelTorchModule"));
    }
    catch (const std::runtime_error & error)
    {
      throw std::runtime_error(
        std::string("LibTorch is needed to take an image whole and for networks of any operations, "
                    "and does not load (") +
        error.what() +
        "): install the one that the engine was built with (Debian: libtorch1.13; Python: pip "
        "install 'itk-gigapixel[torch]'), or stream");
    }
  }();
  return module;
}

std::string
GetTorchVersion()
{
  return TorchModule::Get().version;
}

std::unique_ptr<TilePasses>
MakeStockPasses(const NetworkDescription & network, Precision precision)
{
  return std::unique_ptr<TilePasses>(TorchModule::Get().makeStockPasses(network, precision));
}

std::unique_ptr<GraphPasses>
MakeTorchGraphPasses(const NetworkDescription & network, const Device & device)
{
  return std::unique_ptr<GraphPasses>(TorchModule::Get().makeGraphPasses(network, device));
}

namespace
{

/** Of LibTorch's CUDA part. */
void
UseManagedMemory(int number)
{
  const void * module = nullptr;
  try
  {
    module = FindInModule("GigapixelTorchCuda", "GigapixelTorchCudaModule");
  }
  catch (const std::runtime_error & error)
  {
    throw std::runtime_error(std::string("an image in one piece on a GPU needs a LibTorch with CUDA, and this build's "
                                         "module for it does not load (") +
                             error.what() + "): stream, or use the CPU");
  }
  static_cast<const TorchCudaModule *>(module)->useManagedMemory(number);
}

} // namespace

LossGradient
ComputeWholeGradient(const NetworkDescription &  network,
                     const std::vector<double> & parameters,
                     PixelSource &               pixels,
                     LabelSource &               labels,
                     const Device &              device,
                     int                         threads)
{
  const TorchModule & torch = TorchModule::Get();
  if (device.cuda >= 0)
  {
    UseManagedMemory(device.cuda);
  }
  return torch.computeWholeGradient(network, parameters, pixels, labels, device, threads);
}

} // namespace gigapixel
