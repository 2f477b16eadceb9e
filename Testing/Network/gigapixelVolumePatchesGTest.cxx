/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Volumes patch by patch, against patches that are cut out, mirrored, computed and blended in double here.
#include "GraphFixture.h"
#include "MemorySources.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelNetworkPresets.h"
#include "gigapixelVolumePatchPredictor.h"
#include "graph/gigapixelParameterLayout.h"
#include "schedule/gigapixelVolumePatchGrid.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

Model
MakeVolumeModel(const std::string & text)
{
  Model model;
  model.network = NetworkPreset::Find(text)->Make(text);
  model.parameters = ToParameters(model.network, MakeParameters(model.network.graph, 1));
  model.tileSize = model.network.GetStride();
  return model;
}

LabeledImage
MakeFloats(Size size, int channels, unsigned seed)
{
  LabeledImage                    volume = MakeImage(size, channels, 2, 3);
  std::mt19937                    engine(seed);
  std::normal_distribution<float> normal;
  volume.floats.resize(volume.pixels.size());
  std::generate(volume.floats.begin(), volume.floats.end(), [&] { return normal(engine); });
  return volume;
}

std::vector<float>
PredictLogits(const Model & model, const VolumePatches & patches, PixelSource & pixels, int threads = 2)
{
  VolumePatchPredictor predictor(model, patches, threads);
  std::vector<float>   all;
  std::int64_t         slices = 0;
  EXPECT_TRUE(predictor.PredictLogits(pixels, [&](std::int64_t z, std::vector<float> & logits) {
    EXPECT_EQ(z, slices++);
    all.insert(all.end(), logits.begin(), logits.end());
  }));
  EXPECT_EQ(slices, pixels.GetSize().depth);
  return all;
}

/** Of one patch that is an image by itself. */
std::vector<float>
ComputePatch(const Model & model, const VolumePatches & patches, LabeledImage patch, const std::array<bool, 3> & axes)
{
  const Size size = patches.size;
  const int  channels = model.network.channels, outputs = model.network.GetNumberOfOutputChannels();
  const auto flip = [&](const std::vector<float> & values, int number) {
    std::vector<float> flipped(values.size());
    for (std::int64_t z = 0; z < size.depth; ++z)
    {
      for (std::int64_t y = 0; y < size.height; ++y)
      {
        for (std::int64_t x = 0; x < size.width; ++x)
        {
          const std::int64_t from =
            ((axes[0] ? size.depth - 1 - z : z) * size.height + (axes[1] ? size.height - 1 - y : y)) * size.width +
            (axes[2] ? size.width - 1 - x : x);
          const std::int64_t to = (z * size.height + y) * size.width + x;
          std::copy_n(values.begin() + from * number, number, flipped.begin() + to * number);
        }
      }
    }
    return flipped;
  };
  patch.floats = flip(patch.floats, channels);
  VolumePatches alone = patches;
  alone.mirror = {};
  MemoryPixels pixels(patch, static_cast<unsigned>(channels));
  return flip(PredictLogits(model, alone, pixels), outputs);
}

/** Begins of patches by the formula, and the weight of a voxel of one. */
std::vector<std::int64_t>
GetBegins(std::int64_t side, std::int64_t length, double overlap)
{
  if (length <= side)
  {
    return { -((side - length) / 2) };
  }
  std::int64_t number = 2;
  while (static_cast<double>(length - side) / static_cast<double>(number - 1) >
         static_cast<double>(side) * (1 - overlap))
  {
    ++number;
  }
  std::vector<std::int64_t> begins;
  for (std::int64_t i = 0; i < number; ++i)
  {
    begins.push_back(std::lround(static_cast<double>(i * (length - side)) / static_cast<double>(number - 1)));
  }
  return begins;
}

