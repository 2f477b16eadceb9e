/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTileGrid.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelSegment.h"
#include "gigapixelTileProgram.h"

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

/** Of so many axes. */
Box
ToBox(const Region & region, int axes)
{
  const Interval y{ region.y, region.y + region.height }, x{ region.x, region.x + region.width };
  return axes == 2 ? Box{ y, x } : Box{ { region.z, region.z + region.depth }, y, x };
}

} // namespace

std::int64_t
GetTileSide(std::int64_t tileSize, Size image, std::int64_t stride)
{
  return tileSize == WholeImage ? RoundUp(std::max({ image.width, image.height, image.depth }), stride) : tileSize;
}

TileGrid::TileGrid(const NetworkDescription & network, Size image, std::int64_t tileSize, bool training)
  : m_Training(training)
  , m_Image(image)
  , m_TileSize(GetTileSide(tileSize, image, network.GetStride()))
  , m_Halo(network.graph.IsEmpty() ? network.GetHalo() : 0)
{
  const std::int64_t stride = network.GetStride();
  if (image.width < 1 || image.height < 1 || image.depth < 1)
  {
    throw InvalidArgument(Diagnostic("E-NETWORK-IMAGE-SIZE", "the image has no pixels"));
  }
  network.CheckTileSize(m_TileSize);
  if (!network.graph.IsEmpty())
  {
    m_Graph = std::make_shared<GraphGeometry>(network.graph, ToExtent(image, network.graph.GetNumberOfAxes()));
    m_Target = m_Graph->GetOutput();
  }
  m_Canvas = m_Graph ? image : Size{ RoundUp(image.width, stride), RoundUp(image.height, stride) };
  m_Columns = (image.width + m_TileSize - 1) / m_TileSize;
  m_Rows = (image.height + m_TileSize - 1) / m_TileSize;
  m_Slices = (image.depth + m_TileSize - 1) / m_TileSize;
}

TileGrid::TileGrid(std::shared_ptr<const GraphGeometry> geometry, const Segment & segment, bool training)
  : m_Graph(std::move(geometry))
  , m_Target(segment.operation)
  , m_Kept(segment.kept)
  , m_Training(training)
  , m_Image(ToSize(GetExtent(m_Graph->GetTiled(m_Target))))
  , m_Canvas(m_Image)
  , m_TileSize(segment.tileSize)
  , m_Columns((m_Image.width + m_TileSize - 1) / m_TileSize)
  , m_Rows((m_Image.height + m_TileSize - 1) / m_TileSize)
  , m_Slices((m_Image.depth + m_TileSize - 1) / m_TileSize)
{}

/** Of a chain of layers. */
Region
TileGrid::GetWindow(const Region & core) const
{
  return Intersect({ core.x - m_Halo, core.y - m_Halo, core.width + 2 * m_Halo, core.height + 2 * m_Halo },
                   { 0, 0, m_Canvas.width, m_Canvas.height });
}

/** That of the first tile which has all of its halo before it, or of the one before: the farther on a tile is, the more
 * halo it has before it, and the less behind it. */
std::int64_t
TileGrid::GetGreatestSide(std::int64_t canvas) const
{
  const auto getSide = [&](std::int64_t tile) {
    const std::int64_t begin = tile * m_TileSize;
    return std::min(canvas, begin + m_TileSize + m_Halo) - std::max<std::int64_t>(0, begin - m_Halo);
  };
  return std::max(getSide(m_Halo / m_TileSize), getSide(m_Halo / m_TileSize + 1));
}

Size
TileGrid::GetGreatestWindow() const
{
  return { GetGreatestSide(m_Canvas.width), GetGreatestSide(m_Canvas.height) };
}

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
  const Region core = Intersect(GetSquare(index), GetWhole(m_Image));
  if (!m_Graph)
  {
    return GetInputRegion(core);
  }
  const auto boxes = m_Graph->GetRequired(m_Target, ToBox(core, m_Graph->GetNumberOfAxes()), m_Kept);
  return boxes.front() ? ToRegion(*boxes.front()) : Region{}; // the image is the first operation
}

Tile
TileGrid::GetTile(std::int64_t index) const
{
  const Region whole = GetSquare(index);
  const Region core = Intersect(whole, GetWhole(m_Image));
  if (!m_Graph)
  {
    const Size greatest = GetGreatestWindow();
    return { core, GetWindow(whole), nullptr, greatest.width * greatest.height };
  }
  const auto program = std::make_shared<TileProgram>(
    TileProgram::Make(*m_Graph, m_Target, m_Kept, ToBox(core, m_Graph->GetNumberOfAxes()), m_Training));
  return { core, ToRegion(program->window), program };
}

Region
TileGrid::GrowToTiles(const Region & region) const
{
  return gigapixel::GrowToTiles(region, m_TileSize, m_Image);
}

Region
TileGrid::GetInputRegion(const Region & region) const
{
  const Region tiles = GrowToTiles(region);
  if (m_Graph)
  {
    return ToRegion(m_Graph->GetInputBox(m_Target, ToBox(tiles, m_Graph->GetNumberOfAxes()), m_Kept));
  }
  return Intersect({ tiles.x - m_Halo, tiles.y - m_Halo, tiles.width + 2 * m_Halo, tiles.height + 2 * m_Halo },
                   { 0, 0, m_Image.width, m_Image.height });
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
