/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The source that a GPU runs, against the CPU's own kernels: on the CPU, one thread after the other, and on a GPU where
// there is one.
#include "RefusalCode.h"
#include "SyntheticSources.h"
#include "device/gigapixelDevicePasses.h"
#include "model/gigapixelInitialWeights.h"
#include "objective/gigapixelLoss.h"
#include "gigapixelMemoryPlan.h"
#include "training/gigapixelOrientedSource.h"
#include "execute/gigapixelDeviceModule.h"
#include "execute/gigapixelSharedImage.h"
#include "graph/gigapixelLayerChain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** The CPU as a device: everything is done when it is asked for. */
struct HostDevice
{
  static std::map<void *, std::size_t> allocated; ///< bytes

  void *
  Allocate(std::size_t bytes)
  {
    void * const memory = std::malloc(bytes);
    std::memset(memory, 0xff, bytes); // NaN: what is used without being set shows
    allocated[memory] = bytes;
    return memory;
  }
  void
  Free(void * memory)
  {
    allocated.erase(memory);
    std::free(memory);
  }

  struct Queue
  {
    explicit Queue(HostDevice &) {}
    void
    Upload(void * to, const void * from, std::size_t bytes)
    {
      std::memcpy(to, from, bytes);
    }
    void
    Download(void * to, const void * from, std::size_t bytes)
    {
      std::memcpy(to, from, bytes);
    }
    template <typename TKernel>
    void
    Run(const TKernel & kernel)
    {
      for (std::int64_t thread = kernel.Threads(); thread-- > 0;)
      {
        kernel(thread);
      }
    }
    void
    Wait()
    {}
  };
};

std::map<void *, std::size_t> HostDevice::allocated;

/** What the preset does not have. */
NetworkDescription
MakeNetwork(const std::string & name)
{
  using Kind = Layer::Kind;
  using Activation = Layer::Activation;
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  if (name == "Dice")
  {
    network.SetLoss("dice");
  }
  else if (name == "Dice and entropy")
  {
    network.SetLoss("dice+cross-entropy");
  }
  else if (name.rfind("RGB, three classes", 0) == 0)
  {
    network.channels = 3;
    network.invert = false;
    network.layers.front().inputChannels = 3;
    network.layers.back().outputChannels = 3;
    ExpandLayers(network);
    network.SetLoss(name == "RGB, three classes"         ? "cross-entropy"
                    : name == "RGB, three classes, Dice" ? "dice"
                                                         : "dice+cross-entropy");
    network.classWeights = { 0.5, 2, 1 };
  }
  else if (name == "wide, two skips from one layer")
  {
    network.layers = { { "a", Kind::Convolution, 1, 11, 4, 2, 1, Activation::ReLU, "" },
                       { "b", Kind::Convolution, 11, 11, 3, 1, 1, Activation::None, "a" },
                       { "c", Kind::Convolution, 11, 10, 4, 2, 1, Activation::ReLU, "" },
                       { "d", Kind::TransposedConvolution, 10, 11, 4, 2, 1, Activation::ReLU, "a" },
                       { "e", Kind::TransposedConvolution, 11, 1, 2, 2, 0, Activation::None, "" } };
  }
  else if (name == "logits by a convolution with a skip")
  {
    network.layers = { { "a", Kind::Convolution, 1, 3, 3, 1, 1, Activation::None, "" },
                       { "b", Kind::Convolution, 3, 5, 4, 2, 1, Activation::ReLU, "" },
                       { "c", Kind::TransposedConvolution, 5, 3, 4, 2, 1, Activation::ReLU, "a" },
                       { "d", Kind::Convolution, 3, 3, 3, 1, 1, Activation::None, "a" } };
    network.SetLoss("dice");
  }
  else if (name == "transposed first")
  {
    network.layers = { { "a", Kind::TransposedConvolution, 1, 4, 2, 2, 0, Activation::ReLU, "" },
                       { "b", Kind::Convolution, 4, 4, 4, 2, 1, Activation::ReLU, "" },
                       { "c", Kind::Convolution, 4, 1, 1, 1, 0, Activation::None, "" } };
  }
  else if (name == "one layer")
  {
    network.layers = { { "a", Kind::Convolution, 1, 1, 5, 1, 2, Activation::None, "" } };
  }
  ExpandLayers(network);
  network.Validate();
  return network;
}

