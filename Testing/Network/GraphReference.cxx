/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "GraphReference.h"
#include "ReferenceOperations.h"
#include "schedule/gigapixelTileGrid.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <random>

namespace gigapixel
{
namespace test
{
namespace
{

Tensor
MakeInput(const NetworkDescription & network, const LabeledImage & image, at::ScalarType type)
{
  const Extent size = ToExtent(image.size, network.graph.GetNumberOfAxes());
  Numbers      shape(size.begin(), size.end());
  shape.insert(shape.begin(), 1);
  shape.push_back(network.channels);
  const Tensor samples = image.floats.empty()
                           ? at::tensor(at::ArrayRef<std::uint8_t>(image.pixels), at::kByte).to(at::kDouble) / 255
                           : at::tensor(at::ArrayRef<float>(image.floats), at::kFloat).to(at::kDouble);
  Tensor       input = samples.view(shape).movedim(-1, 1).contiguous();
  input = network.invert ? 1 - input : input;
  if (!network.mean.empty())
  {
    const Tensor mean = at::tensor(network.mean, at::kDouble), deviation = at::tensor(network.deviation, at::kDouble);
    input = (input - AlongChannels(mean, input)) / AlongChannels(deviation, input);
  }
  return input.to(type);
}

/** Of the class c where the output has one channel for two classes, or one for each. */
Tensor
SelectProbability(const Tensor & logits, int c)
{
  if (logits.size(1) > 1)
  {
    return at::softmax(logits, 1).select(1, c);
  }
  const Tensor object = at::sigmoid(logits.select(1, 0));
  return c == 1 ? object : 1 - object;
}

/** Times the number of pixels, as its gradient. */
Tensor
GetDiceLoss(const NetworkDescription & network, const Tensor & logits, const Tensor & classes)
{
  const Tensor known = classes.ne(LabelSource::Ignored).to(logits.scalar_type());
  Tensor       dice = at::zeros({}, logits.options());
  double       weights = 0;
  for (int c = 0; c < network.GetNumberOfClasses(); ++c)
  {
    const double weight = network.classWeights.empty() ? c > 0 : network.classWeights[c];
    const Tensor truth = classes.eq(c).to(logits.scalar_type());
    const Tensor probability = SelectProbability(logits, c) * known;
    dice = dice + weight * (2 * (probability * truth).sum() + 1) / (probability.sum() + truth.sum() + 1);
    weights += weight;
  }
  return (1 - dice / weights) * known.sum();
}

/** Of the classes. */
std::vector<double>
GetWeights(const NetworkDescription & network)
{
  std::vector<double> weights = network.classWeights;
  weights.resize(network.GetNumberOfClasses(), 1.0);
  return weights;
}

/** Of the pixels that take part. */
double
SumWeights(const NetworkDescription & network, const Tensor & classes)
{
  const std::vector<double> weights = GetWeights(network);
  double                    sum = 0;
  for (int c = 0; c < network.GetNumberOfClasses(); ++c)
  {
    using Loss = NetworkDescription::Loss;
    const bool dice = network.loss == Loss::Dice || network.loss == Loss::DiceAndCrossEntropy;
    sum += (dice ? 1.0 : weights[c]) * classes.eq(c).sum().item<double>();
  }
  return sum;
}

/** Summed over the pixels that take part. \param classes 1 x height x width */
Tensor
GetLoss(const NetworkDescription & network, const Tensor & logits, const Tensor & classes)
{
  using Loss = NetworkDescription::Loss;
  if (network.loss == Loss::Dice)
  {
    return GetDiceLoss(network, logits, classes);
  }
  if (network.loss == Loss::DiceAndCrossEntropy)
  {
    NetworkDescription other = network;
    other.SetLoss("cross-entropy");
    const double pixels = classes.ne(LabelSource::Ignored).sum().item<double>();
    return GetDiceLoss(network, logits, classes) +
           GetLoss(other, logits, classes) * (pixels / SumWeights(other, classes));
  }
  const Tensor weights = at::tensor(GetWeights(network), at::kDouble).to(logits.scalar_type());
  if (network.loss == Loss::Focal)
  {
    const Tensor z = logits.size(1) == 1 ? at::cat({ at::zeros_like(logits), logits }, 1) : logits;
    const Tensor takes = classes.ne(LabelSource::Ignored), known = at::where(takes, classes, 0).to(at::kLong);
    const Tensor logP = at::log_softmax(z, 1).gather(1, known.unsqueeze(1)).squeeze(1);
    return -(weights.index_select(0, known.flatten()).reshape(known.sizes()) * (1 - logP.exp()).square() * logP * takes)
              .sum();
  }
  if (network.loss == Loss::BinaryCrossEntropy)
  {
    const Tensor factors = at::where(classes.eq(1), weights[1], weights[0]) * classes.ne(LabelSource::Ignored);
    const Tensor target = classes.eq(1).to(logits.scalar_type());
    return at::binary_cross_entropy_with_logits(logits.select(1, 0), target, factors, {}, at::Reduction::Sum);
  }
  return at::cross_entropy_loss(logits, classes.to(at::kLong), weights, at::Reduction::Sum, LabelSource::Ignored);
}

/** The weighted sum over the outputs whose target is known, by PyTorch's own losses. */
Tensor
GetLoss(const Tensor & outputs, const OutputTargets & image)
{
  const auto   options = at::TensorOptions().dtype(at::kDouble);
  const Tensor targets = at::tensor(image.targets, options), weights = at::tensor(image.weights, options);
  const Tensor known = targets.isnan().logical_not().nonzero().flatten();
  const Tensor z = outputs.flatten().to(at::kDouble).index_select(0, known), t = targets.index_select(0, known);
  const Tensor losses = image.isLogistic ? at::binary_cross_entropy_with_logits(z, t, {}, {}, at::Reduction::None)
                                         : at::mse_loss(z, t, at::Reduction::None);
  return (losses * weights.index_select(0, known)).sum();
}

std::vector<double>
GetValues(const Tensor & tensor)
{
  const Tensor values = tensor.detach().to(at::kDouble).contiguous();
  return { values.data_ptr<double>(), values.data_ptr<double>() + values.numel() };
}

std::map<std::string, Tensor>
MakeArrays(const NetworkGraph & graph, const std::vector<double> & parameters, at::ScalarType type)
{
  std::map<std::string, Tensor> arrays;
  const double *                values = parameters.data();
  for (const ParameterDescription & parameter : graph.GetParameters())
  {
    Tensor array = at::empty(parameter.shape, at::kDouble);
    std::copy_n(values, array.numel(), array.data_ptr<double>());
    values += array.numel();
    arrays[parameter.name] = array.to(type).requires_grad_(parameter.trained);
  }
  return arrays;
}

/** The nearest numbers of bf16, as a function of slope 1. */
Tensor
Round(const Tensor & values)
{
  const Tensor exact = values.detach();
  return values + (exact.to(at::kBFloat16).to(at::kDouble) - exact);
}

/** Of all operations, by name. */
std::map<std::string, Tensor>
ComputeMaps(const NetworkGraph &                  graph,
            const std::map<std::string, Tensor> & arrays,
            const Tensor &                        input,
            bool                                  rounded = false,
            std::optional<std::uint64_t>          maskSeed = {},
            const std::vector<std::uint8_t> &     counted = {},
            bool                                  calibrates = false)
{
  std::map<std::string, Tensor> maps;
  for (const Operation & operation : graph.operations)
  {
    if (operation.type == "input")
    {
      maps[operation.name] = rounded ? Round(input) : input;
      continue;
    }
    Given given{ operation, {}, {}, maskSeed, graph.GetIndex(operation.name), {}, calibrates };
    for (const std::string & name : operation.inputs)
    {
      given.inputs.push_back(maps.at(name));
    }
    const bool seesAll =
      operation.type.find("_pool") != std::string::npos || operation.type.find("_norm") != std::string::npos;
    if (!counted.empty() && seesAll &&
        static_cast<std::size_t>(given.X().size(2) * given.X().size(3)) == counted.size())
    {
      given.ignored =
        at::tensor(at::ArrayRef<std::uint8_t>(counted), at::kByte).eq(0).view({ 1, 1, given.X().size(2), -1 });
    }
    for (const auto & item : operation.parameters)
    {
      const Tensor & array = arrays.at(item.second);
      given.arrays[item.first] = rounded && array.dim() >= 4 ? Round(array) : array;
    }
    const Tensor map = GetReferenceOperations().at(operation.type)(given);
    maps[operation.name] = rounded ? Round(map) : map;
  }
  return maps;
}

} // namespace

GraphResult
ComputeReference(const NetworkDescription &   network,
                 const std::vector<double> &  parameters,
                 const LabeledImage &         image,
                 at::ScalarType               type,
                 std::optional<std::uint64_t> maskSeed)
{
  const bool           rounded = type == at::kBFloat16;
  const at::ScalarType computed = rounded ? at::kDouble : type;
  const auto           arrays = MakeArrays(network.graph, parameters, computed);
  const Tensor         logits =
    ComputeMaps(network.graph, arrays, MakeInput(network, image, computed), rounded, maskSeed, image.counted)
      .at(network.graph.output);
  const Tensor classes = at::tensor(at::ArrayRef<std::uint8_t>(image.labels), at::kByte).view_as(logits.select(1, 0));
  const Tensor loss = image.targets ? GetLoss(logits, *image.targets) : GetLoss(network, logits, classes);
  torch::autograd::backward({ loss }, {});
  GraphResult result;
  result.loss = loss.item<double>();
  result.weight = SumWeights(network, classes);
  result.pixels = classes.ne(LabelSource::Ignored).sum().item<std::int64_t>();
  const Tensor probabilities = logits.size(1) == 1 ? at::sigmoid(logits) : at::softmax(logits, 1);
  result.probabilities = GetValues(probabilities.movedim(1, -1));
  for (const ParameterDescription & parameter : network.graph.GetParameters())
  {
    const Tensor & array = arrays.at(parameter.name);
    const auto     part = GetValues(array.grad().defined() ? array.grad() : at::zeros_like(array));
    result.gradient.insert(result.gradient.end(), part.begin(), part.end());
  }
  return result;
}

Tensor
ComputeMap(const NetworkGraph & graph, const std::vector<double> & parameters, const Tensor & input)
{
  return ComputeMaps(graph, MakeArrays(graph, parameters, at::kDouble), input).at(graph.output).detach();
}

std::vector<double>
ComputeGradCAM(const NetworkDescription &  network,
               const std::vector<double> & parameters,
               const LabeledImage &        image,
               const std::string &         operation,
               int                         label)
{
  const auto arrays = MakeArrays(network.graph, parameters, at::kDouble);
  const auto maps =
    ComputeMaps(network.graph, arrays, MakeInput(network, image, at::kDouble), false, {}, image.counted);
  const Tensor logits = maps.at(network.graph.output).flatten();
  const Tensor score = logits.numel() > 1 ? logits[label] : label == 1 ? logits[0] : -logits[0];
  const Tensor map = maps.at(operation);
  const Tensor gradient = torch::autograd::grad({ score }, { map }).front();
  return GetValues(at::relu((gradient.mean(at::IntArrayRef{ 2, 3 }, true) * map).sum(1)));
}

std::vector<double>
ComputeMap(const NetworkDescription &  network,
           const std::vector<double> & parameters,
           const LabeledImage &        image,
           const std::string &         operation)
{
  const auto arrays = MakeArrays(network.graph, parameters, at::kDouble);
  return GetValues(
    ComputeMaps(network.graph, arrays, MakeInput(network, image, at::kDouble), false, {}, image.counted).at(operation));
}

std::vector<double>
ComputeRunningStatistics(const NetworkDescription &        network,
                         const std::vector<double> &       parameters,
                         const std::vector<LabeledImage> & images)
{
  const c10::NoGradGuard noGradient;
  std::vector<Tensor>    inputs;
  for (const LabeledImage & image : images)
  {
    inputs.push_back(MakeInput(network, image, at::kDouble));
  }
  const auto arrays = MakeArrays(network.graph, parameters, at::kDouble);
  ComputeMaps(network.graph, arrays, at::cat(inputs), false, {}, {}, true);
  std::vector<double> after;
  for (const ParameterDescription & parameter : network.graph.GetParameters())
  {
    const auto values = GetValues(arrays.at(parameter.name));
    after.insert(after.end(), values.begin(), values.end());
  }
  return after;
}

Tensor
MakeInputMap(const NetworkGraph & graph, Size size, unsigned seed)
{
  std::mt19937 engine(seed);
  const Extent extent = ToExtent(size, graph.GetNumberOfAxes());
  Numbers      shape(extent.begin(), extent.end());
  shape.insert(shape.begin(), { 1, graph.GetInputChannels() });
  Tensor input = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < input.numel(); ++i)
  {
    input.data_ptr<double>()[i] = std::normal_distribution<double>()(engine);
  }
  return input;
}

} // namespace test
} // namespace gigapixel
