/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Which segments a network is divided into, and in which order their tiles are computed.
#include "SegmentFixture.h"
#include "schedule/gigapixelGraphPlan.h"
#include "schedule/gigapixelGraphTileCost.h"
#include "schedule/gigapixelSegmentPasses.h"
#include "schedule/gigapixelSegmentPlanner.h"
#include "schedule/gigapixelTileProgram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** \class StepSchedule
 * \brief A training step's tiles in all passes, one behind the other. */
struct StepSchedule
{
  StepSchedule(const NetworkDescription & description, const Extent & image, const std::vector<SegmentPlan> & plan)
    : network(description)
    , geometry(std::make_shared<GraphGeometry>(network.graph, image))
    , segments(MakeSegments(*geometry, plan))
    , passes(geometry, segments, MakePasses(segments.size() - 1))
  {
    for (std::int64_t item = 0; item < passes.GetNumberOfItems(); ++item)
    {
      tiles.push_back(passes.GetTile(item));
    }
  }

  static std::vector<SegmentPass>
  MakePasses(std::size_t last)
  {
    std::vector<SegmentPass> list{ { SegmentPass::Kind::Loss, last } };
    for (std::size_t i = last; i-- > 0;)
    {
      list.insert(list.begin(), { SegmentPass::Kind::Map, i });
      list.push_back({ SegmentPass::Kind::Gradient, i });
    }
    return list;
  }

  std::int64_t
  FindFirstOfPass(std::int64_t item) const
  {
    while (item > 0 && &passes.GetPass(item - 1) == &passes.GetPass(item))
    {
      --item;
    }
    return item;
  }

  /** Whether an item's program begins with a part of the map that meets the other one's core. */
  bool
  BeginsWith(std::int64_t item, int operation, const Box & core) const
  {
    const auto & steps = tiles[item].program->steps;
    return std::any_of(steps.begin(), steps.end(), [&](const TileProgram::Step & step) {
      bool meet = step.sources.empty() && step.operation == operation;
      for (int axis = 0; axis < core.GetNumberOfAxes(); ++axis)
      {
        meet = meet && step.output[axis].begin < core[axis].end && core[axis].begin < step.output[axis].end;
      }
      return meet;
    });
  }

  bool
  Reads(std::int64_t item, std::int64_t before) const
  {
    const SegmentPass & own = passes.GetPass(item);
    const SegmentPass & other = passes.GetPass(before);
    const bool          ofMap = other.kind == SegmentPass::Kind::Map &&
                       BeginsWith(item, segments[other.segment].operation, tiles[before].program->core);
    const bool ofGradient = own.kind == SegmentPass::Kind::Gradient && other.IsBackward() &&
                            BeginsWith(before, segments[own.segment].operation, tiles[item].program->core);
    return ofMap || ofGradient;
  }

  /** Of a tile, on one core of the plan's machine. */
  double
  GetSeconds(std::int64_t item) const
  {
    const TileProgram & program = *tiles[item].program;
    const double        times = passes.GetPass(item).IsBackward() ? 3 : 1;
    return times * program.GetOperations(network.graph) / GetRate(program.GetGreatestSide(), Precision::Float);
  }

  /** Until the last tile is finished. */
  double
  GetSeconds(int threads) const
  {
    std::vector<double> free(threads), finished{ 0 }; // finished: the first items
    for (std::int64_t item = 0; item < passes.GetNumberOfItems(); ++item)
    {
      double &     thread = *std::min_element(free.begin(), free.end());
      const double begin = std::max(thread, finished[passes.GetNeeded(item, *tiles[item].program)]);
      const double end = begin + GetSeconds(item);
      const double last = std::max(finished.back(), end);
      thread = passes.GetPass(item).IsBackward() ? last : end;
      finished.push_back(last);
    }
    return finished.back();
  }

