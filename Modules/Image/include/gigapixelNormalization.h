/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNormalization_h
#define gigapixelNormalization_h

#include "GigapixelImageExport.h"
#include "gigapixelSource.h"

#include <functional>
#include <memory>
#include <string>

namespace gigapixel
{

/** \class Normalization
 * \brief What values of a volume become before a network sees them, each channel by itself.
 *
 * Scanners give the same tissue other values each time, so that networks are trained on values which were brought onto
 * one scale. All but the window take what they need of the volume itself, in a pass over it. */
struct GigapixelImage_EXPORT Normalization
{
  enum class Kind
  {
    None,        ///< values are what the file says
    ZScore,      ///< (value - mean) / deviation, that of all N values (divided by N, not by N - 1); 1 where it is 0
    Percentiles, ///< clipped to those from low to high (0..100), which become 0..1; 0 where both are the same value
    Window       ///< clipped to the values from low to high, which become 0..1
  };

  Kind kind{ Kind::None };
  /** Of ZScore and Percentiles: only values that are not 0 count and are changed, as in volumes of which all but the
   * organ was made 0. */
  bool   nonZero{ false };
  double low{ 0 };
  double high{ 0 };

  /** \throw std::invalid_argument low is not below high, or percentiles lie outside of 0..100 */
  void Validate() const;

  /** As Kind is called in files: "none", "z-score", "percentiles" or "window". */
  const char * GetName() const;

  /** "z-score of the voxels that are not 0", "percentiles 0.5 to 99.5 become 0 to 1" ...; for people. */
  std::string Describe() const;
};

/** The source with its values normalized, which are floats then, channel by channel; the source itself for None. What
 * is needed of the source is computed here: one pass for a z-score, two for percentiles, which are exact: of n values
 * sorted from 0 on, p is the one at (n - 1) p / 100, or between its two neighbors in proportion (NumPy's "linear").
 * \param goesOn called with 0..1; returning false stops
 * \return null where it was stopped
 * \throw std::invalid_argument as Validate(); what the source throws */
GigapixelImage_EXPORT std::shared_ptr<PixelSource> Normalize(std::shared_ptr<PixelSource>        pixels,
                                                             const Normalization &               normalization,
                                                             const std::function<bool(double)> & goesOn = {});

} // namespace gigapixel

#endif
