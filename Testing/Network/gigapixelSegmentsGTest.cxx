/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks that go over an image in segments: the same gradient as in one, the same bits however it is computed.
#include "BFloat16.h"
#include "RelativeDifference.h"
#include "SegmentFixture.h"
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "maps/gigapixelEqualTiles.h"
#include "model/gigapixelInitialWeights.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "gigapixelTrainer.h"
#include "gigapixelTurns.h"
#include "maps/gigapixelKeptMaps.h"
#include "schedule/gigapixelSegment.h"
#include "schedule/gigapixelTileGrid.h"
#include "schedule/gigapixelTileProgram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <thread>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr Size Image{ 130, 97 };

struct How
{
  int         threads{ 1 };
  Precision   precision{ Precision::Float };
  std::string scratch{};
};

LossGradient
ComputeGradient(const NetworkDescription &       network,
                const std::vector<SegmentPlan> & segments,
                const How &                      how,
                PixelSource &                    pixels,
                LabelSource &                    labels)
{
  Device device;
  device.precision = how.precision;
  StreamedNetwork streamed(network, 256, how.threads, device); // in one piece, or in segments
  streamed.SetSegments(segments, how.scratch);
  streamed.SetParameters(MakeInitialWeights(network, 3, { 0.7, 0.3 }));
  LossGradient sum;
  double       last = 0;
  EXPECT_TRUE(streamed.ComputeGradient(pixels, labels, sum, [&](double done) {
    EXPECT_GE(done, last);
    last = done;
    return true;
  }));
  EXPECT_NEAR(last, 1, 1e-9);
  return sum;
}

LossGradient
ComputeGradient(const NetworkDescription & network, const std::vector<SegmentPlan> & segments, const How & how = {})
{
  ProceduralPixels pixels(Image, 5, network.channels);
  ProceduralLabels labels(Image, 5);
  return ComputeGradient(network, segments, how, pixels, labels);
}

/** Tissue on a part of a slide, and white glass, which takes no part in the loss, everywhere else. */
constexpr Region Specimen{ 70, 50, 40, 30 };
constexpr Size   SlideSize{ 230, 170 };

bool
IsGlass(std::int64_t x, std::int64_t y)
{
  const Region pixel = Intersect({ x, y, 1, 1 }, Specimen);
  return pixel.width < 1 || pixel.height < 1;
}

class PixelsOnGlass : public ProceduralPixels
{
public:
  explicit PixelsOnGlass(unsigned channels)
    : ProceduralPixels(SlideSize, 5, channels)
  {}

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    ProceduralPixels::Read(region, samples);
    const auto channels = static_cast<std::int64_t>(GetNumberOfChannels());
    for (std::int64_t i = 0; i < region.width * region.height; ++i)
    {
      if (IsGlass(region.x + i % region.width, region.y + i / region.width))
      {
        std::fill_n(samples + i * channels, channels, 255);
      }
    }
  }
};

class LabelsOnGlass : public ProceduralLabels
{
public:
  LabelsOnGlass()
    : ProceduralLabels(SlideSize, 5)
  {}

  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    ProceduralLabels::Read(region, classes);
    for (std::int64_t i = 0; i < region.width * region.height; ++i)
    {
      classes[i] = IsGlass(region.x + i % region.width, region.y + i / region.width) ? Ignored : classes[i];
    }
  }
};

struct SegmentCase
{
  std::string                                network;
  std::string                                loss;
  std::vector<std::pair<std::int64_t, bool>> maps;
};

class Segments : public testing::TestWithParam<SegmentCase>
{
};

TEST_P(Segments, HaveTheGradientOfTheNetworkInOne)
{
  NetworkDescription network = NetworkDescription::Load(GetParam().network);
  network.SetLoss(GetParam().loss);
  const std::vector<SegmentPlan> plan = MakePlan(network, GetParam().maps);
  const LossGradient             whole = ComputeGradient(network, {}, { 1, Precision::Double });
  const LossGradient             segments = ComputeGradient(network, plan, { 2, Precision::Double });
  EXPECT_NEAR(segments.loss / whole.loss, 1, 1e-12);
  EXPECT_EQ(segments.pixels, whole.pixels);
  EXPECT_LT(GetRelativeDifference(segments.gradient, whole.gradient), 1e-12);
}

