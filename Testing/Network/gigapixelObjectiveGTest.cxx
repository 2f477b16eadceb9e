/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Losses of findings, grades and values, and their gradients, against LibTorch's autograd in double.
#include "GraphFixture.h"
#include "MemorySources.h"
#include "TestDevice.h"
#include "gigapixelClassifier.h"
#include "gigapixelNetworkPresets.h"
#include "gigapixelOneLabelSource.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "model/gigapixelModelFile.h"
#include "graph/gigapixelParameterLayout.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

/** Some outputs of images, of the size that networks have, and greater. */
std::vector<std::vector<double>>
DrawOutputs(std::size_t images, std::size_t outputs, unsigned seed)
{
  std::mt19937                     engine(seed);
  std::normal_distribution<double> any(0, 4);
  std::vector<std::vector<double>> drawn(images, std::vector<double>(outputs));
  for (auto & ofImage : drawn)
  {
    for (double & output : ofImage)
    {
      output = any(engine);
    }
  }
  return drawn;
}

/** The mean over the images of our losses, and its gradient. */
std::pair<double, std::vector<double>>
ComputeMean(const std::vector<OutputTargets> & images, const std::vector<std::vector<double>> & outputs)
{
  double              loss = 0;
  std::vector<double> gradient;
  const double        number = static_cast<double>(images.size());
  for (std::size_t i = 0; i < images.size(); ++i)
  {
    std::vector<double> values = outputs[i];
    loss += images[i].TakeLoss(values) / number;
    for (const double value : values)
    {
      gradient.push_back(value / number);
    }
  }
  return { loss, gradient };
}

at::Tensor
ToLeaf(const std::vector<std::vector<double>> & outputs)
{
  std::vector<double> all;
  for (const auto & ofImage : outputs)
  {
    all.insert(all.end(), ofImage.begin(), ofImage.end());
  }
  const auto shape = { static_cast<std::int64_t>(outputs.size()), static_cast<std::int64_t>(outputs.front().size()) };
  return at::tensor(all, at::kDouble).view(at::IntArrayRef(shape)).requires_grad_(true);
}

void
ExpectMean(const std::vector<OutputTargets> &       images,
           const std::vector<std::vector<double>> & outputs,
           const at::Tensor &                       leaf,
           const at::Tensor &                       expected)
{
  const auto [loss, gradient] = ComputeMean(images, outputs);
  EXPECT_NEAR(loss, expected.item<double>(), 1e-14 * expected.item<double>());
  const at::Tensor ours = at::tensor(gradient, at::kDouble).view_as(leaf);
  const at::Tensor theirs = torch::autograd::grad({ expected }, { leaf }).front();
  EXPECT_LE((ours - theirs).norm().item<double>(), 1e-14 * theirs.norm().item<double>());
}

std::vector<OutputTargets>
MakeTargets(const Objective & objective, const std::vector<ImageTruth> & truths)
{
  std::vector<OutputTargets> images;
  for (const ImageTruth & truth : truths)
  {
    images.push_back(objective.GetKind().makeTargets(objective, truth));
  }
  WeighTargets(images, false);
  return images;
}

/** Small, with any number of outputs. */
NetworkDescription
MakeSmallNetwork(const Objective & objective)
{
  const int          outputs = objective.GetKind().countOutputs(static_cast<int>(objective.names.size()));
  const std::string  name = "resnet18:outputs=" + std::to_string(outputs) + ",width=4";
  NetworkDescription network = NetworkPreset::Find(name)->Make(name);
  network.objective = objective;
  network.Validate();
  return network;
}

std::vector<Objective>
MakeObjectives()
{
  return { { ObjectiveKind::Find("findings"), { "tumor", "necrosis", "ink" }, {}, {} },
           { ObjectiveKind::Find("findings"), { "tumor" }, {}, {} },
           { ObjectiveKind::Find("grades"), { "1", "2", "3", "4" }, {}, {} },
           { ObjectiveKind::Find("values"), { "a", "b" }, { 3, -1 }, { 2, 0.5 } } };
}

ImageTruth
MakeTruth(const Objective & objective)
{
  return objective.kind == ObjectiveKind::Find("grades") ? ImageTruth{ 2 }
         : objective.names.size() == 1                   ? ImageTruth{ 1 }
         : objective.names.size() == 2                   ? ImageTruth{ 4.5, NaN }
                                                         : ImageTruth{ 1, NaN, 0 };
}

} // namespace

