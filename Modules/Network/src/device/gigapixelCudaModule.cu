/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The module GigapixelCuda: tiles on NVIDIA's GPUs. Loaded when a GPU is asked for, so that nothing else needs CUDA.
#include "execute/gigapixelDeviceModule.h"
#include "gigapixelDevicePasses.h"
#include "gigapixelManagedMemory.h"

#include <cuda_runtime.h>

namespace gigapixel
{
namespace
{

template <typename TKernel>
__global__ void
RunThreads(const TKernel kernel, std::int64_t threads)
{
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (thread < threads)
  {
    kernel(thread);
  }
}

struct CudaDevice
{
  int  number{ 0 };
  bool shared{ false };

  void *
  Allocate(std::size_t bytes)
  {
    if (shared)
    {
      return AllocateManaged(number, bytes, number);
    }
    void * memory = nullptr;
    Check(cudaSetDevice(number), "it cannot be used");
    Check(cudaMalloc(&memory, bytes), "there is not enough memory");
    return memory;
  }

  void
  Free(void * memory)
  {
    cudaFree(memory);
  }

  /** A stream. */
  class Queue
  {
  public:
    explicit Queue(CudaDevice & device)
    {
      Check(cudaSetDevice(device.number), "it cannot be used");
      Check(cudaStreamCreateWithFlags(&m_Stream, cudaStreamNonBlocking), "no stream");
    }
    ~Queue() { cudaStreamDestroy(m_Stream); }
    Queue(const Queue &) = delete;
    Queue & operator=(const Queue &) = delete;

    void
    Upload(void * to, const void * from, std::size_t bytes)
    {
      Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, m_Stream), "copying to it");
    }

    void
    Download(void * to, const void * from, std::size_t bytes)
    {
      Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, m_Stream), "copying from it");
    }

    template <typename TKernel>
    void
    Run(const TKernel & kernel)
    {
      constexpr unsigned int block = 256;
      const std::int64_t     threads = kernel.Threads();
      RunThreads<<<static_cast<unsigned int>((threads + block - 1) / block), block, 0, m_Stream>>>(kernel, threads);
      Check(cudaGetLastError(), "a kernel does not start");
    }

    void
    Wait()
    {
      Check(cudaStreamSynchronize(m_Stream), "computing");
    }

  private:
    cudaStream_t m_Stream{ nullptr };
  };
};

std::string
DescribeDevice(int number)
{
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, number), "it cannot be asked");
  return std::string(properties.name) + ", " + std::to_string(properties.totalGlobalMem >> 20) +
         " MiB, compute capability " + std::to_string(properties.major) + "." + std::to_string(properties.minor);
}

ChainPasses *
MakePasses(const NetworkDescription & network, Device device)
{
  return MakeDevicePasses(network, CudaDevice{ device.cuda, device.shared }, device.precision).release();
}

/** The pages stay with the CPU, since there may be more than the GPU has. */
void *
AllocateShared(int number, std::size_t bytes)
{
  return AllocateManaged(number, bytes, Host);
}

void
FreeShared(void * memory)
{
  cudaFree(memory);
}

void
FinishWriting(int number, void * memory, std::size_t bytes)
{
  Check(cudaMemAdvise(memory, bytes, cudaMemAdviseSetReadMostly, GetLocation(number)), "copies of memory");
}

/** By the thread's default stream, which no kernel is in: it waits for none. */
void
PrefetchShared(int number, const void * memory, std::size_t bytes)
{
  Check(cudaSetDevice(number), "it cannot be used");
  PrefetchManaged(memory, bytes, number, cudaStreamPerThread);
}

} // namespace
} // namespace gigapixel

extern "C" __attribute__((visibility("default"))) const gigapixel::DeviceModule GigapixelDeviceModule{
  &gigapixel::CountDevices,   &gigapixel::DescribeDevice, &gigapixel::MakePasses,    &gigapixel::CanShare,
  &gigapixel::AllocateShared, &gigapixel::FreeShared,     &gigapixel::FinishWriting, &gigapixel::PrefetchShared
};
