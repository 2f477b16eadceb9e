/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Networks that go over an image in segments: the same gradient as in one, the same bits however it is computed.
#include "BFloat16.h"
#include "RelativeDifference.h"
#include "SyntheticSources.h"
#include "TemporaryFolder.h"
#include "gigapixelEqualMaps.h"
#include "gigapixelInitialWeights.h"
#include "gigapixelStreamedNetwork.h"
#include "gigapixelTrainer.h"
#include "gigapixelTurns.h"
#include "execute/gigapixelKeptMaps.h"
#include "schedule/gigapixelGraphPlan.h"
#include "schedule/gigapixelSegmentPasses.h"
#include "schedule/gigapixelSegmentPlanner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <thread>
#include <tuple>

#include <sys/resource.h>
#include <sys/stat.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

constexpr Size Image{ 130, 97 };

/** The last operation whose map has this scale, before the first one whose map has a smaller one (encoder), or after
 * the last one (decoder). */
std::string
FindMap(const NetworkDescription & network, std::int64_t scale, bool decoder)
{
  const Extent        size{ 1024, 1024 };
  const GraphGeometry geometry(network.graph, size);
  std::vector<int>    of;
  for (int i = 0; i < static_cast<int>(network.graph.operations.size()); ++i)
  {
    const bool here = geometry.GetSize(i)[0] * scale == size[0];
    if (here && (decoder || of.empty() || of.back() + 1 == i))
    {
      of.push_back(i);
    }
  }
  return network.graph.operations[geometry.GetAsRead(of.back())].name;
}

std::vector<SegmentPlan>
MakePlan(const NetworkDescription & network, const std::vector<std::pair<std::int64_t, bool>> & maps)
{
  std::vector<SegmentPlan> plan;
  for (const auto & [scale, decoder] : maps)
  {
    plan.push_back({ FindMap(network, scale, decoder), 64 / scale });
  }
  plan.push_back({ network.graph.output, 64 });
  return plan;
}

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
      for (std::size_t axis = 0; axis < core.size(); ++axis)
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

/** Files in the folder that this process holds, named or not: bytes of the disk that each has. */
std::vector<std::int64_t>
FindHeldFiles(const std::string & folder)
{
  std::vector<std::int64_t> bytes;
  for (const auto & entry : std::filesystem::directory_iterator("/proc/self/fd"))
  {
    std::error_code error;
    struct stat     file;
    if (std::filesystem::read_symlink(entry, error).string().rfind(folder + '/', 0) == 0 &&
        stat(entry.path().c_str(), &file) == 0)
    {
      bytes.push_back(std::int64_t{ 512 } * file.st_blocks);
    }
  }
  return bytes;
}

