/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchDevice_h
#define gigapixelTorchDevice_h

#include "execute/gigapixelGraphPasses.h"

#include <ATen/core/Tensor.h>

#include <mutex>
#include <optional>

namespace gigapixel::torchmodule
{

/** GPUs that LibTorch can use. \param problem why there is none */
int CountGpus(std::string & problem);

/** Why LibTorch cannot compute on this GPU; empty: it can. */
std::string GetGpuProblem(int number);

/** Of its memory, what LibTorch may still take; none: this LibTorch does not say. */
std::optional<std::int64_t> GetFreeGpuBytes(int number);

/** Most bytes of its memory that this process' tensors have taken; none: this LibTorch does not say. */
std::optional<std::int64_t> GetPeakGpuBytes(int number);

/** \class TorchDevice
 * \brief Where the tensors of a network lie, and which operators compute them. */
class TorchDevice
{
public:
  TorchDevice(const Device & device, GraphOperators operators);

  /** Whether the tensors lie in the memory that the process reads and writes itself. */
  bool
  IsHost() const
  {
    return m_Device.is_cpu();
  }

  /** OperationCall::plain. */
  bool
  IsPlain() const
  {
    return m_Plain;
  }

  at::TensorOptions
  GetOptions(at::ScalarType type) const
  {
    return at::TensorOptions().dtype(type).device(m_Device);
  }

  /** For tensors of the CPU that are uploaded at once: a GPU fetches them from memory that stays where it is. */
  at::TensorOptions
  GetUploadOptions(at::ScalarType type) const
  {
    return at::TensorOptions().dtype(type).pinned_memory(m_Device.is_cuda());
  }

  /** \return the tensor itself, if it lies there already */
  at::Tensor Upload(const at::Tensor & tensor, at::ScalarType type) const;

  /** \class Scope
   * \brief While it lives, the calling thread computes a tile.
   *
   * Of a GPU only one thread of the process does so at a time: it is busy with one tile, whose maps alone then lie in
   * its memory, and cuDNN's switches, which are the process', are then as results that do not change from run to run
   * ask for, and afterwards as the program had them. */
  class Scope
  {
  public:
    explicit Scope(const TorchDevice & device);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope & operator=(const Scope &) = delete;

  private:
    struct Switches
    {
      bool deterministic;
      bool benchmark;
      bool convolutionsInTF32;
      bool productsInTF32;
    };

    static Switches Get();
    static void     Set(const Switches & switches);

    std::unique_lock<std::mutex> m_Lock;
    Switches                     m_Before{};
  };

private:
  at::Device m_Device;
  bool       m_Plain;
  bool       m_TF32;
};

} // namespace gigapixel::torchmodule

#endif