/** How far results in a precision may be from those in fp32, per tensor, relative to its norm. */
double
GetAllowedError(Precision precision)
{
  return precision == Precision::BFloat16 ? 7e-2 : precision == Precision::Float ? 0 : 1e-2;
}

double
GetNorm(const std::vector<double> & values, std::size_t begin, std::size_t number)
{
  double sum = 0;
  for (std::size_t i = begin; i < begin + number; ++i)
  {
    sum += values[i] * values[i];
  }
  return std::sqrt(sum);
}

/** The greatest over all tensors of the norm of the difference, relative to the reference's. */
double
GetGreatestError(const NetworkDescription & network, const LossGradient & sum, const LossGradient & reference)
{
  std::vector<double> difference(reference.gradient.size());
  std::transform(
    sum.gradient.begin(), sum.gradient.end(), reference.gradient.begin(), difference.begin(), std::minus<>());
  double greatest = 0;
  for (const ParameterPlace & place : GetParameterLayout(network))
  {
    for (const auto & [begin, number] :
         { std::make_pair(place.weight, place.numberOfWeights), std::make_pair(place.bias, place.numberOfBiases) })
    {
      greatest = std::max(greatest, GetNorm(difference, begin, number) / GetNorm(reference.gradient, begin, number));
    }
  }
  return greatest;
}

using Passes = std::unique_ptr<ChainPasses>;

/** Passes of a GPU, or of HostDevice. */
Passes
MakePasses(const NetworkDescription & network, Precision precision, bool gpu, bool shared = false)
{
  return gpu ? MakeCudaPasses(network, { 0, precision, shared }) : MakeDevicePasses(network, HostDevice(), precision);
}

/** Why there is no GPU that our kernels can use; empty: there is one. */
std::string
GetGpuProblem()
{
  std::string problem;
  try
  {
    return DeviceModule::Get().countDevices(problem) > 0 ? std::string() : "there is no GPU: " + problem;
  }
  catch (const std::runtime_error & error)
  {
    return Diagnostic::Of(error).why;
  }
}

class DevicePassesTest : public testing::TestWithParam<std::tuple<std::string, std::string, bool>>
{
protected:
  void
  SetUp() override
  {
    const bool gpu = std::get<2>(GetParam());
    if (const std::string problem = gpu ? GetGpuProblem() : std::string(); !problem.empty())
    {
      GTEST_SKIP() << problem;
    }
    passes = MakePasses(network, precision, gpu);
    const Size          size{ 600, 410 };
    const TileGrid      grid(network, size, 256);
    ProceduralPixels    pixels(size, 3, network.channels);
    ProceduralLabels    labels(size, 3, network.GetNumberOfClasses(), true);
    const auto          classes = network.GetNumberOfClasses();
    std::vector<double> parameters = MakeInitialWeights(network, 1, std::vector<double>(classes, 1.0 / classes));
    // Biases that are not 0, so that none is forgotten.
    for (std::size_t i = 0; i < parameters.size(); ++i)
    {
      parameters[i] += 0.001 * (static_cast<double>(i % 7) - 3);
    }
    expected->SetParameters(parameters);
    inFloat->SetParameters(parameters);
    passes->SetParameters(parameters);
    for (std::int64_t tile = 0; tile < grid.GetNumberOfTiles(); ++tile)
    {
      tiles.emplace_back();
      ReadPixels(pixels, grid.GetTile(tile), tiles.back());
      ReadClasses(labels, grid.GetTile(tile), network, tiles.back());
    }
    if (terms.HasSums())
    {
      Score score;
      for (TileData & tile : tiles)
      {
        expected->AddScore(tile, terms, score);
      }
      terms = MakeSumTerms(network, score);
    }
  }

