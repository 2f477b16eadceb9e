/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelJitter_h
#define gigapixelJitter_h

#include "GigapixelNetworkExport.h"
#include "gigapixelSource.h"

#include <array>
#include <vector>

namespace gigapixel
{

/** \class Jitter
 * \brief Another staining and another lamp for a whole image: a function of a pixel's color alone, so that all tiles
 * see the same and equal colors stay equal.
 *
 * RGB is taken apart into hematoxylin, eosin and DAB by the optical densities of Ruifrok and Johnston (Analytical and
 * Quantitative Cytology and Histology 23, 2001; the numbers are those of skimage.color.rgb2hed), and each stain gets a
 * factor, as of Tellez et al. (IEEE Transactions on Medical Imaging 37, 2018), without their shift: glass has no stain.
 * Then every channel, of any number, gets a contrast around the middle gray and a brightness:
 * contrast * (v - 1/2) + 1/2 + brightness, from black to white. Samples of type float have no black and white, and no
 * stains: each channel gets contrast * v + brightness, which suits an image whose mean is 0 and whose deviation is 1.
 */
struct GigapixelNetwork_EXPORT Jitter
{
  std::array<double, 3> stains{ { 1, 1, 1 } }; ///< factors of hematoxylin, eosin and DAB; of RGB only
  std::vector<double>   contrast;              ///< factor per channel
  std::vector<double>   brightness;            ///< per channel, 1 from black to white

  /** Factors from 1 - strength to 1 + strength, and half of the strength less or more brightness, uniformly.
   * \param number of the image among all that the run takes */
  static Jitter Draw(double strength, std::uint64_t seed, std::uint64_t number, unsigned channels);

  /** \param samples channels interleaved, changed in place */
  void Apply(std::uint8_t * samples, std::size_t pixels) const;

  void Apply(float * samples, std::size_t pixels) const;
};

/** \class JitteredPixelSource
 * \brief An image under a Jitter; no memory holds its pixels, which are computed as they are read. */
class GigapixelNetwork_EXPORT JitteredPixelSource : public PixelSource
{
public:
  JitteredPixelSource(PixelSource & source, const Jitter & jitter)
    : m_Source(source)
    , m_Jitter(jitter)
  {}

  Size
  GetSize() const override
  {
    return m_Source.GetSize();
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Source.GetNumberOfChannels();
  }

  SampleType
  GetSampleType() const override
  {
    return m_Source.GetSampleType();
  }

  void Read(const Region & region, std::uint8_t * samples) override;

  void
  ReadAhead(const Region & region) override
  {
    m_Source.ReadAhead(region);
  }

  bool
  ReadTissue(const Region & region, std::uint8_t * tissue) const override
  {
    return m_Source.ReadTissue(region, tissue);
  }

private:
  PixelSource & m_Source;
  Jitter        m_Jitter;
};

} // namespace gigapixel

#endif
