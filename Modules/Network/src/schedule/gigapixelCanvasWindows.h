/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelCanvasWindows_h
#define gigapixelCanvasWindows_h

#include "gigapixelTileGrid.h"

namespace gigapixel
{

/** \class CanvasWindows
 * \brief The windows of our own kernels.
 *
 * The canvas is the image, padded right and bottom to a multiple of the stride. A window is the core grown by the halo
 * and clipped to the canvas: at the canvas' edge each layer's own zero padding acts as it does on the whole canvas,
 * elsewhere that padding only reaches halo values that the core does not use. */
class GigapixelNetwork_EXPORT CanvasWindows : public TileWindows
{
public:
  /** \param network with layers */
  CanvasWindows(const NetworkDescription & network, Size image, std::int64_t tileSize);

  Size
  GetCanvas() const
  {
    return m_Canvas;
  }

  /** No window is wider or higher, and one is as wide, and one as high. */
  Size GetGreatestWindow() const;

  Tile   MakeTile(const Region & square, const Region & core) const override;
  Region GetInputOf(const Region & core) const override;
  Region GetInputRegion(const Region & tiles) const override;

private:
  Region Grow(const Region & core, Size limit) const;

  std::int64_t GetGreatestSide(std::int64_t canvas) const;

  Size         m_Image;
  Size         m_Canvas;
  std::int64_t m_TileSize;
  std::int64_t m_Halo;
};

} // namespace gigapixel

#endif
