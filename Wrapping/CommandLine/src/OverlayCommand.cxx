/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "MaskImage.h"
#include "OutputCheck.h"
#include "PictureFile.h"
#include "SlideFile.h"
#include "SlideThumbnail.h"
#include "VolumeFile.h"
#include "VolumeOverlay.h"

#include "gigapixelFileIdentity.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace gigapixel::commandline
{
namespace
{
/** An orange that is neither a stain nor a usual pen; tint and outline are told apart by their strength. */
constexpr std::array<double, 3> MarkColor{ 255, 176, 0 };
constexpr double                TintStrength = 0.25;

/** For each pixel of the picture whether the mask's pixel below its center is object.
 * \param match of the mask to level 0 */
std::vector<unsigned char>
SampleMask(const MaskImage & mask, const GridMatch & match, const std::array<unsigned, 2> & size)
{
  std::vector<unsigned char> marks(std::size_t(size[0]) * size[1]);
  std::vector<unsigned char> row;
  // The mask's pixel; -1: the picture's lies outside of the mask.
  const auto find = [&match, &size](std::size_t axis, unsigned pixel) {
    const AxisMatch &  on = match.axes[axis];
    const double       scale = static_cast<double>(on.pixels) / size[axis];
    const std::int64_t found = on((pixel + 0.5) * scale);
    return found >= 0 && found < on.maskPixels ? found : -1;
  };
  for (unsigned y = 0; y < size[1]; ++y)
  {
    const std::int64_t maskY = find(1, y);
    if (maskY < 0)
    {
      continue;
    }
    mask.ReadRows(maskY, 1, row);
    for (unsigned x = 0; x < size[0]; ++x)
    {
      const std::int64_t maskX = find(0, x);
      marks[std::size_t(y) * size[0] + x] = maskX >= 0 ? row[static_cast<std::size_t>(maskX)] : 0;
    }
  }
  return marks;
}

/** Tints the object, and draws its border pixels (those with a 4-neighbor outside) in full color. */
void
DrawMask(const std::vector<unsigned char> & marks, Picture & picture)
{
  const auto isObject = [&](std::int64_t x, std::int64_t y) {
    return x >= 0 && y >= 0 && x < picture.width && y < picture.height &&
           marks[static_cast<std::size_t>(y * picture.width + x)];
  };
  for (std::int64_t y = 0; y < picture.height; ++y)
  {
    for (std::int64_t x = 0; x < picture.width; ++x)
    {
      if (!isObject(x, y))
      {
        continue;
      }
      const bool   isInner = isObject(x - 1, y) && isObject(x + 1, y) && isObject(x, y - 1) && isObject(x, y + 1);
      const double strength = isInner ? TintStrength : 1.0;
      for (std::size_t channel = 0; channel < 3; ++channel)
      {
        unsigned char & value = picture.pixels[static_cast<std::size_t>(y * picture.width + x) * 3 + channel];
        value = static_cast<unsigned char>(std::lround((1 - strength) * value + strength * MarkColor[channel]));
      }
    }
  }
}

/** All that decides on the picture, as it is kept in it. */
std::string
DescribeMaking(const std::string & slide, const std::string & mask, const std::array<unsigned, 2> & size)
{
  return "overlay size=" + std::to_string(size[0]) + 'x' + std::to_string(size[1]) + ' ' +
         IdentifyFile(slide, HashedBytes::Samples) + " mask: " + IdentifyFile(mask, HashedBytes::All);
}
} // namespace

int
RunOverlay(const ArgumentValues & values, const Session & session)
{
  const std::string file = values.GetText("SLIDE");
  const std::string output = values.GetText("output");
  CheckEnding("--output", output, "picture");
  RefuseInput(output, { file, values.GetText("MASK") });
  if (IsVolume(file))
  {
    return RunVolumeOverlay(values, session);
  }
  const auto      slide = OpenPicture(file, values);
  const MaskImage mask(values.GetText("MASK"));
  const auto      size = FitSize(slide->GetLevelSize(0), values.GetInteger("size"));
  const auto      madeBy = DescribeMaking(file, mask.GetName(), size);
  const bool      wasThere = !values.Has("overwrite") && HasValidPNG(output, madeBy);
  if (!wasThere)
  {
    CheckOutput(output, 3.0 * size[0] * size[1]);
    const PartOf    part = values.Has("partial") ? PartOf::Image : PartOf::None;
    const GridMatch match = NamePartial(
      PartOf::Image, [&] { return GridMatch::Make(mask.GetImage(), GetLevelZeroGrid(*slide), file, part); });

    Progress   progress(session, "overlay");
    Picture    picture = DrawThumbnail(*slide, size, progress);
    const auto marks = SampleMask(mask, match, size);
    if (std::none_of(marks.begin(), marks.end(), [](unsigned char mark) { return mark != 0; }))
    {
      session.Warn("gigapixel: " + mask.GetName() + " has no object that can be seen on " + file +
                   " at this size: nothing is marked in " + output + '.');
    }
    DrawMask(marks, picture);
    WritePNG(picture, output, madeBy, values.Has("overwrite"));
  }
  nlohmann::ordered_json json{ { "picture", output },   { "slide", file },    { "mask", mask.GetName() },
                               { "skipped", wasThere }, { "width", size[0] }, { "height", size[1] } };
  const auto             damagedTiles = static_cast<std::int64_t>(slide->GetNumberOfDamagedTiles());
  json["damagedTiles"] = wasThere ? nlohmann::ordered_json() : nlohmann::ordered_json(damagedTiles);
  session.PrintResult(output + ": " + std::to_string(size[0]) + " x " + std::to_string(size[1]) +
                        FormatDamage(damagedTiles) + (wasThere ? " (was there already)" : ""),
                      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
