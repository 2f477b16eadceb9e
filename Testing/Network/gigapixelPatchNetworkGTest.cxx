/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "SyntheticSources.h"
#include "model/gigapixelInitialWeights.h"
#include "gigapixelMemoryPlan.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelPredictor.h"
#include "schedule/gigapixelPatchGrid.h"
#include "schedule/gigapixelTileGrid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

Model
MakeModel(const std::string & network)
{
  Model model;
  model.network = NetworkDescription::Load(network);
  const std::vector<double> drop(model.network.GetNumberOfClasses(), 1.0 / model.network.GetNumberOfClasses());
  model.parameters = ToParameters(model.network, MakeInitialWeights(model.network, 3, drop));
  model.tileSize = 256;
  return model;
}

/** What MONAI's dense_patch_slices() gives along an axis, and the centered padding of its sliding_window_inference().
 */
std::vector<std::int64_t>
ListBegins(std::int64_t length, std::int64_t side, std::int64_t step)
{
  if (length < side)
  {
    return { -((side - length) / 2) };
  }
  std::vector<std::int64_t> begins;
  for (std::int64_t begin = 0;; begin += step)
  {
    begins.push_back(std::min(begin, length - side));
    if (begin + side >= length)
    {
      return begins;
    }
  }
}

/** A rectangle of an image as an image by itself, on white. */
class Cut : public PixelSource
{
public:
  Cut(PixelSource & source, const Region & place)
    : m_Source(source)
    , m_Place(place)
  {}

  Size
  GetSize() const override
  {
    return { m_Place.width, m_Place.height };
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Source.GetNumberOfChannels();
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const Size     size = m_Source.GetSize();
    const unsigned channels = GetNumberOfChannels();
    for (std::int64_t i = 0; i < region.width * region.height; ++i, samples += channels)
    {
      const std::int64_t x = m_Place.x + (m_Columns ? m_Place.width - 1 - GetX(region, i) : GetX(region, i));
      const std::int64_t y = m_Place.y + (m_Rows ? m_Place.height - 1 - GetY(region, i) : GetY(region, i));
      if (x < 0 || y < 0 || x >= size.width || y >= size.height)
      {
        std::fill(samples, samples + channels, std::uint8_t{ 255 });
        continue;
      }
      m_Source.Read({ x, y, 1, 1 }, samples);
    }
  }

  void
  Mirror(bool columns, bool rows)
  {
    m_Columns = columns;
    m_Rows = rows;
  }

private:
  static std::int64_t
  GetX(const Region & region, std::int64_t i)
  {
    return region.x + i % region.width;
  }

  static std::int64_t
  GetY(const Region & region, std::int64_t i)
  {
    return region.y + i / region.width;
  }

  PixelSource & m_Source;
  Region        m_Place;
  bool          m_Columns{ false };
  bool          m_Rows{ false };
};

/** Logits of a cut, from what the network over a whole image says of it; of several classes but for a summand that all
 * channels have. */
std::vector<double>
ComputeLogits(Predictor & whole, PixelSource & cut)
{
  const Size         size = cut.GetSize();
  const int          channels = whole.GetNumberOfOutputChannels();
  std::vector<float> p(size.width * size.height * channels);
  EXPECT_TRUE(whole.Predict(cut, { 0, 0, size.width, size.height }, p.data()));
  std::vector<double> z;
  for (const float value : p)
  {
    z.push_back(channels == 1 ? std::log(value / (1.0 - value)) : std::log(value));
  }
  return z;
}

/** The same of the cut, or the mean over its mirror images. */
std::vector<double>
ComputeLogits(Predictor & whole, Cut & cut, bool mirror)
{
  const Size          size = cut.GetSize();
  const int           channels = whole.GetNumberOfOutputChannels();
  std::vector<double> sum(size.width * size.height * channels);
  for (int flip = 0; flip < (mirror ? 4 : 1); ++flip)
  {
    const bool columns = flip % 2 == 1, rows = flip / 2 == 1;
    cut.Mirror(columns, rows);
    const std::vector<double> z = ComputeLogits(whole, cut);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(sum.size()); ++i)
    {
      const std::int64_t pixel = i / channels, x = pixel % size.width, y = pixel / size.width;
      const std::int64_t from = (rows ? size.height - 1 - y : y) * size.width + (columns ? size.width - 1 - x : x);
      sum[i] += z[from * channels + i % channels] / (mirror ? 4 : 1);
    }
  }
  return sum;
}

