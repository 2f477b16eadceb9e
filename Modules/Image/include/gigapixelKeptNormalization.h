/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelKeptNormalization_h
#define gigapixelKeptNormalization_h

#include "GigapixelImageExport.h"
#include "gigapixelNormalization.h"

#include <functional>
#include <memory>
#include <vector>

namespace gigapixel
{

/** \class KeptNormalization
 * \brief The normalization of an image whose statistics are found once and kept.
 *
 * A volume is opened again and again in training; its statistics are found by the passes of Normalize() when it is
 * opened for the first time. A slide has its statistics from a coarser level, by Find(). Which voxels are enclosed by
 * others is found each time, in one pass: a bit for each voxel of all volumes of a cohort would be much to keep. */
class GigapixelImage_EXPORT KeptNormalization
{
public:
  /** \param normalizations one for all channels, or one for each */
  explicit KeptNormalization(Normalizations normalizations);
  ~KeptNormalization();

  /** Finds the statistics in these pixels, whatever pixels Apply() is given: any region has the same values then.
   * \return false: it was stopped */
  bool Find(const std::shared_ptr<PixelSource> & pixels, const std::function<bool(double)> & goesOn = {});

  /** As Normalize() does it. Not from several threads at the same time.
   * \param pixels the same ones each time, in another source or the same one */
  std::shared_ptr<PixelSource> Apply(std::shared_ptr<PixelSource>        pixels,
                                     const std::function<bool(double)> & goesOn = {});

  /** Channels, from 0, of which nearly all values are the same: a deviation of 0, or two percentiles of one value; once
   * the statistics are found. */
  std::vector<std::size_t> GetFlatChannels() const;

private:
  struct Found;

  const Normalizations   m_Normalizations;
  std::unique_ptr<Found> m_Found;
};

} // namespace gigapixel

#endif
