/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchConvolution.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelMapAxes.h"
#include "kernels/gigapixelInstructions.h"
#include "kernels/gigapixelKernelTable.h"
#include "graph/gigapixelPaddedWindow.h"

#include <ATen/Context.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/mkldnn_convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <stdexcept>
#include <string>

namespace gigapixel::torchmodule
{

bool
TorchConvolution::IsPoint() const
{
  const at::IntArrayRef taps = weight.sizes().slice(2);
  return !transposed && std::all_of(taps.begin(), taps.end(), [](std::int64_t length) { return length == 1; });
}

/** LibTorch leaves a kernel of one pixel to BLAS when there is one thread (1.13) or always, unless it is dilated, which
 * means nothing to it; oneDNN is 2 to 30 times faster. It has no double, and is called directly for bf16. */
std::vector<std::int64_t>
TorchConvolution::GetDilation() const
{
  return IsPoint() ? std::vector<std::int64_t>(dilation.size(), weight.scalar_type() == at::kFloat ? 2 : 1) : dilation;
}

/** OperationSchema::needsFloat and PaddedWindow leave no others to it. \throw std::logic_error */
void
TorchConvolution::RequireForBFloat16(bool suits, const char * what)
{
  if (!suits)
  {
    throw RefusalOf<std::logic_error>(
      Diagnostic("E-INTERNAL", std::string("in bf16 there is no convolution that is ") + what));
  }
}

/** at::convolution, which calls the same function, leaves maps of up to 20480 values to BLAS where kernels are small,
 * and unfolds them for that: oneDNN is 2 to 5 times faster. In bf16 it wants a bias of the maps' type, and oneDNN a
 * float, which it adds to its sums before it rounds them. */
bool
TorchConvolution::IsOfOneDNN(const at::Tensor & input) const
{
  const bool isFloat = input.scalar_type() == at::kFloat && input.is_cpu() && !transposed;
  return input.scalar_type() == at::kBFloat16 ||
         (isFloat && at::hasMKLDNN() && at::globalContext().userEnabledMkldnn());
}

at::Tensor
TorchConvolution::Compute(const at::Tensor & input) const
{
  if (plain)
  {
    return ComputePlain(input);
  }
  if (IsOfVolumes())
  {
    return ComputeBySlices(input);
  }
  RequireForBFloat16(!transposed || input.scalar_type() != at::kBFloat16, "transposed");
  return IsOfOneDNN(input) ? at::mkldnn_convolution(input, weight, bias, padding, stride, GetDilation(), groups)
                           : at::convolution(input,
                                             weight,
                                             bias,
                                             stride,
                                             padding,
                                             GetDilation(),
                                             transposed,
                                             std::vector<std::int64_t>(stride.size(), 0),
                                             groups);
}

TorchConvolution::Gradients
TorchConvolution::Differentiate(const at::Tensor & gradient, const at::Tensor & input, bool wanted) const
{
  if (plain)
  {
    return DifferentiatePlain(gradient, input, wanted);
  }
  if (IsOfVolumes())
  {
    return DifferentiateBySlices(gradient, input, wanted);
  }
  if (HasFastWeightGradient(gradient))
  {
    return DifferentiateByKernel(gradient, input, wanted);
  }
  if (gradient.scalar_type() != at::kBFloat16)
  {
    return DifferentiateBoth(gradient, input, wanted, true);
  }
  RequireForBFloat16(!transposed, "transposed");
  at::Tensor ofInput;
  if (wanted)
  {
    ofInput = IsPoint() ? DifferentiatePoint(gradient) : DifferentiateBoth(gradient, input, true, false).input;
  }
  Gradients gradients =
    padding[0] > 0 ? DifferentiateBoth(gradient, input, false, true) : DifferentiateInBands(gradient, input);
  gradients.input = std::move(ofInput);
  return gradients;
}

/** The bias is added afterwards, since operators want one of the maps' type. */
at::Tensor
TorchConvolution::ComputePlain(const at::Tensor & input) const
{
  const at::Tensor output = at::convolution(
    input, weight, {}, stride, padding, dilation, transposed, std::vector<std::int64_t>(stride.size(), 0), groups);
  return bias.defined() ? output.add_(AlongChannels(bias, static_cast<int>(stride.size()))) : output;
}

/** The bias' gradient is summed here, in the bias' own type. */
TorchConvolution::Gradients
TorchConvolution::DifferentiatePlain(const at::Tensor & gradient, const at::Tensor & input, bool wanted) const
{
  auto [x, w, b] = at::convolution_backward(gradient,
                                            input,
                                            weight,
                                            at::OptionalIntArrayRef(),
                                            stride,
                                            padding,
                                            dilation,
                                            transposed,
                                            std::vector<std::int64_t>(stride.size(), 0),
                                            groups,
                                            std::array<bool, 3>{ wanted, true, false });
  return { x, w, bias.defined() ? gradient.sum(GetAllButChannels(gradient), false, bias.scalar_type()) : at::Tensor() };
}

TorchConvolution::Gradients
TorchConvolution::DifferentiateBoth(const at::Tensor & gradient,
                                    const at::Tensor & input,
                                    bool               ofInput,
                                    bool               ofWeight) const
{
  const std::vector<std::int64_t> biasShape{ gradient.size(1) };
  auto [x, w, b] = at::convolution_backward(gradient,
                                            input,
                                            weight,
                                            at::OptionalIntArrayRef(biasShape),
                                            stride,
                                            padding,
                                            GetDilation(),
                                            transposed,
                                            std::vector<std::int64_t>(stride.size(), 0),
                                            groups,
                                            std::array<bool, 3>{ ofInput, ofWeight, ofWeight && bias.defined() });
  return { x, w, b };
}

/** Without AVX-512 oneDNN's gradient of a weight reaches a sixth to a third of the arithmetic's peak in this order of
 * the maps; everything else of it, more than half. */
bool
TorchConvolution::HasFastWeightGradient(const at::Tensor & gradient) const
{
  return gradient.size(0) == 1 && gradient.dim() == 4 && gradient.scalar_type() == at::kFloat && gradient.is_cpu() &&
         !transposed && groups == 1 && !HasAVX512();
}

TorchConvolution::Gradients
TorchConvolution::DifferentiateByKernel(const at::Tensor & gradient, const at::Tensor & input, bool wanted) const
{
  const auto toMap = [](const at::Tensor & map) {
    return kernels::ChannelsLastMap{
      { map.data_ptr<float>(), map.size(2), map.size(3), 1, map.size(3) * map.size(1), map.size(1) },
      static_cast<int>(map.size(1))
    };
  };
  const auto toAxis = [this](int axis) {
    return kernels::KernelAxis{ static_cast<int>(weight.size(2 + axis)),
                                static_cast<int>(stride[axis]),
                                static_cast<int>(dilation[axis]),
                                static_cast<int>(padding[axis]) };
  };
  Gradients gradients;
  if (wanted)
  {
    gradients.input = DifferentiateBoth(gradient, input, true, false).input;
  }
  gradients.weight = at::empty(weight.sizes(), gradient.options().memory_format(at::MemoryFormat::Contiguous));
  kernels::GetKernels().computeWeightGradient(
    toMap(input), toMap(gradient), toAxis(0), toAxis(1), gradients.weight.data_ptr<float>());
  if (bias.defined())
  {
    gradients.bias = gradient.sum({ 0, 2, 3 });
  }
  return gradients;
}

/** Of weight and bias in bf16, see GetBandRows(). Parts of rows are as dense as the maps. What each band's sums are
 * rounded to is added in float. */
TorchConvolution::Gradients
TorchConvolution::DifferentiateInBands(const at::Tensor & gradient, const at::Tensor & input) const
{
  Gradients sums;
  sums.weight = at::zeros(weight.sizes(), at::kFloat);
  sums.bias = at::zeros({ gradient.size(1) }, at::kFloat);
  const std::int64_t rows = gradient.size(2), reach = (weight.size(2) - 1) * dilation[0] + 1;
  for (std::int64_t begin = 0; begin < rows; begin += GetBandRows(rows))
  {
    const std::int64_t number = std::min(GetBandRows(rows), rows - begin);
    const Gradients    band = DifferentiateBoth(gradient.narrow(2, begin, number),
                                             input.narrow(2, begin * stride[0], (number - 1) * stride[0] + reach),
                                             false,
                                             true);
    sums.weight.add_(band.weight);
    if (bias.defined())
    {
      sums.bias.add_(band.bias);
    }
  }
  return sums;
}

/** Gradient of the input for a kernel of one pixel in bf16, for which oneDNN 2.6 computes wrong numbers, of some sizes.
 * It is a convolution as well: strides and padding are none, see PaddedWindow. */
at::Tensor
TorchConvolution::DifferentiatePoint(const at::Tensor & gradient) const
{
  RequireForBFloat16(stride == std::vector<std::int64_t>{ 1, 1 } && padding == std::vector<std::int64_t>{ 0, 0 },
                     "of one pixel, with a stride or padding");
  const std::int64_t outputs = weight.size(0), inputs = weight.size(1); // of a group
  const at::Tensor   turned = weight.reshape({ groups, outputs / groups, inputs }).transpose(1, 2);
  return TorchConvolution{
    turned.reshape({ groups * inputs, outputs / groups, 1, 1 }), {}, stride, padding, dilation, groups
  }
    .Compute(gradient);
}

} // namespace gigapixel::torchmodule