/** Files of this process may not become larger, as on a disk that is full. */
class FileSizeLimit
{
public:
  explicit FileSizeLimit(rlim_t bytes)
    : m_Handler(std::signal(SIGXFSZ, SIG_IGN))
  {
    getrlimit(RLIMIT_FSIZE, &m_Before);
    const rlimit limit{ bytes, m_Before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit()
  {
    setrlimit(RLIMIT_FSIZE, &m_Before);
    std::signal(SIGXFSZ, m_Handler);
  }
  FileSizeLimit(const FileSizeLimit &) = delete;
  FileSizeLimit & operator=(const FileSizeLimit &) = delete;

private:
  void (*m_Handler)(int);
  rlimit m_Before{};
};

} // namespace

TEST(KeptMap, ReadsWhatWasWrittenAndAdded)
{
  const TemporaryFolder scratch("kept-map");
  for (const std::string & directory : { std::string(), scratch.path })
  {
    KeptMap            map({ 5, 7 }, 2, sizeof(float), directory);
    const Box          part{ Interval{ 1, 4 }, { 2, 6 } }, all{ Interval{ 0, 5 }, { 0, 7 } };
    std::vector<float> values(GetNumberOfPixels(part) * 2);
    for (std::size_t i = 0; i < values.size(); ++i)
    {
      values[i] = static_cast<float>(i + 1);
    }
    EXPECT_TRUE(map.IsZero(all));
    map.Write(part, values.data());
    map.Add(part, values.data());
    EXPECT_FALSE(map.IsZero(all));
    EXPECT_TRUE(map.IsZero({ Interval{ 0, 1 }, { 0, 7 } }));
    std::vector<float> found(5 * 7 * 2);
    map.Read(all, found.data());
    for (std::int64_t y = 0; y < 5; ++y)
    {
      for (std::int64_t x = 0; x < 14; ++x)
      {
        const bool inside = y >= 1 && y < 4 && x >= 4 && x < 12;
        EXPECT_EQ(found[y * 14 + x], inside ? 2 * values[(y - 1) * 8 + x - 4] : 0);
      }
    }
  }
}

TEST(EqualMaps, ComputesOnceWhatReadsTheSameConstants)
{
  const NetworkDescription  network = NetworkDescription::Load("unet:base=4,depth=3");
  const auto                geometry = std::make_shared<GraphGeometry>(network.graph, Extent{ 512, 512 });
  const Segment             segment = MakeSegments(*geometry, MakePlan(network, { { 4, false } })).front();
  const TileGrid            grid(geometry, segment, false);
  KeptMaps                  maps(*geometry, { segment.operation }, sizeof(float), "");
  std::vector<std::uint8_t> pixels(512 * 512 * 3, 255);
  pixels[(300 * 512 + 300) * 3] = 254;
  EqualMaps          equal;
  TileData           data;
  std::int64_t       computed = 0;
  const std::int64_t tiles = grid.GetNumberOfTiles(), values = 16 * 16 * 16; // channels of the third level
  std::vector<float> part(values);
  std::iota(part.begin(), part.end(), 0.0F);
  data.kept = &maps;
  for (std::int64_t i = 0; i < tiles; ++i)
  {
    data.tile = grid.GetTile(i);
    data.rows = { pixels.data() + (data.tile.window.y * 512 + data.tile.window.x) * 3, 512 * 3 };
    equal.Compute(data, 3, [&] {
      ++computed;
      maps.GetMap(segment.operation).Write(data.tile.program->core, part.data());
    });
    std::vector<float> found(values);
    maps.GetMap(segment.operation).Read(data.tile.program->core, found.data());
    ASSERT_TRUE(found == part) << "tile " << i;
  }
  EXPECT_EQ(tiles, 64);
  EXPECT_GE(computed, 9 + 1); // corners, edges, inside; where the other pixel is seen
  EXPECT_LE(computed, 9 + 4);
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
    const StepSchedule       step(network, { 2048, 2048 }, ChooseSegments(network, { 2048, 2048 }, Class));
    const double             one = step.GetSeconds(1), two = step.GetSeconds(2), four = step.GetSeconds(4);
    RecordProperty(std::string(name) + " two", std::to_string(two / one));
    RecordProperty(std::string(name) + " four", std::to_string(four / one));
    EXPECT_LE(two / one, 0.53) << name;
    EXPECT_LE(four / one, 0.35) << name;
  }
}

TEST(KeptMap, TakesItsRoomWhenItIsMade)
{
  const TemporaryFolder scratch("room");
  constexpr Extent      Map{ 300, 500 };
  {
    const KeptMap map(Map, 4, sizeof(float), scratch.path);
    const auto    files = FindHeldFiles(scratch.path);
    ASSERT_EQ(files.size(), 1u);
    EXPECT_GE(files.front(), map.GetBytes());
  }
  std::string reason;
  try
  {
    const FileSizeLimit limit(1 << 20);
    const KeptMap       map(Map, 4, sizeof(float), scratch.path);
  }
  catch (const std::runtime_error & error)
  {
    reason = error.what();
  }
  EXPECT_EQ(reason,
            "maps of the network cannot be written in the scratch folder \"" + scratch.path +
              "\": File too large: choose another one");
  EXPECT_TRUE(FindHeldFiles(scratch.path).empty());
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path));
}

