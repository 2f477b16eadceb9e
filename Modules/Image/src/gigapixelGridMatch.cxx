/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGridMatch.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

namespace gigapixel
{
namespace
{

/** An image whose rows or columns are counted from the other end. */
class MirroredSource : public PixelSource
{
public:
  MirroredSource(std::shared_ptr<PixelSource> image, const std::array<bool, 2> & mirrored)
    : m_Image(std::move(image))
    , m_Mirrored(mirrored)
  {}

  Size
  GetSize() const override
  {
    return m_Image->GetSize();
  }

  unsigned
  GetNumberOfChannels() const override
  {
    return m_Image->GetNumberOfChannels();
  }

  SampleType
  GetSampleType() const override
  {
    return m_Image->GetSampleType();
  }

  void
  Read(const Region & region, std::uint8_t * samples) override
  {
    const std::int64_t        bytes = this->GetNumberOfChannels() * GetSampleBytes(this->GetSampleType()); // of a pixel
    std::vector<std::uint8_t> read(static_cast<std::size_t>(region.width * region.height * bytes));
    m_Image->Read(this->GetStored(region), read.data());
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      const std::int64_t row = m_Mirrored[1] ? region.height - 1 - y : y;
      for (std::int64_t x = 0; x < region.width; ++x)
      {
        const std::int64_t column = m_Mirrored[0] ? region.width - 1 - x : x;
        samples = std::copy_n(read.data() + (row * region.width + column) * bytes, bytes, samples);
      }
    }
  }

  void
  ReadAhead(const Region & region) override
  {
    m_Image->ReadAhead(this->GetStored(region));
  }

private:
  Region
  GetStored(const Region & region) const
  {
    const Size size = this->GetSize();
    Region     stored = region;
    stored.x = m_Mirrored[0] ? size.width - region.x - region.width : region.x;
    stored.y = m_Mirrored[1] ? size.height - region.y - region.height : region.y;
    return stored;
  }

