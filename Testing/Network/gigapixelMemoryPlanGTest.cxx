/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "BFloat16.h"
#include "Sanitized.h"
#include "TemporaryFolder.h"
#include "gigapixelMemoryPlan.h"
#include "schedule/gigapixelGraphTileCost.h"
#include "schedule/gigapixelTileGrid.h"
#include "schedule/gigapixelTileProgram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;

MemoryPlan
Make(const NetworkDescription & network,
     Size                       image,
     Purpose                    purpose,
     std::int64_t               budget,
     int                        threads,
     std::int64_t               tileSize)
{
  PlannedRun run(network, image, purpose, {});
  run.budget = budget;
  run.threads = threads;
  run.tileSize = tileSize;
  return MemoryPlan::Make(run);
}

MemoryPlan
Make(Size image, std::int64_t budget, int threads, std::int64_t tileSize = 0)
{
  return Make(NetworkDescription::Load("remedios2023"), image, Purpose::Training, budget, threads, tileSize);
}

struct Measurement
{
  std::int64_t peak{ 0 };
  std::int64_t plan{ 0 };
  std::int64_t tileSize{ 0 };
  int          tilesInFlight{ 0 };
  int          threads{ 0 };
  std::int64_t halfway{ 0 }; ///< peak when half of the epochs were done
};

/** Runs MeasureStep in a process of its own: peak memory belongs to a process. */
Measurement
Measure(const std::string & arguments)
{
  FILE * const pipe = popen((std::string(MEASURE_STEP) + " " + arguments).c_str(), "r");
  std::string  output;
  for (int c = 0; pipe && (c = std::fgetc(pipe)) != EOF;)
  {
    output.push_back(static_cast<char>(c));
  }
  EXPECT_EQ(pipe ? pclose(pipe) : -1, 0);
  std::istringstream words(output);
  std::string        name;
  Measurement        measurement;
  words >> name >> measurement.peak >> name >> measurement.plan >> name >> measurement.tileSize >> name >>
    measurement.tilesInFlight >> name >> measurement.threads >> name >> name >> name >> name >> name >>
    measurement.halfway;
  return measurement;
}

} // namespace

TEST(MemoryPlan, BudgetDecidesTilesInFlight)
{
  const Size       image{ 16000, 64000 };
  const MemoryPlan rich = Make(image, 0, 4);
  EXPECT_EQ(rich.tileSize, 2048);
  EXPECT_EQ(rich.tilesInFlight, 4);
  EXPECT_EQ(rich.numberOfTiles, 8 * 32);
  int                before = 4;
  const std::int64_t least = Make(image, 0, 1).peakBytes + 4 * MiB; // the process may grow meanwhile
  for (std::int64_t budget = rich.peakBytes + 4 * MiB; budget > least; budget -= 4 * MiB)
  {
    const MemoryPlan plan = Make(image, budget, 4);
    EXPECT_LE(plan.peakBytes, budget);
    EXPECT_EQ(plan.tileSize, 2048);
    EXPECT_LE(plan.tilesInFlight, before);
    before = plan.tilesInFlight;
  }
  EXPECT_LT(before, 4);
}

TEST(MemoryPlan, TakesSmallerTilesBeforeItRefuses)
{
  const MemoryPlan one = Make({ 16000, 64000 }, 0, 1);
  const MemoryPlan smaller = Make({ 16000, 64000 }, one.peakBytes - MiB, 1);
  EXPECT_EQ(smaller.tileSize, 1024);
  EXPECT_EQ(one.remark, "");
  EXPECT_NE(smaller.remark.find("2048"), std::string::npos) << smaller.remark;
  EXPECT_NE(smaller.remark.find("1024"), std::string::npos) << smaller.remark;
  // Not where the tile size is given: a run keeps the one it began with.
  EXPECT_THROW(Make({ 16000, 64000 }, one.peakBytes - MiB, 1, 2048), std::runtime_error);
}

TEST(MemoryPlan, OfAGraphSaysWhereItTakesTheNextClass)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  const NetworkDescription network = NetworkDescription::Load("unet:base=8");
  const auto               make = [&](std::int64_t budget, std::int64_t tileSize = 0) {
    return Make(network, { 8000, 6000 }, Purpose::Training, budget, 1, tileSize);
  };
  const MemoryPlan rich = make(0);
  EXPECT_EQ(rich.remark, "");
  EXPECT_EQ(make(rich.peakBytes + 16 * MiB).tileSize, rich.tileSize);
  EXPECT_EQ(make(rich.peakBytes + 16 * MiB).remark, "");
  const MemoryPlan poor = make(rich.peakBytes - 16 * MiB);
  EXPECT_LT(poor.tileSize, rich.tileSize);
  EXPECT_LE(poor.peakBytes, rich.peakBytes - 16 * MiB);
  EXPECT_NE(poor.remark.find(' ' + std::to_string(poor.tileSize)), std::string::npos) << poor.remark;
  EXPECT_EQ(make(poor.peakBytes + 16 * MiB, poor.tileSize).remark, "");
}

