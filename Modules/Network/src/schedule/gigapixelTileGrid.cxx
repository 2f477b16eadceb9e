/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTileGrid.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelSegment.h"
#include "gigapixelTileProgram.h"
#include "graph/gigapixelExecutors.h"

#include <algorithm>
#include <stdexcept>

namespace gigapixel
{

Region
Intersect(const Region & a, const Region & b)
{
  const std::int64_t x = std::max(a.x, b.x), y = std::max(a.y, b.y), z = std::max(a.z, b.z);
  return { x,
           y,
           std::max<std::int64_t>(0, std::min(a.x + a.width, b.x + b.width) - x),
           std::max<std::int64_t>(0, std::min(a.y + a.height, b.y + b.height) - y),
           z,
           std::max<std::int64_t>(0, std::min(a.z + a.depth, b.z + b.depth) - z) };
}

Region
GrowToTiles(const Region & region, std::int64_t side, Size image)
{
  const std::int64_t x = region.x / side * side, y = region.y / side * side, z = region.z / side * side;
  return Intersect({ x,
                     y,
                     RoundUp(region.x + region.width, side) - x,
                     RoundUp(region.y + region.height, side) - y,
                     z,
                     RoundUp(region.z + region.depth, side) - z },
                   GetWhole(image));
}

Region
GetWhole(Size image)
{
  return { 0, 0, image.width, image.height, 0, image.depth };
}

namespace
{

/** \class ProgramWindows
 * \brief What a program computes a map of the graph from, clipped to the image. */
class ProgramWindows : public TileWindows
{
public:
  ProgramWindows(std::shared_ptr<const GraphGeometry> geometry, int target, std::vector<int> kept, bool training)
    : m_Geometry(std::move(geometry))
    , m_Target(target)
    , m_Kept(std::move(kept))
    , m_Training(training)
  {}

  Tile
  MakeTile(const Region &, const Region & core) const override
  {
    const auto program =
      std::make_shared<TileProgram>(TileProgram::Make(*m_Geometry, m_Target, m_Kept, this->ToBox(core), m_Training));
    return { core, ToRegion(program->window), program };
  }

  Region
  GetInputOf(const Region & core) const override
  {
    const auto boxes = m_Geometry->GetRequired(m_Target, this->ToBox(core), m_Kept);
    return boxes.front() ? ToRegion(*boxes.front()) : Region{}; // the image is the first operation
  }

  Region
  GetInputRegion(const Region & tiles) const override
  {
    return ToRegion(m_Geometry->GetInputBox(m_Target, this->ToBox(tiles), m_Kept));
  }

private:
  Box
  ToBox(const Region & region) const
  {
    const Box all{ { region.z, region.z + region.depth },
                   { region.y, region.y + region.height },
                   { region.x, region.x + region.width } };
    Box       box(m_Geometry->GetNumberOfAxes());
    std::copy(all.end() - box.GetNumberOfAxes(), all.end(), box.begin());
    return box;
  }

  std::shared_ptr<const GraphGeometry> m_Geometry;
  int                                  m_Target;
  std::vector<int>                     m_Kept;
  bool                                 m_Training;
};

} // namespace

std::shared_ptr<const TileWindows>
TorchExecutor::MakeWindows(const NetworkDescription & network, Size image, std::int64_t, bool training) const
{
  auto      geometry = std::make_shared<GraphGeometry>(network.graph, ToExtent(image, network.graph.GetNumberOfAxes()));
  const int target = geometry->GetOutput();
  return std::make_shared<ProgramWindows>(std::move(geometry), target, std::vector<int>(), training);
}

std::int64_t
GetTileSide(std::int64_t tileSize, Size image, std::int64_t stride)
{
  return tileSize == WholeImage ? RoundUp(std::max({ image.width, image.height, image.depth }), stride) : tileSize;
}

TileGrid::TileGrid(const NetworkDescription & network, Size image, std::int64_t tileSize, bool training)
  : m_Image(image)
  , m_TileSize(GetTileSide(tileSize, image, network.GetStride()))
{
  if (image.width < 1 || image.height < 1 || image.depth < 1)
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-IMAGE-SIZE", "the image has no pixels"));
  }
  network.CheckTileSize(m_TileSize);
  m_Windows = Executor::Of(network).MakeWindows(network, image, m_TileSize, training);
  m_Columns = (image.width + m_TileSize - 1) / m_TileSize;
  m_Rows = (image.height + m_TileSize - 1) / m_TileSize;
  m_Slices = (image.depth + m_TileSize - 1) / m_TileSize;
}

TileGrid::TileGrid(std::shared_ptr<const GraphGeometry> geometry, const Segment & segment, bool training)
  : m_Image(ToSize(GetExtent(geometry->GetTiled(segment.operation))))
  , m_TileSize(segment.tileSize)
  , m_Windows(std::make_shared<ProgramWindows>(std::move(geometry), segment.operation, segment.kept, training))
  , m_Columns((m_Image.width + m_TileSize - 1) / m_TileSize)
  , m_Rows((m_Image.height + m_TileSize - 1) / m_TileSize)
  , m_Slices((m_Image.depth + m_TileSize - 1) / m_TileSize)
{}

/** Of the grid's square, which may reach beyond the image. */
Region
TileGrid::GetSquare(std::int64_t index) const
{
  const std::int64_t row = index / m_Columns;
  return { index % m_Columns * m_TileSize,
           row % m_Rows * m_TileSize,
           m_TileSize,
           m_TileSize,
           row / m_Rows * m_TileSize,
           m_TileSize };
}

Region
TileGrid::GetInputOf(std::int64_t index) const
{
  return m_Windows->GetInputOf(Intersect(GetSquare(index), GetWhole(m_Image)));
}

Tile
TileGrid::GetTile(std::int64_t index) const
{
  const Region square = GetSquare(index);
  return m_Windows->MakeTile(square, Intersect(square, GetWhole(m_Image)));
}

Region
TileGrid::GrowToTiles(const Region & region) const
{
  return gigapixel::GrowToTiles(region, m_TileSize, m_Image);
}

Region
TileGrid::GetInputRegion(const Region & region) const
{
  return m_Windows->GetInputRegion(GrowToTiles(region));
}

std::vector<std::int64_t>
TileGrid::GetTilesOf(const Region & region) const
{
  std::vector<std::int64_t> tiles;
  for (std::int64_t slice = region.z / m_TileSize; slice * m_TileSize < region.z + region.depth; ++slice)
  {
    for (std::int64_t row = region.y / m_TileSize; row * m_TileSize < region.y + region.height; ++row)
    {
      for (std::int64_t column = region.x / m_TileSize; column * m_TileSize < region.x + region.width; ++column)
      {
        tiles.push_back((slice * m_Rows + row) * m_Columns + column);
      }
    }
  }
  return tiles;
}

} // namespace gigapixel