  std::shared_ptr<PixelSource> m_Image;
  std::array<bool, 2>          m_Mirrored;
};

/** Whether the mask's size is the image's divided by an integer, with or without the partial last pixel. */
bool
IsDivided(const AxisMatch & axis, std::int64_t factor)
{
  const std::int64_t floored = axis.pixels / factor;
  return axis.maskPixels == floored || axis.maskPixels == (axis.pixels + factor - 1) / factor;
}

/** The integer above 1 that the ratio is meant to be, as the sizes say too up to a pixel of the mask (both may come
 * from a larger image by rounding); 0: there is none. */
std::int64_t
GetDivisor(const AxisMatch & axis)
{
  const double integer = std::round(axis.ratio);
  const bool   near = integer > 1 && std::abs(axis.ratio / integer - 1) < 0.01;
  const double difference = static_cast<double>(axis.maskPixels) * integer - static_cast<double>(axis.pixels);
  return near && std::abs(difference) <= integer ? static_cast<std::int64_t>(integer) : 0;
}

/** Snaps what rounding in files has moved, so that the arithmetic below is exact where it can be. */
void
Snap(AxisMatch & axis)
{
  constexpr double tolerance = 1e-4;
  const double     larger = std::max(axis.ratio, 1 / axis.ratio);
  const double     integer = std::round(larger);
  if (std::abs(larger / integer - 1) < tolerance || GetDivisor(axis) != 0)
  {
    axis.ratio = axis.ratio >= 1 ? integer : 1 / integer;
  }
  const double fine = std::round(axis.shift * 1024) / 1024; // halves too: a mask of even ratio that keeps the origin
  if (std::abs(axis.shift - fine) < tolerance)
  {
    axis.shift = fine;
  }
}

std::string
Describe(const Grid & grid)
{
  std::ostringstream text;
  text << grid.size.width << " x " << grid.size.height << " pixels";
  if (grid.IsSpacingKnown())
  {
    text << " of " << 1000 * grid.spacing[0] << " um";
    if (grid.spacing[0] != grid.spacing[1])
    {
      text << " x " << 1000 * grid.spacing[1] << " um";
    }
  }
  return text.str();
}

/** A mask, and the image that it is said to be of. */
struct Pair
{
  const PhysicalImage & mask;
  const Grid &          pixels;
  const std::string &   name; ///< of the image
};

[[noreturn]] void
Refuse(const Pair & pair, const std::string & reason, PartOf part = PartOf::None, const std::string & remedy = {})
{
  throw GridMismatch(Diagnostic("E-MASK-GRID",
                                "the mask " + pair.mask.name + " (" + Describe(pair.mask.grid) +
                                  ") is not of the same slide as " + pair.name + " (" + Describe(pair.pixels) +
                                  "): " + reason,
                                remedy)
                       .OfFile(pair.mask.name),
                     part);
}

/** Origin of the mask seen from the image's, in mm along the image's axes. */
std::array<double, 2>
OriginDifference(const Grid & mask, const Grid & pixels)
{
  const double x = mask.origin[0] - pixels.origin[0];
  const double y = mask.origin[1] - pixels.origin[1];
  const auto & d = pixels.direction; // orthonormal: its transpose is its inverse
  return { { d[0] * x + d[2] * y, d[1] * x + d[3] * y } };
}

/** Whether the one lies within the other, up to a pixel of the coarser grid or 1 % of the longer side. */
bool
LiesWithin(const AxisMatch & axis, PartOf part)
{
  const double image = static_cast<double>(axis.pixels);
  const double mask = static_cast<double>(axis.maskPixels) * axis.ratio;
  const double allowed = std::max({ 1.0, axis.ratio, 0.01 * std::max(image, mask) });
  const double begin = part == PartOf::Image ? -axis.shift : axis.shift;
  const double end = begin + (part == PartOf::Image ? mask : image);
  return begin > -allowed && end < (part == PartOf::Image ? image : mask) + allowed;
}

/** \param part of all axes: as which the mask would fit */
void
RequireSameExtent(const Pair & pair, const AxisMatch & axis, double spacing, PartOf part)
{
  const double length = static_cast<double>(axis.pixels);
  const double allowed = (1 + 1e-6) * std::max(std::max(1.0, axis.ratio), 0.01 * length);
  if (std::abs(static_cast<double>(axis.maskPixels) * axis.ratio - length) > allowed)
  {
    Refuse(pair, "they differ in physical size", part, "give the mask of the whole image, with its spacing");
  }
  if (std::abs(axis.shift) > allowed)
  {
    Refuse(pair, "their edges lie " + std::to_string(std::abs(axis.shift) * spacing) + " mm apart", part);
  }
}

/** Whole pixels by which an image with this origin begins behind the slide's edge. What is less is that its first
 * center lies elsewhere than that of level 0's first pixel, or rounding of the spacing. */
double
CountPixelsBefore(double origin, double spacing)
{
  return std::trunc(origin / spacing + 1e-2);
}

std::array<AxisMatch, 2>
MatchInMillimeters(const Pair & pair, PartOf part)
{
  const Grid &                mask = pair.mask.grid;
  const Grid &                pixels = pair.pixels;
  const std::array<double, 2> between = OriginDifference(mask, pixels);
  const std::int64_t          sizes[] = { pixels.size.width, pixels.size.height };
  const std::int64_t          maskSizes[] = { mask.size.width, mask.size.height };
  const bool                  saysNoOrigin = mask.origin[0] == 0 && mask.origin[1] == 0;
  std::array<AxisMatch, 2>    axes;
  for (std::size_t i = 0; i < 2; ++i)
  {
    const double spacing = pixels.spacing[i];
    const double maskSpacing = mask.spacing[i];
    AxisMatch &  axis = axes[i];
    axis = { sizes[i], maskSizes[i], maskSpacing / spacing, (maskSpacing / 2 - spacing / 2 - between[i]) / spacing };
    if (saysNoOrigin)
    {
      axis.shift = CountPixelsBefore(pixels.origin[i], spacing);
    }
  }
  const auto   fitsAs = [&axes](PartOf which) { return LiesWithin(axes[0], which) && LiesWithin(axes[1], which); };
  const PartOf other = fitsAs(PartOf::Image) ? PartOf::Image : fitsAs(PartOf::Mask) ? PartOf::Mask : PartOf::None;
  for (std::size_t i = 0; i < 2 && part == PartOf::None; ++i)
  {
    RequireSameExtent(pair, axes[i], pixels.spacing[i], other);
  }
  if (part != PartOf::None && !fitsAs(part))
  {
    Refuse(pair, "neither lies within the other");
  }
  Snap(axes[0]);
  Snap(axes[1]);
  return axes;
}

/** The integer by which both sides were divided, a power of two before others; 0: there is none. */
std::int64_t
CommonDivisor(const AxisMatch & x, const AxisMatch & y)
{
  const auto ratio = [](const AxisMatch & axis) {
    return static_cast<double>(axis.pixels) / static_cast<double>(axis.maskPixels);
  };
  const auto   first = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(ratio(x), ratio(y))));
  const auto   last = 2 * static_cast<std::int64_t>(std::ceil(std::max(ratio(x), ratio(y))));
  std::int64_t found = 0;
  for (std::int64_t factor = first; factor <= last; ++factor)
  {
    if (IsDivided(x, factor) && IsDivided(y, factor))
    {
      if ((factor & (factor - 1)) == 0)
      {
        return factor;
      }
      found = found == 0 ? factor : found;
    }
  }
  return found;
}