  template <typename TSum, typename TAdd>
  TSum
  SumOverTiles(const TAdd & add)
  {
    TSum sum;
    for (TileData & tile : tiles)
    {
      add(tile, sum);
    }
    return sum;
  }

  LossGradient
  GetGradient()
  {
    return SumOverTiles<LossGradient>(
      [&](TileData & tile, LossGradient & sum) { passes->Differentiate(tile, terms, sum); });
  }

  LossGradient
  GetGradient(const Passes & cpu)
  {
    FixedPointSum sums(cpu->GetNumberOfSums());
    auto          all = SumOverTiles<LossGradient>(
      [&](TileData & tile, LossGradient & sum) { cpu->AddGradient(tile, terms, 1, sum, sums); });
    Workers workers(1);
    all.gradient = cpu->GetGradient(sums, workers);
    return all;
  }

  const Precision          precision{ FindPrecision(std::get<1>(GetParam())) };
  const NetworkDescription network{ MakeNetwork(std::get<0>(GetParam())) };
  LossTerms                terms{ MakeLossTerms(network) };
  const Passes             expected{ MakeFusedPasses(network, precision) };
  const Passes             inFloat{ MakeFusedPasses(network, Precision::Float) };
  Passes                   passes;
  std::vector<TileData>    tiles;

  /** Float sums in another order: 1e-5 of a tensor's norm; where maps are rounded, some of their values fall to the
   * other side. */
  const double tolerance{ 1e-5 + 0.5 * GetAllowedError(precision) };
};

} // namespace

TEST_P(DevicePassesTest, GradientIsThatOfTheCPU)
{
  const LossGradient sum = GetGradient(), reference = GetGradient(expected);
  EXPECT_EQ(sum.pixels, reference.pixels);
  EXPECT_NEAR(sum.weight, reference.weight, 1e-6 * reference.weight);
  EXPECT_NEAR(sum.loss, reference.loss, tolerance * reference.loss);
  EXPECT_LT(GetGreatestError(network, sum, reference), tolerance);
}

// What the documentation says of the precisions.
TEST_P(DevicePassesTest, GradientIsNearThatInFloat)
{
  const LossGradient sum = GetGradient(expected), reference = GetGradient(inFloat);
  EXPECT_NEAR(sum.loss, reference.loss, GetAllowedError(precision) * reference.loss);
  EXPECT_LE(GetGreatestError(network, sum, reference), GetAllowedError(precision));
  RecordProperty("error", std::to_string(GetGreatestError(network, sum, reference)));
}

TEST_P(DevicePassesTest, SameBitsAgain)
{
  LossGradient first, second;
  passes->Differentiate(tiles[0], terms, first);
  passes->Differentiate(tiles[1], terms, second); // leaves its maps behind
  second = LossGradient();
  passes->Differentiate(tiles[0], terms, second);
  EXPECT_EQ(first.loss, second.loss);
  EXPECT_EQ(first.gradient, second.gradient);
}

