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
  /** For hematoxylin and eosin: colored as these stains color this slide's glass; see TissueRule. */
  Stain,
  /** For immunohistochemistry, diaminobenzidine (brown) with hematoxylin: as Stain, but brown is tissue. */
  BrownStain,
  /** For fluorescence: brighter than this slide's dark ground. */
  BrightOnDark,
  /** By TissueNetwork, for which the mask of a rule is evidence. */
  Network
};

/** What the thresholds of a slide are taken from: counted over all its pixels, never over a part. */
struct GigapixelTissue_EXPORT TissueHistogram
{
  /** Pixels by their largest channel. */
  std::array<std::uint64_t, 256> largest{};
  /** Pixels that may be glass, per channel (gray: the first): largest channel at least 180 (glass is the bright ground
   * of any stained slide), largest minus smallest at most 16 (the cast of a light source is less, a stain more). White
   * (255, 255, 255) is left out: it is what readers give for areas that were not scanned. */
  std::array<std::array<std::uint64_t, 256>, 3> glass{};
  /** How much glass may differ between its channels. */
  static constexpr int         StrongestCast = 16;
  static constexpr std::size_t Casts = 2 * StrongestCast + 1; ///< values of redness and blueness
  /** Color of the pixels that may be glass: red minus green, and blue minus green, plus StrongestCast. Gray pictures:
   * none.
   */
  std::array<std::uint64_t, Casts> redness{};
  std::array<std::uint64_t, Casts> blueness{}; ///< see redness
  /** Pixels of that white. */
  std::uint64_t white{ 0 };
  std::uint64_t pixels{ 0 }; ///< all that were counted

  TissueHistogram & operator+=(const TissueHistogram & other); ///< adds the counts of another part of the slide
};

/** Adds `count` pixels of 1 (gray) or 3 (RGB) interleaved bytes. */
GigapixelTissue_EXPORT void CountPixels(const unsigned char * pixels,
                                        std::size_t           count,
                                        unsigned              channels,
                                        TissueHistogram &     histogram);

/** The rule of one slide: a method and its numbers.
 *
 * Stain: with d the difference between the glass and the pixel (R, G, B), the pixel is tissue where all of these hold:
 *
 * - dG - min(dR, dB) >= stain, and >= dG / 12, and 2 dG >= stain: something absorbs green more than red or blue. Eosin
 * (pink) and hematoxylin (violet) do; dust, shadows, bubbles' edges, black frames and black pen are gray, so they do
 * not, however dark they are; nor does what is brighter than the glass, as areas are that were not scanned;
 * - 4 dR <= 5 dG: not blue or green pen, which absorb red most. Hematoxylin may absorb red up to 5/4 of green;
 * - dB <= dG + 20 and 8 (dB - dG) <= dG + 16: not yellow or brown, nor glass with the cast of a mounting medium. Brown
 *   alone absorbs far more blue than green, brown on tissue hardly more;
 * - not (1400 dB > dG (930 + dG) and 3 dR < dG and dG >= 100): not red pen, nor a red thread. Its density in blue is
 *   more than two thirds of that in green, which the first inequality says, within 0.03, for dG up to 190 on glass of
 *   243. That of most eosins is less, that of some (cortex, muscle) is not, but these are paler than red pen; and blood
 *   absorbs more red.
 *
 * BrownStain: the same, but in place of the condition on dB
 *
 * - dB <= 2 dG + 2: not yellow or orange, which absorb hardly any green. Diaminobenzidine's densities are as 0.27 to
 *   0.57 to 0.78 (Ruifrok and Johnston, Anal. Quant. Cytol. Histol. 23:291, 2001), so its dB is at most 1.37 dG; in
 *   pictures of sections as they are published it was up to 1.8 dG.
 *
 * Both judge a pixel alone; ClearSpreadColor() then looks at those beside it.
 *
 * In gray pictures, where color says nothing, a pixel is tissue that is darker than the glass by at least shade. */
struct TissueRule
{
  TissueMethod       method{ TissueMethod::MeanBelow }; ///< which color is tissue
  std::array<int, 3> glass{ { 243, 243, 243 } };        ///< color of the background: R, G, B; 243 as on most scanners
  int                stain{ 6 };  ///< least difference of the stain's color, 0 to 255; 6 as on most scanners
  int                shade{ 12 }; ///< least darkness of gray tissue, 0 to 255; 12 as on most scanners
  /** BrightOnDark: tissue's largest channel is at least this. */
  int brightest{ 256 };
};

/** The rule for a slide with this histogram. MeanBelow does not look at it.
 * Stain and BrownStain: glass is the commonest value of each channel among the pixels that may be glass. Stain is 3
 * more than the noise of the glass's color, at least 4: how far 95 % of what is less red, or less blue, than its
 * commonest color (red or blue minus green) lie from it; the other side may be pale tissue. Brightness has more noise
 * than color, which would hide pale hematoxylin. Shade is 6 more than twice the noise of its brightness: how far 95 %
 * of what is brighter than glass lie above it. Where fewer than one pixel in a thousand may be glass, glass is 243,
 * stain 6 and shade 12, as on most scanners. Where more than a quarter is white and less than 1/25 may be other glass,
 * the ground was cleaned to white: glass is 255. BrightOnDark: Otsu's threshold on the square root of the values, on
 * which photon noise is even. */
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
