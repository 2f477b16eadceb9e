/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGraphPlan.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelSegmentPlanner.h"
#include "gigapixelTileGrid.h"
#include "gigapixelTileProgram.h"
#include "gigapixelWorkers.h"

#include <algorithm>
#include <array>
#include <set>

namespace gigapixel
{
namespace
{

constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;

// Measured on x86-64.
constexpr std::int64_t TorchBytes = 156 * MiB; ///< LibTorch 1.13 and what it holds beside the maps
constexpr std::int64_t WorkerBytes = 8 * MiB;  ///< stack, and what oneDNN keeps for one thread
constexpr std::int64_t InferenceBytes = 12;    ///< for each parameter: the model's, the executor's, and folded ones
constexpr std::int64_t LoadingBytes = 24;      ///< before there are tiles: all twice in floats, and twice in double
constexpr std::int64_t TrainingBytes = 60;     ///< weights thrice and in double, moments, sums, the gradient

constexpr std::int64_t GreatestClass = 1024 * MiB;
constexpr std::int64_t LeastClass = 16 * MiB;

/** Places of the first, an inner and the last tile along one axis, and for how many each stands. */
std::vector<std::pair<std::int64_t, std::int64_t>>
GetPlaces(std::int64_t number)
{
  std::vector<std::pair<std::int64_t, std::int64_t>> places{ { 0, 1 } };
  if (number > 2)
  {
    places.emplace_back(number / 2, number - 2); // far from borders: a halo may be wider than a tile
  }
  if (number > 1)
  {
    places.emplace_back(number - 1, 1);
  }
  return places;
}

/** Shapes of windows with weights: each takes primitives of its own. */
using WindowShapes = std::set<std::array<std::int64_t, 1 + 2 * NetworkGraph::NumberOfAxes>>;

void
AddShapes(const NetworkGraph & graph, const TileProgram & program, WindowShapes & shapes)
{
  for (const TileProgram::Step & step : program.steps)
  {
    if (!step.sources.empty() && OperationSchema::Find(graph.operations[step.operation].type)->weight)
    {
      WindowShapes::value_type shape{ step.operation };
      for (int axis = 0; axis < NetworkGraph::NumberOfAxes; ++axis)
      {
        shape[1 + 2 * axis] = step.inputs.front()[axis].GetLength();
        shape[2 + 2 * axis] = step.output[axis].GetLength();
      }
      shapes.insert(shape);
    }
  }
}

/** Code and tables of oneDNN's primitives for these shapes, of which it keeps a limited number: the tables grow with
 * the output's width. In training, images are turned, others have other sizes, and validation has its own shapes: there
 * are as many as it keeps, after some epochs. In inference there is one for each shape, and one that puts its weight
 * into order. */
std::int64_t
GetPrimitiveBytes(const WindowShapes & shapes, bool training)
{
  // Measured for tiles of 256 to 1024 pixels, with what the heap loses between primitives that come and go.
  constexpr std::int64_t CodeBytes = 96 << 10, BytesOfColumn = 320;
  std::int64_t           bytes = 0;
  for (const WindowShapes::value_type & shape : shapes)
  {
    bytes += CodeBytes + BytesOfColumn * shape.back();
  }
  const auto         number = static_cast<std::int64_t>(shapes.size());
  const std::int64_t kept = training ? MostPrimitives : std::min<std::int64_t>(2 * number, MostPrimitives);
  return number == 0 ? 0 : bytes / number * kept;
}

/** \class CostSum
 * \brief Adds up what tiles take, grid by grid. */
class CostSum
{
public:
  CostSum(const NetworkDescription & network, Precision precision)
    : m_Network(network)
    , m_Precision(precision)
  {
    m_Cost.bytes = WorkerBytes;
  }

  /** \param passes in forward ones */
  void
  Add(const TileGrid & grid, bool training, double passes)
  {
    const NetworkGraph & graph = m_Network.graph;
    double               operations = 0;
    std::int64_t         side = 0;
    m_Cost.tiles += grid.GetNumberOfTiles();
    for (const auto & [row, likeRow] : GetPlaces(grid.GetNumberOfRows()))
    {
      for (const auto & [column, likeColumn] : GetPlaces(grid.GetNumberOfColumns()))
      {
        const Tile         tile = grid.GetTile(row * grid.GetNumberOfColumns() + column);
        const std::int64_t pixels =
          GetNumberOfBytes(tile.program->window, m_Network.channels, 1) + GetNumberOfBytes(tile.program->core, 1, 1);
        const std::int64_t maps = tile.program->GetPeakBytes(graph, training, GetValueBytes(m_Precision));
        m_Cost.bytes = std::max(m_Cost.bytes, WorkerBytes + pixels + maps);
        operations += static_cast<double>(likeRow * likeColumn) * passes * tile.program->GetOperations(graph);
        side = std::max(side, tile.program->GetGreatestSide());
        AddShapes(graph, *tile.program, m_Shapes);
      }
    }
    m_Cost.operations += operations;
    m_Cost.seconds += operations / GetRate(side, m_Precision);
  }