double
GetWeight(const Patches & patches, std::int64_t x, std::int64_t y)
{
  const double sigma = 0.125 * static_cast<double>(patches.side), center = (static_cast<double>(patches.side) - 1) / 2;
  const double dx = static_cast<double>(x) - center, dy = static_cast<double>(y) - center;
  return patches.blending == Patches::Blending::Constant
           ? 1
           : std::max(1e-3, std::exp(-(dx * dx + dy * dy) / (2 * sigma * sigma)));
}

/** The formula of Patches, in double. */
std::vector<double>
ComputeReference(const Model & model, PixelSource & pixels, const Patches & patches)
{
  Predictor           whole(model, 2);
  const Size          size = pixels.GetSize();
  const int           channels = whole.GetNumberOfOutputChannels();
  std::vector<double> sum(size.width * size.height * channels), weights(size.width * size.height);
  for (const std::int64_t top : ListBegins(size.height, patches.side, patches.GetStep()))
  {
    for (const std::int64_t left : ListBegins(size.width, patches.side, patches.GetStep()))
    {
      Cut                       cut(pixels, { left, top, patches.side, patches.side });
      const std::vector<double> z = ComputeLogits(whole, cut, patches.mirror);
      for (std::int64_t i = 0; i < patches.side * patches.side; ++i)
      {
        const std::int64_t x = left + i % patches.side, y = top + i / patches.side;
        if (x < 0 || y < 0 || x >= size.width || y >= size.height)
        {
          continue;
        }
        const double weight = GetWeight(patches, i % patches.side, i / patches.side);
        weights[y * size.width + x] += weight;
        for (int c = 0; c < channels; ++c)
        {
          sum[(y * size.width + x) * channels + c] += weight * z[i * channels + c];
        }
      }
    }
  }
  for (std::size_t pixel = 0; pixel < weights.size(); ++pixel)
  {
    double all = 0;
    for (int c = 0; c < channels; ++c)
    {
      double & z = sum[pixel * channels + c];
      z = channels == 1 ? 1 / (1 + std::exp(-z / weights[pixel])) : std::exp(z / weights[pixel]);
      all += z;
    }
    for (int c = 0; c < channels && channels > 1; ++c)
    {
      sum[pixel * channels + c] /= all;
    }
  }
  return sum;
}

std::vector<float>
Predict(const Model & model, PixelSource & pixels, const Patches & patches, int threads = 2)
{
  Predictor          predictor(model, threads, {}, patches);
  const Size         size = pixels.GetSize();
  std::vector<float> probabilities(size.width * size.height * predictor.GetNumberOfOutputChannels());
  EXPECT_TRUE(predictor.Predict(pixels, { 0, 0, size.width, size.height }, probabilities.data()));
  return probabilities;
}

Patches
MakePatches(std::int64_t      side,
            double            overlap,
            Patches::Blending blending = Patches::Blending::Gaussian,
            bool              mirror = false)
{
  return { side, overlap, blending, mirror };
}

} // namespace

TEST(PatchNetwork, PlacesAreThoseOfMONAI)
{
  for (const std::int64_t side : { 32, 96 })
  {
    for (const double overlap : { 0.0, 0.25, 0.3, 0.5, 0.9 })
    {
      for (std::int64_t length = 1; length < 5 * side; length += 7)
      {
        const Patches   patches = MakePatches(side, overlap);
        const PatchAxis axis(patches, length);
        const auto      begins = ListBegins(length, side, static_cast<std::int64_t>(side * (1 - overlap)));
        ASSERT_EQ(axis.GetNumber(), static_cast<std::int64_t>(begins.size()));
        for (std::size_t i = 0; i < begins.size(); ++i)
        {
          ASSERT_EQ(axis.GetBegin(static_cast<std::int64_t>(i)), begins[i]);
        }
        for (std::int64_t pixel = 0; pixel <= length; ++pixel)
        {
          const auto from = std::find_if(begins.begin(), begins.end(), [=](std::int64_t b) { return b >= pixel; });
          const auto with =
            std::find_if(begins.begin(), begins.end(), [=](std::int64_t b) { return b + side > pixel; });
          ASSERT_EQ(axis.GetFirstFrom(pixel), from - begins.begin()) << length << ", " << pixel;
          ASSERT_TRUE(pixel == length || axis.GetFirstWith(pixel) == with - begins.begin()) << length << ", " << pixel;
        }
      }
    }
  }
}

