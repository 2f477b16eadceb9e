/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTissuePresets_h
#define gigapixelTissuePresets_h

#include "GigapixelTissueExport.h"
#include "gigapixelTissueRule.h"

#include <functional>
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

/** What stands in for a preset's name where the preset is to be chosen for each slide, and where it is to be chosen
 * among rules. */
constexpr const char * AutomaticTissuePreset = "auto";
constexpr const char * AutomaticTissueRules = "rules";

/** Whether it is one of the two. */
GigapixelTissue_EXPORT bool IsAutomaticTissuePreset(const std::string & name);

/** Whether the preset of that name is a network, or chooses one for some slides: only then another model has an effect.
 * \throw std::invalid_argument as CheckTissuePresetName() */
GigapixelTissue_EXPORT bool MayUseTissueNetwork(const std::string & name);

/** A name that may be asked for, and what for. */
struct TissuePresetChoice
{
  std::string name;
  std::string purpose;
};

/** All that may be asked for, the default first: the presets, and at the end those that choose one. What lists or
 * checks names, in whatever language, takes them from here. */
GigapixelTissue_EXPORT const std::vector<TissuePresetChoice> & GetTissuePresetChoices();

/** The names of GetTissuePresetChoices(). */
GigapixelTissue_EXPORT std::vector<std::string> GetTissuePresetNames();

/** \throw std::invalid_argument naming those that there are, if the name is none of GetTissuePresetChoices() */
GigapixelTissue_EXPORT void CheckTissuePresetName(const std::string & name);

/** Pixels from here and there in a slide, 1 (gray) or 3 (RGB) interleaved bytes each. */
struct TissueSample
{
  std::vector<unsigned char> pixels;
  unsigned                   channels{ 3 };
};

/** Reads a rectangle (x, y, width, height) into rows without gaps. */
using TissueSampleReader =
  std::function<void(std::size_t, std::size_t, std::size_t, std::size_t, unsigned char * pixels)>;

/** Small patches all over a picture: enough to tell what kind of slide it is. */
GigapixelTissue_EXPORT TissueSample SampleTissue(std::size_t                width,
                                                 std::size_t                height,
                                                 unsigned                   channels,
                                                 const TissueSampleReader & read);

/** Whether much of the sample is brown, so that brown counts as tissue: where that makes tissue of a quarter more
 * pixels. Brown is melanin and debris otherwise. */
GigapixelTissue_EXPORT bool IsBrown(const TissueSample & sample);

/** The rule for what these pixels, a sample of a slide, seem to be:
 * - "fluorescence" where more than half of them are dark (largest channel below 60) and less than a twentieth may be
 *   glass (see TissueHistogram): a slide of bright ground has glass, however much of it is framed in black;
 * - "ihc" where it IsBrown();
 * - "robust" for all others. */
GigapixelTissue_EXPORT const TissuePreset & SuggestTissuePreset(const TissueSample & sample);

/** The preset that a name of GetTissuePresetChoices() means for a slide of that sample: "rules" is
 * SuggestTissuePreset(), "auto" the same where that is "fluorescence" (or the engine was not built), else "model". */
GigapixelTissue_EXPORT const TissuePreset & ChooseTissuePreset(const std::string & name, const TissueSample & sample);

/** A sentence on a slide of which the preset of that name will make a poor mask, and a better preset; empty where there
 * is nothing to say. \param slide what the sentence calls the slide */
GigapixelTissue_EXPORT std::string AdviseTissuePreset(const std::string &  name,
                                                      const TissueSample & sample,
                                                      const std::string &  slide);

} // namespace gigapixel

#endif
