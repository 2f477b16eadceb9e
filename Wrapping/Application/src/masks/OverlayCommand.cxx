/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "Doubt.h"
#include "Drawing.h"
#include "MaskImage.h"
#include "OutputCheck.h"
#include "PictureFile.h"
#include "SlideFile.h"
#include "SlideThumbnail.h"
#include "VolumeFile.h"
#include "VolumeOverlay.h"

#include "gigapixelFileIdentity.h"
#include "gigapixelSlideFiles.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace gigapixel::application
{
namespace
{
/** An orange that is neither a stain nor a usual pen; tint and outline are told apart by their strength. */
constexpr Color  MarkColor{ 255, 176, 0 };
constexpr double TintStrength = 0.25;

using Classes = std::map<unsigned char, MaskClass>;

/** Tints what is marked, and draws its border pixels (those with a 4-neighbor of another mark) in full color. */
void
DrawMask(const std::vector<unsigned char> & marks, const Classes & classes, Picture & picture)
{
  const auto get = [&](std::int64_t x, std::int64_t y) {
    const bool isInside = x >= 0 && y >= 0 && x < picture.width && y < picture.height;
    return isInside ? marks[static_cast<std::size_t>(y * picture.width + x)] : 0;
  };
  for (std::int64_t y = 0; y < picture.height; ++y)
  {
    for (std::int64_t x = 0; x < picture.width; ++x)
    {
      const unsigned char mark = get(x, y);
      if (mark == 0)
      {
        continue;
      }
      const auto    known = classes.find(mark);
      const Color & color = known == classes.end() ? MarkColor : known->second.color;
      const bool    isInner =
        get(x - 1, y) == mark && get(x + 1, y) == mark && get(x, y - 1) == mark && get(x, y + 1) == mark;
      const double strength = isInner ? TintStrength : 1.0;
      for (std::size_t channel = 0; channel < 3; ++channel)
      {
        unsigned char & value = picture.pixels[static_cast<std::size_t>(y * picture.width + x) * 3 + channel];
        value = static_cast<unsigned char>(std::lround((1 - strength) * value + strength * color[channel]));
      }
    }
  }
}

/** Channels whose colors were added up, then classes. Label 0 is the ground, which is not marked. */
std::vector<MaskClass>
ListColors(const itk::WholeSlideImageIO & slide, const Classes & classes)
{
  constexpr std::size_t  longestName = 100;
  std::vector<MaskClass> colors;
  for (const auto & channel : slide.GetAddedChannels())
  {
    colors.push_back({ channel.name.substr(0, longestName), ReadColor(channel.color).value_or(Color{}) });
  }
  for (const auto & [label, meant] : classes)
  {
    if (label != 0)
    {
      colors.push_back(meant);
    }
  }
  return colors;
}

/** A white strip as wide as the picture with colors and names; without any it has no height. */
Picture
DrawLegend(const std::vector<MaskClass> & colors, unsigned width)
{
  constexpr double        Margin = 6, Swatch = 14, LineHeight = Swatch + Margin, FontSize = 14;
  constexpr unsigned char Bright = 200; // on white it needs a frame
  struct Entry
  {
    Point             corner;
    const MaskClass * meant;
  };
  std::vector<Entry> entries;
  Point              at{ Margin, Margin };
  for (const MaskClass & meant : colors)
  {
    const double length = Swatch + Margin + Drawing::GetTextWidth(meant.name, FontSize) + 2 * Margin;
    if (at[0] > Margin && at[0] + length > width)
    {
      at = { Margin, at[1] + LineHeight };
    }
    entries.push_back({ at, &meant });
    at[0] += length;
  }
  if (entries.empty())
  {
    return { width, 0, {} };
  }
  Drawing drawing(width, at[1] + LineHeight);
  for (const Entry & entry : entries)
  {
    const auto [x, y] = entry.corner;
    const Color & color = entry.meant->color;
    if (*std::min_element(color.begin(), color.end()) >= Bright)
    {
      drawing.AddRectangle({ x - 1, y - 1 }, { Swatch + 2, Swatch + 2 }, Color{ 128, 128, 128 });
    }
    drawing.AddRectangle(entry.corner, { Swatch, Swatch }, color);
    drawing.AddText({ x + Swatch + Margin, y + Swatch - 2 }, entry.meant->name, FontSize);
  }
  return drawing.Rasterize(1);
}

/** All that decides on the picture, as it is kept in it. */
std::string
DescribeMaking(const itk::WholeSlideImageIO & slide, const MaskImage & mask, const std::array<unsigned, 2> & size)
{
  return std::string("overlay") + (mask.GetClasses().empty() ? "" : " classes") +
         (slide.GetAddedChannels().empty() ? "" : " legend") + " size=" + std::to_string(size[0]) + 'x' +
         std::to_string(size[1]) + ' ' + IdentifySlide(slide) +
         " mask: " + IdentifyFile(mask.GetName(), HashedBytes::All);
}
} // namespace

int
RunOverlay(const ArgumentValues & values, const Session & session)
{
  const std::string file = values.GetText("SLIDE");
  const std::string output = values.GetText("output");
  CheckOutputName(values, "output");
  if (IsVolume(file))
  {
    return RunVolumeOverlay(values, session);
  }
  const auto      slide = OpenPicture(file, values, session);
  const MaskImage mask(values.GetText("MASK"));
  const auto      size = FitSize(slide->GetLevelSize(0), values.GetInteger("picture-size"));
  const auto      madeBy = DescribeMaking(*slide, mask, size);
  const Picture   legend = DrawLegend(ListColors(*slide, mask.GetClasses()), size[0]);
  const auto      height = size[1] + legend.height;
  const bool      wasThere = !values.Has("overwrite") && HasValidPNG(output, madeBy);
  if (!wasThere)
  {
    CheckOutput(output, 3.0 * size[0] * height);
    const PartOf    part = values.Has("partial") ? PartOf::Image : PartOf::None;
    const GridMatch match = NamePartial(
      PartOf::Image, [&] { return GridMatch::Make(mask.GetImage(), GetLevelZeroGrid(*slide), file, part); });

    Progress   progress(session, "overlay");
    Picture    picture = DrawThumbnail(*slide, size, &progress);
    const auto marks = SampleMask(mask, match, size, !mask.GetClasses().empty());
    const auto marked = marks.size() - static_cast<std::size_t>(std::count(marks.begin(), marks.end(), 0));
    DoubtMask(session,
              mask.GetName(),
              "the mask, at this size on the slide,",
              static_cast<double>(marked) / static_cast<double>(marks.size()));
    DrawMask(marks, mask.GetClasses(), picture);
    picture.height = height;
    picture.pixels.insert(picture.pixels.end(), legend.pixels.begin(), legend.pixels.end());
    WritePNG(picture, output, madeBy, values.Has("overwrite"));
  }
  nlohmann::ordered_json json{ { "picture", output },   { "slide", file },    { "mask", mask.GetName() },
                               { "skipped", wasThere }, { "width", size[0] }, { "height", height } };
  AddChannels(json, *slide);
  const auto damagedTiles = static_cast<std::int64_t>(slide->GetNumberOfDamagedTiles());
  json["damagedTiles"] = wasThere ? nlohmann::ordered_json() : nlohmann::ordered_json(damagedTiles);
  session.ShowResult(output + ": " + std::to_string(size[0]) + " x " + std::to_string(height) +
                       FormatDamage(damagedTiles) + (wasThere ? " (was there already)" : ""),
                     json);
  return Success;
}

} // namespace gigapixel::application