TEST_P(Segments, HaveTheSameBitsForAnyThreadsInMemoryAndInFiles)
{
  NetworkDescription network = NetworkDescription::Load(GetParam().network);
  network.SetLoss(GetParam().loss);
  const std::vector<SegmentPlan> plan = MakePlan(network, GetParam().maps);
  const TemporaryFolder          scratch("segments");
  for (const Precision precision : GetGraphPrecisions())
  {
    const LossGradient one = ComputeGradient(network, plan, { 1, precision });
    for (const How & how : { How{ 2, precision }, How{ 4, precision }, How{ 1, precision, scratch.path } })
    {
      const LossGradient other = ComputeGradient(network, plan, how);
      EXPECT_EQ(other.loss, one.loss);
      ASSERT_TRUE(other.gradient == one.gradient) << how.threads << " threads, " << GetName(precision);
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path));
}

// What is kept between segments holds all of a tile's values, in bf16, too: segments differ from the network at once by
// gradients' rounding alone, where tiles of kept maps' gradients overlap.
TEST_P(Segments, InBFloat16AreTheNetworkInOneButForRounding)
{
  const Precision    precision = GetGraphPrecisions().back();
  NetworkDescription network = NetworkDescription::Load(GetParam().network);
  network.SetLoss(GetParam().loss);
  const std::vector<SegmentPlan> plan = MakePlan(network, GetParam().maps);
  const LossGradient             whole = ComputeGradient(network, {}, { 1, precision });
  const LossGradient             segments = ComputeGradient(network, plan, { 2, precision });
  EXPECT_NEAR(segments.loss / whole.loss, 1, 0x1p-8);
  EXPECT_LT(GetRelativeDifference(segments.gradient, whole.gradient), 0x1p-5);
}

