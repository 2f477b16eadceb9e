/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Twenty steps beside torch.optim. Ours rounds parameters to floats after each step: 20 roundings of numbers below 1
// come to less than 20 * 2^-25 = 6e-7.
#include "GraphReference.h"
#include "SyntheticSources.h"
#include "training/gigapixelOptimizer.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelWorkers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <torch/nn/utils/clip_grad.h> // after the names that it takes as given
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <functional>
#include <numeric>
#include <random>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** A convolution with a bias, a norm, and a convolution without one. */
NetworkDescription
MakeNetwork()
{
  return NetworkDescription::FromJSON(R"({ "name": "small", "operations": [
    { "name": "image", "type": "input", "channels": 3 },
    { "name": "one", "type": "conv2d", "inputs": ["image"], "out_channels": 4, "kernel_size": 3, "padding": 1 },
    { "name": "norm", "type": "batch_norm", "inputs": ["one"] },
    { "name": "logits", "type": "conv2d", "inputs": ["norm"], "out_channels": 1, "kernel_size": 1, "bias": false }],
    "output": "logits" })");
}

std::vector<double>
Draw(std::size_t size, unsigned seed)
{
  std::mt19937                          engine(seed);
  std::uniform_real_distribution<float> distribution(-0.5f, 0.5f);
  std::vector<double>                   values(size);
  std::generate(values.begin(), values.end(), [&] { return distribution(engine); });
  return values;
}

/** Two groups: arrays of several axes, and the others without weight decay. */
template <typename TOptimizer, typename TOptions>
std::unique_ptr<torch::optim::Optimizer>
MakeOptimizer(const TOptions & options, const std::vector<at::Tensor> & weights, const std::vector<at::Tensor> & others)
{
  TOptions undecayed = options;
  undecayed.weight_decay(0);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(weights, std::make_unique<TOptions>(options));
  groups.emplace_back(others, std::make_unique<TOptions>(undecayed));
  return std::make_unique<TOptimizer>(groups, options);
}

/** PyTorch's optimizer of the same name. */
std::unique_ptr<torch::optim::Optimizer>
MakeTorchOptimizer(const TrainingOptions &         options,
                   const std::vector<at::Tensor> & weights,
                   const std::vector<at::Tensor> & others)
{
  namespace optim = torch::optim;
  const double rate = options.learningRate, decay = Optimizer::GetWeightDecay(options);
  if (options.optimizer == "adam")
  {
    return MakeOptimizer<optim::Adam>(optim::AdamOptions(rate).weight_decay(decay), weights, others);
  }
  if (options.optimizer == "adamw")
  {
    return MakeOptimizer<optim::AdamW>(optim::AdamWOptions(rate).weight_decay(decay), weights, others);
  }
  const auto sgd = optim::SGDOptions(rate).momentum(options.momentum).weight_decay(decay);
  return MakeOptimizer<optim::SGD>(sgd, weights, others);
}

struct Case
{
  const char * optimizer;
  double       momentum;
  double       weightDecay;
  double       learningRate;
};

std::string
GetCaseName(const testing::TestParamInfo<Case> & info)
{
  return std::string(info.param.optimizer) + std::to_string(info.index);
}

} // namespace

class StepOfOptimizer : public testing::TestWithParam<Case>
{
};

