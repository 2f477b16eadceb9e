/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ResampledLevel_h
#define ResampledLevel_h

#include "Slide.h"

#include <array>
#include <cstddef>
#include <memory>

namespace gigapixel
{

/** Pixels of a resolution that a slide does not hold, made of those of a level, the source.
 *
 * A pixel is the mean of the area that it covers; pixels of the source that it covers partly count partly. Whole
 * numbers are rounded, halves up. A pixel of labels is the source's pixel at its center. Pixel (0, 0) begins where the
 * level begins. Sizes are those of the source divided by the factors, rounded up; a last row or column is left out
 * where 1 % of it or less lies on the slide.
 *
 * Edges are rounded to 1/1024 of the source's pixels (to whole ones from 250 pixels on), so that sums are whole
 * numbers: the result is the same for any division into regions. Of floats each pixel is summed in one order.
 *
 * All functions may be called by any number of threads. */
class ResampledLevel
{
public:
  /** \param factors pixels of the source in one, along x and y
   * \param downsample pixels of level 0 in one, the mean of x and y
   * \param picks values are labels, though the file does not say so */
  ResampledLevel(std::shared_ptr<const Slide>  slide,
                 unsigned                      source,
                 const std::array<double, 2> & factors,
                 double                        downsample,
                 bool                          picks);

  /** The level's size, samples and downsample, and the area that tiles of the source cover in it: nothing is stored so.
   */
  const SlidePlane &
  GetPlane() const
  {
    return m_Plane;
  }

  unsigned
  GetSource() const
  {
    return m_Source;
  }

  /** Pixels of the source in one, along x and y. */
  const std::array<double, 2> &
  GetFactors() const
  {
    return m_Factors;
  }

  /** Reads as Slide::ReadRegion() does. Pieces of the source are read: a pixel once, unless two pieces share it. Beside
   * `out`, a thread needs GetReadingBytes(). */
  void ReadRegion(const Rectangle & rectangle,
                  const Rendering & rendering,
                  unsigned char *   out,
                  unsigned          threads) const;

  /** Reads ahead as Slide::ReadAhead() does. */
  void ReadAhead(const Rectangle & rectangle) const;

  /** Says as Slide::ReadScanned() what was scanned, by the source's pixel at the center of each. */
  bool ReadScanned(const Rectangle & rectangle, unsigned char * scanned) const;

  /** What a thread keeps beside the result and the tiles of the cache. */
  std::size_t GetReadingBytes() const;

private:
  struct Block;

  const SlidePlane & GetSourcePlane() const;
  Rectangle          GetCovered(const Rectangle & rectangle) const;
  void               CheckRectangle(const Rectangle & rectangle) const;
  void ReadBlock(const Rectangle & block, const Rendering & rendering, unsigned char * out, std::size_t stride) const;
  template <typename TSample>
  void Average(Block & block, unsigned channels, unsigned char * out, std::size_t stride) const;
  void Pick(Block & block, std::size_t pixelBytes, unsigned char * out, std::size_t stride) const;

  std::shared_ptr<const Slide> m_Slide;
  unsigned                     m_Source;
  std::array<double, 2>        m_Factors;
  SlidePlane                   m_Plane;
};

} // namespace gigapixel

#endif
