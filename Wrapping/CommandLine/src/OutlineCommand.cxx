/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "Doubt.h"
#include "MaskImage.h"
#include "OutlineOrigin.h"
#include "OutputCheck.h"
#include "SlideFile.h"

#include "gigapixelAnnotation.h"
#include "gigapixelMaskOutline.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace gigapixel::commandline
{
namespace
{
std::vector<Annotation>
TraceMask(const MaskImage &             mask,
          const GridMatch &             match,
          const std::array<double, 2> & origin,
          const Session &               session,
          double &                      objectShare)
{
  std::int64_t               objects = 0;
  constexpr std::int64_t     bandRows = 256;
  const Size                 size = mask.GetSize();
  MaskOutline                outline(static_cast<std::size_t>(size.width));
  std::vector<unsigned char> rows;
  Progress progress(session, "outline", static_cast<double>(size.width) * static_cast<double>(size.height));
  for (std::int64_t y = 0; y < size.height; y += bandRows)
  {
    ThrowIfInterrupted();
    const std::int64_t count = std::min(bandRows, size.height - y);
    mask.ReadRows(y, count, rows);
    objects += count * size.width - std::count(rows.begin(), rows.begin() + count * size.width, 0);
    for (std::int64_t row = 0; row < count; ++row)
    {
      outline.AppendRow(rows.data() + row * size.width, 1);
    }
    progress.Update(static_cast<double>(y) / static_cast<double>(size.height));
  }
  objectShare = static_cast<double>(objects) / (static_cast<double>(size.width) * static_cast<double>(size.height));
  auto pieces = outline.Trace(match.axes[0].ratio, match.axes[1].ratio);
  for (Annotation & piece : pieces)
  {
    for (AnnotationRing & ring : piece.rings)
    {
      for (AnnotationPoint & point : ring)
      {
        point.x -= match.axes[0].shift + origin[0];
        point.y -= match.axes[1].shift + origin[1];
      }
    }
  }
  return pieces;
}
} // namespace

int
RunOutline(const ArgumentValues & values, const Session & session)
{
  const std::string output = values.GetText("output");
  CheckEnding("--output", output, "annotations");
  RefuseInput(output, { values.GetText("MASK"), values.GetText("like") });
  const MaskImage mask(values.GetText("MASK"));
  const auto      slide = OpenSlide(values.GetText("like"), values, session);
  const GridMatch match = GridMatch::Make(mask.GetImage(), GetLevelZeroGrid(*slide), values.GetText("like"));
  const auto      origin = GetOutlineOrigin(*slide, values, session);
  RefuseExisting(output, values.Has("overwrite"));
  CheckOutput(output, 0);

  double objectShare = 0;
  auto   pieces = TraceMask(mask, match, origin, session, objectShare);
  DoubtMask(session, mask.GetName(), "the mask", objectShare);
  for (Annotation & piece : pieces)
  {
    piece.className = values.GetText("class");
  }
  WriteAnnotations(pieces, output, values.Has("overwrite"));
  const nlohmann::ordered_json json{
    { "outlines", output }, { "mask", mask.GetName() }, { "pieces", pieces.size() }, { "origin", origin }
  };
  session.PrintResult(output + ": " + std::to_string(pieces.size()) + (pieces.size() == 1 ? " outline" : " outlines"),
                      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
