/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissuePresets.h"

#include <stdexcept>

namespace gigapixel
{

const std::vector<TissuePreset> &
GetTissuePresets()
{
  static const std::vector<TissuePreset> presets{
    { "remedios2023",
      "the published chain: fixed threshold of 230, median, erosion, dilation, hole fill",
      TissueMethod::MeanBelow,
      12.0,
      8.0,
      8.0,
      0.0 },
    { "robust",
      "stained slides with pen, debris and pale tissue",
      TissueMethod::DensityOrSaturation,
      12.0,
      8.0,
      8.0,
      40000.0 },
    { "fluorescence", "bright tissue on a dark ground", TissueMethod::BrightOnDark, 12.0, 0.0, 12.0, 2500.0 },
  };
  return presets;
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