// Probabilities near one half are known to some 1e-7 in float, their logits to 1e-6.
TEST(PatchNetwork, ProbabilitiesAreThoseOfTheFormula)
{
  using Blending = Patches::Blending;
  struct Case
  {
    std::string network;
    Size        size;
    Patches     patches;
  };
  const Case cases[] = {
    { "remedios2023", { 201, 150 }, MakePatches(64, 0.25) },
    { "remedios2023", { 201, 150 }, MakePatches(96, 0.5, Blending::Constant) },
    { "remedios2023", { 131, 97 }, MakePatches(64, 0.3, Blending::Gaussian, true) },
    { "remedios2023", { 64, 64 }, MakePatches(64, 0) },
    { "remedios2023", { 41, 300 }, MakePatches(96, 0) },  // narrower than a patch
    { "remedios2023", { 33, 30 }, MakePatches(64, 0.9) }, // smaller
    { "unet:base=2,depth=2,classes=3", { 117, 83 }, MakePatches(48, 0.4) },
    { "unet:base=2,depth=2,channels=1", { 101, 47 }, MakePatches(48, 0.25, Blending::Constant, true) },
  };
  for (const Case & it : cases)
  {
    const Model               model = MakeModel(it.network);
    ProceduralPixels          pixels(it.size, 5, static_cast<unsigned>(model.network.channels));
    const std::vector<double> wanted = ComputeReference(model, pixels, it.patches);
    const std::vector<float>  found = Predict(model, pixels, it.patches);
    const auto [least, most] = std::minmax_element(wanted.begin(), wanted.end());
    EXPECT_GT(*most - *least, 1e-3) << it.network;
    ASSERT_EQ(found.size(), wanted.size());
    double worst = 0;
    for (std::size_t i = 0; i < found.size(); ++i)
    {
      worst = std::max(worst, std::abs(found[i] - wanted[i]));
    }
    EXPECT_LT(worst, 2e-6) << it.network << ", " << it.patches.Describe();
  }
}

TEST(PatchNetwork, ImageOfOnePatchIsTheWholeImage)
{
  const Model        model = MakeModel("remedios2023");
  const Size         size{ 160, 160 };
  ProceduralPixels   pixels(size, 5);
  std::vector<float> whole(size.width * size.height);
  ASSERT_TRUE(Predictor(model).Predict(pixels, { 0, 0, size.width, size.height }, whole.data()));
  const std::vector<float> patch = Predict(model, pixels, MakePatches(160, 0.25));
  for (std::size_t i = 0; i < whole.size(); ++i)
  {
    ASSERT_NEAR(patch[i], whole[i], 1e-6f);
  }
}

TEST(PatchNetwork, HasTheSameBitsForEveryWayOfAsking)
{
  const Size         size{ 700, 533 };
  const Model        model = MakeModel("remedios2023");
  const Patches      patches = MakePatches(128, 0.3);
  ProceduralPixels   pixels(size, 2);
  std::vector<float> all = Predict(model, pixels, patches, 1);
  ASSERT_TRUE(Predict(model, pixels, patches, 5) == all);
  Predictor predictor(model, 3, {}, patches);
  // One below the other, as a writer asks; then anywhere.
  std::vector<Region> regions;
  for (const std::int64_t rows : { 1, 64, 89, 200 })
  {
    for (std::int64_t y = 0; y < (rows == 1 ? 20 : size.height); y += rows)
    {
      regions.push_back({ 0, y, size.width, std::min(rows, size.height - y) });
    }
  }
  for (const Region & region : { Region{ 699, 532, 1, 1 },
                                 Region{ 127, 127, 2, 2 },
                                 Region{ 300, 100, 317, 400 },
                                 Region{ 300, 500, 317, 33 } })
  {
    regions.push_back(region);
  }
  for (const Region & region : regions)
  {
    std::vector<float>        part(region.width * region.height, -1.0f);
    std::vector<std::uint8_t> labels(part.size(), 7);
    ASSERT_TRUE(predictor.Predict(pixels, region, part.data()));
    ASSERT_TRUE(Predictor(model, 2, {}, patches).PredictLabels(pixels, region, 0.5, labels.data()));
    for (std::size_t i = 0; i < part.size(); ++i)
    {
      const auto x = region.x + static_cast<std::int64_t>(i) % region.width;
      const auto y = region.y + static_cast<std::int64_t>(i) / region.width;
      ASSERT_EQ(part[i], all[y * size.width + x]) << x << "," << y;
      ASSERT_TRUE(std::abs(part[i] - 0.5f) < 1e-6f || labels[i] == (part[i] >= 0.5f ? 1 : 0));
    }
  }
}

