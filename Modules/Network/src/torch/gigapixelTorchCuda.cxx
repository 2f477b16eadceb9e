/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The module GigapixelTorchCuda: images in one piece on a GPU, in memory that may be more than the GPU has, as in the
// paper (Remedios et al., MIDL 2023).
#include "device/gigapixelManagedMemory.h"
#include "gigapixelTorchCudaModule.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <mutex>

namespace gigapixel
{
namespace
{

void *
Allocate(std::size_t bytes, int number, cudaStream_t)
{
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(number));
  return bytes > 0 ? AllocateManaged(number, bytes, number) : nullptr;
}

void
Free(void * memory, std::size_t, int number, cudaStream_t stream)
{
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(number));
  cudaStreamSynchronize(stream); // which may still read it
  cudaFree(memory);
}

/** Before LibTorch's first tensor on a GPU, since its allocator can only be changed then. */
void
UseManagedMemory(int number)
{
  std::string problem;
  if (CountDevices(problem) <= number)
  {
    throw std::runtime_error("LibTorch finds no GPU " + std::to_string(number) +
                             (problem.empty() ? std::string() : " (" + problem + ")"));
  }
  static std::once_flag once;
  std::call_once(once, [] {
    namespace cuda = torch::cuda::CUDAPluggableAllocator;
    cuda::changeCurrentAllocator(cuda::createCustomAllocator(&Allocate, &Free));
  });
}

} // namespace
} // namespace gigapixel

extern "C" __attribute__((visibility("default")))
const gigapixel::TorchCudaModule GigapixelTorchCudaModule{ &gigapixel::UseManagedMemory };