TEST(MemoryPlan, TilesOfAGraphTakeLessInBFloat16)
{
  for (const char * name : { "unet", "resnet18-unet" })
  {
    const NetworkDescription network = NetworkDescription::Load(name);
    const auto               getCost = [&](Precision precision) {
      return GraphTileCost::Make(network, { 4096, 4096 }, Purpose::Training, 1024, precision);
    };
    const GraphTileCost ofFloat = getCost(Precision::Float), ofBFloat16 = getCost(Precision::BFloat16);
    EXPECT_LT(static_cast<double>(ofBFloat16.bytes) / static_cast<double>(ofFloat.bytes), 0.65) << name;
    EXPECT_EQ(ofBFloat16.operations, ofFloat.operations);
    EXPECT_LT(ofBFloat16.seconds, ofFloat.seconds);
  }
}

// Tiles at the edges of an image are of other sizes: those that take most count, each once. Up to three of them along
// an axis, of which the one in the middle stands for itself alone.
TEST(MemoryPlan, SumsUpTheTilesThatAreInFlightTogether)
{
  constexpr std::int64_t   TileSize = 256;
  const NetworkDescription network = NetworkDescription::Load("resnet18-unet");
  for (const Size image : { Size{ 700, 600 }, Size{ 400, 700 }, Size{ 300, 200 } })
  {
    std::vector<std::vector<std::int64_t>> rows;
    std::vector<std::int64_t>              all;
    const TileGrid                         grid(network, image, TileSize);
    for (std::int64_t index = 0; index < grid.GetNumberOfTiles(); ++index)
    {
      const Tile          tile = grid.GetTile(index);
      const TileProgram & program = *tile.program;
      const std::int64_t  bytes = program.GetPeakBytes(network.graph, false, 4) +
                                 GetNumberOfBytes(program.window, 3, 1) + GetNumberOfBytes(program.core, 1, 1);
      rows.resize(index / grid.GetNumberOfColumns() + 1);
      rows.back().push_back(bytes);
      all.push_back(bytes);
    }
    using Together = GraphTileCost::Together;
    for (const Together together : { Together::Row, Together::All })
    {
      const auto cost = GraphTileCost::Make(network, image, Purpose::Inference, TileSize, Precision::Float, together);
      const std::int64_t worker = cost.bytes - *std::max_element(all.begin(), all.end());
      EXPECT_EQ(cost.GetMostTogether(),
                together == Together::Row ? grid.GetNumberOfColumns() : grid.GetNumberOfTiles());
      for (std::int64_t number = 1; number <= cost.GetMostTogether(); ++number)
      {
        std::int64_t most = 0;
        for (std::vector<std::int64_t> group : together == Together::Row ? rows : decltype(rows){ all })
        {
          std::sort(group.rbegin(), group.rend());
          most = std::max(most, std::accumulate(group.begin(), group.begin() + number, number * worker));
        }
        EXPECT_EQ(cost.GetBytes(number), most) << image.width << " x " << image.height << ", " << number << " tiles";
      }
    }
  }
}

TEST(MemoryPlan, OfAGraphHasTilesOfARowInFlight)
{
  const NetworkDescription network = NetworkDescription::Load("unet:base=8");
  const auto               make = [&](Size image, Purpose purpose) {
    return Make(network, image, purpose, std::int64_t{ 1 } << 33, 2, 1024);
  };
  EXPECT_EQ(make({ 1024, 1536 }, Purpose::Inference).tilesInFlight, 1);
  EXPECT_EQ(make({ 1024, 1536 }, Purpose::Training).tilesInFlight, 2);
  const MemoryPlan one = make({ 1024, 1024 }, Purpose::Inference), unequal = make({ 1536, 1024 }, Purpose::Inference),
                   equal = make({ 2048, 1024 }, Purpose::Inference);
  EXPECT_EQ(unequal.tilesInFlight, 2);
  EXPECT_EQ(equal.tilesInFlight, 2);
  EXPECT_NEAR(unequal.peakBytes - one.peakBytes, (equal.peakBytes - one.peakBytes) / 2, 16 * MiB);
}

TEST(MemoryPlan, NamesTheLeastBudgetThatWouldDo)
{
  const Diagnostic refusal = gigapixel_test::FindRefusal([] { Make({ 16000, 64000 }, 8 * MiB, 2); });
  ASSERT_EQ(refusal.code, "E-MEMORY-BUDGET") << refusal.why;
  const std::int64_t least = std::stoll(refusal.value);
  // What is resident counts, and that moves a little from one plan to the next.
  EXPECT_NO_THROW(Make({ 16000, 64000 }, least + 4 * MiB, 2));
  EXPECT_THROW(Make({ 16000, 64000 }, least - 4 * MiB, 2), std::runtime_error);
}

