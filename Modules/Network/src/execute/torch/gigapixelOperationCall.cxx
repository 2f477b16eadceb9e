/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"
#include "graph/gigapixelPaddedWindow.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mkldnn_convolution.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <array>

namespace gigapixel::torchmodule
{
namespace
{

std::map<std::string, const TorchOperation *> &
GetOperations()
{
  static std::map<std::string, const TorchOperation *> operations;
  return operations;
}

/** The map's axes in the order in which they lie in memory. */
at::Tensor
PutChannelsLast(const at::Tensor & map)
{
  return map.permute({ 0, 2, 3, 1 });
}

at::Tensor
PutChannelsSecond(const at::Tensor & map)
{
  return map.permute({ 0, 3, 1, 2 });
}

/** In the part of the call's first input, along an axis. */
std::vector<std::int64_t>
GetMirroredIndices(const OperationCall & call, int axis, const Interval & wanted, const std::string & mode)
{
  std::vector<std::int64_t> indices;
  for (std::int64_t i = wanted.begin; i < wanted.end; ++i)
  {
    const std::int64_t real = GetMirrored(mode, i, call.step.sizes[axis].inputs.front());
    indices.push_back(real - call.step.inputs.front()[axis].begin);
  }
  return indices;
}

} // namespace

TorchOperation::TorchOperation(const char * type, Forward forwardPass, Backward backwardPass)
  : forward(forwardPass)
  , backward(backwardPass)
{
  GetOperations()[type] = this;
}

const TorchOperation &
TorchOperation::Find(const std::string & type)
{
  return *GetOperations().at(type);
}

at::Tensor
OperationCall::GetWeight(const char * role) const
{
  const auto found = weights.find(role);
  return found == weights.end() ? at::Tensor() : found->second;
}

at::Tensor
OperationCall::MakeInputMap(std::size_t input) const
{
  return MakeMap(channels[input], step.inputs[input], options);
}

at::Tensor
MakeDense(const at::Tensor & map)
{
  return map.contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor
MakeMap(std::int64_t channels, const Box & box, const at::TensorOptions & options)
{
  return at::empty({ 1, channels, box[0].GetLength(), box[1].GetLength() },
                   options.memory_format(at::MemoryFormat::ChannelsLast));
}

at::Tensor
Show(const at::Tensor & map, const Box & covered, const Box & wanted, double value)
{
  std::vector<std::int64_t> pads; // of the last axis first, as PyTorch has them
  at::Tensor                shown = map;
  bool                      more = false;
  for (int axis = NetworkGraph::NumberOfAxes; axis-- > 0;)
  {
    const std::int64_t begin = std::max(covered[axis].begin, wanted[axis].begin);
    const std::int64_t end = std::min(covered[axis].end, wanted[axis].end);
    if (begin >= end)
    {
      at::Tensor all = MakeMap(map.size(1), wanted, map.options());
      return all.fill_(value);
    }
    shown = shown.narrow(GetDimension(axis), begin - covered[axis].begin, end - begin);
    pads.push_back(begin - wanted[axis].begin);
    pads.push_back(wanted[axis].end - end);
    more = more || pads[pads.size() - 2] > 0 || pads.back() > 0;
  }
  if (!more)
  {
    return shown;
  }
  at::Tensor all = MakeMap(map.size(1), wanted, map.options());
  all.fill_(value);
  at::Tensor part = all;
  for (int axis = 0; axis < NetworkGraph::NumberOfAxes; ++axis)
  {
    const int dimension = GetDimension(axis);
    part = part.narrow(dimension, pads[2 * (NetworkGraph::NumberOfAxes - 1 - axis)], shown.size(dimension));
  }
  part.copy_(shown);
  return all;
}

bool
IsAlone(const at::Tensor & tensor)
{
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

at::Tensor
MakeOwn(at::Tensor && tensor)
{
  return IsAlone(tensor) ? std::move(tensor) : tensor.clone(at::MemoryFormat::ChannelsLast);
}

std::vector<std::int64_t>
GetPointDilation(const at::TensorOptions & options)
{
  // A dilation, which a kernel of one pixel does not use, makes at::convolution call oneDNN for floats. It has no
  // double, and is called directly for bf16.
  return std::vector<std::int64_t>(NetworkGraph::NumberOfAxes, options.dtype() == at::kFloat ? 2 : 1);
}

at::Tensor
Convolve(const at::Tensor & input,
         const at::Tensor & weight,
         const at::Tensor & bias,
         at::IntArrayRef    stride,
         at::IntArrayRef    padding,
         at::IntArrayRef    dilation,
         std::int64_t       groups)
{
  // oneDNN adds the bias to its sums before it rounds them, so that the bias may be a float; at::convolution, which
  // would call the same function, wants it to be of the maps' type.
  return input.scalar_type() == at::kBFloat16
           ? at::mkldnn_convolution(input, weight, bias, padding, stride, dilation, groups)
           : at::convolution(input, weight, bias, stride, padding, dilation, false, { 0, 0 }, groups);
}

namespace
{

/** Gradient of the input for a kernel of one pixel in bf16, for which oneDNN 2.6 computes wrong numbers, of some sizes.
 * Of one group it is a convolution as well, whose stride is 1, since the pixels that are read are copied before. */
at::Tensor
DifferentiatePoint(const at::Tensor & gradient,
                   const at::Tensor & input,
                   const at::Tensor & weight,
                   at::IntArrayRef    stride,
                   at::IntArrayRef    padding,
                   at::IntArrayRef    dilation,
                   std::int64_t       groups)
{
  if (groups == 1 && stride == at::IntArrayRef({ 1, 1 }) && padding == at::IntArrayRef({ 0, 0 }))
  {
    return Convolve(gradient, weight.transpose(0, 1).contiguous(), {}, stride, padding, dilation, groups);
  }
  const auto gradients = at::convolution_backward(gradient.to(at::kFloat),
                                                  input.to(at::kFloat),
                                                  weight.to(at::kFloat),
                                                  at::OptionalIntArrayRef(),
                                                  stride,
                                                  padding,
                                                  dilation,
                                                  false,
                                                  { 0, 0 },
                                                  groups,
                                                  std::array<bool, 3>{ true, false, false });
  return std::get<0>(gradients).to(at::kBFloat16);
}

} // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor>
DifferentiateConvolution(const at::Tensor & gradient,
                         const at::Tensor & input,
                         const at::Tensor & weight,
                         at::IntArrayRef    stride,
                         at::IntArrayRef    padding,
                         at::IntArrayRef    dilation,
                         std::int64_t       groups,
                         bool               wanted,
                         bool               bias)
{
  const std::vector<std::int64_t> biasShape{ gradient.size(1) };
  const auto differentiate = [&](const at::Tensor & ofOutput, const at::Tensor & seen, bool ofInput, bool ofWeight) {
    return at::convolution_backward(ofOutput,
                                    seen,
                                    weight,
                                    at::OptionalIntArrayRef(biasShape),
                                    stride,
                                    padding,
                                    dilation,
                                    false,
                                    { 0, 0 },
                                    groups,
                                    std::array<bool, 3>{ ofInput, ofWeight, ofWeight && bias });
  };
  if (gradient.scalar_type() != at::kBFloat16)
  {
    return differentiate(gradient, input, wanted, true);
  }
  at::Tensor ofInput;
  if (wanted)
  {
    const bool isPoint = weight.size(2) == 1 && weight.size(3) == 1;
    ofInput = isPoint ? DifferentiatePoint(gradient, input, weight, stride, padding, dilation, groups)
                      : std::get<0>(differentiate(gradient, input, true, false));
  }
  if (padding[0] > 0)
  {
    const auto [none, ofWeight, ofBias] = differentiate(gradient, input, false, true);
    return { ofInput, ofWeight, ofBias };
  }
  // Parts of rows are as dense as the maps. What each band's sums are rounded to is added in float.
  at::Tensor         ofWeight = at::zeros(weight.sizes(), at::kFloat);
  at::Tensor         ofBias = at::zeros(biasShape, at::kFloat);
  const std::int64_t rows = gradient.size(2), reach = (weight.size(2) - 1) * dilation[0] + 1;
  for (std::int64_t begin = 0; begin < rows; begin += GetBandRows(rows))
  {
    const std::int64_t number = std::min(GetBandRows(rows), rows - begin);
    const auto [none, ofBand, shift] =
      differentiate(gradient.narrow(2, begin, number),
                    input.narrow(2, begin * stride[0], (number - 1) * stride[0] + reach),
                    false,
                    true);
    ofWeight.add_(ofBand);
    if (bias)
    {
      ofBias.add_(shift);
    }
  }
  return { ofInput, ofWeight, ofBias };
}

at::Tensor
Gather(const at::Tensor & map, int axis, const std::vector<std::int64_t> & indices)
{
  const at::Tensor places = at::tensor(indices, at::kLong).to(map.device());
  return PutChannelsSecond(PutChannelsLast(map).index_select(axis + 1, places));
}

at::Tensor
Scatter(const at::Tensor & gradient, int axis, const std::vector<std::int64_t> & indices, std::int64_t length)
{
  const at::Tensor          places = at::tensor(indices, at::kLong).to(gradient.device());
  const at::Tensor          values = PutChannelsLast(gradient);
  std::vector<std::int64_t> shape = values.sizes().vec();
  shape[axis + 1] = length;
  return PutChannelsSecond(at::zeros(shape, gradient.options()).index_add_(axis + 1, places, values));
}

at::Tensor
ShowMirrored(const OperationCall & call, const at::Tensor & map, const Box & wanted, const std::string & mode)
{
  const at::Tensor rows = Gather(map, 0, GetMirroredIndices(call, 0, wanted[0], mode));
  return Gather(rows, 1, GetMirroredIndices(call, 1, wanted[1], mode));
}

at::Tensor
DifferentiateMirrored(const OperationCall & call,
                      const at::Tensor &    gradient,
                      const Box &           wanted,
                      const std::string &   mode)
{
  const Box &      part = call.step.inputs.front();
  const at::Tensor rows = Scatter(gradient, 1, GetMirroredIndices(call, 1, wanted[1], mode), part[1].GetLength());
  return Scatter(rows, 0, GetMirroredIndices(call, 0, wanted[0], mode), part[0].GetLength());
}

} // namespace gigapixel::torchmodule
