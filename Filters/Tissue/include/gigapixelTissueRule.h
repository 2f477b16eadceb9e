/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTissueRule_h
#define gigapixelTissueRule_h

#include "GigapixelTissueExport.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace gigapixel
{

/** How a pixel's color says tissue or not. */
enum class TissueMethod
{
  /** The published rule: the mean of R, G and B is at most 230 and the gray value is not 0. In whole numbers:
   * R + G + B <= 690 and 19595 R + 38470 G + 7471 B >= 32768, the latter being Rec. 601 gray, rounded, of at least 1.
   * So a black pixel (gray 0) is background, as in the published chain, where "nonzero becomes 255". */
  MeanBelow,
  /** For stained tissue on glass: darker or more colored than this slide's glass, by thresholds taken from this slide's
   * own histograms, and of a hue that a hematoxylin and eosin stain can have (not marker pen). */
  DensityOrSaturation,
  /** For fluorescence: brighter than this slide's dark ground. */
  BrightOnDark
};

/** What the thresholds of a slide are taken from: counted over all its pixels, never over a part. */
struct GigapixelTissue_EXPORT TissueHistogram
{
  /** Pixels by the largest channel, by the smallest one, and by chroma (largest minus smallest). */
  std::array<std::uint64_t, 256> largest{};
  std::array<std::uint64_t, 256> smallest{};
  std::array<std::uint64_t, 256> chroma{};

  TissueHistogram & operator+=(const TissueHistogram & other);
};

/** Adds `count` pixels of 1 (gray) or 3 (RGB) interleaved bytes. */
GigapixelTissue_EXPORT void CountPixels(const unsigned char * pixels,
                                        std::size_t           count,
                                        unsigned              channels,
                                        TissueHistogram &     histogram);

/** The rule of one slide: a method and its numbers. */
struct TissueRule
{
  TissueMethod method{ TissueMethod::MeanBelow };
  /** DensityOrSaturation: tissue has a channel of at most this value ... */
  int darkest{ 230 };
  /** ... or a chroma of at least this. BrightOnDark does not use it. */
  int chroma{ 256 };
  /** BrightOnDark: the largest channel is at least this. */
  int brightest{ 256 };
};

/** The rule for a slide with this histogram. MeanBelow does not look at it. */
GigapixelTissue_EXPORT TissueRule MakeTissueRule(TissueMethod method, const TissueHistogram & histogram);

/** Otsu's threshold: the value t that separates [0, t) from [t, 255] with the largest variance between the two; 256 if
 * all pixels have one value (nothing to separate). N. Otsu, IEEE Trans. SMC 9(1):62-66, 1979. */
GigapixelTissue_EXPORT int OtsuThreshold(const std::array<std::uint64_t, 256> & histogram);

/** Writes 255 where the rule says tissue, else 0. channels: 1 (gray) or 3 (RGB). */
GigapixelTissue_EXPORT void ApplyTissueRule(const TissueRule &    rule,
                                            const unsigned char * pixels,
                                            std::size_t           count,
                                            unsigned              channels,
                                            unsigned char *       output);

} // namespace gigapixel

#endif
