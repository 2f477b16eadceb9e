/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumeResampling_h
#define gigapixelVolumeResampling_h

#include "GigapixelImageExport.h"
#include "gigapixelSource.h"

#include <array>
#include <functional>
#include <memory>
#include <vector>

namespace gigapixel
{

/** \class VolumeResampling
 * \brief A volume's voxels at another spacing: how many there are, and between which of them new ones lie.
 *
 * Voxel k of m along an axis that had n lies at (k + 1/2) n / m - 1/2 of the old ones; beyond the first and the last
 * one their values go on. Values are interpolated by cubic B-splines, logits linearly. Where an axis is more than three
 * times as coarse as another one, the nearest voxel is taken along it, and there is no interpolation across slices:
 * that is how nnU-Net (Isensee et al., Nature Methods 18, 2021) brings volumes to the spacing of its networks, and
 * their logits back. */
struct GigapixelImage_EXPORT VolumeResampling
{
  /** \param spacing, wanted along z, y and x, in mm */
  VolumeResampling(const Size & size, const std::array<double, 3> & spacing, const std::array<double, 3> & wanted);

  /** Whether there are other voxels than before. */
  bool
  ChangesSize() const
  {
    return from.width != to.width || from.height != to.height || from.depth != to.depth;
  }

  Size from; ///< in voxels of the volume
  Size to;   ///< in voxels of the wanted spacing
  /** Number of the axis (z, y, x; 0 to 2) along which the nearest voxel is taken; -1: none. Two axes that are as coarse
   * have none. */
  int nearestAxis{ -1 };
  int nearestAxisBack{ -1 }; ///< for logits, of which the wanted spacing is looked at first
};

/** Values of a volume at the other spacing, which are in memory then. No value is outside of the range that the
 * channel has, or its slice, where slices are by themselves.
 * \param goesOn called with 0..1; false stops \return null: it was stopped */
GigapixelImage_EXPORT std::shared_ptr<PixelSource> Resample(PixelSource &                       volume,
                                                            const VolumeResampling &            resampling,
                                                            const std::function<bool(double)> & goesOn = {});

/** \class SliceResampler
 * \brief The way back, of logits: slices at the other spacing come one after the other, and those of the volume are
 * given as soon as they are known. Two slices are in memory, whatever the number of channels. */
class GigapixelImage_EXPORT SliceResampler
{
public:
  using Take = std::function<void(std::int64_t         z,
                                  std::vector<float> & slice)>; ///< gets a slice of the volume, channels interleaved

  /** \param resampling that the volume was given to the network by \param channels interleaved */
  SliceResampler(const VolumeResampling & resampling, int channels, Take take);

  /** Slices from 0 to the last one, in this order. */
  void Add(std::int64_t z, const std::vector<float> & slice);

private:
  VolumeResampling   m_Resampling;
  int                m_Channels;
  Take               m_Take;
  std::vector<float> m_Before; ///< the slice before the last one that came, with the volume's rows and columns
  std::vector<float> m_Last;
  std::vector<float> m_Between;
  std::int64_t       m_Next{ 0 }; ///< slice of the volume that is not yet given
};

} // namespace gigapixel

#endif
