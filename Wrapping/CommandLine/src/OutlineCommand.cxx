/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "MaskImage.h"
#include "OutputCheck.h"
#include "SlideFile.h"

#include "gigapixelAnnotation.h"
#include "gigapixelMaskOutline.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace gigapixel::commandline
{
namespace
{
std::vector<Annotation>
TraceMask(const MaskImage & mask, const GridMatch & match, const Session & session)
{
  constexpr std::int64_t     bandRows = 256;
  const auto &               size = mask.GetGrid().size;
  MaskOutline                outline(static_cast<std::size_t>(size[0]));
  std::vector<unsigned char> rows;
  Progress                   progress(session, "outline", static_cast<double>(size[0]) * static_cast<double>(size[1]));
  for (std::int64_t y = 0; y < size[1]; y += bandRows)
  {
    ThrowIfInterrupted();
    const std::int64_t count = std::min(bandRows, size[1] - y);
    mask.ReadRows(y, count, rows);
    for (std::int64_t row = 0; row < count; ++row)
    {
      outline.AppendRow(rows.data() + row * size[0], 1);
    }
    progress.Update(static_cast<double>(y) / static_cast<double>(size[1]));
  }
  return outline.Trace(match.axes[0].scale, match.axes[1].scale);
}
} // namespace

int
RunOutline(const ArgumentValues & values, const Session & session)
{
  const std::string output = values.GetText("output");
  CheckEnding("--output", output, "annotations");
  RefuseInput(output, { values.GetText("MASK"), values.GetText("like") });
  const MaskImage mask(values.GetText("MASK"));
  const auto      slide = OpenSlide(values.GetText("like"), values);
  const auto      base = slide->GetLevelSize(0);
  const double    resolution = GetLevelZeroResolution(*slide) / 1000;
  PlaneGrid       level0{ values.GetText("like"), {}, { resolution, resolution }, {} };
  level0.size = { static_cast<std::int64_t>(base[0]), static_cast<std::int64_t>(base[1]) };
  const GridMatch match = GridMatch::Make(mask.GetGrid(), level0);
  RefuseExisting(output, values.Has("overwrite"));
  CheckOutput(output, 0);

  auto pieces = TraceMask(mask, match, session);
  if (pieces.empty())
  {
    session.Warn("gigapixel: " + mask.GetGrid().name + " has no object: there are no outlines in " + output + '.');
  }
  for (Annotation & piece : pieces)
  {
    piece.className = values.GetText("class");
  }
  WriteAnnotations(pieces, output);
  const nlohmann::ordered_json json{ { "outlines", output },
                                     { "mask", mask.GetGrid().name },
                                     { "pieces", pieces.size() } };
  session.PrintResult(output + ": " + std::to_string(pieces.size()) + " outlines",
                      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
