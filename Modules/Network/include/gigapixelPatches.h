/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPatches_h
#define gigapixelPatches_h

#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** \class Patches
 * \brief How a network is applied to an image patch by patch, each as if it were an image by itself, and how the
 * patches' results are blended.
 *
 * This is what MONAI's sliding_window_inference and nnU-Net do (Isensee et al., Nature Methods 18, 2021), for networks
 * that were trained on patches of this size: at a patch's border the network pads as at the border of an image, and
 * what is normalized or pooled over the whole image is so over a patch. A pixel's logits are the weighted mean of those
 * of all patches that hold it:
 *
 *   z(x, y) = sum w(x - x_i, y - y_i) z_i(x - x_i, y - y_i) / sum w(x - x_i, y - y_i)
 *
 * in float, over the patches i row by row: the same bits whatever region is asked for. Patches begin at multiples of
 * the step (see GetStep()), the last one ends where the image does. An image that is smaller than a patch lies in the
 * middle of it, on white. */
struct GigapixelNetwork_EXPORT Patches
{
  /** The weight w of a patch's pixel. */
  enum class Blending
  {
    Gaussian, ///< exp(-d^2 / (2 s^2)) of its distance d to the patch's center, s an eighth of the side; at least 0.001
    Constant  ///< 1
  };

  static constexpr std::int64_t GreatestSide = 8192;    ///< pixels: a patch is computed in one piece
  static constexpr double       GreatestOverlap = 0.95; ///< beyond it each pixel is computed 400 times and more

  std::int64_t side{ 512 };                    ///< pixels, a multiple of the network's stride
  double       overlap{ 0.25 };                ///< what neighbors share of a side; MONAI's default
  Blending     blending{ Blending::Gaussian }; ///< how patches are weighted where they overlap
  bool         mirror{ false }; ///< the mean of the logits of four mirrored patches, as nnU-Net's, in place of one's

  /** Whether all fields are the same. */
  bool
  operator==(const Patches & other) const
  {
    return side == other.side && overlap == other.overlap && blending == other.blending && mirror == other.mirror;
  }

  /** \throw std::invalid_argument names what is out of its range */
  void Validate(const NetworkDescription & network) const;

  /** From patch to patch: side * (1 - overlap) rounded down, as MONAI does, at least 1. */
  std::int64_t GetStep() const;

  /** Side of the tiles that an image is best asked for, a multiple of the step: what patches of one row of tiles hold
   * of the next one is kept, but not for another process. */
  std::int64_t GetTileSize() const;

  /** "patches of 512 px, overlap 0.25, gaussian" and, if so, "mirrored": all that decides on the result. */
  std::string Describe() const;
};

} // namespace gigapixel

#endif