TEST(MemoryPlan, TimeCountsTheHalos)
{
  const Size   image{ 16000, 64000 };
  const double large = Make(image, 0, 1, 2048).coreSeconds;
  const double small = Make(image, 0, 1, 128).coreSeconds;
  // A window of 128 + 2 * 64 for a tile of 128, of 2048 + 2 * 64 for one of 2048, less what the image's edges cut off.
  EXPECT_NEAR(small / large, 4 / (2176.0 * 2176 / 2048 / 2048), 0.04);
}

TEST(MemoryPlan, AnImageIsTakenInOnePieceOnlyWhereItIsAskedFor)
{
  for (const char * name : { "remedios2023", "unet:base=8" })
  {
    const NetworkDescription network = NetworkDescription::Load(name);
    const auto               make = [&](Size image, std::int64_t budget, std::int64_t tileSize) {
      return Make(network, image, Purpose::Training, budget, 1, tileSize);
    };
    EXPECT_GT(make({ 5000, 3000 }, 0, 0).numberOfTiles, 1) << name;
    const MemoryPlan one = make({ 5000, 3000 }, 0, WholeImage);
    EXPECT_EQ(one.numberOfTiles, 1) << name;
    EXPECT_EQ(one.tileSize, RoundUp(5000, network.GetStride())) << name;
    EXPECT_GT(one.peakBytes, make({ 5000, 3000 }, 0, 0).peakBytes) << name;
    try
    {
      make({ 5000, 3000 }, one.peakBytes - 16 * MiB, WholeImage);
      ADD_FAILURE() << name;
    }
    catch (const MemoryLimitError & error)
    {
      EXPECT_EQ(error.GetDiagnostic().code, "E-MEMORY-BUDGET");
    }
  }
}

// The last concatenation of the U-Net has 32 channels: at 8192 x 8192 pixels 2^31 values, one too many.
TEST(MemoryPlan, TilesWhoseMapsHaveTooManyValuesAreRefused)
{
  const NetworkDescription network = NetworkDescription::Load("unet");
  const auto               make = [&](Size image, Purpose purpose, std::int64_t tileSize) {
    return Make(network, image, purpose, std::int64_t{ 1 } << 50, 1, tileSize).numberOfTiles;
  };
  for (const Purpose purpose : { Purpose::Training, Purpose::Inference })
  {
    EXPECT_EQ(make({ 8192, 8191 }, purpose, WholeImage), 1);
    EXPECT_EQ(make({ 100000, 100000 }, purpose, 4096), 25 * 25);
    for (const std::int64_t tileSize : { WholeImage, std::int64_t{ 8192 } })
    {
      try
      {
        make({ 8192, 8192 }, purpose, tileSize);
        ADD_FAILURE() << "2^31 values are taken";
      }
      catch (const std::runtime_error & error)
      {
        EXPECT_EQ(Diagnostic::Of(error).code, "E-MEMORY-BUDGET");
      }
    }
  }
}

TEST(MemoryPlan, SharedMemoryHoldsTheImage)
{
  const Size image{ 5000, 3000 };
  const auto make = [&](bool shared) {
    PlannedRun run(NetworkDescription::Load("remedios2023"), image, Purpose::Training, {});
    run.device.shared = shared;
    run.threads = 1;
    return MemoryPlan::Make(run).peakBytes;
  };
  EXPECT_NEAR(make(true) - make(false), 2 * image.width * image.height, MiB);
}

TEST(MemoryPlan, SegmentationThatSeesTheWholeImageHoldsIt)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  const Size               image{ 20000, 16000 };
  const NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=1,norm=instance,channels=3");
  const std::int64_t pixels = 3 * image.width * image.height, others = 512 * MiB; // LibTorch, the program, weights
  const MemoryPlan   plan = Make(network, image, Purpose::Inference, std::int64_t{ 1 } << 50, 1, 512);
  EXPECT_GT(plan.peakBytes, plan.keptBytes + plan.tileBytes + pixels);
  EXPECT_LT(plan.peakBytes, plan.keptBytes + plan.tileBytes + pixels + others);
}

// Fewer tiles in flight than threads, since there is no room for more. That the estimate is near is tested below: of
// several workers one may come too late for any tile on a busy machine.
TEST(MemoryPlan, StreamedStepsKeepTheirBudget)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  const Measurement m = Measure("train 8192 8192 60 4");
  EXPECT_GT(m.peak, 0);
  EXPECT_LE(m.peak, 60 * MiB);
  EXPECT_LT(m.tilesInFlight, 4);
}