  const NetworkDescription                   network;
  const std::shared_ptr<const GraphGeometry> geometry;
  const std::vector<Segment>                 segments;
  const SegmentPasses                        passes;
  std::vector<Tile>                          tiles;
};

} // namespace

// Each tile against all others: whatever writes what it reads is before, and it does not wait for all that is before.
TEST(SegmentPasses, WaitForWhatTheyRead)
{
  for (const auto & [name, maps, size] :
       { std::tuple<std::string, std::vector<std::pair<std::int64_t, bool>>, Extent>{
           "unet:base=4,depth=3", { { 4, false }, { 4, true } }, { 397, 530 } },
         { "resnet18-unet", { { 4, false }, { 8, false }, { 8, true } }, { 611, 450 } } })
  {
    const NetworkDescription network = NetworkDescription::Load(name);
    const StepSchedule       step(network, size, MakePlan(network, maps));
    const SegmentPasses &    passes = step.passes;
    std::int64_t             early = 0;
    for (std::int64_t item = 0; item < passes.GetNumberOfItems(); ++item)
    {
      const std::int64_t needed = passes.GetNeeded(item, *step.tiles[item].program);
      early += needed < step.FindFirstOfPass(item) ? 1 : 0;
      EXPECT_LE(needed, item);
      for (std::int64_t before = 0; before < item; ++before)
      {
        ASSERT_TRUE(before < needed || !step.Reads(item, before)) << name << ": " << item << " reads " << before;
      }
    }
    EXPECT_GT(early, passes.GetNumberOfItems() / 4) << name;
  }
}

// By the planned seconds of each tile: two threads share a step as well as tiles can be shared out.
TEST(SegmentPlan, KeepsThreadsBusy)
{
  constexpr std::int64_t Class = std::int64_t{ 1 } << 30;
  for (const char * name : { "resnet18-unet", "resnet34-unet" })
  {
    const NetworkDescription network = NetworkDescription::Load(name);
    const StepSchedule step(network, { 2048, 2048 }, ChooseSegments(network, { 2048, 2048 }, Class, Precision::Float));
    const double       one = step.GetSeconds(1), two = step.GetSeconds(2), four = step.GetSeconds(4);
    RecordProperty(std::string(name) + " two", std::to_string(two / one));
    RecordProperty(std::string(name) + " four", std::to_string(four / one));
    EXPECT_LE(two / one, 0.53) << name;
    EXPECT_LE(four / one, 0.35) << name;
  }
}

TEST(SegmentPlan, IsRefusedWhereItIsNotTheNetworks)
{
  const NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=2");
  const GraphGeometry      geometry(network.graph, { 64, 64 });
  const std::string        map = FindMap(network, 2, false), output = network.graph.output;
  EXPECT_EQ(MakeSegments(geometry, { { map, 8 }, { output, 16 } }).size(), 2u);
  using Plan = std::vector<SegmentPlan>;
  for (const Plan & plan : { Plan{ { map, 8 } },
                             Plan{ { map, 0 }, { output, 8 } },
                             Plan{ { "none", 8 }, { output, 8 } },
                             Plan{ { map, 8 }, { map, 8 }, { output, 8 } },
                             Plan{} })
  {
    EXPECT_THROW(MakeSegments(geometry, plan), std::invalid_argument);
  }
}

TEST(SegmentPlan, TakesLittleMoreThanTheImageInOnePiece)
{
  constexpr std::int64_t   Class = std::int64_t{ 1 } << 30;
  constexpr Size           Square{ 2048, 2048 };
  const NetworkDescription network = NetworkDescription::Load("resnet34-unet");
  const auto               segments = ChooseSegments(network, Square, Class, Precision::Float);
  ASSERT_GE(segments.size(), 2u);
  EXPECT_LE(segments.size(), 5u);
  const GraphTileCost whole = GraphTileCost::Make(network, Square, Purpose::Training, 2048, Precision::Float);
  const GraphTileCost cost = GraphTileCost::Make(network, Square, segments, Purpose::Training, Precision::Float);
  EXPECT_LE(cost.operations / whole.operations, 1.6);
  EXPECT_LE(cost.bytes, Class + Class / 20); // pixels and the library's memory beside the maps
  RecordProperty("operations", std::to_string(cost.operations / whole.operations));
  // What does not need them has none.
  EXPECT_TRUE(ChooseSegments(NetworkDescription::Load("unet"), Square, Class, Precision::Float).empty());
  EXPECT_TRUE(ChooseSegments(NetworkDescription::Load("resnet18-unet"), { 512, 512 }, Class, Precision::Float).empty());
}

