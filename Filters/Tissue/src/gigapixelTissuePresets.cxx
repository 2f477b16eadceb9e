/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissuePresets.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelJoinNames.h"
#include "gigapixelTissueNetwork.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace gigapixel
{

/* Why these numbers: Documentation/explanation/tissue.md; the figures: Documentation/evidence/tissue.md. */
const std::vector<TissuePreset> &
GetTissuePresets()
{
  static const std::vector<TissuePreset> presets = [] {
    TissuePreset remedios;
    remedios.name = "remedios2023";
    remedios.purpose = "the published chain: fixed threshold of 230, median, erosion, dilation, hole fill";
    remedios.method = TissueMethod::MeanBelow;
    remedios.medianRadius = 12.0;
    remedios.erosionRadius = 8.0;
    remedios.dilationRadius = 8.0;

    TissuePreset robust;
    robust.name = "robust";
    robust.purpose = "hematoxylin and eosin with pen, debris, dust, shadows, fatty and pale tissue, true holes";
    robust.method = TissueMethod::Stain;
    robust.medianRadius = 4.0;
    robust.maximumHoleArea = 8000.0;
    robust.minimumArea = 10000.0;

    TissuePreset fluorescence;
    fluorescence.name = "fluorescence";
    fluorescence.purpose = "bright nuclei on a dark ground, and what lies between them";
    fluorescence.method = TissueMethod::BrightOnDark;
    fluorescence.medianRadius = 4.0;
    fluorescence.closingRadius = 50.0;
    fluorescence.minimumArea = 10000.0;

    TissuePreset ihc = robust;
    ihc.name = "ihc";
    ihc.purpose = "immunohistochemistry, brown (diaminobenzidine) with hematoxylin; brown debris counts as tissue";
    ihc.method = TissueMethod::BrownStain;
    std::vector<TissuePreset> all{ remedios, robust, fluorescence, ihc };
    if (TissueNetwork::IsBuilt())
    {
      TissuePreset model = robust;
      model.name = "model";
      model.purpose = "a network for any stain and any ground, which tells pen and artifacts from tissue";
      model.method = TissueMethod::Network;
      all.push_back(model);
    }
    return all;
  }();
  return presets;
}

unsigned
GetJudgedPixelsPerSide(unsigned shrinkFactor, double labelMicronsPerPixel)
{
  unsigned side = 1;
  while (side < shrinkFactor && (shrinkFactor % side != 0 || labelMicronsPerPixel >= JudgedMicronsPerPixel * side))
  {
    ++side;
  }
  return side;
}

void
ReduceToMajority(const unsigned char * pixels,
                 std::size_t           stride,
                 std::size_t           width,
                 std::size_t           rows,
                 unsigned              side,
                 unsigned char         tissue,
                 unsigned char *       reduced)
{
  std::array<std::size_t, 256> counts{};
  for (std::size_t begin = 0; begin < width; begin += side, ++reduced)
  {
    const std::size_t end = std::min<std::size_t>(begin + side, width);
    counts.fill(0);
    for (std::size_t y = 0; y < rows; ++y)
    {
      std::for_each(
        pixels + y * stride + begin, pixels + y * stride + end, [&](unsigned char value) { ++counts[value]; });
    }
    const std::size_t all = rows * (end - begin);
    const bool        centerIsTissue = pixels[rows / 2 * stride + (begin + end) / 2] == tissue;
    const bool        isTissue = 2 * counts[tissue] + (centerIsTissue ? 1 : 0) > all;
    counts[tissue] = 0;
    *reduced =
      isTissue ? tissue : static_cast<unsigned char>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  }
}

namespace
{
TissueHistogram
CountSample(const TissueSample & sample)
{
  TissueHistogram histogram;
  CountPixels(sample.pixels.data(), sample.pixels.size() / sample.channels, sample.channels, histogram);
  return histogram;
}

} // namespace

bool
IsDark(const TissueSample & sample)
{
  if (sample.isFluorescence)
  {
    return true;
  }
  constexpr std::size_t dark = 60;
  const TissueHistogram histogram = CountSample(sample);
  const auto &          largest = histogram.largest;
  const auto            darkPixels = std::accumulate(largest.begin(), largest.begin() + dark, std::uint64_t{ 0 });
  const auto glass = std::accumulate(histogram.glass[0].begin(), histogram.glass[0].end(), std::uint64_t{ 0 });
  return 2 * darkPixels > histogram.pixels && 20 * glass < histogram.pixels;
}

bool
IsBrown(const TissueSample & sample)
{
  const TissueHistogram      histogram = CountSample(sample);
  std::vector<unsigned char> mask(histogram.pixels);
  const auto                 countTissue = [&](TissueMethod method) {
    const TissueRule rule = MakeTissueRule(method, histogram);
    ApplyTissueRule(rule, sample.pixels.data(), mask.size(), sample.channels, mask.data());
    return std::count(mask.begin(), mask.end(), 255);
  };
  return 4 * countTissue(TissueMethod::BrownStain) > 5 * countTissue(TissueMethod::Stain);
}

const TissuePreset &
SuggestTissuePreset(const TissueSample & sample)
{
  return GetTissuePreset(IsDark(sample) ? "fluorescence" : IsBrown(sample) ? "ihc" : "robust");
}

const TissuePreset &
ChooseTissuePreset(const std::string & name, const TissueSample & sample)
{
  return IsAutomaticTissuePreset(name) ? SuggestTissuePreset(sample) : GetTissuePreset(name);
}

bool
IsAutomaticTissuePreset(const std::string & name)
{
  return name == AutomaticTissueRules || (name == DefaultTissuePreset && !TissueNetwork::IsBuilt());
}

bool
MayUseTissueNetwork(const std::string & name)
{
  return !IsAutomaticTissuePreset(name) && GetTissuePreset(name).method == TissueMethod::Network;
}

TissueSample
SampleTissue(std::size_t width, std::size_t height, unsigned channels, const TissueSampleReader & read)
{
  constexpr std::size_t patches = 12;
  constexpr std::size_t side = 48;
  const std::size_t     patchWidth = std::min(side, width);
  const std::size_t     patchHeight = std::min(side, height);
  const std::size_t     patchBytes = patchWidth * patchHeight * channels;
  TissueSample          sample{ std::vector<unsigned char>(patches * patches * patchBytes), channels };
  unsigned char *       patch = sample.pixels.data();
  for (std::size_t j = 0; j < patches; ++j)
  {
    for (std::size_t i = 0; i < patches; ++i, patch += patchBytes)
    {
      const std::size_t x = (width - patchWidth) * i / (patches - 1);
      const std::size_t y = (height - patchHeight) * j / (patches - 1);
      read(x, y, patchWidth, patchHeight, patch);
    }
  }
  return sample;
}

std::string
AdviseTissuePreset(const std::string & name, const TissueSample & sample, const std::string & slide)
{
  const TissueMethod method = GetTissuePreset(name).method;
  if (method == TissueMethod::Network)
  {
    return std::string();
  }
  const std::string other = std::string("; try the preset ") + DefaultTissuePreset + '.';
  const bool        isDark = IsDark(sample);
  if (isDark != (method == TissueMethod::BrightOnDark))
  {
    return slide + " looks like a slide of " + (isDark ? "dark" : "bright") + " ground, which the preset " + name +
           " is not made for" + other;
  }
  if (method == TissueMethod::Stain && IsBrown(sample))
  {
    return "much of " + slide + " is brown, which the preset " + name +
           " takes for debris; if it is immunohistochemistry, use the preset ihc, or " + DefaultTissuePreset + '.';
  }
  if (method == TissueMethod::MeanBelow)
  {
    const TissueRule rule = MakeTissueRule(TissueMethod::Stain, CountSample(sample));
    const int        brightness = (rule.glass[0] + rule.glass[1] + rule.glass[2]) / 3;
    if (brightness <= 230)
    {
      return "the glass of " + slide + " has a brightness of " + std::to_string(brightness) + ", so the preset " +
             name + " (threshold 230) takes it for tissue" + other;
    }
  }
  return std::string();
}

const std::vector<TissuePresetChoice> &
GetTissuePresetChoices()
{
  static const std::vector<TissuePresetChoice> choices = [] {
    std::vector<TissuePresetChoice> all{ { DefaultTissuePreset,
                                           TissueNetwork::IsBuilt() ? "the same as model" : "the same as rules" } };
    for (const TissuePreset & preset : GetTissuePresets())
    {
      all.push_back({ preset.name, preset.purpose });
    }
    all.push_back({ AutomaticTissueRules, "fluorescence for a dark ground, ihc where much is brown, else robust" });
    return all;
  }();
  return choices;
}

std::vector<std::string>
GetTissuePresetNames()
{
  std::vector<std::string> names;
  for (const TissuePresetChoice & choice : GetTissuePresetChoices())
  {
    names.push_back(choice.name);
  }
  return names;
}

namespace
{
InvalidArgument
NoSuchPreset(const std::string & name)
{
  return InvalidArgument(
    Diagnostic("E-TISSUE-PRESET",
               "There is no tissue preset \"" + name + "\"; there are: " + JoinNames(GetTissuePresetNames()))
      .OfValue(name));
}
} // namespace

void
CheckTissuePresetName(const std::string & name)
{
  const std::vector<std::string> names = GetTissuePresetNames();
  if (std::find(names.begin(), names.end(), name) == names.end())
  {
    throw NoSuchPreset(name);
  }
}

const TissuePreset &
GetTissuePreset(const std::string & name)
{
  const bool   isNetwork = name == DefaultTissuePreset && TissueNetwork::IsBuilt();
  const auto & presets = GetTissuePresets();
  const auto   found = std::find_if(presets.begin(), presets.end(), [&](const TissuePreset & preset) {
    return isNetwork ? preset.method == TissueMethod::Network : preset.name == name;
  });
  if (found == presets.end())
  {
    throw NoSuchPreset(name);
  }
  return *found;
}

} // namespace gigapixel
