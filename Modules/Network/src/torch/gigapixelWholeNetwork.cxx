/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNetworkGeometry.h"
#include "gigapixelParameterLayout.h"
#include "gigapixelTorchPasses.h"
#include "gigapixelTorchThreads.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/relu.h>

#include <limits>

namespace gigapixel
{
namespace
{

at::Tensor
ToInput(const NetworkDescription & network, TileData & data, at::ScalarType type)
{
  const Region &   window = data.tile.window;
  const at::Tensor samples = at::from_blob(
    data.pixels.data(), { 1, window.height, window.width, network.channels }, at::TensorOptions(at::kByte));
  at::Tensor input = samples.permute({ 0, 3, 1, 2 }).to(type).contiguous();
  return network.invert ? input.neg_().add_(255).div_(255) : input.div_(255);
}

at::Tensor
ComputeLogits(const NetworkDescription & network, at::Tensor map, const std::vector<at::Tensor> & parameters)
{
  const std::vector<int>  skips = GetSkips(network.layers);
  std::vector<at::Tensor> outputs;
  for (std::size_t i = 0; i < network.layers.size(); ++i)
  {
    const Layer & layer = network.layers[i];
    map = at::convolution(map,
                          parameters[2 * i],
                          parameters[2 * i + 1],
                          { layer.stride, layer.stride },
                          { layer.padding, layer.padding },
                          { 1, 1 },
                          layer.kind == Layer::Kind::TransposedConvolution,
                          { 0, 0 },
                          1);
    map = layer.activation == Layer::Activation::ReLU ? at::relu(map) : map;
    map = skips[i] >= 0 ? map.add(outputs[skips[i]]) : map;
    outputs.push_back(map);
  }
  return map;
}

at::Tensor
ComputeLoss(const NetworkDescription & network, const at::Tensor & logits, const at::Tensor & classes)
{
  if (network.loss == NetworkDescription::Loss::BinaryCrossEntropy)
  {
    const at::Tensor known = classes.ne(LabelSource::Ignored).to(logits.scalar_type());
    const at::Tensor target = classes.eq(1).to(logits.scalar_type());
    return at::binary_cross_entropy_with_logits(logits.select(1, 0), target, known, {}, at::Reduction::Sum);
  }
  return at::cross_entropy_loss(logits, classes.to(at::kLong), {}, at::Reduction::Sum, LabelSource::Ignored);
}

std::vector<at::Tensor>
ToTensors(const NetworkDescription & network, std::vector<double> values, at::ScalarType type)
{
  std::vector<at::Tensor> tensors;
  const auto              layout = GetParameterLayout(network);
  const auto              add = [&](std::size_t first, const std::vector<std::int64_t> & shape) {
    const at::Tensor view = at::from_blob(values.data() + first, shape, at::TensorOptions(at::kDouble));
    tensors.push_back(view.to(type, false, true).set_requires_grad(true)); // a copy, also of double
  };
  for (std::size_t i = 0; i < layout.size(); ++i)
  {
    add(layout[i].weight, network.layers[i].GetWeightShape());
    add(layout[i].bias, { network.layers[i].outputChannels });
  }
  return tensors;
}

} // namespace

LossGradient
torchmodule::ComputeWholeGradient(const NetworkDescription &  network,
                                  const std::vector<double> & parameters,
                                  PixelSource &               pixels,
                                  LabelSource &               labels,
                                  Precision                   precision,
                                  int                         threads)
{
  const KeepTorchThreads keep;
  at::set_num_threads(threads);
  const Size     size = pixels.GetSize();
  const TileGrid grid(network, size, RoundUp(std::max(size.width, size.height), network.GetStride()));
  TileData       data;
  ReadPixels(pixels, grid.GetTile(0), data);
  ReadClasses(labels, data.tile, network.GetNumberOfClasses(), data);

  const at::ScalarType    type = precision == Precision::Float ? at::kFloat : at::kDouble;
  std::vector<at::Tensor> tensors = ToTensors(network, parameters, type);
  at::Tensor              input = ToInput(network, data, type);
  const at::Tensor        logits =
    ComputeLogits(network, std::move(input), tensors).narrow(2, 0, size.height).narrow(3, 0, size.width);
  const at::Tensor classes =
    at::from_blob(data.classes.data(), { 1, size.height, size.width }, at::TensorOptions(at::kByte));
  const at::Tensor loss = ComputeLoss(network, logits, classes);
  loss.backward();

  LossGradient sum;
  sum.loss = loss.to(at::kDouble).item<double>();
  sum.pixels = classes.ne(LabelSource::Ignored).sum().item<std::int64_t>();
  for (const at::Tensor & tensor : tensors)
  {
    const at::Tensor gradient = tensor.grad().to(at::kDouble).contiguous();
    const double *   values = gradient.data_ptr<double>();
    sum.gradient.insert(sum.gradient.end(), values, values + gradient.numel());
  }
  return sum;
}

} // namespace gigapixel