TEST(KeptMap, SaysWhatIsWrongWithTheScratchFolder)
{
  const auto refuse = [](const Extent & image, const std::string & directory) -> std::string {
    const NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=2");
    const GraphGeometry      geometry(network.graph, image);
    try
    {
      const KeptMaps maps(geometry, { network.graph.GetIndex(FindMap(network, 2, false)) }, 4, directory);
    }
    catch (const std::runtime_error & error)
    {
      return error.what();
    }
    return "";
  };
  const TemporaryFolder scratch("no-space");
  const std::int64_t    side = std::int64_t{ 1 } << 24; // petabytes
  const std::string     full = refuse({ side, side }, scratch.path);
  EXPECT_NE(full.find("the scratch folder \"" + scratch.path + "\" has "), std::string::npos) << full;
  EXPECT_NE(full.find("make room there or choose another one"), std::string::npos) << full;
  const std::string none = refuse({ 64, 64 }, scratch.path + "/none");
  EXPECT_NE(none.find("the scratch folder \"" + scratch.path + "/none\" is not there"), std::string::npos) << none;
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
  const auto               segments = ChooseSegments(network, Square, Class);
  ASSERT_GE(segments.size(), 2u);
  EXPECT_LE(segments.size(), 5u);
  const GraphTileCost whole = GraphTileCost::Make(network, Square, Purpose::Training, 2048);
  const GraphTileCost cost = GraphTileCost::Make(network, Square, segments);
  EXPECT_LE(cost.operations / whole.operations, 1.6);
  EXPECT_LE(cost.bytes, Class + Class / 20); // pixels and the library's memory beside the maps
  RecordProperty("operations", std::to_string(cost.operations / whole.operations));
  // What does not need them has none.
  EXPECT_TRUE(ChooseSegments(NetworkDescription::Load("unet"), Square, Class).empty());
  EXPECT_TRUE(ChooseSegments(NetworkDescription::Load("resnet18-unet"), { 512, 512 }, Class).empty());
}

TEST(SegmentPlan, CountsMapsInMemoryAndAsksForAScratchFolder)
{
  constexpr std::int64_t   Budget = std::int64_t{ 3 } << 30;
  constexpr Size           Large{ 32768, 32768 };
  const NetworkDescription network = NetworkDescription::Load("resnet18-unet");
  const auto               plan = [&](const Segmentation & segmentation) {
    return MemoryPlan::Make(
      network, Large, Purpose::Training, Budget, 1, 0, Precision::Float, false, false, segmentation);
  };
  const MemoryPlan inFiles = plan({ {}, true });
  ASSERT_FALSE(inFiles.segments.empty());
  EXPECT_GT(inFiles.keptBytes, Budget);
  EXPECT_LE(inFiles.peakBytes, Budget);
  EXPECT_EQ(plan({ inFiles.segments, true }).segments, inFiles.segments);
  try
  {
    plan({});
    ADD_FAILURE() << "maps fit the memory";
  }
  catch (const MemoryLimitError & error)
  {
    EXPECT_NE(std::string(error.what()).find("give a scratch folder (--scratch)"), std::string::npos) << error.what();
    EXPECT_EQ(error.kept, inFiles.keptBytes);
  }
  // A tile size that is given is the network at once.
  EXPECT_TRUE(MemoryPlan::Make(network, Large, Purpose::Training, Budget, 1, 256).segments.empty());
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

// As the prototype in Python counted them, times those of the image in one piece.
TEST(SegmentPlan, CountsOperationsOfHalosAndRepetitions)
{
  constexpr Size           Square{ 1024, 1024 };
  const NetworkDescription network = NetworkDescription::Load("resnet18-unet");
  const SegmentPlan        end{ network.graph.output, 256 }, eighth{ "layer2.1.relu", 32 };
  const double             whole = GraphTileCost::Make(network, Square, Purpose::Training, 1024).operations;
  const std::vector<std::pair<std::vector<SegmentPlan>, double>> cases{
    { { end }, 2.80 },
    { { eighth, end }, 1.99 },
    { { { "layer1.1.relu", 64 }, eighth, { "layer3.1.relu", 16 }, { "decoder.blocks.1.conv2.2", 32 }, end }, 1.63 }
  };
  for (const auto & [segments, times] : cases)
  {
    EXPECT_NEAR(GraphTileCost::Make(network, Square, segments).operations / whole, times, 0.03);
  }
}
