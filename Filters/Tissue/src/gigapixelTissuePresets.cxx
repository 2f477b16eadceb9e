/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissuePresets.h"

#include <stdexcept>

namespace gigapixel
{

/* Why these numbers. Figures are intersection over union with the truth of synthetic slides (8192 x 8192 at 0.5 um,
 * label grid of 4 um), seeds 1, 2, 3, 5 for choosing, seeds 11 to 14 for the figure given.
 *
 * remedios2023: the paper gives the stages, not the radii.
 *   median 12 um: half a square of 28 um, about three cells; specks and strokes thinner than that go, which is what the
 *   median is for. Erosion and dilation 8 um, one cell, and equal, so that together they open the mask (thin threads
 * go) and do not move the outline. Radii from 0 to 20 um change the figure by less than 0.01 (0.94): what is missing is
 * the threshold's doing (pen and dust are darker than 230, pale tissue and glass in lumina are not) and the hole fill's
 *   (true holes), not the radii'. Holes of any size are filled, nothing is removed by size: as published.
 *
 * robust: the color does what the windows cannot, so they stay small (0.990; worst seed 0.985).
 *   median 4 um: the smallest, against noise; at 8 um the walls between fat cells break and the figure falls by 0.015.
 *   No erosion, no dilation: they cost 0.002 to 0.02, by the same walls. Holes up to 10000 um^2 (113 um across) are
 * filled: lumina of glands, vessels and fat cells; larger ones are glass. Pieces below 10000 um^2 (a square of 100 um)
 * are taken for debris and cells that float on the glass: from 0 to 40000 the figure changes by 0.002, best around
 * here.
 *
 * fluorescence: nuclei shine, what lies between them hardly does. median 4 um: noise, not nuclei. No erosion, which
 * would take nuclei away. Dilation 24 um: cells of a tissue lie less than twice that apart, so their discs join; the
 * outline lies that much outside the outer nuclei. All holes filled. Pieces below 10000 um^2: up to four or five nuclei
 * that float on their own (the disc of one measures 2500 um^2). */
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
    robust.maximumHoleArea = 10000.0;
    robust.minimumArea = 10000.0;

    TissuePreset fluorescence;
    fluorescence.name = "fluorescence";
    fluorescence.purpose = "bright nuclei on a dark ground, and what lies between them";
    fluorescence.method = TissueMethod::BrightOnDark;
    fluorescence.medianRadius = 4.0;
    fluorescence.dilationRadius = 24.0;
    fluorescence.minimumArea = 10000.0;
    return std::vector<TissuePreset>{ remedios, robust, fluorescence };
  }();
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
