/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSyntheticLayout_h
#define gigapixelSyntheticLayout_h

#include "gigapixelSyntheticStroke.h"

#include <cstdint>
#include <vector>

namespace gigapixel
{

/** \class SyntheticLayout
 * \brief What is where on the slide: pieces of tissue with their holes and tears, kinds of tissue, strokes of the pen.
 *
 * All lengths are micrometers from the slide's upper left corner. Shapes scale with the slide's size; the share of
 * tissue, holes, pale and fatty parts is set by thresholds at quantiles of their fields over a coarse grid, so that it
 * does not depend on the luck of the seed. */
class SyntheticLayout
{
public:
  SyntheticLayout(double width, double height, std::uint32_t seed);

  /** How far inside the tissue a point is, roughly, in micrometers; negative outside and in holes. Exact only near the
   * edge; without the roughness that textures add there. */
  double GetTissueDepth(double x, double y) const;

  /** How far inside a stroke of the pen a point is, in micrometers; negative outside. */
  double GetPenDepth(double x, double y) const;

  /** Kinds of tissue at a point, each 0..1. */
  struct Kind
  {
    double cellularity; // 0 few nuclei .. 1 lymphoid
    double glandular;
    double pale;
    double fat;
  };
  Kind GetKind(double x, double y) const;

  /** Size of the largest structures that a piece has room for, micrometers. */
  double
  GetPieceRadius() const
  {
    return m_PieceRadius;
  }

private:
  struct Piece
  {
    double x, y, radiusX, radiusY, cosine, sine;
  };

  void            PlacePieces(double left, double top, double right, double bottom, unsigned count, unsigned number);
  void            SetThresholds();
  void            PlaceStrokes();
  SyntheticStroke DrawStroke(std::int32_t candidate) const;
  double          GetOutline(double x, double y) const;
  double          GetHoleField(double x, double y) const;
  double          GetTearDepth(double x, double y) const;

  double                       m_Width;
  double                       m_Height;
  std::uint32_t                m_Seed;
  double                       m_PieceRadius{ 0.0 };
  double                       m_OutlineThreshold{ 0.0 };
  double                       m_HoleThreshold{ 1e9 };
  double                       m_PaleThreshold{ 1e9 };
  double                       m_FatThreshold{ 1e9 };
  std::vector<Piece>           m_Pieces;
  std::vector<SyntheticStroke> m_Strokes;
};

} // namespace gigapixel

#endif
