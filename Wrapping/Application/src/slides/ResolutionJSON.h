/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ResolutionJSON_h
#define ResolutionJSON_h

#include "gigapixelGrid.h"
#include "itkWholeSlideImageIO.h"

#include <nlohmann/json.hpp>

#include <array>

namespace gigapixel::application
{

/** Adds micrometers per pixel: "mppX" and "mppY", and their mean "mpp"; null where they are unknown.
 * \param resolution in x and y; 0: unknown */
inline void
AddResolution(nlohmann::ordered_json & json, const std::array<double, 2> & resolution)
{
  const auto tell = [](double value) { return value > 0 ? nlohmann::ordered_json(value) : nullptr; };
  json["mpp"] = tell((resolution[0] + resolution[1]) / 2);
  json["mppX"] = tell(resolution[0]);
  json["mppY"] = tell(resolution[1]);
}

inline void
AddResolution(nlohmann::ordered_json & json, const Grid & grid)
{
  const double micrometers = grid.IsSpacingKnown() ? 1000 : 0;
  AddResolution(json, std::array<double, 2>{ grid.spacing[0] * micrometers, grid.spacing[1] * micrometers });
}

/** Adds likewise the resolution of the pixels that are read of a slide. */
inline void
AddResolution(nlohmann::ordered_json & json, const itk::WholeSlideImageIO & slide)
{
  auto       resolution = slide.GetLevelZeroResolution();
  const auto downsamples = slide.GetLevelDownsamples(slide.GetLevel());
  resolution[0] *= downsamples[0];
  resolution[1] *= downsamples[1];
  AddResolution(json, resolution);
}

/** Adds the level that is read, "level", or the one that is resampled, "resampledFrom", of which the other is null. */
inline void
AddLevel(nlohmann::ordered_json & json, const itk::WholeSlideImageIO & slide)
{
  const nlohmann::ordered_json level = slide.GetSourceLevel();
  json["level"] = slide.IsResampled() ? nlohmann::ordered_json() : level;
  json["resampledFrom"] = slide.IsResampled() ? level : nlohmann::ordered_json();
}

} // namespace gigapixel::application

#endif
