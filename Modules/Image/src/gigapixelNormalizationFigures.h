/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNormalizationFigures_h
#define gigapixelNormalizationFigures_h

#include "gigapixelNormalization.h"

#include <cmath>
#include <functional>
#include <vector>

namespace gigapixel
{

class NonZeroVoxels;

/** Changes a value: it is clipped, and becomes (value - offset) / divisor. */
struct Scale
{
  double least{ -HUGE_VAL };
  double most{ HUGE_VAL };
  double offset{ 0 };
  double divisor{ 1 };    ///< 0: values above the offset become 1, and others 0
  bool   isFlat{ false }; ///< nearly all values are the same, or there are none

  /** NaN becomes 0, and so does an infinite value that is not clipped. */
  float
  operator()(float value) const
  {
    if (std::isnan(value) || (std::isinf(value) && std::isinf(least)))
    {
      return 0;
    }
    if (divisor == 0)
    {
      return value > offset ? 1 : 0;
    }
    return static_cast<float>((std::clamp(static_cast<double>(value), least, most) - offset) / divisor);
  }
};

/** Whether a normalization needs figures of the image: mean and deviation, or percentiles. */
bool TakesFigures(const Normalization & normalization);

/** Whether a voxel's value counts. \param there null where no normalization needs it */
bool Counts(const Normalization & how,
            float                 value,
            const NonZeroVoxels * there,
            std::int64_t          x,
            std::int64_t          y,
            std::int64_t          z);

/** The scale of each channel, by figures of the image. \param normalizations of each channel
 * \param there null where none of them needs it \return none: it was stopped */
std::vector<Scale> FindScales(PixelSource &                       pixels,
                              const Normalizations &              normalizations,
                              const NonZeroVoxels *               there,
                              const std::function<bool(double)> & goesOn);

/** The same where no figures are needed. */
std::vector<Scale> MakeScales(PixelSource & pixels, const Normalizations & normalizations);

} // namespace gigapixel

#endif