// Dilated convolutions on a volume: in tiles that fit, halos are most of what is computed.
TEST(SegmentPlan, OfInferenceKeepsMapsOnlyUntilTheyAreRead)
{
  const NetworkDescription network = NetworkDescription::Load("meshnet:base=30,norm=none");
  const Size               brain{ 256, 256, 256 };
  PlannedRun               run(network, brain, Purpose::Inference, {});
  run.processBytes = std::int64_t{ 64 } << 20; // a sanitizer's process has more
  run.threads = 1;
  run.budget = std::int64_t{ 512 } << 20;
  run.segmentation.inFiles = true;
  const MemoryPlan plan = MemoryPlan::Make(run);
  ASSERT_GE(plan.segments.size(), 4u);
  EXPECT_LE(plan.peakBytes, run.budget);
  EXPECT_EQ(plan.passes, static_cast<int>(plan.segments.size()));
  EXPECT_EQ(plan.tileSize, plan.segments.back().tileSize);
  const std::int64_t map = std::int64_t{ 256 * 256 * 256 } * 30 * 4;
  EXPECT_EQ(plan.keptBytes, 2 * map); // one is read while the next one is written
  const auto operations = [&](const std::vector<SegmentPlan> & segments) {
    return GraphTileCost::Make(network, brain, segments, Purpose::Inference, Precision::Float).operations;
  };
  const std::string & output = network.graph.output;
  EXPECT_LE(operations(plan.segments), 1.1 * operations({ { output, 256 } }));
  EXPECT_GE(operations({ { output, 64 } }), 3 * operations({ { output, 256 } })); // in as much memory
  // In memory they are kept where they fit, and else it is said that there are scratch folders.
  run.segmentation.inFiles = false;
  try
  {
    MemoryPlan::Make(run);
    ADD_FAILURE() << "tiles of all layers fit the memory";
  }
  catch (const MemoryLimitError & error)
  {
    EXPECT_LE(error.scratch, 2 * map);
    EXPECT_GT(error.scratch, 0);
  }
  run.budget = std::int64_t{ 8 } << 30;
  EXPECT_EQ(MemoryPlan::Make(run).keptBytes, 2 * map);
  // A slide is asked for region by region.
  PlannedRun slide(NetworkDescription::Load("resnet34-unet"), { 4096, 4096 }, Purpose::Inference, {});
  EXPECT_TRUE(MemoryPlan::Make(slide).segments.empty());
}

