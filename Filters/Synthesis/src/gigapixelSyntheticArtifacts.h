/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSyntheticArtifacts_h
#define gigapixelSyntheticArtifacts_h

#include "gigapixelSceneRegion.h"
#include "gigapixelSyntheticLayout.h"
#include "gigapixelSyntheticStroke.h"

#include <array>
#include <cstdint>
#include <vector>

namespace gigapixel
{

/** \class SyntheticArtifacts
 * \brief What laboratories and scanners leave on slides, laid over a scene.
 *
 * - strokes of marker pens in five colors (blue, green, black, red, orange), mostly beside the tissue;
 * - threads of clothing, blue, red and gray-brown;
 * - clumps of brown debris, 60 to 260 micrometers;
 * - air bubbles under the coverslip: dark rings of 20 to 50 micrometers, a slightly brighter inside;
 * - the edge of the coverslip near one side: a dark line, beyond it glass with a yellowish cast;
 * - seams between the scanner's stripes: brightness steps of up to 2 %;
 * - a black frame on two sides, and a corner that was not scanned (white, 255).
 *
 * Sizes scale with the slide as far as they would with real ones. Every pixel is a function of its place. */
class SyntheticArtifacts
{
public:
  /** The slide's size in pixels, its resolution, its tissue, and where chance comes from. */
  SyntheticArtifacts(std::int64_t            width,
                     std::int64_t            height,
                     double                  micronsPerPixel,
                     const SyntheticLayout & layout,
                     std::uint32_t           seed);

  /** Lays them over RGB pixels; rows are \a rowBytes apart. */
  void Draw(const SceneRegion & region, std::uint8_t * rgb, std::int64_t rowBytes) const;

  /** Sets to 0 what of a mask they hide: under pen, frame and unscanned corner nobody sees tissue. */
  void Hide(const SceneRegion & region, std::uint8_t * mask, std::int64_t rowLength) const;

private:
  /** Something with a soft edge that absorbs light. */
  struct Line
  {
    SyntheticStroke       stroke;
    std::array<double, 3> density; ///< natural, of red, green, blue
    double                softness;
    bool                  hides;
  };

  struct Disc
  {
    double x, y, radius;
    bool   isBubble;
  };

  using Light = std::array<double, 3>; ///< factors on red, green, blue

  std::vector<const Line *> GetLines(const SceneRegion & region) const;
  std::vector<const Disc *> GetDiscs(const SceneRegion & region) const;
  void                      PassDisc(const Disc & disc, double x, double y, Light & light) const;
  void                      PassGlass(double x, double y, std::int64_t column, Light & light) const;
  bool                      IsBeyondScan(std::int64_t x, std::int64_t y, std::uint8_t & gray) const;

  std::int64_t      m_Width, m_Height;
  double            m_PixelSize; ///< micrometers
  std::uint32_t     m_Seed;
  std::vector<Line> m_Lines;
  std::vector<Disc> m_Discs;
  double            m_CoverslipX, m_CoverslipSlope; ///< micrometers at the top; per micrometer downwards
  std::int64_t      m_StripeWidth;                  ///< pixels
  std::int64_t      m_FrameLeft, m_FrameTop;        ///< pixels
  SceneRegion       m_Unscanned;
};

} // namespace gigapixel

#endif