double
GetWeight(const Size & size, std::int64_t z, std::int64_t y, std::int64_t x)
{
  const auto of = [](std::int64_t place, std::int64_t side) {
    const double d = static_cast<double>(place - side / 2) * 8 / static_cast<double>(side);
    return std::exp(-d * d / 2);
  };
  return 10 * of(z, size.depth) * of(y, size.height) * of(x, size.width);
}

} // namespace

TEST(VolumePatches, AreBlendedAndMirrored)
{
  const Model        model = MakeVolumeModel("unet3d:base=2,depth=1,channels=2,classes=3,norm=instance");
  const Size         size{ 19, 23, 9 };
  const LabeledImage volume = MakeFloats(size, 2, 5);
  MemoryPixels       pixels(volume, 2);
  VolumePatches      patches;
  patches.size = { 8, 10, 12 }; // deeper than the volume
  patches.mirror = { true, false, true };
  const auto          given = PredictLogits(model, patches, pixels);
  std::vector<double> sums(given.size()), weights(given.size() / 3);
  for (const std::int64_t z0 : GetBegins(12, 9, 0.5))
  {
    for (const std::int64_t y0 : GetBegins(10, 23, 0.5))
    {
      for (const std::int64_t x0 : GetBegins(8, 19, 0.5))
      {
        LabeledImage patch = MakeFloats(patches.size, 2, 1);
        const auto   forEach = [&](const auto & function) {
          for (std::int64_t z = 0; z < 12; ++z)
          {
            for (std::int64_t y = 0; y < 10; ++y)
            {
              for (std::int64_t x = 0; x < 8; ++x)
              {
                const bool inside = z + z0 >= 0 && z + z0 < size.depth;
                function((z * 10 + y) * 8 + x,
                         inside ? ((z + z0) * 23 + y + y0) * 19 + x + x0 : -1,
                         GetWeight(patches.size, z, y, x));
              }
            }
          }
        };
        forEach([&](std::int64_t in, std::int64_t out, double) {
          for (int c = 0; c < 2; ++c)
          {
            patch.floats[static_cast<std::size_t>(2 * in + c)] =
              out < 0 ? 0 : volume.floats[static_cast<std::size_t>(2 * out + c)];
          }
        });
        for (const auto & axes :
             { std::array<bool, 3>{}, { true, false, false }, { false, false, true }, { true, false, true } })
        {
          const auto logits = ComputePatch(model, patches, patch, axes);
          forEach([&](std::int64_t in, std::int64_t out, double weight) {
            for (int c = 0; out >= 0 && c < 3; ++c)
            {
              sums[static_cast<std::size_t>(3 * out + c)] += weight * logits[static_cast<std::size_t>(3 * in + c)] / 4;
            }
            if (out >= 0)
            {
              weights[static_cast<std::size_t>(out)] += weight / 4;
            }
          });
        }
      }
    }
  }
  double greatest = 0;
  for (std::size_t i = 0; i < given.size(); ++i)
  {
    greatest = std::max(greatest, std::abs(given[i] - sums[i] / weights[i / 3]));
  }
  EXPECT_LT(greatest, 5e-3); // weights have half precision
  EXPECT_EQ(PredictLogits(model, patches, pixels, 5), given);
}

TEST(VolumePatches, LieAsTheyAreSaidTo)
{
  VolumePatches patches;
  patches.size = { 64, 40, 20 };
  const VolumePatchGrid grid(patches, { 110, 40, 31 });
  EXPECT_EQ(grid.x, (std::vector<std::int64_t>{ 0, 23, 46 })); // of nnU-Net's own comment
  EXPECT_EQ(grid.y, (std::vector<std::int64_t>{ 0 }));
  EXPECT_EQ(grid.z, (std::vector<std::int64_t>{ 0, 6, 11 })); // 5.5 is rounded to an even number
  EXPECT_EQ(grid.GetNumber(), 9);
  EXPECT_EQ(grid.GetPatch(4).x, 23);
  EXPECT_EQ(grid.GetPatch(4).z, 6);
}

