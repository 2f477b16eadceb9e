/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// CUDA's managed memory, which the CPU and a GPU both see, with the calls of CUDA 12 and 13.
#ifndef gigapixelManagedMemory_h
#define gigapixelManagedMemory_h

#include "gigapixelDiagnostic.h"

#include <cuda_runtime_api.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace gigapixel
{

inline void
Check(cudaError_t error, const char * what)
{
  if (error != cudaSuccess)
  {
    throw Refusal(Diagnostic("E-DEVICE-MEMORY", std::string("the GPU: ") + what + ": " + cudaGetErrorString(error)));
  }
}

/** \param problem why there is none, if there is a reason */
inline int
CountDevices(std::string & problem)
{
  int number = 0, driver = 0;
  cudaDriverGetVersion(&driver);
  const cudaError_t error = cudaGetDeviceCount(&number);
  problem = error == cudaSuccess ? std::string()
            : driver == 0        ? std::string("no driver of NVIDIA is installed")
                                 : cudaGetErrorString(error);
  return error == cudaSuccess ? number : 0;
}

/** Whether CPU and GPU may use managed memory at the same time. */
inline bool
CanShare(int number)
{
  int can = 0;
  return cudaDeviceGetAttribute(&can, cudaDevAttrConcurrentManagedAccess, number) == cudaSuccess && can != 0;
}

#if CUDART_VERSION >= 13000
using Location = cudaMemLocation;

inline Location
GetLocation(int number)
{
  return { number < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, number < 0 ? 0 : number };
}
#else
using Location = int;

inline Location
GetLocation(int number)
{
  return number < 0 ? cudaCpuDeviceId : number;
}
#endif

inline void
PrefetchManaged(const void * memory, std::size_t bytes, int number, cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
  Check(cudaMemPrefetchAsync(memory, bytes, GetLocation(number), 0, stream), "bringing memory to it");
#else
  Check(cudaMemPrefetchAsync(memory, bytes, GetLocation(number), stream), "bringing memory to it");
#endif
}

/** Where memory may be at home, beside the GPUs, which have numbers. */
constexpr int Host = -1;

/** Memory of the CPU and the GPU. Without concurrentManagedAccess, which shared memory asks for,
 * there is no advice, and the driver moves all of it to and fro.
 * \param home where its pages are best: a GPU's number, or Host */
inline void *
AllocateManaged(int number, std::size_t bytes, int home)
{
  void * allocated = nullptr;
  Check(cudaSetDevice(number), "it cannot be used");
  Check(cudaMallocManaged(&allocated, bytes), "there is not enough memory to share");
  std::unique_ptr<void, decltype(&cudaFree)> memory(allocated, cudaFree);
  if (CanShare(number))
  {
    Check(cudaMemAdvise(allocated, bytes, cudaMemAdviseSetPreferredLocation, GetLocation(home)), "placing memory");
    Check(cudaMemAdvise(allocated, bytes, cudaMemAdviseSetAccessedBy, GetLocation(number)), "mapping memory");
  }
  return memory.release();
}

} // namespace gigapixel

#endif