TEST_P(Segments, TakeGlassOnce)
{
  NetworkDescription network = NetworkDescription::Load(GetParam().network);
  network.SetLoss(GetParam().loss);
  const std::vector<SegmentPlan> plan = MakePlan(network, GetParam().maps);
  const auto                     compute = [&](const std::vector<SegmentPlan> & segments, Precision precision) {
    PixelsOnGlass pixels(network.channels);
    LabelsOnGlass labels;
    return ComputeGradient(network, segments, { 2, precision }, pixels, labels);
  };
  const LossGradient whole = compute({}, Precision::Double), segments = compute(plan, Precision::Double);
  EXPECT_EQ(segments.pixels, Specimen.width * Specimen.height);
  EXPECT_NEAR(segments.loss / whole.loss, 1, 1e-12);
  EXPECT_LT(GetRelativeDifference(segments.gradient, whole.gradient), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(
  Networks,
  Segments,
  testing::Values(SegmentCase{ "unet:base=4,depth=3", "dice", { { 4, false }, { 4, true } } },
                  SegmentCase{ "unet:base=4,depth=3", "cross-entropy", { { 2, true } } },
                  SegmentCase{ "resnet18-unet", "cross-entropy", { { 4, false }, { 8, false }, { 8, true } } }),
  [](const auto & info) { return "case" + std::to_string(info.index); });

} // namespace

TEST(EqualTiles, ComputesMapsOnceThatReadTheSameConstants)
{
  const NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=3");
  const auto               geometry = std::make_shared<GraphGeometry>(network.graph, Extent{ 512, 512 });
  const Segment            segment = MakeSegments(*geometry, MakePlan(network, { { 4, false } })).front();
  const TileGrid           grid(geometry, segment, false);
  KeptMaps maps(*geometry, MakeSegments(*geometry, { segment.operation }, { 64, 64 }), sizeof(float), "");
  std::vector<std::uint8_t> pixels(512 * 512 * 3, 255);
  pixels[(300 * 512 + 300) * 3] = 254;
  EqualTiles<Box>    equal;
  TileData           data;
  std::int64_t       computed = 0, repeated = 0;
  const std::int64_t tiles = grid.GetNumberOfTiles();
  data.kept = &maps;
  for (std::int64_t i = 0; i < tiles; ++i)
  {
    data.tile = grid.GetTile(i);
    data.rows = { pixels.data() + (data.tile.window.y * 512 + data.tile.window.x) * 3, 512 * 3 };
    Box part = data.tile.program->core;
    equal.Compute(data, 3, part, [&](TileData &, Box &) { ++computed; });
    EXPECT_EQ(part[0].GetLength(), 16) << "tile " << i;
    EXPECT_EQ(part[1].GetLength(), 16) << "tile " << i;
  }
  for (const auto & entry : equal.GetRepeated())
  {
    repeated += entry.repetitions;
  }
  EXPECT_EQ(tiles, 64);
  EXPECT_GE(computed, 9 + 1); // corners, edges, inside; where the other pixel is seen
  EXPECT_LE(computed, 9 + 4);
  EXPECT_EQ(computed + repeated, tiles);
}

TEST(Turns, EndWithWhatBrokeThem)
{
  Turns       turns;
  std::thread waiting([&turns] {
    try
    {
      turns.Take(1, [] {});
      ADD_FAILURE() << "item 0 did not take its turn";
    }
    catch (const std::runtime_error & error)
    {
      EXPECT_STREQ(error.what(), "the disk is full");
    }
  });
  turns.Break(std::make_exception_ptr(std::runtime_error("the disk is full")));
  turns.Break(std::make_exception_ptr(std::runtime_error("something later")));
  waiting.join();
}

TEST(Turns, WaitForTheFirstItems)
{
  Turns turns;
  turns.WaitFor(0);
  turns.Finish(0);
  turns.WaitFor(1);
  bool        first = false;
  std::thread waiting([&] {
    turns.WaitFor(3);
    EXPECT_TRUE(first);
  });
  turns.Finish(2); // which says nothing of item 1
  turns.Take(1, [&] { first = true; });
  waiting.join();
  turns.WaitFor(3);
}

TEST(SegmentPlan, StaysWithARunThatGoesOn)
{
  const NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=2,channels=1");
  const auto               make = [&](const TemporaryFolder & folder, bool resume, const std::string & scratch) {
    TrainingOptions options;
    options.epochs = 2;
    options.threads = resume ? 1 : 2;
    options.resume = resume;
    options.scratch = scratch;
    if (!resume)
    {
      options.segments = MakePlan(network, { { 2, false }, { 2, true } });
    }
    auto trainer = std::make_unique<Trainer>(network, options, folder.path);
    trainer->AddTrainingSample(MakeSample("a", { 130, 97 }, 1));
    trainer->AddTrainingSample(MakeSample("b", { 90, 111 }, 2));
    trainer->AddValidationSample(MakeSample("v", { 100, 80 }, 3));
    return trainer;
  };
  const TemporaryFolder straight("segments-straight"), interrupted("segments-interrupted"), scratch("segments-scratch");
  EXPECT_TRUE(make(straight, false, "")->Run());
  bool resume = false;
  while (!make(interrupted, resume, scratch.path)->Run([](const TrainingProgress & progress) {
    return progress.fractionOfStep < 1 || progress.validating;
  }))
  {
    resume = true;
  }
  EXPECT_TRUE(resume);
  const auto               finished = make(interrupted, true, "");
  std::vector<SegmentPlan> told;
  finished->SetPlanObserver([&](const MemoryPlan & plan) { told = plan.segments; });
  EXPECT_TRUE(finished->Run());
  EXPECT_TRUE(told == MakePlan(network, { { 2, false }, { 2, true } }));
  for (const char * name : { "/best.safetensors", "/last.safetensors", "/history.csv" })
  {
    const std::string content = ReadAll(straight.path + name);
    ASSERT_TRUE(!content.empty() && content == ReadAll(interrupted.path + name)) << name;
  }
  EXPECT_NE(ReadAll(straight.path + "/last.safetensors").find("segments"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path));
}
