/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchConvolution_h
#define gigapixelTorchConvolution_h

#include <ATen/core/Tensor.h>

#include <vector>

namespace gigapixel::torchmodule
{

/** \class TorchConvolution
 * \brief A convolution as LibTorch's operators take it: its weight, and how that goes over a map without gaps. One of
 * volumes is computed tap by tap along z, each of which is one of the volume's slices. A plain one leaves all of that
 * to LibTorch, which asks the library of the device that its tensors lie on. */
struct TorchConvolution
{
  struct Gradients
  {
    at::Tensor input; ///< undefined: not asked for
    at::Tensor weight;
    at::Tensor bias;
  };

  at::Tensor Compute(const at::Tensor & input) const;

  /** \param gradient of the output \param wanted whether that of the input is asked for */
  Gradients Differentiate(const at::Tensor & gradient, const at::Tensor & input, bool wanted) const;

  at::Tensor                weight;
  at::Tensor                bias; ///< a float where maps are bf16; undefined: none
  std::vector<std::int64_t> stride;
  std::vector<std::int64_t> padding;
  std::vector<std::int64_t> dilation;
  std::int64_t              groups{ 1 };
  bool                      transposed{ false };
  bool                      plain{ false }; ///< see OperationCall::plain

private:
  // gigapixelVolumeConvolution.cxx
  bool             IsOfVolumes() const;
  TorchConvolution GetTap(std::int64_t tap) const;
  at::Tensor       ComputeBySlices(const at::Tensor & input) const;
  Gradients        DifferentiateBySlices(const at::Tensor & gradient, const at::Tensor & input, bool wanted) const;

  static void               RequireForBFloat16(bool suits, const char * what);
  bool                      IsPoint() const;
  bool                      IsOfOneDNN(const at::Tensor & input) const;
  std::vector<std::int64_t> GetDilation() const;
  at::Tensor                ComputePlain(const at::Tensor & input) const;
  Gradients DifferentiatePlain(const at::Tensor & gradient, const at::Tensor & input, bool wanted) const;
  Gradients DifferentiateBoth(const at::Tensor & gradient, const at::Tensor & input, bool ofInput, bool ofWeight) const;
  bool      HasFastWeightGradient(const at::Tensor & gradient) const;
  Gradients DifferentiateByKernel(const at::Tensor & gradient, const at::Tensor & input, bool wanted) const;
  Gradients DifferentiateInBands(const at::Tensor & gradient, const at::Tensor & input) const;
  at::Tensor DifferentiatePoint(const at::Tensor & gradient) const;
};

} // namespace gigapixel::torchmodule

#endif