// A GPU has the maps, one tile at a time: the CPU's memory has pixels, and tiles follow what is free there.
TEST(GraphPlan, CountsTheMapsOfAGpuInItsMemory)
{
  constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;
  Device                 gpu;
  PlannedRun             run(NetworkDescription::Load("unet"), { 4096, 4096 }, Purpose::Training, gpu);
  run.budget = 8192 * MiB;
  run.threads = 4;
  const MemoryPlan ofCPU = MakeGraphPlan(run);
  run.device.cuda = 0;
  run.device.precision = Precision::BFloat16;
  EXPECT_EQ(MakeGraphPlan(run).deviceWorkspaceBytes, 0);
  run.device.precision = Precision::Float;
  const MemoryPlan free = MakeGraphPlan(run);
  EXPECT_GT(free.deviceWorkspaceBytes, 2048 * MiB);
  EXPECT_EQ(ofCPU.deviceBytes, 0);
  EXPECT_EQ(free.tileSize, ofCPU.tileSize);
  EXPECT_GT(free.deviceBytes, ofCPU.tileBytes);
  EXPECT_LT(free.tileBytes, ofCPU.tileBytes / 4);
  EXPECT_LT(free.peakBytes, ofCPU.peakBytes);
  const MemoryPlan little = MakeGraphPlan(run, free.deviceBytes / 2);
  EXPECT_LE(little.deviceBytes, free.deviceBytes / 2);
  try
  {
    MakeGraphPlan(run, 8 * MiB);
    ADD_FAILURE() << "it fits";
  }
  catch (const MemoryLimitError & error)
  {
    EXPECT_EQ(error.GetDiagnostic().code, "E-DEVICE-MEMORY");
    EXPECT_EQ(error.GetDiagnostic().value, std::to_string(error.least));
    EXPECT_NO_THROW(MakeGraphPlan(run, error.least));
  }
}

// What the network would keep if it could does not fit: it keeps less, and takes longer.
TEST(SegmentPlan, CountsMapsInMemoryAndNamesAScratchFolder)
{
  PlannedRun run(NetworkDescription::Load("resnet18-unet"), { 32768, 32768 }, Purpose::Training, {});
  run.budget = std::int64_t{ 3 } << 30;
  run.threads = 1;
  run.segmentation.inFiles = true;
  const MemoryPlan inFiles = MemoryPlan::Make(run);
  ASSERT_FALSE(inFiles.segments.empty());
  EXPECT_GT(inFiles.keptBytes, run.budget);
  EXPECT_LE(inFiles.peakBytes, run.budget);
  EXPECT_EQ(inFiles.remark, "");
  run.segmentation.inFiles = false;
  const MemoryPlan inMemory = MemoryPlan::Make(run);
  EXPECT_LE(inMemory.peakBytes, run.budget);
  EXPECT_GE(inMemory.peakBytes, run.processBytes + inMemory.keptBytes + inMemory.tileBytes);
  EXPECT_LT(inFiles.coreSeconds, 0.8 * inMemory.coreSeconds);
  EXPECT_NE(inMemory.remark, "");
  run.segmentation.segments = inFiles.segments;
  try
  {
    MemoryPlan::Make(run);
    ADD_FAILURE() << "maps fit the memory";
  }
  catch (const MemoryLimitError & error)
  {
    EXPECT_GT(error.least, inFiles.keptBytes);
    EXPECT_EQ(error.scratch, inFiles.keptBytes);
  }
  run.segmentation.inFiles = true;
  EXPECT_EQ(MemoryPlan::Make(run).segments, inFiles.segments);
  // A tile size that is given is the network at once.
  run.segmentation = {};
  run.tileSize = 256;
  EXPECT_TRUE(MemoryPlan::Make(run).segments.empty());
}

// As the prototype in Python counted them, times those of the image in one piece.
TEST(SegmentPlan, CountsOperationsOfHalosAndRepetitions)
{
  constexpr Size           Square{ 1024, 1024 };
  const NetworkDescription network = NetworkDescription::Load("resnet18-unet");
  const SegmentPlan        end{ network.graph.output, 256 }, eighth{ "layer2.1.relu", 32 };
  const double whole = GraphTileCost::Make(network, Square, Purpose::Training, 1024, Precision::Float).operations;
  const std::vector<std::pair<std::vector<SegmentPlan>, double>> cases{
    { { end }, 2.80 },
    { { eighth, end }, 1.99 },
    { { { "layer1.1.relu", 64 }, eighth, { "layer3.1.relu", 16 }, { "decoder.blocks.1.conv2.2", 32 }, end }, 1.63 }
  };
  for (const auto & [segments, times] : cases)
  {
    EXPECT_NEAR(GraphTileCost::Make(network, Square, segments, Purpose::Training, Precision::Float).operations / whole,
                times,
                0.03);
  }
}