TEST(Objective, FindingsHaveTheMeanCrossEntropyOfWhatIsKnown)
{
  const Objective               objective = MakeObjectives().front();
  const std::vector<ImageTruth> truths{ { 1, 0, NaN }, { NaN, NaN, 1 }, { 0, 0, 1 }, { 1, 1, 0 } };
  const auto                    outputs = DrawOutputs(truths.size(), 3, 1);
  const at::Tensor              leaf = ToLeaf(outputs);
  std::vector<double>           targets;
  std::vector<std::int64_t>     places;
  for (std::size_t i = 0; i < truths.size(); ++i)
  {
    for (std::size_t k = 0; k < 3; ++k)
    {
      if (!std::isnan(truths[i][k]))
      {
        places.push_back(static_cast<std::int64_t>(3 * i + k));
        targets.push_back(truths[i][k]);
      }
    }
  }
  const at::Tensor expected = at::binary_cross_entropy_with_logits(
    leaf.flatten().index_select(0, at::tensor(places, at::kLong)), at::tensor(targets, at::kDouble));
  ExpectMean(MakeTargets(objective, truths), outputs, leaf, expected);
}

/** The loss as the paper has it (X. Shi, W. Cao, S. Raschka, arXiv:2111.08851, equation 9), rank by rank: over the
 * images that reach it, -log of the probability of what they do there, divided by the number of all such terms. */
TEST(Objective, GradesHaveTheLossOfCORN)
{
  const Objective           objective{ ObjectiveKind::Find("grades"), { "0", "1", "2", "3", "4" }, {}, {} };
  std::vector<ImageTruth>   truths;
  std::vector<std::int64_t> grades;
  for (const int grade : { 0, 1, 4, 2, 2, 3, 0, 4, 1, 0 })
  {
    truths.push_back({ static_cast<double>(grade) });
    grades.push_back(grade);
  }
  const auto       outputs = DrawOutputs(truths.size(), 4, 2);
  const at::Tensor leaf = ToLeaf(outputs), y = at::tensor(grades, at::kLong);
  at::Tensor       sum = at::zeros({}, at::kDouble);
  std::int64_t     terms = 0;
  for (std::int64_t k = 0; k < 4; ++k)
  {
    const at::Tensor reach = y.ge(k).nonzero().flatten();
    const at::Tensor exceeds = y.index_select(0, reach).gt(k).to(at::kDouble);
    const at::Tensor logit = leaf.select(1, k).index_select(0, reach);
    sum = sum - (at::log_sigmoid(logit) * exceeds + (at::log_sigmoid(logit) - logit) * (1 - exceeds)).sum();
    terms += reach.numel();
  }
  ExpectMean(MakeTargets(objective, truths), outputs, leaf, sum / static_cast<double>(terms));
}

TEST(Objective, ValuesHaveTheMeanSquaredErrorInDeviations)
{
  const Objective               objective = MakeObjectives().back();
  const std::vector<ImageTruth> truths{ { 4, -1 }, { 1.5, NaN }, { 0, 2 } };
  const auto                    outputs = DrawOutputs(truths.size(), 2, 3);
  const at::Tensor              leaf = ToLeaf(outputs);
  const at::Tensor              target =
    at::tensor({ (4.0 - 3) / 2, 0.0, (1.5 - 3) / 2, (0.0 - 3) / 2, (2.0 + 1) / 0.5 }, at::kDouble);
  const at::Tensor known = at::tensor({ 0, 1, 2, 4, 5 }, at::kLong);
  ExpectMean(
    MakeTargets(objective, truths), outputs, leaf, at::mse_loss(leaf.flatten().index_select(0, known), target));
}

/** In tiles, of the whole network, with any operators; of the score the loss is the same. */
TEST(Objective, GradientOfTheNetworkIsThatOfTheWholeImage)
{
  for (const Objective & objective : MakeObjectives())
  {
    const NetworkDescription  network = MakeSmallNetwork(objective);
    const std::vector<double> parameters = MakeParameters(network.graph, 3);
    LabeledImage              image = MakeImage({ 227, 161 }, 3, 2, 5);
    image.labels = { 0 };
    image.targets = objective.GetKind().makeTargets(objective, MakeTruth(objective));
    image.targets->weights = { 0.5, 2, 0.25 };
    image.targets->weights.resize(image.targets->targets.size());
    const GraphResult reference = ComputeReference(network, parameters, image, at::kDouble);
    MemoryPixels      pixels(image, 3);
    OneLabelSource    labels(0);
    Device            device;
    device.precision = Precision::Double;
    ForEachOperators([&](GraphOperators) {
      StreamedNetwork streamed(network, 64, 2, device);
      streamed.SetParameters(parameters);
      streamed.SetTargets(&*image.targets);
      LossGradient sum;
      ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
      EXPECT_EQ(sum.weight, 1);
      ExpectReference(network, sum, reference);
      Score score;
      ASSERT_TRUE(streamed.ComputeScore(pixels, labels, score));
      EXPECT_NEAR(score.loss, reference.loss, 1e-12 * std::abs(reference.loss));
    });
  }
}