namespace
{

/** Tells what was read. */
class Recording : public ProceduralPixels
{
public:
  using ProceduralPixels::ProceduralPixels;

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      read += region.width * region.height;
      left = std::min(left, region.x);
      top = std::min(top, region.y);
      right = std::max(right, region.x + region.width);
      bottom = std::max(bottom, region.y + region.height);
    }
    ProceduralPixels::Read(region, samples);
  }

  std::int64_t read{ 0 }, left{ 1 << 20 }, top{ 1 << 20 }, right{ 0 }, bottom{ 0 };

private:
  std::mutex m_Mutex;
};

} // namespace

TEST(PatchNetwork, ComputesEachPatchOnceAndTellsWhatItReads)
{
  const Size         size{ 500, 900 };
  const Model        model = MakeModel("remedios2023");
  const Patches      patches = MakePatches(128, 0.25);
  Predictor          predictor(model, 2, {}, patches);
  std::int64_t       read = 0;
  std::vector<float> band(size.width * 100);
  for (std::int64_t y = 0; y < size.height; y += 100)
  {
    Recording    pixels(size, 2);
    const Region region{ 0, y, size.width, 100 }, input = predictor.GetInputRegion(region, size);
    ASSERT_TRUE(predictor.Predict(pixels, region, band.data()));
    read += pixels.read;
    if (pixels.read > 0)
    {
      EXPECT_EQ((std::vector<std::int64_t>{ pixels.left, pixels.top, pixels.right, pixels.bottom }),
                (std::vector<std::int64_t>{ input.x, input.y, input.x + input.width, input.y + input.height }));
    }
    EXPECT_EQ(pixels.read > 0, input.width > 0);
  }
  const PatchGrid grid(patches, size);
  EXPECT_EQ(read, grid.columns.GetNumber() * grid.rows.GetNumber() * 128 * 128);
  // Another image's rows are not taken for those of the last one.
  predictor.Clear();
  ProceduralPixels   other(size, 3);
  std::vector<float> after(size.width * 100);
  ASSERT_TRUE(predictor.Predict(other, { 0, 100, size.width, 100 }, after.data()));
  ASSERT_TRUE(Predictor(model, 1, {}, patches).Predict(other, { 0, 100, size.width, 100 }, band.data()));
  ASSERT_TRUE(after == band);
  EXPECT_FALSE(predictor.Predict(other, { 0, 200, size.width, 100 }, after.data(), [](double) { return false; }));
  EXPECT_THROW(predictor.Predict(other, { 450, 0, 51, 1 }, after.data()), std::invalid_argument);
}

// What was not scanned has one color; its patches are computed once.
TEST(PatchNetwork, PatchesOfOneColorHaveTheBitsOfComputingThem)
{
  class HalfWhite : public ProceduralPixels
  {
  public:
    using ProceduralPixels::ProceduralPixels;
    void
    Read(const Region & region, std::uint8_t * samples) override
    {
      ProceduralPixels::Read(region, samples);
      for (std::int64_t i = 0; i < region.width * region.height; ++i)
      {
        const std::int64_t x = region.x + i % region.width;
        samples[i] = x < 300 ? 255 : x < 500 ? 0 : samples[i];
      }
    }
  };
  const Size               size{ 700, 200 };
  const Model              model = MakeModel("remedios2023");
  const Patches            patches = MakePatches(64, 0.25);
  HalfWhite                pixels(size, 2);
  const std::vector<float> together = Predict(model, pixels, patches);
  for (std::int64_t x = 0; x < size.width; x += 100)
  {
    std::vector<float> part(100 * size.height);
    ASSERT_TRUE(Predictor(model, 1, {}, patches).Predict(pixels, { x, 0, 100, size.height }, part.data()));
    for (std::int64_t i = 0; i < 100 * size.height; ++i)
    {
      ASSERT_EQ(part[i], together[i / 100 * size.width + x + i % 100]);
    }
  }
}