TEST_P(DevicePassesTest, ScoreIsThatOfTheCPU)
{
  const LossTerms start = MakeLossTerms(network);
  const auto      sum = SumOverTiles<Score>([&](TileData & tile, Score & s) { passes->AddScore(tile, start, s); });
  const auto      wanted = SumOverTiles<Score>([&](TileData & tile, Score & s) { expected->AddScore(tile, start, s); });
  EXPECT_EQ(sum.pixels, wanted.pixels);
  EXPECT_EQ(sum.actual, wanted.actual);
  EXPECT_EQ(sum.truths, wanted.truths);
  EXPECT_NEAR(sum.weight, wanted.weight, 1e-6 * wanted.weight);
  EXPECT_TRUE(!start.HasCrossEntropy() || std::abs(sum.loss - wanted.loss) <= tolerance * wanted.loss);
  ASSERT_EQ(sum.hits.size(), wanted.hits.size());
  for (std::size_t c = 0; c < wanted.hits.size(); ++c)
  {
    EXPECT_NEAR(sum.hits[c], wanted.hits[c], tolerance * wanted.hits[c]);
    EXPECT_NEAR(sum.probabilities[c], wanted.probabilities[c], tolerance * wanted.probabilities[c]);
  }
  for (std::size_t c = 0; c < sum.both.size(); ++c)
  {
    // A probability beside the threshold may fall on either side of it.
    const double pixels = static_cast<double>(sum.pixels);
    EXPECT_NEAR(sum.both[c], wanted.both[c], (1e-4 + tolerance) * pixels);
    EXPECT_NEAR(sum.predicted[c], wanted.predicted[c], (1e-4 + tolerance) * pixels);
  }
}

TEST_P(DevicePassesTest, PredictionsAreThoseOfTheCPU)
{
  const int   channels = network.GetNumberOfOutputChannels();
  std::size_t differing = 0, all = 0;
  for (TileData & tile : tiles)
  {
    const std::int64_t        width = tile.tile.core.width, pixels = width * tile.tile.core.height;
    std::vector<float>        probabilities(pixels * channels), wanted(pixels * channels);
    std::vector<std::uint8_t> labels(pixels), wantedLabels(pixels);
    passes->Predict(tile, PixelValue::Probability, probabilities.data(), width * channels);
    expected->Predict(tile, PixelValue::Probability, wanted.data(), width * channels);
    std::vector<float> logits(pixels * channels), wantedLogits(pixels * channels);
    passes->Predict(tile, PixelValue::Logit, logits.data(), width * channels);
    expected->Predict(tile, PixelValue::Logit, wantedLogits.data(), width * channels);
    passes->PredictLabels(tile, 0.4, labels.data(), width);
    expected->PredictLabels(tile, 0.4, wantedLabels.data(), width);
    for (std::size_t i = 0; i < wanted.size(); ++i)
    {
      ASSERT_NEAR(probabilities[i], wanted[i], tolerance);
      ASSERT_NEAR(logits[i], wantedLogits[i], 4 * tolerance * (1 + std::abs(wantedLogits[i])));
    }
    for (std::int64_t i = 0; i < pixels; ++i)
    {
      differing += labels[i] != wantedLabels[i];
    }
    all += pixels;
  }
  EXPECT_LT(differing, (1e-4 + tolerance) * static_cast<double>(all));
}

/** "RGBthreeclasses_fp32_GPU" */
std::string
GetPassName(const testing::TestParamInfo<DevicePassesTest::ParamType> & info)
{
  std::string name = std::get<0>(info.param) + '_' + std::get<1>(info.param) + (std::get<2>(info.param) ? "_GPU" : "");
  name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return c == ' ' || c == ','; }), name.end());
  return name;
}

INSTANTIATE_TEST_SUITE_P(Networks,
                         DevicePassesTest,
                         testing::Combine(testing::Values("remedios2023",
                                                          "Dice",
                                                          "RGB, three classes",
                                                          "RGB, three classes, Dice",
                                                          "Dice and entropy",
                                                          "RGB, three classes, Dice and entropy",
                                                          "wide, two skips from one layer",
                                                          "logits by a convolution with a skip",
                                                          "transposed first",
                                                          "one layer"),
                                          testing::Values("fp32"),
                                          testing::Bool()),
                         GetPassName);

INSTANTIATE_TEST_SUITE_P(Precisions,
                         DevicePassesTest,
                         testing::Combine(testing::Values("remedios2023", "RGB, three classes, Dice"),
                                          testing::Values("tf32", "bf16", "fp16"),
                                          testing::Bool()),
                         GetPassName);

