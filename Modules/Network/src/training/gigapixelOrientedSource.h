/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelOrientedSource_h
#define gigapixelOrientedSource_h

#include "GigapixelNetworkExport.h"
#include "execute/gigapixelRandom.h"
#include "gigapixelSource.h"

namespace gigapixel
{

/** \class Orientation
 * \brief One of the eight ways to lay a picture on a square grid, or of the sixteen in which a volume lies on one whose
 * slices stay slices: flips and right-angle rotations.
 *
 * Bit 0 mirrors x, bit 1 mirrors y (in the source's coordinates), bit 2 then exchanges x and y, and bit 3 mirrors z. 0
 * is the picture as it is. Only coordinates are computed: no image is copied as a whole. */
class GigapixelNetwork_EXPORT Orientation
{
public:
  static constexpr int Number = 8; ///< of pictures

  /** One of those that keep the image of its kind, each as likely as the others.
   * \param size a depth above 1 is a volume's
   * \param turns whether x and y may be exchanged: their pixels are as far apart */
  static int Draw(Random & random, const Size & size, bool turns);

  Orientation(int index, Size source);

  Size GetSize() const;

  /** Where a region of the laid picture lies in the source. */
  Region GetSourceRegion(const Region & region) const;

  /** Rows of the laid picture, from y on, until they reach a multiple of `side` in the source. */
  std::int64_t GetRowsToMultiple(std::int64_t y, std::int64_t side) const;

  /** \param pixelBytes of all channels together
   * \param source samples of GetSourceRegion(region), one slice of it, channels interleaved
   * \param laid samples of the region */
  void Lay(const Region & region, std::int64_t pixelBytes, const std::uint8_t * source, std::uint8_t * laid) const;

  /** The source's samples as the laid picture's. */
  SamplesInMemory Lay(SamplesInMemory source) const;

private:
  bool m_MirrorX;
  bool m_MirrorY;
  bool m_Exchange;
  bool m_MirrorZ;
  Size m_Source;
};

class GigapixelNetwork_EXPORT OrientedPixelSource : public PixelSource
{
public:
  OrientedPixelSource(PixelSource & source, int orientation);

  Size GetSize() const override;

  unsigned GetNumberOfChannels() const override;

  SampleType GetSampleType() const override;

  void Read(const Region & region, std::uint8_t * samples) override;

  void ReadAhead(const Region & region) override;

  RowsInMemory FindRows(const Region & region) const override;

  SamplesInMemory GetInMemory() const override;

  bool ReadTissue(const Region & region, std::uint8_t * tissue) const override;

private:
  PixelSource & m_Source;
  int           m_Index;
  Orientation   m_Orientation;
};

class GigapixelNetwork_EXPORT OrientedLabelSource : public LabelSource
{
public:
  OrientedLabelSource(LabelSource & source, int orientation);

  Size GetSize() const override;

  void Read(const Region & region, std::uint8_t * classes) override;

  SamplesInMemory GetInMemory() const override;

private:
  LabelSource & m_Source;
  int           m_Index;
  Orientation   m_Orientation;
};

} // namespace gigapixel

#endif
