/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelCanvasWindows.h"
#include "gigapixelTileProgram.h"
#include "graph/gigapixelExecutors.h"

#include <algorithm>

namespace gigapixel
{

CanvasWindows::CanvasWindows(const NetworkDescription & network, Size image, std::int64_t tileSize)
  : m_Image(image)
  , m_Canvas{ RoundUp(image.width, network.GetStride()), RoundUp(image.height, network.GetStride()) }
  , m_TileSize(tileSize)
  , m_Halo(network.GetHalo())
{}

Region
CanvasWindows::Grow(const Region & core, Size limit) const
{
  return Intersect({ core.x - m_Halo, core.y - m_Halo, core.width + 2 * m_Halo, core.height + 2 * m_Halo },
                   { 0, 0, limit.width, limit.height });
}

/** The side of the window of the first tile which has all of its halo before it, or of the one before: the farther on a
 * tile is, the more halo it has before it, and the less behind it. */
std::int64_t
CanvasWindows::GetGreatestSide(std::int64_t canvas) const
{
  const auto getSide = [&](std::int64_t tile) {
    const std::int64_t begin = tile * m_TileSize;
    return std::min(canvas, begin + m_TileSize + m_Halo) - std::max<std::int64_t>(0, begin - m_Halo);
  };
  return std::max(getSide(m_Halo / m_TileSize), getSide(m_Halo / m_TileSize + 1));
}

Size
CanvasWindows::GetGreatestWindow() const
{
  return { GetGreatestSide(m_Canvas.width), GetGreatestSide(m_Canvas.height) };
}

/** All depends on where the core lies in its window. */
Tile
CanvasWindows::MakeTile(const Region & square, const Region & core) const
{
  const Region window = this->Grow(square, m_Canvas);
  const Size   greatest = this->GetGreatestWindow();
  const auto   program = std::make_shared<TileProgram>();
  program->signature = { core.x - window.x, core.y - window.y, core.width, core.height, window.width, window.height };
  return { core, window, program, greatest.width * greatest.height };
}

Region
CanvasWindows::GetInputOf(const Region & core) const
{
  return this->GetInputRegion(core);
}

Region
CanvasWindows::GetInputRegion(const Region & tiles) const
{
  return this->Grow(tiles, m_Image);
}

std::shared_ptr<const TileWindows>
FusedExecutor::MakeWindows(const NetworkDescription & network, Size image, std::int64_t tileSize, bool) const
{
  return std::make_shared<CanvasWindows>(network, image, tileSize);
}

} // namespace gigapixel
