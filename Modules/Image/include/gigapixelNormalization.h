/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNormalization_h
#define gigapixelNormalization_h

#include "GigapixelImageExport.h"
#include "gigapixelSource.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** \class Normalization
 * \brief What values of a channel of a volume or slide become before a network sees them.
 *
 * Scanners give the same tissue other values each time, so that networks are trained on values which were brought onto
 * one scale. Z-score and percentiles take what they need of the image itself, in passes over it: all of a volume, of a
 * slide the level that "auto" of WholeSlideImageIO::SetWindow() takes. */
struct GigapixelImage_EXPORT Normalization
{
  /** What becomes of a value. */
  enum class Kind
  {
    None,        ///< values are what the file says
    ZScore,      ///< (value - mean) / deviation, that of all N values (divided by N, not by N - 1); 1 where it is 0
    Percentiles, ///< clipped to those from low to high (0..100), which become 0..1; if both are the same, more becomes
                 ///< 1
    Window,      ///< clipped to the values from low to high, which become 0..1
    Clip         ///< clipped to the values from low to high, and nothing else
  };

  /** For ZScore and Percentiles: the voxels whose values count. All values are changed, but where it is said. */
  enum class Voxels
  {
    All,
    NonZero, ///< that are not 0 in this channel; 0 stays 0, as in volumes of which all but the organ was made 0
    Box,     ///< in the box around all voxels that are not 0 in any channel, see NonZeroVoxels
    Filled   ///< that are not 0 in any channel, or enclosed by such voxels; all others stay 0
  };

  Kind   kind{ Kind::None };    ///< which change
  Voxels voxels{ Voxels::All }; ///< which voxels its statistics are of
  double low{ 0 };              ///< lower bound: a percentage for percentiles, else a value
  double high{ 0 };             ///< upper bound, likewise

  /** Whether all fields are the same. */
  bool
  operator==(const Normalization & other) const
  {
    return kind == other.kind && voxels == other.voxels && low == other.low && high == other.high;
  }

  /** \throw std::invalid_argument low is not below high, or percentiles lie outside of 0..100 */
  void Validate() const;

  /** As Kind is called in files: "none", "z-score", "percentiles", "window" or "clip". */
  const char * GetName() const;

  /** As Voxels is called in files: "all", "non-zero", "non-zero-box" or "non-zero-filled". */
  const char * GetVoxelsName() const;

  /** "z-score of the voxels that are not 0", "percentiles 0.5 to 99.5 become 0 to 1" ...; for people. */
  std::string Describe() const;
};

/** Normalizations of an image: one for all channels, or one for each; none: values are as they are. */
using Normalizations = std::vector<Normalization>;

/** As Normalization::Describe(); where channels differ, that of each with its number. */
GigapixelImage_EXPORT std::string Describe(const Normalizations & normalizations);

/** The source with its values normalized, which are floats then, channel by channel; the source itself where none is
 * changed. What is needed of the source is computed here: one pass for a z-score, three for percentiles, which are
 * exact: of n values sorted from 0 on, p is the one at (n - 1) p / 100, or between its two neighbors in proportion
 * (NumPy's "linear"); one more where not all voxels of a volume, or those of a channel by itself, count. \param goesOn
 * called with 0..1; returning false stops \return null where it was stopped \throw std::invalid_argument as Validate(),
 * or they are for another number of channels; what the source throws */
GigapixelImage_EXPORT std::shared_ptr<PixelSource> Normalize(std::shared_ptr<PixelSource>        pixels,
                                                             const Normalizations &              normalizations,
                                                             const std::function<bool(double)> & goesOn = {});

/** Whether values of a channel are changed. */
GigapixelImage_EXPORT bool ChangesValues(const Normalizations & normalizations);

} // namespace gigapixel

#endif