TEST(VolumePatches, AreRefusedWhereTheyDoNotSuit)
{
  const Model   model = MakeVolumeModel("unet3d:base=2,depth=1");
  VolumePatches patches;
  EXPECT_THROW(VolumePatchPredictor(model, patches), std::invalid_argument); // of no size
  patches.size = { 16, 16, 16 };
  patches.overlap = 1;
  EXPECT_THROW(VolumePatchPredictor(model, patches), std::invalid_argument);
  patches.overlap = 0.5;
  Model slides;
  slides.network = NetworkPreset::Find("unet:base=2,depth=1")->Make("unet:base=2,depth=1");
  EXPECT_THROW(patches.Validate(slides.network), std::invalid_argument);
  const LabeledImage   bytes = MakeImage({ 20, 20, 20 }, 1, 2, 3);
  MemoryPixels         pixels(bytes, 1);
  VolumePatchPredictor predictor(model, patches);
  EXPECT_THROW(predictor.PredictLogits(pixels, {}), std::invalid_argument);
}

TEST(VolumePatches, ArePlanned)
{
  const Model   model = MakeVolumeModel("unet3d:base=4,depth=2,channels=1,classes=3,norm=instance");
  VolumePatches patches;
  patches.size = { 32, 32, 32 };
  PlannedRun run(model.network, { 100, 100, 100 }, Purpose::Inference, {});
  run.threads = 2;
  run.volumePatches = patches;
  const MemoryPlan plan = MemoryPlan::Make(run);
  EXPECT_EQ(plan.numberOfTiles, 6 * 6 * 6);
  run.volumePatches->mirror = { true, true, true };
  const MemoryPlan mirrored = MemoryPlan::Make(run);
  EXPECT_NEAR(mirrored.coreSeconds, 8 * plan.coreSeconds, 1e-9);
  EXPECT_GT(mirrored.peakBytes, plan.peakBytes);
  run.budget = 1 << 20;
  EXPECT_THROW(MemoryPlan::Make(run), MemoryLimitError);
}

TEST(NetworkDescription, KeepsWhatVolumesAreShownAs)
{
  const Model        model = MakeVolumeModel("unet3d:base=2,depth=1,channels=2");
  NetworkDescription network = model.network;
  network.normalization = { { Normalization::Kind::ZScore, Normalization::Voxels::Filled },
                            { Normalization::Kind::Clip, Normalization::Voxels::All, -10, 20 } };
  network.cropsToNonZero = true;
  network.spacing = { 3, 1, 1.5 };
  network.patches.size = { 24, 16, 8 };
  network.patches.mirror = { false, true, true };
  const NetworkDescription read = NetworkDescription::FromJSON(network.ToJSON());
  EXPECT_EQ(read.ToJSON(), network.ToJSON());
  EXPECT_EQ(read.normalization, network.normalization);
  EXPECT_TRUE(read.cropsToNonZero);
  EXPECT_EQ(read.spacing, network.spacing);
  EXPECT_EQ(read.patches.Describe(), "patches of 8 x 16 x 24, overlap 0.5, gaussian, mirrored along y, x");
  const auto refuse = [&network](const auto & change) {
    NetworkDescription changed = network;
    change(changed);
    EXPECT_THROW(changed.Validate(), std::invalid_argument);
  };
  refuse([](NetworkDescription & changed) { changed.normalization.push_back({}); });
  refuse([](NetworkDescription & changed) { changed.spacing[1] = 0; });
  refuse([](NetworkDescription & changed) { changed.patches.overlap = 2; });
  for (const char * part : { R"("crop": "brain")", R"("spacing": [1, 2])", R"("normalization": [])" })
  {
    const std::string whole = network.ToJSON();
    const std::string text =
      whole.substr(0, whole.find("\"normalization\"")) + part + whole.substr(whole.find(",\n    \"invert\""));
    EXPECT_THROW(NetworkDescription::FromJSON(text), std::invalid_argument) << text.substr(0, 300);
  }
}
