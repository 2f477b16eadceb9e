/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSyntheticScene_h
#define gigapixelSyntheticScene_h

#include "gigapixelSyntheticArtifacts.h"
#include "gigapixelSyntheticFoci.h"
#include "gigapixelSyntheticLayout.h"
#include "gigapixelSyntheticNoise.h"
#include "gigapixelSceneRegion.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace gigapixel
{

/** \class SyntheticScene
 * \brief A slide as a function of the pixel: its colors, and what it shows.
 *
 * The smooth fields of the layout are taken on a grid of nodes about 8 micrometers apart, fixed to the slide, and
 * interpolated in integers; textures are integer noise of the pixel's place. So a pixel comes out the same in whatever
 * region it is drawn. Blocks of 8 x 8 node cells are the unit of work: most lie all in glass and cost next to nothing.
 * Thread-safe after construction. */
class SyntheticScene
{
public:
  /** What decides on each pixel. */
  struct Settings
  {
    std::int64_t width;
    std::int64_t height;
    double       micronsPerPixel; // 0.1..8
    unsigned     seed;            // the specimen
    bool         brown;           // diaminobenzidine in place of eosin
    bool         artifacts;       // SyntheticArtifacts on top
    FocusKind    foci;
    double       fociShare; // of the slide's area
  };

  explicit SyntheticScene(const Settings & settings);

  /** Outlines of the foci, in micrometers from the slide's upper left corner. */
  std::vector<SyntheticFoci::Outline>
  GetFocusOutlines() const
  {
    return m_Foci.GetOutlines();
  }

  /** Side in pixels of a block. Blocks sit at multiples of it. */
  std::int64_t
  GetBlockSize() const
  {
    return std::int64_t{ CellsPerBlock } << m_NodeShift;
  }

  /** Writes 255 where the pixels of a region show tissue, else 0; the region must lie in one block. Rows are
   * \a rowLength apart. */
  void MarkTissue(const SceneRegion & region, std::uint8_t * mask, std::int64_t rowLength) const;

  /** Writes the RGB pixels of a region that lies in one block. Rows are \a rowBytes apart. */
  void DrawBlock(const SceneRegion & region, std::uint8_t * rgb, std::int64_t rowBytes) const;

private:
  /** What a pixel shows. Pen wins over tissue, tissue over glass. */
  enum class Matter : std::uint8_t
  {
    Glass,
    Tissue,
    Pen
  };

  static constexpr int CellsPerBlock = 8;
  static constexpr int ShapeNodes = CellsPerBlock + 1;
  static constexpr int Margin =
    2; // nodes around a block at which nuclei reaching into it may ask for the tissue's kind
  static constexpr int KindNodes = ShapeNodes + 2 * Margin;

  static constexpr double CrowdedNuclei = 0.92; // share of the places that are taken in lymphoid tissue and glands

  struct ShapeNode
  {
    std::int32_t tissue; // depths in 1/16 micrometer, clamped to +-2000 micrometers
    std::int32_t pen;
  };

  struct KindNode // 0..4096 where not said otherwise
  {
    std::int32_t cellularity, glandular, pale, fat;
    std::int32_t gland;     // distance from the center of the nearest gland, 1024 at its rim
    std::int32_t wave;      // displacement of the fibers in 1/16 micrometer
    std::int32_t nuclei;    // probability that a place for a nucleus is taken
    std::int32_t elongated; // that it is a spindle
  };

  struct Shapes
  {
    ShapeNode nodes[ShapeNodes][ShapeNodes];
    bool      anyTissue;
  };

  struct Kinds
  {
    KindNode nodes[KindNodes][KindNodes];
  };

  /** The nodes at the corners of a cell. */
  template <typename TNode>
  struct Corners
  {
    template <std::size_t VSide>
    Corners(const TNode (&grid)[VSide][VSide], int x, int y)
      : nodes{ &grid[y][x], &grid[y][x + 1], &grid[y + 1][x], &grid[y + 1][x + 1] }
    {}

    /** What the nodes have is interpolated. \param x,y within the cell, of 2^shift pixels */
    std::int32_t
    Get(std::int32_t TNode::*member, int x, int y, int shift) const
    {
      return InterpolateNodes(nodes[0]->*member, nodes[1]->*member, nodes[2]->*member, nodes[3]->*member, x, y, shift);
    }

    std::array<const TNode *, 4> nodes;
  };

  struct Cell
  {
    std::int64_t       left, top;
    Corners<ShapeNode> shapes;
    Corners<KindNode>  kinds;
  };

  /** The pixels in work: a block, where in it, and layers drawn before the pixels are composed. */
  struct Canvas
  {
    SceneRegion               region;
    std::int64_t              blockX, blockY; // in blocks
    std::vector<std::int16_t> nuclei;         // haematoxylin, 1/1024 optical density
    std::vector<std::int16_t> debris;         // gray optical density
    bool                      anyDebris;
  };

  /** One ellipse with a soft rim, in fixed length. */
  struct Ellipse
  {
    FixedLength  x, y;
    std::int32_t radiusA, radiusB; // 1/16 micrometer
    unsigned     direction;        // of 64
    std::int32_t density;
    std::int32_t softness; // of 1024: part of the squared radius over which it fades
  };

  /** Columns and rows of a lattice. */
  struct LatticePart
  {
    std::int32_t left, right, top, bottom; // all inclusive
  };
  LatticePart GetReachedPart(const SceneRegion & region, int lattice, FixedLength reach) const;
  Ellipse GetNucleus(std::uint32_t stream, std::int32_t column, std::int32_t row, bool spindle, int enlargement) const;

  FixedLength
  GetPosition(std::int64_t pixel) const
  {
    return pixel * m_PixelSize + m_PixelSize / 2;
  }
  double   GetNodePosition(std::int64_t node) const;
  Shapes   GetShapes(std::int64_t blockX, std::int64_t blockY) const;
  void     GetKinds(std::int64_t blockX, std::int64_t blockY, Kinds & kinds) const;
  KindNode GetKindNode(double x, double y) const;
  KindNode GetTissueNode(double x, double y) const;
  void     EqualizeNuclei();
  double   GetGlandDistance(double x, double y) const;
  int      GetRoughness(FixedLength x, FixedLength y) const;
  Matter   Classify(const ShapeNode & shape, FixedLength x, FixedLength y) const;

  void DrawNuclei(Canvas & canvas, const Kinds & kinds) const;
  void DrawNucleiOfFoci(Canvas & canvas, int enlargement) const;
  void DrawDebris(Canvas & canvas) const;
  void DrawEllipse(Canvas & canvas, std::vector<std::int16_t> & layer, const Ellipse & ellipse) const;
  void DrawCell(const Canvas & canvas,
                const Shapes & shapes,
                const Kinds &  kinds,
                int            cellX,
                int            cellY,
                std::uint8_t * rgb,
                std::int64_t   rowBytes) const;
  void DrawGlass(const SceneRegion & region, std::int32_t shade, std::uint8_t * rgb, std::int64_t rowBytes) const;
  std::int32_t                GetShade(std::int64_t x, std::int64_t y) const;
  std::array<std::int32_t, 3> GetDensity(const Canvas & canvas,
                                         const Cell &   cell,
                                         std::int64_t   x,
                                         std::int64_t   y) const;

  /** Optical densities of the two stains at a pixel of tissue, 1/1024. */
  struct Stains
  {
    std::int32_t eosin, haematoxylin;
  };
  Stains                      GetStains(const ShapeNode & shape,
                                        const KindNode &  kind,
                                        std::int32_t      nucleus,
                                        FixedLength       x,
                                        FixedLength       y) const;
  std::int32_t                GetFatMembrane(FixedLength x, FixedLength y) const;
  std::array<std::int32_t, 3> GetPenDensity(const ShapeNode & shape, FixedLength x, FixedLength y) const;

  std::int64_t          m_Width;
  std::int64_t          m_Height;
  FixedLength           m_PixelSize;
  std::uint32_t         m_Seed;
  int                   m_NodeShift; // a node each 2^shift pixels
  SyntheticLayout       m_Layout;
  FocusKind             m_FocusKind;
  SyntheticFoci         m_Foci;
  std::array<double, 2> m_StrewnShares{}; // of places outside of foci, for nuclei of the usual size, and enlarged ones
  std::array<std::int32_t, 3>               m_Eosin; // optical density of red, green, blue, 1/1024 per unit of stain
  std::array<std::int32_t, 3>               m_Haematoxylin; //
  std::array<std::int32_t, 3>               m_Pen;
  std::array<std::int32_t, 3>               m_GlassLight; // 1/16 gray level
  std::int32_t                              m_EosinStrength;
  std::int32_t                              m_HaematoxylinStrength;
  std::int32_t                              m_FiberCosine, m_FiberSine; // 1/1024
  unsigned                                  m_FiberDirection;           // of 64
  std::vector<std::int32_t>                 m_Transmission;             // of optical density i / 1024, 1/65536
  std::array<std::int32_t, 64>              m_Cosine, m_Sine;           // 1/1024, of directions over a half turn
  std::unique_ptr<const SyntheticArtifacts> m_Artifacts;                // null: none
};

} // namespace gigapixel

#endif
