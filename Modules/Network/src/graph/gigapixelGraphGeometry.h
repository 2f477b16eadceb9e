/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelGraphGeometry_h
#define gigapixelGraphGeometry_h

#include "gigapixelOperationSchema.h"
#include "gigapixelSource.h"

#include <optional>

namespace gigapixel
{

using Extent = PerAxis<std::int64_t>;

/** "400 x 300", with z behind x and y. */
GigapixelNetwork_EXPORT std::string ToText(const Extent & extent);

// Sizes and boxes of networks' maps and those of images: a map of two axes is one pixel deep.
GigapixelNetwork_EXPORT Extent ToExtent(Size image, int axes);
GigapixelNetwork_EXPORT Size   ToSize(const Extent & extent);
GigapixelNetwork_EXPORT std::string ToText(Size size);
GigapixelNetwork_EXPORT Region      ToRegion(const Box & box);

inline Extent
GetExtent(const Box & box)
{
  Extent extent(box.GetNumberOfAxes());
  std::transform(
    box.begin(), box.end(), extent.begin(), [](const Interval & interval) { return interval.GetLength(); });
  return extent;
}

/** 0 of no axes. */
inline std::int64_t
GetNumberOfPixels(const Box & box)
{
  std::int64_t pixels = box.GetNumberOfAxes() > 0 ? 1 : 0;
  for (const Interval & interval : box)
  {
    pixels *= interval.GetLength();
  }
  return pixels;
}

inline Box
MakeWhole(const Extent & size)
{
  Box whole(size.GetNumberOfAxes());
  std::transform(size.begin(), size.end(), whole.begin(), [](std::int64_t length) { return Interval{ 0, length }; });
  return whole;
}

/** Below 2^53, exact; what is more is as much, which no machine has and sums of which fit in 64 bits. */
inline std::int64_t
ToBytes(double bytes)
{
  constexpr double Most = 9007199254740992.0;
  return static_cast<std::int64_t>(std::min(bytes, Most));
}

/** Of a part of a map. */
inline std::int64_t
GetNumberOfBytes(const Box & box, std::int64_t channels, std::int64_t valueBytes)
{
  double bytes = static_cast<double>(channels * valueBytes);
  for (const Interval & interval : box)
  {
    bytes *= static_cast<double>(interval.GetLength());
  }
  return ToBytes(bytes);
}

/** Of all operations' maps, for an image of one size. \param inputs NetworkGraph::GetInputs()
 * \throw std::invalid_argument the image is too small for the network, or maps that meet are of different sizes */
GigapixelNetwork_EXPORT std::vector<Extent> GetMapSizes(const NetworkGraph &                  graph,
                                                        const std::vector<std::vector<int>> & inputs,
                                                        const Extent &                        image);

/** \class GraphGeometry
 * \brief Sizes of all maps of a network for an image of one size, and which part of each map a part of the output is
 * computed from.
 *
 * Integers only: no map is rounded to a stride, and padding is applied only where the real map ends, so that a part
 * is computed from exactly what the whole image would show it. */
class GigapixelNetwork_EXPORT GraphGeometry
{
public:
  /** \param graph validated; has to live as long as this
   * \throw std::invalid_argument what GetMapSizes() throws */
  GraphGeometry(const NetworkGraph & graph, const Extent & image);

  const NetworkGraph &
  GetGraph() const
  {
    return m_Graph;
  }

  const Extent &
  GetSize(int operation) const
  {
    return m_Sizes[operation];
  }

  int
  GetNumberOfAxes() const
  {
    return m_Sizes.front().GetNumberOfAxes();
  }

  /** Of the operation's map. */
  int
  GetChannels(int operation) const
  {
    return m_Channels[operation];
  }

  /** All of the operation's map. */
  Box GetWhole(int operation) const;

  /** What tiles of the operation lie on: its map or, where it reduces an image to one pixel, that of its first input,
   * in whose pixels a part of it is told. */
  Box GetTiled(int operation) const;

