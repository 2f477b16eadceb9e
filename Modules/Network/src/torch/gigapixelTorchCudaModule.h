/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchCudaModule_h
#define gigapixelTorchCudaModule_h

namespace gigapixel
{

/** What the module GigapixelTorchCuda has: loading it gives LibTorch its CUDA part. */
struct TorchCudaModule
{
  /** From now on LibTorch's tensors on GPUs lie in managed memory. \throw std::runtime_error there is no such GPU */
  void (*useManagedMemory)(int number);
};

} // namespace gigapixel

#endif