/** A device that reads tiles in memory which it shares: false, HostDevice; true, a GPU. */
class SharingDevice : public testing::TestWithParam<bool>
{
protected:
  void
  SetUp() override
  {
    std::string problem = gpu ? GetGpuProblem() : std::string();
    problem = problem.empty() ? device.GetSharingProblem() : problem;
    if (!problem.empty())
    {
      GTEST_SKIP() << problem;
    }
  }

  Passes
  MakePasses(const NetworkDescription & network) const
  {
    return ::MakePasses(network, Precision::Float, gpu, true);
  }

  const bool   gpu{ GetParam() };
  const Device device{ gpu ? 0 : -1, Precision::Float, true };
};

INSTANTIATE_TEST_SUITE_P(DevicePasses, SharingDevice, testing::Bool(), [](const auto & info) {
  return std::string(info.param ? "GPU" : "CPU");
});

// A GPU that shares memory reads the tiles where they lie: the same bits as from a copy, however the picture is turned.
TEST_P(SharingDevice, TilesInSharedMemoryAreThoseThatAreCopied)
{
  const NetworkDescription network = MakeNetwork("RGB, three classes");
  const Size               size{ 150, 210 };
  ProceduralPixels         source(size, 3, 3);
  ProceduralLabels         labels(size, 3, 3, true);
  Workers                  workers(1);
  const auto               image = SharedImage::Read(device, network, source, labels, workers, [] { return true; });
  const auto               passes = MakePasses(network);
  const LossTerms          terms = MakeLossTerms(network);
  passes->SetParameters(MakeInitialWeights(network, 1, { 0.3, 0.3, 0.4 }));
  for (int i = 0; i < Orientation::Number; ++i)
  {
    OrientedPixelSource pixels(image->GetPixels(), i);
    OrientedLabelSource classes(image->GetLabels(), i);
    const TileGrid      grid(network, pixels.GetSize(), 128);
    const Tile          tile = grid.GetTile(grid.GetNumberOfTiles() - 1); // beyond which the canvas goes on
    TileData            copied, inPlace;
    LossGradient        wanted, found;
    ReadPixels(pixels, tile, copied);
    ReadClasses(classes, tile, network, copied);
    ASSERT_TRUE(PointTo(pixels, classes, tile, inPlace));
    passes->Differentiate(copied, terms, wanted);
    passes->Differentiate(inPlace, terms, found);
    EXPECT_EQ(found.loss, wanted.loss) << i;
    EXPECT_EQ(found.pixels, wanted.pixels) << i;
    EXPECT_EQ(found.gradient, wanted.gradient) << i;
  }
  TileData data;
  EXPECT_FALSE(PointTo(source, labels, TileGrid(network, size, 128).GetTile(0), data));
}

/** Bytes that the passes hold after the tile in the middle of an image. */
std::int64_t
MeasureDeviceBytes(const NetworkDescription & network, Size size, std::int64_t tileSize, Purpose purpose)
{
  const TileGrid   grid(network, size, tileSize);
  ProceduralPixels pixels(size, 3, network.channels);
  ProceduralLabels labels(size, 3, network.GetNumberOfClasses(), true);
  const auto       passes = MakeDevicePasses(network, HostDevice(), Precision::BFloat16);
  passes->SetParameters(std::vector<double>(network.GetNumberOfParameters(), 0.01));
  TileData data;
  ReadPixels(pixels, grid.GetTile(grid.GetNumberOfTiles() / 2), data);
  if (purpose == Purpose::Training)
  {
    LossGradient sum;
    ReadClasses(labels, data.tile, network, data);
    passes->Differentiate(data, MakeLossTerms(network), sum);
  }
  else
  {
    std::vector<std::uint8_t> found(data.tile.core.width * data.tile.core.height);
    passes->PredictLabels(data, 0.5, found.data(), data.tile.core.width);
  }
  std::int64_t bytes = 0;
  for (const auto & block : HostDevice::allocated)
  {
    bytes += static_cast<std::int64_t>(block.second);
  }
  return bytes;
}

