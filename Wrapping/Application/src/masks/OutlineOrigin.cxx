/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OutlineOrigin.h"

#include "ArgumentText.h"

#include "itkMetaDataObject.h"

namespace gigapixel::application
{

std::array<double, 2>
GetOutlineOrigin(const itk::WholeSlideImageIO & slide, const ArgumentValues & values, const Session & session)
{
  std::array<double, 2> corner{};
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    std::string text;
    itk::ExposeMetaData(slide.GetMetaDataDictionary(), axis == 0 ? "openslide.bounds-x" : "openslide.bounds-y", text);
    corner[axis] = ReadNumber(text).value_or(0);
  }
  const bool isAtCorner = corner[0] == 0 && corner[1] == 0;
  const bool isOfBounds = values.GetText("origin") == "bounds";
  if (!slide.GetMetaDataDictionary().HasKey("openslide.bounds-x") && isOfBounds)
  {
    session.Warn(
      Diagnostic("W-OPTION-NO-EFFECT",
                 "the slide states no scanned area (bounds), and positions are counted from the slide's corner")
        .OfFile(slide.GetFileName())
        .OfOption("--origin", "bounds"));
  }
  if (!isAtCorner && !values.IsGiven("origin"))
  {
    const std::string place = FormatNumber(corner[0], 0) + ',' + FormatNumber(corner[1], 0);
    session.Warn(
      Diagnostic("W-ANNOTATION-ORIGIN",
                 "the slide's scanned area (bounds) begins at " + place +
                   ", and positions are counted from the slide's corner",
                 "say --origin bounds for outlines of QuPath, which counts from the scanned area, or --origin "
                 "slide")
        .OfFile(slide.GetFileName())
        .OfOption("--origin", "slide"));
  }
  return isOfBounds ? corner : std::array<double, 2>{};
}

} // namespace gigapixel::application
