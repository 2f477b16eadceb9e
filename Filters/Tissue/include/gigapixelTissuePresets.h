/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTissuePresets_h
#define gigapixelTissuePresets_h

#include "GigapixelTissueExport.h"
#include "gigapixelTissueRule.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** The numbers of a tissue label chain. Lengths in micrometers, areas in square micrometers, so that they mean the same
 * on every slide; where a slide's resolution is unknown, a pixel of the label grid is taken as
 * NominalLabelMicronsPerPixel. A radius of 0 leaves its stage out, and so does a
 * minimum area of 0; a maximum hole area of 0 means that holes of any size are filled. */
struct TissuePreset
{
  std::string  name;
  std::string  purpose;
  TissueMethod method{ TissueMethod::MeanBelow };
  double       medianRadius{ 0.0 };
  double       erosionRadius{ 0.0 };
  double       dilationRadius{ 0.0 };
  double       closingRadius{ 0.0 };
  double       maximumHoleArea{ 0.0 };
  double       minimumArea{ 0.0 };
};

/** A 20x scan (0.5 um a pixel) at downsample 8: what the published chain is described for. */
constexpr double NominalLabelMicronsPerPixel = 4.0;

/** All presets, the published one first. */
GigapixelTissue_EXPORT const std::vector<TissuePreset> & GetTissuePresets();

/** The preset of that name; std::invalid_argument, naming those that there are, if there is none. */
GigapixelTissue_EXPORT const TissuePreset & GetTissuePreset(const std::string & name);

/** The preset for what these pixels, a sample of a slide, seem to be: 1 (gray) or 3 (RGB) interleaved bytes.
 * - "fluorescence" where more than half of them are dark (largest channel below 60) and less than a twentieth may be
 *   glass (see TissueHistogram): a slide of bright ground has glass, however much of it is framed in black;
 * - "ihc" where counting brown as tissue makes tissue of a quarter more pixels: brown is melanin and debris otherwise;
 * - "robust" for all others. */
GigapixelTissue_EXPORT const TissuePreset & SuggestTissuePreset(const unsigned char * pixels,
                                                                std::size_t           count,
                                                                unsigned              channels);

} // namespace gigapixel

#endif
