/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchDevice.h"

#include "gigapixelDiagnostic.h"

#include <ATen/Context.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

// torch/version.h, whose folder no include path of the engine has.
#include <torch/csrc/api/include/torch/version.h>

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 10)
#  define GIGAPIXEL_TORCH_SAYS_BYTES
#  include <c10/core/CachingDeviceAllocator.h>
#endif

#include <filesystem>

#include <dlfcn.h>

namespace gigapixel::torchmodule
{
namespace
{

/** LibTorch's part for CUDA lies beside its part for the CPU, if it has one, and makes itself known when it is loaded.
 * Nothing here is linked to it, so that it is loaded by those alone who ask for a GPU.
 * \return why it is not there; empty: it is, with or without a GPU */
std::string
LoadCuda()
{
  static const std::string problem = [] {
    Dl_info library{};
    dladdr(reinterpret_cast<const void *>(&at::globalContext), &library);
    const auto path = std::filesystem::weakly_canonical(library.dli_fname).parent_path() / "libtorch_cuda.so";
    if (!std::filesystem::exists(path))
    {
      return std::string("this LibTorch (") + TORCH_VERSION +
             ") computes on the CPU only, as Debian's does: PyPI's (pip install torch) brings CUDA";
    }
    // Who asks at::hasCUDA() before this never gets another answer than no.
    const bool loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr;
    return loaded ? std::string() : "LibTorch's part for CUDA does not load (" + std::string(dlerror()) + ")";
  }();
  return problem;
}

std::mutex &
GetGpuMutex()
{
  static std::mutex mutex;
  return mutex;
}

} // namespace

int
CountGpus(std::string & problem)
{
  problem = LoadCuda();
  if (!problem.empty())
  {
    return 0;
  }
  // PyTorch's fake tensors put a device guard there that counts a GPU where there is none.
  const int number = at::hasCUDA() ? c10::impl::getDeviceGuardImpl(at::kCUDA)->deviceCount() : 0;
  problem = number > 0 ? "" : "LibTorch finds no GPU of NVIDIA's here, or no driver that its CUDA can use";
  return number;
}

std::string
GetGpuProblem(int number)
{
  std::string problem;
  const int   all = CountGpus(problem);
  return number < all || !problem.empty() ? problem
                                          : "GPUs of this machine are numbered from 0 to " + std::to_string(all - 1);
}

#ifdef GIGAPIXEL_TORCH_SAYS_BYTES

namespace
{

void
StartCuda()
{
  at::globalContext().lazyInitDevice(at::kCUDA);
}

/** Of a GPU that there is. */
c10::DeviceAllocator &
GetAllocator()
{
  StartCuda();
  return *c10::getDeviceAllocator(at::kCUDA);
}

} // namespace

std::optional<std::int64_t>
GetFreeGpuBytes(int number)
{
  if (!GetGpuProblem(number).empty())
  {
    return {};
  }
  GetAllocator().emptyCache(); // what it keeps of earlier tensors is free as well
  return static_cast<std::int64_t>(GetAllocator().getMemoryInfo(static_cast<c10::DeviceIndex>(number)).first);
}

std::optional<std::int64_t>
GetPeakGpuBytes(int number)
{
  constexpr auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  if (!GetGpuProblem(number).empty())
  {
    return {};
  }
  return GetAllocator().getDeviceStats(static_cast<c10::DeviceIndex>(number)).allocated_bytes[all].peak;
}

#else

namespace
{

void
StartCuda()
{
  at::globalContext().lazyInitCUDA();
}

} // namespace

std::optional<std::int64_t>
GetFreeGpuBytes(int)
{
  return {};
}

std::optional<std::int64_t>
GetPeakGpuBytes(int)
{
  return {};
}

#endif

TorchDevice::TorchDevice(const Device & device, GraphOperators operators)
  : m_Device(operators == GraphOperators::PlainOnTestDevice ? at::Device(at::DeviceType::PrivateUse1, 0)
             : device.cuda < 0                              ? at::Device(at::kCPU)
                               : at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device.cuda)))
  , m_Plain(operators != GraphOperators::OfDevice || !m_Device.is_cpu())
  , m_TF32(device.precision == Precision::TensorFloat32)
{
  const std::string problem = m_Device.is_cuda() ? GetGpuProblem(device.cuda) : std::string();
  if (!problem.empty())
  {
    throw Refusal(Diagnostic("E-DEVICE-MISSING", problem));
  }
  if (m_Device.is_cuda())
  {
    StartCuda();
  }
}

at::Tensor
TorchDevice::Upload(const at::Tensor & tensor, at::ScalarType type) const
{
  return tensor.to(GetOptions(type));
}

TorchDevice::Scope::Scope(const TorchDevice & device)
{
  if (device.m_Device.is_cuda())
  {
    m_Lock = std::unique_lock<std::mutex>(GetGpuMutex());
    m_Before = Get();
    Set({ true, false, device.m_TF32, device.m_TF32 });
  }
}

TorchDevice::Scope::~Scope()
{
  if (m_Lock.owns_lock())
  {
    Set(m_Before);
  }
}

TorchDevice::Scope::Switches
TorchDevice::Scope::Get()
{
  const at::Context & context = at::globalContext();
  return {
    context.deterministicCuDNN(), context.benchmarkCuDNN(), context.allowTF32CuDNN(), context.allowTF32CuBLAS()
  };
}

void
TorchDevice::Scope::Set(const Switches & switches)
{
  at::Context & context = at::globalContext();
  context.setDeterministicCuDNN(switches.deterministic);
  context.setBenchmarkCuDNN(switches.benchmark);
  context.setAllowTF32CuDNN(switches.convolutionsInTF32);
  context.setAllowTF32CuBLAS(switches.productsInTF32);
}

} // namespace gigapixel::torchmodule