std::array<AxisMatch, 2>
MatchByExtent(const Pair & pair)
{
  AxisMatch x{ pair.pixels.size.width, pair.mask.grid.size.width };
  AxisMatch y{ pair.pixels.size.height, pair.mask.grid.size.height };
  if (const std::int64_t factor = CommonDivisor(x, y))
  {
    x.ratio = y.ratio = static_cast<double>(factor);
    return { { x, y } };
  }
  for (AxisMatch * axis : { &x, &y })
  {
    axis->ratio = static_cast<double>(axis->pixels) / static_cast<double>(axis->maskPixels);
  }
  // The longer side knows the ratio best; the other one has to agree.
  const AxisMatch & known = x.pixels >= y.pixels ? x : y;
  const AxisMatch & other = x.pixels >= y.pixels ? y : x;
  const double      length = static_cast<double>(other.pixels);
  const double      allowed = std::max(std::max(1.0, known.ratio), 0.01 * length);
  if (std::abs(static_cast<double>(other.maskPixels) * known.ratio - length) > allowed * (1 + 1e-6))
  {
    Refuse(pair, "their sides are in different proportions");
  }
  Snap(x);
  Snap(y);
  return { { x, y } };
}

/** What is small enough has the proportions of everything. Pyramids end at the 1024th part of level 0. */
void
RequireProportions(const Pair & pair, const std::array<AxisMatch, 2> & axes)
{
  constexpr double most = 1024;
  const bool       isPixel = axes[0].maskPixels == 1 && axes[1].maskPixels == 1;
  const bool       isImagePixel = axes[0].pixels == 1 && axes[1].pixels == 1;
  if ((isPixel && !isImagePixel) || axes[0].ratio > most || axes[1].ratio > most)
  {
    Refuse(pair, "it is too small to be a mask of it");
  }
}

} // namespace

std::int64_t
AxisMatch::operator()(double coordinate) const
{
  const double inverse = std::round(1 / ratio);
  const bool   finer = ratio < 1 && ratio == 1 / inverse;
  const double place = coordinate + shift;
  return static_cast<std::int64_t>(std::floor(finer ? place * inverse : place / ratio));
}

GridMatch
GridMatch::Make(const PhysicalImage & mask, const Grid & pixels, const std::string & pixelsName, PartOf part)
{
  const Pair pair{ mask, pixels, pixelsName };
  GridMatch  match;
  match.inMillimeters = mask.grid.IsSpacingKnown() && pixels.IsSpacingKnown();
  if (part != PartOf::None && !match.inMillimeters)
  {
    throw Refusal(Diagnostic("E-SLIDE-RESOLUTION",
                             "the place of " + mask.name + " on " + pixelsName +
                               " is unknown, because a resolution is: --partial needs both",
                             "state the slide's resolution, or leave --partial out")
                    .OfFile(mask.name));
  }
  match.axes = match.inMillimeters ? MatchInMillimeters(pair, part) : MatchByExtent(pair);
  RequireProportions(pair, match.axes);
  return match;
}

PhysicalImage
AlignAxes(PhysicalImage mask, const Grid & pixels, const std::string & pixelsName)
{
  const bool inMillimeters = mask.grid.IsSpacingKnown() && pixels.IsSpacingKnown();
  const bool saysDirections = inMillimeters || mask.grid.direction != Grid().direction;
  const auto mirrored = saysDirections ? FindMirroredAxes(mask.grid, pixels) : std::array<bool, 2>{};
  if (!mirrored)
  {
    throw GridMismatch(
      Diagnostic("E-MASK-GRID",
                 "the mask " + mask.name + " is turned: its rows and columns do not run along those of " + pixelsName,
                 "resample it")
        .OfFile(mask.name),
      PartOf::None);
  }
  if ((*mirrored)[0] || (*mirrored)[1])
  {
    mask.grid = Unmirror(mask.grid, *mirrored);
    mask.pixels = std::make_shared<MirroredSource>(std::move(mask.pixels), *mirrored);
  }
  return mask;
}

void
RequireMask(const PhysicalImage & mask)
{
  const unsigned channels = mask.pixels->GetNumberOfChannels();
  if (channels != 1)
  {
    throw Refusal(Diagnostic("E-MASK-FORMAT",
                             "the mask " + mask.name + " has " + FormatCount(channels, "channel"),
                             "give one with a single channel")
                    .OfFile(mask.name)
                    .OfValue(std::to_string(channels)));
  }
}

} // namespace gigapixel