TEST_P(StepOfOptimizer, IsThatOfPyTorch)
{
  const Case &    it = GetParam();
  TrainingOptions options;
  options.optimizer = it.optimizer;
  options.momentum = it.momentum;
  options.weightDecay = it.weightDecay;
  options.learningRate = it.learningRate;
  const NetworkDescription network = MakeNetwork();
  std::vector<double>      parameters = Draw(network.GetNumberOfParameters(), 1);
  const auto               start = parameters;

  std::vector<at::Tensor> all, weights, others;
  std::size_t             begin = 0;
  for (const ParameterDescription & parameter : network.GetParameters())
  {
    const auto size = static_cast<std::int64_t>(parameter.GetNumberOfValues());
    all.push_back(at::tensor(at::ArrayRef<double>(start.data() + begin, size), at::kDouble));
    begin += size;
    if (parameter.trained)
    {
      all.back().requires_grad_();
      (parameter.shape.size() > 1 ? weights : others).push_back(all.back());
    }
  }
  ASSERT_EQ(weights.size(), 2u);
  ASSERT_EQ(others.size(), 3u); // a bias, scale and shift
  const auto theirs = MakeTorchOptimizer(options, weights, others);
  Optimizer  ours(options, network);
  Workers    workers(2);
  for (unsigned step = 0; step < 20; ++step)
  {
    const std::vector<double> gradient = Draw(parameters.size(), 100 + step);
    ours.Step(gradient, ours.GetNext(options.learningRate, gradient, parameters, workers), parameters, workers);
    begin = 0;
    for (at::Tensor & tensor : all)
    {
      tensor.mutable_grad() = at::tensor(at::ArrayRef<double>(gradient.data() + begin, tensor.numel()), at::kDouble);
      begin += tensor.numel();
    }
    theirs->step();
  }
  EXPECT_EQ(ours.steps, 20);
  begin = 0;
  for (const at::Tensor & tensor : all)
  {
    const double * values = tensor.data_ptr<double>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i, ++begin)
    {
      ASSERT_NEAR(parameters[begin], values[i], 1e-6) << begin;
      EXPECT_EQ(parameters[begin] == start[begin], !tensor.requires_grad()) << begin;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers,
                         StepOfOptimizer,
                         testing::Values(Case{ "adam", 0, -1, 3e-3 },
                                         Case{ "adam", 0, 0.1, 3e-3 },
                                         Case{ "adamw", 0, -1, 3e-3 },
                                         Case{ "adamw", 0, 0.5, 1e-2 },
                                         Case{ "sgd", 0, -1, 1e-2 },
                                         Case{ "sgd", 0.9, -1, 1e-2 },
                                         Case{ "sgd", 0.5, 0.1, 1e-2 }),
                         GetCaseName);

// With statistics that are no part of the norm.
TEST(Optimizer, ClipsAsPyTorch)
{
  const NetworkDescription network = MakeNetwork();
  const Optimizer          optimizer({}, network);
  for (const double greatest : { 0.5, 2.0, 1e3 })
  {
    std::vector<double>     ours = Draw(network.GetNumberOfParameters(), 7);
    std::vector<at::Tensor> theirs;
    std::size_t             begin = 0;
    for (const ParameterDescription & parameter : network.GetParameters())
    {
      const auto       size = static_cast<std::int64_t>(parameter.GetNumberOfValues());
      const at::Tensor gradient = at::tensor(at::ArrayRef<double>(ours.data() + begin, size), at::kDouble);
      begin += size;
      if (parameter.trained)
      {
        theirs.push_back(at::zeros({ size }, at::kDouble).requires_grad_());
        theirs.back().mutable_grad() = gradient;
      }
    }
    const double norm = torch::nn::utils::clip_grad_norm_(theirs, greatest);
    EXPECT_NEAR(optimizer.Clip(greatest, ours), norm, 1e-12 * norm);
    begin = 0;
    auto next = theirs.begin();
    for (const ParameterDescription & parameter : network.GetParameters())
    {
      for (std::int64_t i = 0; parameter.trained && i < parameter.GetNumberOfValues(); ++i)
      {
        EXPECT_NEAR(ours[begin + i], next->grad()[i].item<double>(), 1e-15) << greatest;
      }
      next += parameter.trained;
      begin += parameter.GetNumberOfValues();
    }
  }
}

// Two images of one size, one after the other, against autograd of the mean over all pixels of both, which is what
// PyTorch's losses take of a batch. A step of plain gradient descent shows the gradient, to the rounding of its floats.
TEST(Optimizer, ImagesOfAStepAreABatch)
{
  constexpr Size           Whole{ 70, 50 };
  const NetworkDescription network = MakeNetwork();
  TrainingOptions          options;
  options.epochs = 1;
  options.imagesPerStep = 2;
  options.optimizer = "sgd";
  options.momentum = 0;
  options.augment = false;
  options.tileSize = 32;
  options.threads = 2;
  const auto train = [&](double learningRate) {
    options.learningRate = learningRate;
    Trainer trainer(network, options, "");
    for (const std::uint64_t seed : { 1, 2 })
    {
      trainer.AddTrainingSample({ "sample " + std::to_string(seed),
                                  std::make_shared<ProceduralPixels>(Whole, seed, 3),
                                  std::make_shared<ProceduralLabels>(Whole, seed) });
    }
    EXPECT_TRUE(trainer.Run());
    return ToArray(trainer.GetLastModel());
  };
  const std::vector<double> before = train(1e-60), after = train(1);
  std::vector<double>       gradient(before.size());
  double                    weight = 0;
  for (const std::uint64_t seed : { 1, 2 })
  {
    LabeledImage image{ Whole, std::vector<std::uint8_t>(3 * 70 * 50), std::vector<std::uint8_t>(70 * 50) };
    ProceduralPixels(Whole, seed, 3).Read({ 0, 0, 70, 50 }, image.pixels.data());
    ProceduralLabels(Whole, seed).Read({ 0, 0, 70, 50 }, image.labels.data());
    const GraphResult result = ComputeReference(network, before, image, at::kDouble);
    std::transform(gradient.begin(), gradient.end(), result.gradient.begin(), gradient.begin(), std::plus<>());
    weight += result.weight;
  }
  EXPECT_EQ(weight, 2 * 70 * 50);
  double greatest = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
  {
    EXPECT_NEAR(before[i] - after[i], gradient[i] / weight, 1e-6) << i;
    greatest = std::max(greatest, std::abs(before[i] - after[i]));
  }
  EXPECT_GT(greatest, 1e-2);
}

// PyTorch has none. With a constant gradient g, the momentum after n steps is (1 - 0.99^n) g, and each step moves by
// the rate; then the gradient -k g turns the direction where 0.1 k is above 0.9 (1 - 0.99^n). Weights shrink by a
// factor.
TEST(Optimizer, LionMovesByTheSign)
{
  constexpr int            Steps = 5;
  constexpr double         Rate = 1e-3, Decay = 0.5;
  const double             turning = 9 * (1 - std::pow(0.99, Steps)); // k
  const NetworkDescription network = MakeNetwork();
  const auto               start = Draw(network.GetNumberOfParameters(), 1);
  const auto               gradient = Draw(start.size(), 2);
  Workers                  workers(2);
  for (const double k : { 0.99 * turning, 1.01 * turning })
  {
    TrainingOptions options;
    options.optimizer = "lion";
    options.weightDecay = Decay;
    Optimizer  lion(options, network);
    auto       parameters = start;
    const auto move = [&](const std::vector<double> & slope) {
      lion.Step(slope, lion.GetNext(Rate, slope, parameters, workers), parameters, workers);
    };
    for (int step = 0; step < Steps; ++step)
    {
      move(gradient);
    }
    auto turned = gradient;
    std::transform(turned.begin(), turned.end(), turned.begin(), [k](double g) { return -k * g; });
    move(turned);
    std::size_t begin = 0;
    for (const ParameterDescription & parameter : network.GetParameters())
    {
      const double kept = 1 - Rate * (parameter.shape.size() > 1 ? Decay : 0);
      const auto   size = static_cast<std::size_t>(parameter.GetNumberOfValues());
      for (std::size_t i = begin; i < begin + size; ++i)
      {
        const double sign = gradient[i] > 0 ? 1 : -1;
        double       expected = start[i];
        for (int step = 0; step <= Steps && parameter.trained; ++step)
        {
          expected = kept * expected - Rate * (step == Steps && k > turning ? -sign : sign);
        }
        ASSERT_NEAR(parameters[i], expected, 1e-6) << parameter.name << ' ' << k; // 6 roundings to floats
      }
      begin += size;
    }
  }
}

TEST(Optimizer, RefusesWhatItDoesNotKnow)
{
  TrainingOptions options;
  options.optimizer = "rprop";
  EXPECT_THROW(Optimizer(options, MakeNetwork()), std::invalid_argument);
}
