/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissuePresets.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{

/* Why these numbers: Documentation/Tissue.md, with the figures. */
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
    return std::vector<TissuePreset>{ remedios, robust, fluorescence, ihc };
  }();
  return presets;
}

const TissuePreset &
SuggestTissuePreset(const unsigned char * pixels, std::size_t count, unsigned channels)
{
  constexpr std::size_t dark = 60;
  TissueHistogram       histogram;
  CountPixels(pixels, count, channels, histogram);
  const auto & largest = histogram.largest;
  const auto   darkPixels = std::accumulate(largest.begin(), largest.begin() + dark, std::uint64_t{ 0 });
  const auto   glass = std::accumulate(histogram.glass[0].begin(), histogram.glass[0].end(), std::uint64_t{ 0 });
  if (2 * darkPixels > count && 20 * glass < count)
  {
    return GetTissuePreset("fluorescence");
  }
  std::vector<unsigned char> mask(count);
  const auto                 countTissue = [&](TissueMethod method) {
    ApplyTissueRule(MakeTissueRule(method, histogram), pixels, count, channels, mask.data());
    return std::count(mask.begin(), mask.end(), 255);
  };
  const bool isBrown = 4 * countTissue(TissueMethod::BrownStain) > 5 * countTissue(TissueMethod::Stain);
  return GetTissuePreset(isBrown ? "ihc" : "robust");
}

const TissuePreset &
GetTissuePreset(const std::string & name)
{
  std::string names;
  for (const TissuePreset & preset : GetTissuePresets())
  {
    if (preset.name == name)
    {
      return preset;
    }
    names += (names.empty() ? "" : ", ") + preset.name;
  }
  throw std::invalid_argument("There is no tissue preset \"" + name + "\"; there are: " + names);
}

} // namespace gigapixel
