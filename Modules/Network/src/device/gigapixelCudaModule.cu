/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The module GigapixelCuda: tiles on NVIDIA's GPUs. Loaded when a GPU is asked for, so that nothing else needs CUDA.
#include "gigapixelDeviceModule.h"
#include "gigapixelDevicePasses.h"

#include <cuda_runtime.h>

namespace gigapixel
{
namespace
{

void
Check(cudaError_t error, const char * what)
{
  if (error != cudaSuccess)
  {
    throw std::runtime_error(std::string("the GPU: ") + what + ": " + cudaGetErrorString(error));
  }
}

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
  int number{ 0 };

  void *
  Allocate(std::size_t bytes)
  {
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

int
CountDevices(std::string & problem)
{
  int               number = 0;
  const cudaError_t error = cudaGetDeviceCount(&number);
  problem = error == cudaSuccess ? std::string() : cudaGetErrorString(error);
  return error == cudaSuccess ? number : 0;
}

std::string
DescribeDevice(int number)
{
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, number), "it cannot be asked");
  return std::string(properties.name) + ", " + std::to_string(properties.totalGlobalMem >> 20) +
         " MiB, compute capability " + std::to_string(properties.major) + "." + std::to_string(properties.minor);
}

TilePasses *
MakePasses(const NetworkDescription & network, Device device)
{
  return MakeDevicePasses(network, CudaDevice{ device.cuda }, device.precision).release();
}

} // namespace
} // namespace gigapixel

extern "C" __attribute__((visibility("default")))
const gigapixel::DeviceModule GigapixelDeviceModule{ &gigapixel::CountDevices,
                                                     &gigapixel::DescribeDevice,
                                                     &gigapixel::MakePasses };
