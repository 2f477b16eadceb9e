/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTileGrid.h"

#include <algorithm>
#include <stdexcept>

namespace gigapixel
{

Region
Intersect(const Region & a, const Region & b)
{
  const std::int64_t x = std::max(a.x, b.x), y = std::max(a.y, b.y);
  return { x,
           y,
           std::max<std::int64_t>(0, std::min(a.x + a.width, b.x + b.width) - x),
           std::max<std::int64_t>(0, std::min(a.y + a.height, b.y + b.height) - y) };
}

TileGrid::TileGrid(const NetworkDescription & network, Size image, std::int64_t tileSize)
  : m_Image(image)
  , m_TileSize(tileSize)
  , m_Halo(network.GetHalo())
{
  const std::int64_t stride = network.GetStride();
  if (image.width < 1 || image.height < 1)
  {
    throw std::invalid_argument("the image has no pixels");
  }
  if (tileSize < stride || tileSize % stride != 0)
  {
    throw std::invalid_argument("the tile size " + std::to_string(tileSize) +
                                " is no multiple of the network's stride " + std::to_string(stride));
  }
  m_Canvas = { RoundUp(image.width, stride), RoundUp(image.height, stride) };
  m_Columns = (image.width + tileSize - 1) / tileSize;
  m_Rows = (image.height + tileSize - 1) / tileSize;
}

Tile
TileGrid::GetTile(std::int64_t index) const
{
  const std::int64_t x = index % m_Columns * m_TileSize, y = index / m_Columns * m_TileSize;
  const std::int64_t side = m_TileSize + 2 * m_Halo;
  return { Intersect({ x, y, m_TileSize, m_TileSize }, { 0, 0, m_Image.width, m_Image.height }),
           Intersect({ x - m_Halo, y - m_Halo, side, side }, { 0, 0, m_Canvas.width, m_Canvas.height }) };
}

Region
TileGrid::GrowToTiles(const Region & region) const
{
  const std::int64_t x = region.x / m_TileSize * m_TileSize, y = region.y / m_TileSize * m_TileSize;
  return Intersect(
    { x, y, RoundUp(region.x + region.width, m_TileSize) - x, RoundUp(region.y + region.height, m_TileSize) - y },
    { 0, 0, m_Image.width, m_Image.height });
}

Region
TileGrid::GetInputRegion(const Region & region) const
{
  const Region tiles = GrowToTiles(region);
  return Intersect({ tiles.x - m_Halo, tiles.y - m_Halo, tiles.width + 2 * m_Halo, tiles.height + 2 * m_Halo },
                   { 0, 0, m_Image.width, m_Image.height });
}

std::vector<std::int64_t>
TileGrid::GetTilesOf(const Region & region) const
{
  std::vector<std::int64_t> tiles;
  for (std::int64_t row = region.y / m_TileSize; row * m_TileSize < region.y + region.height; ++row)
  {
    for (std::int64_t column = region.x / m_TileSize; column * m_TileSize < region.x + region.width; ++column)
    {
      tiles.push_back(row * m_Columns + column);
    }
  }
  return tiles;
}

} // namespace gigapixel
