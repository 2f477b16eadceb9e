/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMaskLabelSource.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** One axis of image and mask. Lengths are in image pixels from here on: a mask pixel is `ratio` of them long, and the
 * mask begins `shift` of them before the image. */
struct Axis
{
  std::int64_t pixels{ 0 };
  std::int64_t maskPixels{ 0 };
  double       ratio{ 1 };
  double       shift{ 0 };
  bool         isMirrored{ false }; ///< the mask's file counts from the image's right or lower end
};

/** Whether the mask's size is the image's divided by an integer, with or without the partial last pixel. */
bool
IsDivided(const Axis & axis, std::int64_t factor)
{
  const std::int64_t floored = axis.pixels / factor;
  return axis.maskPixels == floored || axis.maskPixels == (axis.pixels + factor - 1) / factor;
}

/** The integer above 1 that the ratio is meant to be, as the sizes say too up to a pixel of the mask (both may come
 * from a larger image by rounding); 0: there is none. */
std::int64_t
GetDivisor(const Axis & axis)
{
  const double integer = std::round(axis.ratio);
  const bool   near = integer > 1 && std::abs(axis.ratio / integer - 1) < 0.01;
  const double difference = static_cast<double>(axis.maskPixels) * integer - static_cast<double>(axis.pixels);
  return near && std::abs(difference) <= integer ? static_cast<std::int64_t>(integer) : 0;
}

/** Snaps what rounding in files has moved, so that the arithmetic below is exact where it can be. */
void
Snap(Axis & axis)
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