  GraphTileCost
  Get(bool training)
  {
    m_Cost.primitiveBytes = GetPrimitiveBytes(m_Shapes, training);
    return m_Cost;
  }

private:
  const NetworkDescription & m_Network;
  const Precision            m_Precision;
  GraphTileCost              m_Cost;
  WindowShapes               m_Shapes;
};

} // namespace

GraphTileCost
GraphTileCost::Make(const NetworkDescription & network,
                    Size                       image,
                    Purpose                    purpose,
                    std::int64_t               tileSize,
                    Precision                  precision)
{
  const bool training = purpose == Purpose::Training;
  CostSum    sum(network, precision);
  sum.Add(TileGrid(network, image, tileSize, training), training, training ? GetPasses(network, true) : 1);
  return sum.Get(training);
}

GraphTileCost
GraphTileCost::Make(const NetworkDescription &       network,
                    Size                             image,
                    const std::vector<SegmentPlan> & segments,
                    Precision                        precision)
{
  const auto       geometry = std::make_shared<GraphGeometry>(network.graph, Extent{ image.height, image.width });
  CostSum          sum(network, precision);
  std::vector<int> kept;
  for (const Segment & segment : MakeSegments(*geometry, segments))
  {
    const bool ofOutput = segment.operation == geometry->GetOutput();
    sum.Add(TileGrid(geometry, segment, true), true, GetPasses(network, ofOutput));
    kept = segment.kept;
  }
  GraphTileCost cost = sum.Get(true);
  cost.keptBytes = GetKeptBytes(*geometry, kept, sizeof(float));
  cost.seconds += GetTrafficSeconds(cost.keptBytes);
  return cost;
}

namespace
{

/** With so many bytes for each parameter. */
std::int64_t
GetBaseBytes(const NetworkDescription & network, std::int64_t parameterBytes)
{
  const std::int64_t torch = IsLibraryLoaded("libtorch_cpu") ? 0 : TorchBytes; // by whomever
  return GetResidentBytes() + torch + network.GetNumberOfParameters() * parameterBytes;
}

std::int64_t
GetImageBytes(Size image, int bytesOfPixel)
{
  return GetNumberOfBytes({ Interval{ 0, image.height }, { 0, image.width } }, bytesOfPixel, 1);
}

/** The fastest tile size within a class; the smallest one where none is. */
std::int64_t
ChooseTileSize(const NetworkDescription & network, Size image, Purpose purpose, std::int64_t bytes, Precision precision)
{
  const std::int64_t stride = network.GetStride();
  std::int64_t       best = RoundUp(TileSizes[0], stride);
  double             least = 0;
  for (const std::int64_t side : TileSizes)
  {
    const std::int64_t  tileSize = RoundUp(side, stride);
    const GraphTileCost cost = GraphTileCost::Make(network, image, purpose, tileSize, precision);
    if (cost.bytes > bytes)
    {
      break;
    }
    if (least == 0 || cost.seconds < least)
    {
      best = tileSize;
      least = cost.seconds;
    }
    if (cost.tiles == 1)
    {
      break;
    }
  }
  return best;
}

/** What a class of memory leads to. */
struct Choice
{
  std::int64_t             tileSize{ 0 };
  std::vector<SegmentPlan> segments{};
  GraphTileCost            cost{};
};

/** \param given a tile size, or segments and the tile size of what takes the network at once; 0 and none: chosen */
Choice
Choose(const NetworkDescription & network,
       Size                       image,
       Purpose                    purpose,
       std::int64_t               bytes,
       Precision                  precision,
       const Choice &             given)
{
  Choice choice = given;
  if (given.tileSize == 0 && given.segments.empty() && purpose == Purpose::Training)
  {
    choice.segments = ChooseSegments(network, image, bytes, precision);
  }
  if (!choice.segments.empty())
  {
    choice.cost = GraphTileCost::Make(network, image, choice.segments, precision);
  }
  // What validates and segments images later takes the network at once, and no more memory than training does.
  const bool    atOnce = choice.segments.empty();
  const Purpose purposeAtOnce = atOnce ? purpose : Purpose::Inference;
  if (given.tileSize == 0)
  {
    choice.tileSize = ChooseTileSize(network, image, purposeAtOnce, atOnce ? bytes : choice.cost.bytes, precision);
  }
  const GraphTileCost costAtOnce = GraphTileCost::Make(network, image, purposeAtOnce, choice.tileSize, precision);
  if (atOnce)
  {
    choice.cost = costAtOnce;
  }
  choice.cost.bytes = std::max(choice.cost.bytes, costAtOnce.bytes);
  return choice;
}

std::string
DescribeOtherSegments(std::int64_t budget)
{
  return "in " + std::to_string(budget / MiB) +
         " MB of memory the network is divided into other segments than with more, which changes the last bits of the "
         "result; a run that goes on keeps those that it began with";
}

/** Why a plan does not fit. */
std::string
DescribeLack(const Choice & choice, std::int64_t needed, std::int64_t limit, std::int64_t tileSize, bool sharedMemory)
{
  const std::string least = "the memory limit of " + std::to_string(limit / MiB) + " MB is too small: at least " +
                            std::to_string(needed / MiB + 1) + " MB are needed";
  return needed - choice.cost.keptBytes > limit || choice.cost.keptBytes == 0
           ? least + DescribeNeed(tileSize == 0 ? choice.tileSize : tileSize, sharedMemory)
           : least + ", most of them for maps that the network keeps: give a scratch folder (--scratch) with " +
               std::to_string(choice.cost.keptBytes / MiB + 1) +
               " MB of room, and they lie there, or a tile size (--tile-size), with which the network keeps none and "
               "takes "
               "longer";
}

} // namespace

MemoryPlan
MakeGraphPlan(const NetworkDescription & network,
              Size                       image,
              Purpose                    purpose,
              std::int64_t               budget,
              int                        threads,
              std::int64_t               tileSize,
              Precision                  precision,
              bool                       sharedMemory,
              const Segmentation &       segmentation)
{
  const std::int64_t limit = budget > 0 ? budget : GetMachineBytes();
  const std::int64_t base = GetBaseBytes(network, purpose == Purpose::Training ? TrainingBytes : InferenceBytes) +
                            (sharedMemory ? GetImageBytes(image, network.channels + 1) : 0);
  const Choice given{ tileSize == 0 ? 0 : GetTileSide(tileSize, image, network.GetStride()), segmentation.segments };
  const Choice wanted = Choose(network, image, purpose, GreatestClass, precision, given);
  Choice       choice = wanted;
  const auto   getTogether = [&] { return base + choice.cost.primitiveBytes; }; // whatever is in flight
  // Maps that are kept have to find their place; tiles become smaller.
  for (std::int64_t memoryClass = GreatestClass / 2;
       tileSize == 0 && getTogether() + choice.cost.bytes > limit && memoryClass >= LeastClass;
       memoryClass /= 2)
  {
    choice = Choose(network, image, purpose, memoryClass, precision, given);
  }
  const GraphTileCost & cost = choice.cost;
  const std::int64_t    inMemory = segmentation.inFiles ? 0 : cost.keptBytes;
  const std::int64_t    together = getTogether() + inMemory;
  MemoryPlan            plan;
  plan.tileSize = choice.tileSize;
  plan.segments = choice.segments;
  plan.keptBytes = cost.keptBytes;
  plan.numberOfTiles = cost.tiles;
  const std::int64_t fitting = std::max<std::int64_t>(1, (limit - together) / cost.bytes);
  plan.tilesInFlight = static_cast<int>(std::min({ std::int64_t{ GetNumberOfThreads(threads) }, cost.tiles, fitting }));
  plan.peakBytes = std::max(together + plan.tilesInFlight * cost.bytes, GetBaseBytes(network, LoadingBytes));
  plan.tileBytes = cost.bytes;
  plan.remark = choice.segments == wanted.segments ? DescribeSmallerTiles(wanted.tileSize, choice.tileSize, limit)
                                                   : DescribeOtherSegments(limit);
  const std::string slow = GetPrecisionProblem(precision);
  plan.remark += (plan.remark.empty() || slow.empty() ? "" : "; ") + slow;
  plan.coreSeconds = cost.seconds;
  if (plan.peakBytes > limit)
  {
    Choice lack = choice;
    lack.cost.keptBytes = inMemory;
    throw MemoryLimitError(DescribeLack(lack, plan.peakBytes, limit, tileSize, sharedMemory), plan.peakBytes, inMemory);
  }
  return plan;
}

} // namespace gigapixel
