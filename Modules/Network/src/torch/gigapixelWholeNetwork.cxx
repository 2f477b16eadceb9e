/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNetworkGeometry.h"
#include "gigapixelParameterLayout.h"
#include "gigapixelTorchPasses.h"
#include "gigapixelTorchThreads.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>

namespace gigapixel
{
namespace
{

at::Tensor
ToInput(const NetworkDescription & network, TileData & data, const at::TensorOptions & options)
{
  const Region &   window = data.tile.window;
  const at::Tensor samples = at::from_blob(
    data.pixels.data(), { 1, window.height, window.width, network.channels }, at::TensorOptions(at::kByte));
  at::Tensor input = samples.to(options.device()).permute({ 0, 3, 1, 2 }).to(options).contiguous();
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

/** Of the class c where the output has one channel for two classes, or one for each. */
at::Tensor
SelectProbability(const at::Tensor & logits, int c)
{
  if (logits.size(1) > 1)
  {
    return at::softmax(logits, 1).select(1, c);
  }
  const at::Tensor object = at::sigmoid(logits.select(1, 0));
  return c == 1 ? object : 1 - object;
}

/** Times the number of pixels, as its gradient. */
at::Tensor
ComputeDiceLoss(const NetworkDescription & network, const at::Tensor & logits, const at::Tensor & classes)
{
  const at::Tensor known = classes.ne(LabelSource::Ignored).to(logits.scalar_type());
  at::Tensor       dice = at::zeros({}, logits.options());
  double           weights = 0;
  for (int c = 0; c < network.GetNumberOfClasses(); ++c)
  {
    const double     weight = network.classWeights.empty() ? c > 0 : network.classWeights[c];
    const at::Tensor truth = classes.eq(c).to(logits.scalar_type());
    const at::Tensor probability = SelectProbability(logits, c) * known;
    dice = dice + weight * (2 * (probability * truth).sum() + 1) / (probability.sum() + truth.sum() + 1);
    weights += weight;
  }
  return (1 - dice / weights) * known.sum();
}

at::Tensor
GetClassWeights(const NetworkDescription & network, const at::TensorOptions & options)
{
  std::vector<double> weights = network.classWeights;
  weights.resize(network.GetNumberOfClasses(), 1.0);
  const auto count = static_cast<std::int64_t>(weights.size());
  return at::from_blob(weights.data(), { count }, at::TensorOptions(at::kDouble)).to(options, false, true);
}

at::Tensor
ComputeLoss(const NetworkDescription & network, const at::Tensor & logits, const at::Tensor & classes)
{
  using Loss = NetworkDescription::Loss;
  if (network.loss == Loss::Dice)
  {
    return ComputeDiceLoss(network, logits, classes);
  }
  const at::Tensor weights = GetClassWeights(network, logits.options());
  if (network.loss == Loss::BinaryCrossEntropy)
  {
    const at::Tensor factors = at::where(classes.eq(1), weights[1], weights[0]) * classes.ne(LabelSource::Ignored);
    const at::Tensor target = classes.eq(1).to(logits.scalar_type());
    return at::binary_cross_entropy_with_logits(logits.select(1, 0), target, factors, {}, at::Reduction::Sum);
  }
  return at::cross_entropy_loss(logits, classes.to(at::kLong), weights, at::Reduction::Sum, LabelSource::Ignored);
}

/** Of the pixels that take part. */
double
SumWeights(const NetworkDescription & network, const at::Tensor & classes)
{
  double sum = 0;
  for (int c = 0; c < network.GetNumberOfClasses(); ++c)
  {
    const bool equal = network.classWeights.empty() || network.loss == NetworkDescription::Loss::Dice;
    sum += (equal ? 1.0 : network.classWeights[c]) * classes.eq(c).sum().item<double>();
  }
  return sum;
}

std::vector<at::Tensor>
ToTensors(const NetworkDescription & network, std::vector<double> values, const at::TensorOptions & options)
{
  std::vector<at::Tensor> tensors;
  const auto              layout = GetParameterLayout(network);
  const auto              add = [&](std::size_t first, const std::vector<std::int64_t> & shape) {
    const at::Tensor view = at::from_blob(values.data() + first, shape, at::TensorOptions(at::kDouble));
    tensors.push_back(view.to(options, false, true).set_requires_grad(true)); // a copy, also of double
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
                                  const Device &              device,
                                  int                         threads)
{
  const KeepTorchThreads keep;
  at::set_num_threads(threads);
  const Size     size = pixels.GetSize();
  const TileGrid grid(network, size, RoundUp(std::max(size.width, size.height), network.GetStride()));
  TileData       data;
  ReadPixels(pixels, grid.GetTile(0), data);
  ReadClasses(labels, data.tile, network, data);

  at::globalContext().setAllowTF32CuDNN(false);
  const at::Device place =
    device.cuda < 0 ? at::Device(at::kCPU) : at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(device.cuda));
  const auto options = at::TensorOptions(device.precision == Precision::Float ? at::kFloat : at::kDouble).device(place);
  std::vector<at::Tensor> tensors = ToTensors(network, parameters, options);
  at::Tensor              input = ToInput(network, data, options);
  const at::Tensor        logits =
    ComputeLogits(network, std::move(input), tensors).narrow(2, 0, size.height).narrow(3, 0, size.width);
  const at::Tensor classes =
    at::from_blob(data.classes.data(), { 1, size.height, size.width }, at::TensorOptions(at::kByte)).to(place);
  const at::Tensor loss = ComputeLoss(network, logits, classes);
  loss.backward();

  LossGradient sum;
  sum.loss = loss.to(at::kDouble).item<double>();
  sum.weight = SumWeights(network, classes);
  sum.pixels = classes.ne(LabelSource::Ignored).sum().item<std::int64_t>();
  for (const at::Tensor & tensor : tensors)
  {
    const at::Tensor gradient = tensor.grad().to(at::kCPU, at::kDouble).contiguous();
    const double *   values = gradient.data_ptr<double>();
    sum.gradient.insert(sum.gradient.end(), values, values + gradient.numel());
  }
  return sum;
}

} // namespace gigapixel