/** Mask index of the pixel whose center is at x + 1/2; -1 outside. Exact for integer ratios and their inverses. */
std::vector<std::int32_t>
IndexTable(const Axis & axis)
{
  const double              inverse = std::round(1 / axis.ratio);
  const bool                finer = axis.ratio < 1 && axis.ratio == 1 / inverse;
  std::vector<std::int32_t> table(static_cast<std::size_t>(axis.pixels));
  for (std::int64_t x = 0; x < axis.pixels; ++x)
  {
    const double center = static_cast<double>(x) + 0.5 + axis.shift;
    const double index = std::floor(finer ? center * inverse : center / axis.ratio);
    const bool   inside = index >= 0 && index < static_cast<double>(axis.maskPixels);
    const double stored = axis.isMirrored ? static_cast<double>(axis.maskPixels) - 1 - index : index;
    table[static_cast<std::size_t>(x)] = inside ? static_cast<std::int32_t>(stored) : -1;
  }
  return table;
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

[[noreturn]] void
Refuse(const PhysicalImage & mask, const Grid & pixels, const std::string & pixelsName, const std::string & reason)
{
  throw std::runtime_error("the mask " + mask.name + " (" + Describe(mask.grid) + ") does not belong to " + pixelsName +
                           " (" + Describe(pixels) + "): " + reason);
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

std::array<Axis, 2>
MatchInMillimeters(const PhysicalImage & mask, const Grid & pixels, const std::string & pixelsName)
{
  const std::array<double, 2> between = OriginDifference(mask.grid, pixels);
  const std::int64_t          sizes[] = { pixels.size.width, pixels.size.height };
  const std::int64_t          maskSizes[] = { mask.grid.size.width, mask.grid.size.height };
  std::array<Axis, 2>         axes;
  for (std::size_t i = 0; i < 2; ++i)
  {
    const double spacing = pixels.spacing[i];
    const double maskSpacing = mask.grid.spacing[i];
    axes[i] =
      Axis{ sizes[i], maskSizes[i], maskSpacing / spacing, (maskSpacing / 2 - spacing / 2 - between[i]) / spacing };
  }
  if (mask.grid.origin[0] == 0 && mask.grid.origin[1] == 0 && GetDivisor(axes[0]) != 0 && GetDivisor(axes[1]) != 0)
  {
    axes[0].shift = axes[1].shift = 0;
  }
  for (std::size_t i = 0; i < 2; ++i)
  {
    Axis &       axis = axes[i];
    const double length = static_cast<double>(axis.pixels);
    const double allowed = (1 + 1e-6) * std::max(std::max(1.0, axis.ratio), 0.01 * length);
    if (std::abs(static_cast<double>(axis.maskPixels) * axis.ratio - length) > allowed)
    {
      Refuse(
        mask, pixels, pixelsName, "they differ in physical size; give the mask of the whole image, with its spacing");
    }
    if (std::abs(axis.shift) > allowed)
    {
      const double difference = std::abs(axis.shift) * pixels.spacing[i];
      Refuse(mask, pixels, pixelsName, "their edges lie " + std::to_string(difference) + " mm apart");
    }
    Snap(axis);
  }
  return axes;
}

/** The integer by which both sides were divided, a power of two before others; 0: there is none. */
std::int64_t
CommonDivisor(const Axis & x, const Axis & y)
{
  const auto ratio = [](const Axis & axis) {
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

std::array<Axis, 2>
MatchByExtent(const PhysicalImage & mask, const Grid & pixels, const std::string & pixelsName)
{
  Axis x{ pixels.size.width, mask.grid.size.width };
  Axis y{ pixels.size.height, mask.grid.size.height };
  if (const std::int64_t factor = CommonDivisor(x, y))
  {
    x.ratio = y.ratio = static_cast<double>(factor);
    return { { x, y } };
  }
  for (Axis * axis : { &x, &y })
  {
    axis->ratio = static_cast<double>(axis->pixels) / static_cast<double>(axis->maskPixels);
  }
  // The longer side knows the ratio best; the other one has to agree.
  const Axis & known = x.pixels >= y.pixels ? x : y;
  const Axis & other = x.pixels >= y.pixels ? y : x;
  const double length = static_cast<double>(other.pixels);
  const double allowed = std::max(std::max(1.0, known.ratio), 0.01 * length);
  if (std::abs(static_cast<double>(other.maskPixels) * known.ratio - length) > allowed * (1 + 1e-6))
  {
    Refuse(mask, pixels, pixelsName, "their sides are in different proportions");
  }
  Snap(x);
  Snap(y);
  return { { x, y } };
}

/** [first, last + 1) of the mask indices that a range of pixels needs; empty when all are outside. */
std::array<std::int64_t, 2>
MaskRange(const std::vector<std::int32_t> & table, std::int64_t begin, std::int64_t count)
{
  std::array<std::int64_t, 2> range{ { 0, 0 } };
  for (std::int64_t i = begin; i < begin + count; ++i)
  {
    const std::int64_t index = table[static_cast<std::size_t>(i)];
    if (index >= 0)
    {
      range[0] = range[1] == 0 ? index : std::min(range[0], index);
      range[1] = std::max(range[1], index + 1);
    }
  }
  return range;
}

/** Turns mask values into classes. \param object a further value of the object, where there are two classes; 0: none */
void
ToClasses(std::vector<std::uint8_t> & values, int classes, int ignored, std::uint8_t object, const std::string & name)
{
  std::array<bool, 256>         valid{};
  std::array<std::uint8_t, 256> table{};
  for (int value = 0; value < classes; ++value)
  {
    valid[static_cast<std::size_t>(value)] = true;
    table[static_cast<std::size_t>(value)] = static_cast<std::uint8_t>(value);
  }
  valid[255] = true;
  table[255] = classes == 2 ? 1 : LabelSource::Ignored;
  if (classes == 2 && object != 0)
  {
    valid[object] = true;
    table[object] = 1;
  }
  const bool ignoresAnother = ignored != LabelSource::Ignored;
  if (ignoresAnother)
  {
    valid[static_cast<std::size_t>(ignored)] = true;
    table[static_cast<std::size_t>(ignored)] = LabelSource::Ignored;
  }
  for (std::uint8_t & value : values)
  {
    if (!valid[value])
    {
      throw std::runtime_error(
        "the mask " + name + " has the value " + std::to_string(value) + "; for " + std::to_string(classes) +
        " classes it may have " +
        (classes == 2 ? "0 and 1, or 0 and 255" : "0 to " + std::to_string(classes - 1) + ", and 255 for unknown") +
        (ignoresAnother ? ", and " + std::to_string(ignored) + ", the ignored label" : "") +
        ": convert it, or name the value that is to be ignored");
    }
    value = table[value];
  }
}

} // namespace

std::string
DescribeLayers(unsigned layers)
{
  return "its segments are in " + std::to_string(layers) +
         " layers, as 3D Slicer keeps those that overlap: a mask has one; export the segments to a labelmap there, and "
         "save that";
}

MaskLabelSource::MaskLabelSource(PhysicalImage       mask,
                                 const Grid &        pixels,
                                 const std::string & pixelsName,
                                 int                 classes,
                                 ScannedFunction     scanned,
                                 int                 ignoredLabel)
  : m_Mask(std::move(mask))
  , m_Size(pixels.size)
  , m_Classes(classes)
  , m_IgnoredLabel(ignoredLabel)
  , m_Scanned(std::move(scanned))
{
  const unsigned channels = m_Mask.pixels->GetNumberOfChannels();
  if (channels != 1)
  {
    throw std::runtime_error("the mask " + m_Mask.name + " has " + std::to_string(channels) +
                             " channels: give one with a single channel");
  }
  const bool inMillimeters = m_Mask.grid.IsSpacingKnown() && pixels.IsSpacingKnown();
  // Where nothing is known in mm, a mask with ITK's default directions says nothing of them either.
  const bool saysDirections = inMillimeters || m_Mask.grid.direction != Grid().direction;
  const auto found = saysDirections ? FindMirroredAxes(m_Mask.grid, pixels) : std::array<bool, 2>{};
  if (!found)
  {
    Refuse(m_Mask, pixels, pixelsName, "their axes point in different directions: resample the mask");
  }
  const std::array<bool, 2> mirrored = *found;
  m_Mask.grid = Unmirror(m_Mask.grid, mirrored);
  auto axes =
    inMillimeters ? MatchInMillimeters(m_Mask, pixels, pixelsName) : MatchByExtent(m_Mask, pixels, pixelsName);
  axes[0].isMirrored = mirrored[0];
  axes[1].isMirrored = mirrored[1];
  m_Columns = IndexTable(axes[0]);
  m_Rows = IndexTable(axes[1]);
}

Size
MaskLabelSource::GetSize() const
{
  return m_Size;
}

void
MaskLabelSource::Read(const Region & region, std::uint8_t * classes)
{
  // A mask finer than the pixels is read in bands, so that it never stands in memory at its own resolution.
  constexpr std::int64_t bandSamples = 1 << 22;
  const auto             columns = MaskRange(m_Columns, region.x, region.width);
  const std::int64_t     width = std::max<std::int64_t>(1, columns[1] - columns[0]);
  const std::int64_t     maskRows = std::max<std::int64_t>(1, bandSamples / width);
  const double ratio = std::max(1.0, static_cast<double>(m_Mask.grid.size.height) / static_cast<double>(m_Size.height));
  const auto   rows = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(maskRows) / ratio));
  for (std::int64_t row = 0; row < region.height; row += rows)
  {
    const Region band{ region.x, region.y + row, region.width, std::min(rows, region.height - row) };
    this->ReadBand(band, classes + row * region.width);
  }
  if (m_Scanned)
  {
    std::vector<std::uint8_t> scanned(static_cast<std::size_t>(region.width * region.height));
    if (!m_Scanned(region, scanned.data()))
    {
      for (std::size_t i = 0; i < scanned.size(); ++i)
      {
        classes[i] = scanned[i] != 0 ? classes[i] : Ignored;
      }
    }
  }
}

void
MaskLabelSource::ReadBand(const Region & region, std::uint8_t * classes)
{
  const auto columns = MaskRange(m_Columns, region.x, region.width);
  const auto rows = MaskRange(m_Rows, region.y, region.height);
  if (columns[1] == 0 || rows[1] == 0)
  {
    std::memset(classes, Ignored, static_cast<std::size_t>(region.width * region.height));
    return;
  }
  const Region              needed{ columns[0], rows[0], columns[1] - columns[0], rows[1] - rows[0] };
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(needed.width * needed.height));
  m_Mask.pixels->Read(needed, mask.data());
  ToClasses(mask, m_Classes, m_IgnoredLabel, m_Mask.objectValue, m_Mask.name);

  const auto width = static_cast<std::size_t>(region.width);
  for (std::int64_t y = 0; y < region.height; ++y)
  {
    const std::int64_t maskRow = m_Rows[static_cast<std::size_t>(region.y + y)];
    std::uint8_t *     out = classes + y * region.width;
    if (maskRow < 0)
    {
      std::memset(out, Ignored, width);
      continue;
    }
    if (y > 0 && maskRow == m_Rows[static_cast<std::size_t>(region.y + y - 1)])
    {
      std::memcpy(out, out - width, width); // most rows of a coarse mask repeat the one before
      continue;
    }
    const std::uint8_t * in = mask.data() + (maskRow - needed.y) * needed.width;
    const std::int32_t * column = m_Columns.data() + region.x;
    for (std::size_t x = 0; x < width; ++x)
    {
      out[x] = column[x] < 0 ? Ignored : in[column[x] - needed.x];
    }
  }
}

} // namespace gigapixel