// Within 10 % of the peak.
TEST(MemoryPlan, EstimateOfATileAtATimeIsNear)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  for (const char * arguments : { "train 8192 4096 0 1",
                                  "predict 8192 2048 0 1",
                                  "label 8192 2048 0 1",
                                  "label 8190 2048 0 1",
                                  "label-copies 8192 2048 0 1" })
  {
    const Measurement m = Measure(arguments);
    EXPECT_EQ(m.tilesInFlight, 1) << arguments;
    EXPECT_LE(m.peak, 1.1 * m.plan) << arguments;
    EXPECT_GE(1.1 * m.peak, m.plan) << arguments;
  }
}

// With what LibTorch brings, and the primitives for tiles of many shapes.
TEST(MemoryPlan, EstimateOfAGraphIsNear)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  for (const Precision precision : GetGraphPrecisions())
  {
    for (const std::string step : { "train 1500 1300 0 1 unet:base=8,channels=1 - -",
                                    "predict 1500 1300 0 1 unet:base=8,depth=3,channels=1 - -",
                                    "train 1500 1300 0 1 unet:base=8,channels=1 - pool.2=64,last=256" })
    {
      const std::string arguments = step + " " + GetName(precision);
      const Measurement m = Measure(arguments);
      EXPECT_LE(m.peak, 1.1 * m.plan) << arguments;
      EXPECT_GE(1.1 * m.peak, m.plan) << arguments;
    }
  }
}

// The greatest of 4096 cells are kept with their places, three numbers for each of 256 channels, by the step and by the
// tile that it takes: 77 MiB, of which the values alone are 8.
TEST(MemoryPlan, CountsThePlacesOfTheGreatest)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  const TemporaryFolder folder("greatest");
  const std::string     file = folder.path + "/cells.json";
  std::ofstream(file) << R"({ "name": "cells", "operations": [
    { "name": "image", "type": "input", "channels": 1 },
    { "name": "map", "type": "conv2d", "inputs": ["image"], "out_channels": 256, "kernel_size": 4, "stride": 4 },
    { "name": "cells", "type": "adaptive_max_pool2d", "inputs": ["map"], "output_size": 64 },
    { "name": "few", "type": "conv2d", "inputs": ["cells"], "out_channels": 4, "kernel_size": 1 },
    { "name": "large", "type": "interpolate", "inputs": ["few", "image"], "mode": "bilinear" },
    { "name": "last", "type": "conv2d", "inputs": ["large"], "out_channels": 1, "kernel_size": 1 }],
    "output": "last" })";
  for (const std::string step : { "train 512 512 0 1 ", "predict 512 512 0 1 " })
  {
    const Measurement m = Measure(step + file + " - -");
    EXPECT_LE(m.peak, 1.1 * m.plan) << step;
    EXPECT_GE(1.1 * m.peak, m.plan) << step;
  }
}

// Images of several sizes that are turned have tiles of many shapes, for which primitives are compiled: these are
// counted as well, and in the end there are no more of them.
TEST(MemoryPlan, EpochsOfTurnedImagesTakeWhatIsPlanned)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  for (const Precision precision : GetGraphPrecisions())
  {
    const std::string arguments = "train 512 440 0 1 unet:base=8,channels=1 - - " + GetName(precision) + " 10";
    const Measurement m = Measure(arguments);
    EXPECT_LE(m.peak, m.plan) << arguments;
    EXPECT_GE(1.15 * m.peak, m.plan) << arguments;
    EXPECT_GT(m.halfway, 0) << arguments;
    EXPECT_LE(m.peak - m.halfway, 8 * MiB) << arguments;
  }
}

// Of several workers one may come too late for any tile on a busy machine: the estimate is no lower bound then.
TEST(MemoryPlan, EstimateOfSeveralTilesIsNotTooLow)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  for (const char * arguments : { "label 16380 2048 0 4", "label-copies 16384 2048 0 4" })
  {
    const Measurement m = Measure(arguments);
    EXPECT_EQ(m.tilesInFlight, 4) << arguments;
    EXPECT_LE(m.peak, 1.1 * m.plan) << arguments;
  }
}

// Only our workers compute: LibTorch starts no threads of its own inside of them.
TEST(MemoryPlan, TilesInFlightAreTheThreads)
{
  if (gigapixel_test::IsSanitized())
  {
    GTEST_SKIP() << "ThreadSanitizer has a thread of its own";
  }
  for (const char * arguments : { "train 3000 3000 0 1", "train 3000 3000 0 3" })
  {
    const Measurement m = Measure(arguments);
    EXPECT_EQ(m.threads, 1 + m.tilesInFlight) << arguments;
  }
}