TEST(PatchNetwork, RefusesPatchesThatDoNotSuitTheNetwork)
{
  const Model model = MakeModel("remedios2023");
  const auto  refuse = [&](const Patches & patches) {
    return gigapixel_test::FindRefusal([&] { Predictor predictor(model, 1, {}, patches); }).code;
  };
  EXPECT_EQ(refuse(MakePatches(100, 0.25)), "E-OPTION-VALUE");
  EXPECT_EQ(refuse(MakePatches(0, 0.25)), "E-OPTION-VALUE");
  EXPECT_EQ(refuse(MakePatches(64, 1)), "E-OPTION-VALUE");
  EXPECT_EQ(refuse(MakePatches(64, -0.1)), "E-OPTION-VALUE");
  EXPECT_EQ(refuse(MakePatches(64, std::nan(""))), "E-OPTION-VALUE");
}

TEST(PatchNetwork, PlanHoldsTheSumsOfARowOfPatches)
{
  constexpr std::int64_t MiB = 1 << 20;
  const auto             network = NetworkDescription::Load("remedios2023");
  const Patches          patches = MakePatches(512, 0.25);
  const auto             make = [&](std::int64_t width, std::int64_t budget) {
    PlannedRun run(network, { width, 20000 }, Purpose::Inference, {});
    run.budget = budget;
    run.threads = 2;
    run.patches = patches;
    return MemoryPlan::Make(run);
  };
  const MemoryPlan wide = make(100000, 0), half = make(50000, 0);
  EXPECT_EQ(wide.tileSize, 512);
  EXPECT_EQ(wide.tilesInFlight, 2);
  EXPECT_EQ(wide.numberOfTiles, 261 * 52);
  EXPECT_NEAR(static_cast<double>(wide.peakBytes - half.peakBytes), 50000.0 * 512 * 2 * 4, 1.0 * MiB);
  EXPECT_EQ(make(100000, wide.peakBytes - MiB).tilesInFlight, 1);
  EXPECT_THROW(make(100000, 100 * MiB), MemoryLimitError);
}

// Of two outputs that are the same each class has a probability of 0.5, which is enough for the object.
TEST(PatchNetwork, TiesOfTwoOutputsAreTheObjectInMasksAndProbabilities)
{
  const std::string layers = R"({"name": "kernels", "layers": [
    {"name": "a", "type": "convolution", "in": 1, "out": 2, "kernel": 2, "stride": 2, "activation": "relu"},
    {"name": "b", "type": "transposed convolution", "in": 2, "out": 2, "kernel": 2, "stride": 2, "activation": "none"}],
    "loss": {"type": "softmax cross-entropy"}})";
  const std::string operations = R"({"name": "operations", "operations": [
    {"name": "image", "type": "input", "channels": 1},
    {"name": "logits", "type": "conv2d", "inputs": ["image"], "out_channels": 2, "kernel_size": 3, "padding": 1}],
    "output": "logits", "loss": {"type": "softmax cross-entropy"}})";
  const Size        size{ 70, 50 };
  const Region      all{ 0, 0, size.width, size.height };
  ProceduralPixels  pixels(size, 2);
  for (const std::string & json : { layers, operations })
  {
    Model model;
    model.network = NetworkDescription::FromJSON(json);
    model.parameters =
      ToParameters(model.network, std::vector<double>(static_cast<std::size_t>(model.network.GetNumberOfParameters())));
    model.tileSize = 32;
    for (const auto & patches : { std::optional<Patches>(), std::optional<Patches>(MakePatches(32, 0.25)) })
    {
      std::vector<float>        probabilities(size.width * size.height * 2);
      std::vector<std::uint8_t> labels(size.width * size.height, 7);
      ASSERT_TRUE(Predictor(model, 1, {}, patches).Predict(pixels, all, probabilities.data()));
      ASSERT_TRUE(Predictor(model, 1, {}, patches).PredictLabels(pixels, all, 0.5, labels.data()));
      EXPECT_EQ(std::count(probabilities.begin(), probabilities.end(), 0.5f), size.width * size.height * 2);
      EXPECT_EQ(std::count(labels.begin(), labels.end(), 1), size.width * size.height) << model.network.name;
    }
  }
}
