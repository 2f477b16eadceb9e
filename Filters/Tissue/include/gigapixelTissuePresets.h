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
  std::string  name;                              ///< as the option --preset has it
  std::string  purpose;                           ///< which slides it is for, in a clause
  TissueMethod method{ TissueMethod::MeanBelow }; ///< how a pixel is judged
  double       medianRadius{ 0.0 };               ///< of the median of the mask, in µm
  double       erosionRadius{ 0.0 };              ///< of the erosion, in µm
  double       dilationRadius{ 0.0 };             ///< of the dilation, in µm
  double       closingRadius{ 0.0 };              ///< of the closing, in µm
  double       maximumHoleArea{ 0.0 };            ///< holes up to it are filled, in µm²; 0: holes of any size
  double       minimumArea{ 0.0 };                ///< smaller objects are removed, in µm²
};

/** A 20x scan (0.5 um a pixel) at downsample 8: what the published chain is described for. */
constexpr double NominalLabelMicronsPerPixel = 4.0;

/** The presets judge pixels of less than so many micrometers, where the slide has them. */
constexpr double JudgedMicronsPerPixel = 1.5 * NominalLabelMicronsPerPixel;

/** Pixels that are judged along a side of a label pixel: the smallest divisor of the shrink factor with which they
 * measure less than JudgedMicronsPerPixel, else the shrink factor. The color of a larger pixel is a mean of tissue and
 * glass, which the presets take for tissue where far less than half of it is: masks of coarse grids would be too large.
 * \param shrinkFactor input pixels along a side of a label pixel */
GigapixelTissue_EXPORT unsigned GetJudgedPixelsPerSide(unsigned shrinkFactor, double labelMicronsPerPixel);

/** Reduces a row of blocks, `side` x `side` pixels each, to what most of their area is: the value `tissue` where that
 * is more than half, else the most frequent of the other values. Where it is just half, the pixel right below the
 * center decides, so that tissue neither grows nor shrinks. \param pixels `rows` rows of `width` pixels that begin
 * `stride` pixels apart; the last block may be incomplete \param reduced ceil(width / side) values */
GigapixelTissue_EXPORT void ReduceToMajority(const unsigned char * pixels,
                                             std::size_t           stride,
                                             std::size_t           width,
                                             std::size_t           rows,
                                             unsigned              side,
                                             unsigned char         tissue,
                                             unsigned char *       reduced);

/** All presets, the published one first. */
GigapixelTissue_EXPORT const std::vector<TissuePreset> & GetTissuePresets();

/** What is taken where no preset is named: the network where the engine was built, else what AutomaticTissueRules
 * choose. */
constexpr const char * DefaultTissuePreset = "auto";

/** What stands in for a preset's name where it is to be chosen among rules for each slide. */
constexpr const char * AutomaticTissueRules = "rules";

/** The preset of that name, DefaultTissuePreset where it is the network; std::invalid_argument, naming those that there
 * are, if there is none. */
GigapixelTissue_EXPORT const TissuePreset & GetTissuePreset(const std::string & name);

/** Whether it takes a sample of the slide to know which preset that is. */
GigapixelTissue_EXPORT bool IsAutomaticTissuePreset(const std::string & name);

/** Whether the preset of that name is a network: only then another model has an effect.
 * \throw std::invalid_argument as CheckTissuePresetName() */
GigapixelTissue_EXPORT bool MayUseTissueNetwork(const std::string & name);

/** A name that may be asked for, and what for. */
struct TissuePresetChoice
{
  std::string name;    ///< as the option --preset has it
  std::string purpose; ///< which slides it is for, in a clause
};

/** All that may be asked for, the default first, at the end what chooses by rules. What lists or checks names, in
 * whatever language, takes them from here. */
GigapixelTissue_EXPORT const std::vector<TissuePresetChoice> & GetTissuePresetChoices();

/** The names of GetTissuePresetChoices(). */
GigapixelTissue_EXPORT std::vector<std::string> GetTissuePresetNames();

/** \throw std::invalid_argument naming those that there are, if the name is none of GetTissuePresetChoices() */
GigapixelTissue_EXPORT void CheckTissuePresetName(const std::string & name);

/** Pixels from here and there in a slide, 1 (gray) or 3 (RGB) interleaved bytes each. */
struct TissueSample
{
  std::vector<unsigned char> pixels;                  ///< channels interleaved, 0 (black) to 255 (white)
  unsigned                   channels{ 3 };           ///< 1: gray, 3: RGB
  bool                       isFluorescence{ false }; ///< whether the file says so, whatever the pixels look like
};

/** Reads a rectangle (x, y, width, height) into rows without gaps. */
using TissueSampleReader =
  std::function<void(std::size_t, std::size_t, std::size_t, std::size_t, unsigned char * pixels)>;

/** Small patches all over a picture: enough to tell what kind of slide it is. */
GigapixelTissue_EXPORT TissueSample SampleTissue(std::size_t                width,
                                                 std::size_t                height,
                                                 unsigned                   channels,
                                                 const TissueSampleReader & read);

/** Whether the ground is dark, as under fluorescence: the file says so, or more than half of the sample is (largest
 * channel below 60), and less than a twentieth may be glass (see TissueHistogram). A slide of bright ground has glass,
 * however much of it is framed in black. */
GigapixelTissue_EXPORT bool IsDark(const TissueSample & sample);

/** Whether much of the sample is brown, so that brown counts as tissue: where that makes tissue of a quarter more
 * pixels. Brown is melanin and debris otherwise. */
GigapixelTissue_EXPORT bool IsBrown(const TissueSample & sample);

/** The rule for what these pixels, a sample of a slide, seem to be: "fluorescence" where it IsDark(), "ihc" where it
 * IsBrown(), "robust" for all others. */
GigapixelTissue_EXPORT const TissuePreset & SuggestTissuePreset(const TissueSample & sample);

/** The preset that a name of GetTissuePresetChoices() means for a slide of that sample. */
GigapixelTissue_EXPORT const TissuePreset & ChooseTissuePreset(const std::string & name, const TissueSample & sample);

/** A sentence on a slide of which the preset of that name will make a poor mask, and a better preset; empty where there
 * is nothing to say. \param slide what the sentence calls the slide */
GigapixelTissue_EXPORT std::string AdviseTissuePreset(const std::string &  name,
                                                      const TissueSample & sample,
                                                      const std::string &  slide);

} // namespace gigapixel

#endif