/** What a model says, with its map and without, is what its objective makes of the outputs. */
TEST(Objective, ModelsSayWhatTheObjectiveMakesOfOutputs)
{
  for (const Objective & objective : MakeObjectives())
  {
    Model model;
    model.network = MakeSmallNetwork(objective);
    model.network = NetworkDescription::FromJSON(model.network.ToJSON()); // as a file has it
    EXPECT_EQ(model.network.objective.names, objective.names);
    EXPECT_EQ(model.network.objective.means, objective.means);
    EXPECT_EQ(model.network.objective.deviations, objective.deviations);
    const std::vector<double> parameters = MakeParameters(model.network.graph, 3);
    model.parameters = ToParameters(model.network, parameters);
    model.tileSize = 64;
    const LabeledImage image = MakeImage({ 227, 161 }, 3, 2, 5);
    MemoryPixels       pixels(image, 3);
    StreamedNetwork    streamed(model.network, 64, 2);
    streamed.SetParameters(parameters);
    std::vector<float> outputs(model.network.GetNumberOfOutputChannels());
    ASSERT_TRUE(streamed.PredictImage(pixels, PixelValue::Logit, outputs.data()));
    Classifier          classifier(model, 2);
    std::vector<double> said, explained;
    ASSERT_TRUE(classifier.Classify(pixels, said));
    EXPECT_EQ(said, objective.GetKind().predict(objective, { outputs.begin(), outputs.end() }));
    EXPECT_EQ(Classifier::GetClassNames(model.network), objective.names);
    ActivationMap map;
    ASSERT_TRUE(classifier.Explain(pixels, Classifier::MostProbable, explained, map));
    EXPECT_EQ(explained, said);
    EXPECT_EQ(map.label, objective.GetKind().choose(said));
    EXPECT_THROW(classifier.Explain(pixels, static_cast<int>(objective.names.size()), explained, map),
                 std::invalid_argument);
  }
}

/** The map of an output is Grad-CAM of its logit, of the least grade of the negative one of the first. */
TEST(Objective, MapsShowWhereOutputsComeFrom)
{
  const Objective           objective = MakeObjectives()[2];
  const NetworkDescription  network = MakeSmallNetwork(objective);
  const std::vector<double> parameters = MakeParameters(network.graph, 3);
  const LabeledImage        image = MakeImage({ 331, 277 }, 3, 2, 5);
  MemoryPixels              pixels(image, 3);
  const auto &              operations = network.graph.operations;
  const auto                pooling = std::find_if(
    operations.begin(), operations.end(), [](const auto & one) { return one.type == "adaptive_avg_pool2d"; });
  Device device;
  device.precision = Precision::Double;
  StreamedNetwork streamed(network, 96, 2, device);
  streamed.SetParameters(parameters);
  std::vector<float> outputs(3);
  ActivationMap      map;
  for (const int grade : { 1, 3 })
  {
    const auto expected = ComputeGradCAM(network, parameters, image, pooling->inputs[0], grade - 1);
    ASSERT_TRUE(streamed.ExplainImage(pixels, grade, outputs.data(), map));
    ASSERT_EQ(map.values.size(), expected.size());
    double greatest = 0;
    for (const double value : expected)
    {
      greatest = std::max(greatest, value * static_cast<double>(expected.size()));
    }
    for (std::size_t i = 0; i < expected.size(); ++i)
    {
      EXPECT_NEAR(map.values[i], expected[i] * static_cast<double>(expected.size()), 1e-6 * greatest);
    }
  }
}

TEST(Objective, WhatDoesNotFitIsRefused)
{
  const NetworkDescription good = MakeSmallNetwork(MakeObjectives().front());
  const auto               expectRefusal = [&](const std::function<void(NetworkDescription &)> & spoil) {
    NetworkDescription network = good;
    spoil(network);
    EXPECT_THROW(network.Validate(), std::invalid_argument);
  };
  expectRefusal([](NetworkDescription & n) { n.objective.names.pop_back(); });
  expectRefusal([](NetworkDescription & n) { n.objective.names[1] = n.objective.names[0]; });
  expectRefusal([](NetworkDescription & n) { n.objective.names[1].clear(); });
  expectRefusal([](NetworkDescription & n) { n.classNames = { "a", "b", "c" }; });
  expectRefusal([](NetworkDescription & n) { n.objective.kind = ObjectiveKind::Find("values"); });
  expectRefusal([](NetworkDescription & n) { n.objective.kind = ObjectiveKind::Find("classes"); });
  expectRefusal([](NetworkDescription & n) {
    n.objective = { ObjectiveKind::Find("grades"), { "1", "3", "2", "4" }, {}, {} };
  });
}
