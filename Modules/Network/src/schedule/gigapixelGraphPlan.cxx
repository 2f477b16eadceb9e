/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGraphPlan.h"
#include "gigapixelProcessMemory.h"
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
constexpr std::int64_t TrainingBytes = 88;     ///< moments, sums and checkpoints as well

constexpr std::int64_t GreatestClass = 1024 * MiB;
constexpr std::int64_t LeastClass = 16 * MiB;

constexpr std::array<std::int64_t, 9> TileSizes{ 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096 };

/** Operations per second by the side of the maps: larger ones fall out of the caches. */
double
GetRate(std::int64_t tileSize)
{
  return tileSize <= 512 ? 62e9 : tileSize <= 1024 ? 56e9 : tileSize <= 2048 ? 53e9 : 50e9;
}

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

/** The backward pass computes gradients of weights and of inputs. */
constexpr double OperationsOfStep = 3;

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
 * the output's width. In training there is one forward, one backward to the input and one to the weight. */
std::int64_t
GetPrimitiveBytes(const WindowShapes & shapes, bool training, bool turned)
{
  constexpr std::int64_t CodeBytes = 48 << 10, BytesOfColumn = 320; // measured for tiles of 256 to 1024 pixels
  std::int64_t           bytes = 0;
  for (const WindowShapes::value_type & shape : shapes)
  {
    bytes += CodeBytes + BytesOfColumn * shape.back();
  }
  const auto         number = static_cast<std::int64_t>(shapes.size());
  const std::int64_t all = number * (training ? 3 : 1) * (turned ? 2 : 1);
  return number == 0 ? 0 : bytes / number * std::min<std::int64_t>(all, MostPrimitives);
}

} // namespace

GraphTileCost
GraphTileCost::Make(const NetworkDescription & network, Size image, Purpose purpose, std::int64_t tileSize)
{
  const bool         training = purpose == Purpose::Training;
  const TileGrid     grid(network, image, tileSize, training);
  const std::int64_t columns = (image.width + tileSize - 1) / tileSize;
  const std::int64_t rows = (image.height + tileSize - 1) / tileSize;
  GraphTileCost      cost;
  WindowShapes       shapes;
  cost.tiles = grid.GetNumberOfTiles();
  for (const auto & [row, likeRow] : GetPlaces(rows))
  {
    for (const auto & [column, likeColumn] : GetPlaces(columns))
    {
      const Tile         tile = grid.GetTile(row * columns + column);
      const std::int64_t window = tile.window.width * tile.window.height;
      const std::int64_t core = tile.core.width * tile.core.height;
      const std::int64_t pixels = window * network.channels + core;
      cost.bytes = std::max(
        cost.bytes, pixels + tile.program->GetPeakBytes(network.graph, training, static_cast<int>(sizeof(float))));
      cost.operations += static_cast<double>(likeRow * likeColumn) * tile.program->GetOperations(network.graph) *
                         (training ? OperationsOfStep : 1);
      AddShapes(network.graph, *tile.program, shapes);
    }
  }
  cost.bytes += WorkerBytes;
  // Augmentation turns the image.
  cost.primitiveBytes = GetPrimitiveBytes(shapes, training, training && image.width != image.height);
  cost.seconds = cost.operations / GetRate(std::min({ tileSize, image.width, image.height }));
  return cost;
}

namespace
{

std::int64_t
GetBaseBytes(const NetworkDescription & network, Purpose purpose)
{
  const std::int64_t torch = IsLibraryLoaded("libtorch_cpu") ? 0 : TorchBytes; // by whomever
  return GetResidentBytes() + torch +
         network.GetNumberOfParameters() * (purpose == Purpose::Training ? TrainingBytes : InferenceBytes);
}

/** The fastest tile size within a class; the smallest one where none is. */
std::int64_t
ChooseTileSize(const NetworkDescription & network, Size image, Purpose purpose, std::int64_t bytes)
{
  const std::int64_t stride = network.GetStride();
  std::int64_t       best = RoundUp(TileSizes.front(), stride);
  double             least = 0;
  for (const std::int64_t side : TileSizes)
  {
    const std::int64_t  tileSize = RoundUp(side, stride);
    const GraphTileCost cost = GraphTileCost::Make(network, image, purpose, tileSize);
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

} // namespace

MemoryPlan
MakeGraphPlan(const NetworkDescription & network,
              Size                       image,
              Purpose                    purpose,
              std::int64_t               budget,
              int                        threads,
              std::int64_t               tileSize,
              bool                       sharedMemory)
{
  const std::int64_t limit = budget > 0 ? budget : GetMachineBytes();
  const std::int64_t base =
    GetBaseBytes(network, purpose) + (sharedMemory ? (network.channels + 1) * image.width * image.height : 0);
  const auto choose = [&](std::int64_t memoryClass) {
    return tileSize == 0 ? ChooseTileSize(network, image, purpose, memoryClass)
                         : GetTileSide(tileSize, image, network.GetStride());
  };
  const std::int64_t wanted = choose(GreatestClass);
  std::int64_t       size = wanted;
  GraphTileCost      cost = GraphTileCost::Make(network, image, purpose, size);
  const auto         fits = [&] { return base + cost.primitiveBytes + cost.bytes <= limit; };
  for (std::int64_t memoryClass = GreatestClass / 2; tileSize == 0 && !fits() && memoryClass >= LeastClass;
       memoryClass /= 2)
  {
    size = choose(memoryClass);
    cost = GraphTileCost::Make(network, image, purpose, size);
  }
  const std::int64_t together = base + cost.primitiveBytes; // whatever is in flight
  MemoryPlan         plan;
  plan.tileSize = size;
  plan.numberOfTiles = cost.tiles;
  const std::int64_t fitting = std::max<std::int64_t>(1, (limit - together) / cost.bytes);
  plan.tilesInFlight = static_cast<int>(std::min({ std::int64_t{ GetNumberOfThreads(threads) }, cost.tiles, fitting }));
  plan.peakBytes = together + plan.tilesInFlight * cost.bytes;
  plan.remark = DescribeSmallerTiles(wanted, size, limit);
  plan.coreSeconds = cost.seconds;
  if (plan.peakBytes > limit)
  {
    throw MemoryLimitError("the memory limit of " + std::to_string(limit / MiB) + " MB is too small: at least " +
                             std::to_string(plan.peakBytes / MiB + 1) + " MB are needed" +
                             DescribeNeed(tileSize == 0 ? size : tileSize, sharedMemory),
                           plan.peakBytes);
  }
  return plan;
}

} // namespace gigapixel