// The plan's figure for a GPU's memory is what the passes take, but for the few weights of the classes.
TEST(DevicePasses, TakeWhatThePlanSays)
{
  for (const char * const name : { "remedios2023", "RGB, three classes, Dice", "transposed first", "one layer" })
  {
    const NetworkDescription network = MakeNetwork(name);
    for (const auto purpose : { Purpose::Training, Purpose::Inference })
    {
      for (const std::int64_t tileSize : { 256, 1024 })
      {
        const Size size{ 3 * 256, 3 * 256 };
        PlannedRun run(network, size, purpose, { -1, Precision::BFloat16 });
        run.threads = 1;
        run.tileSize = tileSize;
        const auto         plan = MemoryPlan::Make(run);
        const std::int64_t bytes = MeasureDeviceBytes(network, size, tileSize, purpose);
        EXPECT_NEAR(bytes, plan.deviceBytes, 64) << name << ", tiles of " << tileSize;
      }
    }
  }
}

// As above, in inference: the pixels of a few tiles are shared, and their classes are not there.
TEST_P(SharingDevice, TilesOfASharedRegionAreThoseThatAreCopied)
{
  const NetworkDescription network = MakeNetwork("RGB, three classes");
  const Size               size{ 300, 410 };
  ProceduralPixels         source(size, 3, 3);
  Workers                  workers(1);
  const TileGrid           grid(network, size, 128);
  const auto               passes = MakePasses(network);
  passes->SetParameters(MakeInitialWeights(network, 1, { 0.3, 0.3, 0.4 }));
  const auto shared = SharePixels(device, source, grid.GetInputRegion({ 140, 150, 160, 20 }), workers);
  for (const std::int64_t index : { 4, 5 }) // the second row's last
  {
    const Tile                tile = grid.GetTile(index);
    const std::int64_t        pixels = tile.core.width * tile.core.height;
    TileData                  copied, inPlace;
    std::vector<std::uint8_t> wanted(pixels), found(pixels);
    ReadPixels(source, tile, copied);
    ASSERT_TRUE(PointTo(*shared, tile, inPlace));
    passes->PredictLabels(copied, 0.5, wanted.data(), tile.core.width);
    passes->PredictLabels(inPlace, 0.5, found.data(), tile.core.width);
    EXPECT_EQ(found, wanted) << index;
    EXPECT_GT(std::set<std::uint8_t>(wanted.begin(), wanted.end()).size(), 1u);
  }
}

// A sentence says what is missing and what does without.
TEST(Device, SaysWhyThereIsNoGPU)
{
  if (Device::GetProblem().empty())
  {
    GTEST_SKIP() << "there is a GPU";
  }
  EXPECT_EQ(Device::Find("auto", "bf16").cuda, -1);
  EXPECT_REFUSAL(Device::Find("cuda"), "E-DEVICE-MISSING");
  EXPECT_REFUSAL(Device::Find("mps"), "E-DEVICE-MISSING");
}

TEST(DevicePasses, ComputesNoDouble)
{
  EXPECT_THROW(MakeDevicePasses(NetworkDescription::Load("remedios2023"), HostDevice(), Precision::Double),
               std::invalid_argument);
}

TEST(DeviceBuffer, HoldsNothingAfterThereWasNotEnoughMemory)
{
  struct SmallDevice : HostDevice
  {
    void *
    Allocate(std::size_t bytes)
    {
      return bytes > 8 ? throw std::runtime_error("there is not enough memory") : HostDevice::Allocate(bytes);
    }
  } device;
  DeviceBuffer<SmallDevice> buffer(device);
  EXPECT_NE(buffer.Take(8), nullptr);
  EXPECT_THROW(buffer.Take(9), std::runtime_error);
  EXPECT_NE(buffer.Take(8), nullptr);
}
