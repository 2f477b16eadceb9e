/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGraphTileCost.h"
#include "kernels/gigapixelInstructions.h"
#include "gigapixelSegment.h"
#include "gigapixelSegmentPlanner.h"
#include "gigapixelTileGrid.h"
#include "gigapixelTileProgram.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace gigapixel
{
namespace
{

constexpr std::int64_t WorkerBytes = std::int64_t{ 8 } << 20; ///< measured: stack, and what oneDNN keeps for a thread

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
using WindowShapes = std::set<std::vector<std::int64_t>>;

void
AddShapes(const NetworkGraph & graph, const TileProgram & program, WindowShapes & shapes)
{
  for (const TileProgram::Step & step : program.steps)
  {
    if (!step.sources.empty() && OperationSchema::Find(graph.operations[step.operation].type)->weight)
    {
      std::vector<std::int64_t> shape{ step.operation };
      for (int axis = 0; axis < step.output.GetNumberOfAxes(); ++axis)
      {
        shape.push_back(step.inputs.front()[axis].GetLength());
        shape.push_back(step.output[axis].GetLength());
      }
      shapes.insert(shape);
    }
  }
}

/** Of oneDNN's code and tables for one of these shapes, in the mean: for AVX-512 the tables grow with the output's
 * width, without it there are none. */
std::int64_t
GetBytesOfPrimitive(const WindowShapes & shapes)
{
  // Measured for tiles of 256 to 1024 pixels.
  const bool         wide = HasAVX512();
  const std::int64_t codeBytes = wide ? 48 << 10 : 20 << 10, bytesOfColumn = wide ? 320 : 0;
  std::int64_t       bytes = 0;
  for (const WindowShapes::value_type & shape : shapes)
  {
    bytes += codeBytes + bytesOfColumn * shape.back();
  }
  return shapes.empty() ? 0 : bytes / static_cast<std::int64_t>(shapes.size());
}

/** A row of tiles, of any slice, and for how many it stands. */
struct Row
{
  std::int64_t first; ///< its first tile
  std::int64_t like;
};

std::vector<Row>
GetRows(const TileGrid & grid)
{
  std::vector<Row> rows;
  for (const auto & [slice, likeSlice] : GetPlaces(grid.GetNumberOfSlices()))
  {
    for (const auto & [row, likeRow] : GetPlaces(grid.GetNumberOfRows()))
    {
      rows.push_back({ (slice * grid.GetNumberOfRows() + row) * grid.GetNumberOfColumns(), likeSlice * likeRow });
    }
  }
  return rows;
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
  Add(const TileGrid & grid, bool training, double passes, GraphTileCost::Together together)
  {
    const NetworkGraph & graph = m_Network.graph;
    const bool           byRow = together == GraphTileCost::Together::Row;
    double               operations = 0, read = 0;
    std::int64_t         side = 0;
    m_Cost.tiles += grid.GetNumberOfTiles();
    for (const Row & row : GetRows(grid))
    {
      if (byRow || m_Cost.groups.empty())
      {
        m_Cost.groups.emplace_back();
      }
      for (const auto & [column, likeColumn] : GetPlaces(grid.GetNumberOfColumns()))
      {
        const Tile         tile = grid.GetTile(row.first + column);
        const std::int64_t pixels = GetNumberOfBytes(tile.program->window, m_Network.channels, GetSampleBytes()) +
                                    GetNumberOfBytes(tile.program->core, 1, 1);
        const std::int64_t maps = tile.program->GetPeakBytes(graph, training, GetValueBytes(m_Precision));
        m_Cost.bytes = std::max(m_Cost.bytes, WorkerBytes + pixels + maps);
        m_Cost.hostBytes = std::max(m_Cost.hostBytes, WorkerBytes + pixels + GetUploadBytes(*tile.program, training));
        m_Cost.groups.back()[WorkerBytes + pixels + maps] += (byRow ? 1 : row.like) * likeColumn;
        const auto like = static_cast<double>(row.like * likeColumn);
        operations += like * passes * tile.program->GetOperations(graph);
        read += training ? 0 : like * static_cast<double>(tile.program->GetReadBytes(graph, sizeof(float)));
        side = std::max(side, tile.program->GetGreatestSide());
        AddShapes(graph, *tile.program, m_Shapes);
      }
    }
    m_Cost.operations += operations;
    m_Cost.seconds += operations / GetRate(side, m_Precision) + GetReadSeconds(read);
  }

  /** In training, a shape takes a forward primitive and two backward ones, and images that are not square are turned.
   * In inference it takes one, and one that puts its weight into order. */
  GraphTileCost
  Get(bool training, Size image)
  {
    const int ofShape = !training ? 2 : image.width == image.height ? 3 : 6;
    m_Cost.primitives = ofShape * static_cast<std::int64_t>(m_Shapes.size());
    m_Cost.primitiveBytes = GetBytesOfPrimitive(m_Shapes);
    return m_Cost;
  }

private:
  /** Of a tile whose maps are a GPU's: what it reads, in memory that LibTorch rounds up to powers of two and keeps, its
   * map, and in training the gradients of both and of the weights. */
  std::int64_t
  GetUploadBytes(const TileProgram & program, bool training) const
  {
    const std::int64_t target = GetNumberOfPixels(program.core) * program.steps.back().channels;
    std::int64_t       read = 0;
    for (const TileProgram::Step & step : program.steps)
    {
      read += step.sources.empty() ? GetNumberOfPixels(step.output) * step.channels : 0;
    }
    const std::int64_t gradients = training ? read + target + m_Network.GetNumberOfParameters() : 0;
    return sizeof(float) * (2 * read + target + gradients);
  }

  std::int64_t
  GetSampleBytes() const
  {
    return m_Network.GetSampleBytes();
  }

  const NetworkDescription & m_Network;
  const Precision            m_Precision;
  GraphTileCost              m_Cost;
  WindowShapes               m_Shapes;
};

} // namespace

std::int64_t
GraphTileCost::GetMostTogether() const
{
  std::int64_t most = 0;
  for (const auto & group : groups)
  {
    most =
      std::max(most, std::accumulate(group.begin(), group.end(), std::int64_t{ 0 }, [](auto sum, const auto & alike) {
                 return sum + alike.second;
               }));
  }
  return most;
}

std::int64_t
GraphTileCost::GetBytes(std::int64_t together) const
{
  std::int64_t most = 0;
  for (const auto & group : groups)
  {
    std::int64_t sum = 0, left = together;
    for (const auto & [ofOne, number] : group)
    {
      sum += ofOne * std::min(left, number);
      left -= std::min(left, number);
    }
    most = std::max(most, sum);
  }
  return most;
}

std::int64_t
GraphTileCost::GetPrimitiveBytes(int sizes, std::int64_t others) const
{
  // Where they come and go with the images, the heap loses as much between them as their code takes.
  constexpr std::int64_t LostBytes = 48 << 10;
  const std::int64_t     most = std::max<std::int64_t>(0, MostPrimitives - others * sizes);
  return std::min(primitives * sizes, most) * (primitiveBytes + (sizes > 1 ? LostBytes : 0));
}

GraphTileCost
GraphTileCost::Make(const NetworkDescription & network,
                    Size                       image,
                    Purpose                    purpose,
                    std::int64_t               tileSize,
                    Precision                  precision,
                    Together                   together)
{
  const bool training = purpose == Purpose::Training;
  if (network.graph.SeesWholeImage())
  {
    const GraphGeometry geometry(network.graph, ToExtent(image, network.graph.GetNumberOfAxes()));
    return Make(network, image, MakeReducingSegments(geometry, tileSize), purpose, precision);
  }
  CostSum sum(network, precision);
  sum.Add(TileGrid(network, image, tileSize, training), training, training ? GetPasses(network, true) : 1, together);
  return sum.Get(training, image);
}

GraphTileCost
GraphTileCost::Make(const NetworkDescription &       network,
                    Size                             image,
                    const std::vector<SegmentPlan> & segments,
                    Purpose                          purpose,
                    Precision                        precision)
{
  const bool training = purpose == Purpose::Training;
  const auto geometry =
    std::make_shared<GraphGeometry>(network.graph, ToExtent(image, network.graph.GetNumberOfAxes()));
  CostSum    sum(network, precision);
  const auto all = MakeSegments(*geometry, segments);
  for (const Segment & segment : all)
  {
    const bool ofOutput = segment.operation == geometry->GetOutput();
    sum.Add(
      TileGrid(geometry, segment, training), training, training ? GetPasses(network, ofOutput) : 1, Together::All);
  }
  GraphTileCost cost = sum.Get(training, image);
  cost.passes = static_cast<int>(all.size());
  cost.keptBytes = GetMostKeptBytes(*geometry, all, sizeof(float), training);
  cost.scratchBytes = GetScratchBytes(*geometry, all, sizeof(float), training);
  cost.reducedBytes = GetReducedBytes(*geometry, all.back().kept, sizeof(float), training);
  cost.seconds += GetTrafficSeconds(GetKeptBytes(*geometry, all.back().kept, sizeof(float), training), training);
  return cost;
}

} // namespace gigapixel