  /** Null: it sums up no image. */
  const ReductionSchema *
  GetReduction(int operation) const
  {
    return m_Schemas[operation]->getReduction(m_Graph.operations[operation]);
  }

  const AxisSizes &
  GetAxisSizes(int operation, int axis) const
  {
    return m_AxisSizes[operation][axis];
  }

  /** The part of input number `input` of the operation that a part of its map reads; empty: none. */
  Box GetRequired(int operation, std::size_t input, const Box & output) const;

  /** The same where the part is computed for the target's: of the target itself a part of what GetTiled() says. */
  Box GetRead(int target, int operation, std::size_t input, const Box & output) const;

  /** Of each operation the hull of what has to be computed for a part of the target (see GetTiled()); without a value:
   * nothing.
   * \param kept operations whose maps are there already: of these, what is read of them */
  std::vector<std::optional<Box>> GetRequired(int target, const Box & part, const std::vector<int> & kept = {}) const;

  /** Where the pixels of the operation's map lie in the image. */
  Sampling GetSampling(int operation, int axis) const;

  /** The pixels of the image that belong to this part of the operation's map along an axis: each belongs to the pixel
   * of the map that it lies nearest to, of two to the later one. */
  Interval GetNearest(int operation, int axis, const Interval & part) const;

  /** Of the input's map, for this part of an operation's. \param kept as GetRequired() has them */
  Box GetInputBox(int operation, const Box & part, const std::vector<int> & kept = {}) const;

  int
  GetOutput() const
  {
    return m_Output;
  }

  const std::vector<std::vector<int>> &
  GetInputs() const
  {
    return m_Inputs;
  }

  const OperationSchema &
  GetSchema(int operation) const
  {
    return *m_Schemas[operation];
  }

  /** Whether the operation has parameters that are trained. */
  bool
  IsTrained(int operation) const
  {
    return m_Trained[operation];
  }

  /** Whether the operation's map depends on parameters that are trained. */
  bool
  IsBehindTrained(int operation) const
  {
    return m_BehindTrained[operation];
  }

  /** The operation's map as its readers see it: where a norm is folded into it, the norm's. */
  int GetAsRead(int operation) const;

  /** Whether the operation is a norm that goes into the weights of another one: see FindFolded(). */
  bool
  IsFolded(int operation) const
  {
    return m_FoldedInto[operation] >= 0;
  }

private:
  AxisSizes MakeAxisSizes(int operation, int axis) const;

  const NetworkGraph &                 m_Graph;
  const int                            m_Output;
  const std::vector<int>               m_Channels;
  std::vector<std::vector<int>>        m_Inputs;
  std::vector<const OperationSchema *> m_Schemas;
  std::vector<Extent>                  m_Sizes;
  std::vector<MapSizes>                m_AxisSizes;
  std::vector<bool>                    m_Trained;
  std::vector<bool>                    m_BehindTrained;
  std::vector<int>                     m_FoldedInto;
};

/** Operations that reduce an image. */
std::vector<int> FindReductions(const NetworkGraph & graph);

/** What NetworkGraph::LabelsImage() knows. */
GigapixelNetwork_EXPORT bool IsOnePixelOfReductions(const NetworkGraph & graph);

/** What NetworkGraph::SeesWholeImage() knows. */
bool IsBehindReductions(const NetworkGraph & graph);

/** How far an output pixel, or one of those that a network which labels images reduces, sees in a large image, before
 * or behind itself and along whichever axis is more: the greatest at the beginning, in the middle and at the end, since
 * with align_corners it changes from one end to the other. Pixels.
 */
GigapixelNetwork_EXPORT std::int64_t GetHalo(const NetworkGraph & graph);

/** Least common multiple of the maps' scales below the input's: outputs this far apart see their surroundings at the
 * same places of every map. */
GigapixelNetwork_EXPORT std::int64_t GetStride(const NetworkGraph & graph);

} // namespace gigapixel

#endif
