/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMaskLabelSource.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelGridMatch.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Mask index of each pixel, at its center; -1 outside. */
std::vector<std::int32_t>
IndexTable(const AxisMatch & axis)
{
  std::vector<std::int32_t> table(static_cast<std::size_t>(axis.pixels));
  for (std::int64_t x = 0; x < axis.pixels; ++x)
  {
    const std::int64_t index = axis(static_cast<double>(x) + 0.5);
    const bool         inside = index >= 0 && index < axis.maskPixels;
    table[static_cast<std::size_t>(x)] = inside ? static_cast<std::int32_t>(index) : -1;
  }
  return table;
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
      throw Refusal(
        Diagnostic(
          "E-LABEL-VALUE",
          "the mask " + name + " has the value " + std::to_string(value) + "; for " + std::to_string(classes) +
            " classes it may have " +
            (classes == 2 ? "0 and 1, or 0 and 255" : "0 to " + std::to_string(classes - 1) + ", and 255 for unknown") +
            (ignoresAnother ? ", and " + std::to_string(ignored) + ", the ignored label" : ""),
          "correct the mask (of numbered objects: convert --window 0,1), or name the value that is to "
          "be ignored (--ignored-label)")
          .OfFile(name)
          .OfValue(std::to_string(value)));
    }
    value = table[value];
  }
}

} // namespace

std::string
DescribeLayers(unsigned layers)
{
  return "its segments are in " + FormatCount(layers, "layer") +
         ", as 3D Slicer keeps those that overlap, and a mask has one";
}

MaskLabelSource::MaskLabelSource(PhysicalImage       mask,
                                 const Grid &        pixels,
                                 const std::string & pixelsName,
                                 int                 classes,
                                 ScannedFunction     scanned,
                                 int                 ignoredLabel)
  : m_Mask(AlignAxes(std::move(mask), pixels, pixelsName))
  , m_Size(pixels.size)
  , m_Classes(classes)
  , m_IgnoredLabel(ignoredLabel)
  , m_Scanned(std::move(scanned))
{
  RequireMask(m_Mask);
  const GridMatch match = GridMatch::Make(m_Mask, pixels, pixelsName);
  m_Columns = IndexTable(match.axes[0]);
  m_Rows = IndexTable(match.axes[1]);
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

std::vector<std::uint8_t>
MaskLabelSource::ReadMask(const Region & region) const
{
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(region.width * region.height));
  m_Mask.pixels->Read(region, mask.data());
  ToClasses(mask, m_Classes, m_IgnoredLabel, m_Mask.objectValue, m_Mask.name);
  return mask;
}

bool
MaskLabelSource::Contains(const Region & region, std::uint8_t wanted) const
{
  constexpr std::int64_t bandRows = 256; // a row of a pyramid's tiles
  const auto             columns = MaskRange(m_Columns, region.x, region.width);
  const auto             rows = MaskRange(m_Rows, region.y, region.height);
  bool                   found = false;
  for (std::int64_t y = rows[0]; y < rows[1] && columns[1] > 0 && !found; y += bandRows)
  {
    const auto mask = this->ReadMask({ columns[0], y, columns[1] - columns[0], std::min(bandRows, rows[1] - y) });
    found = std::find(mask.begin(), mask.end(), wanted) != mask.end();
  }
  return found;
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
  const Region needed{ columns[0], rows[0], columns[1] - columns[0], rows[1] - rows[0] };
  const auto   mask = this->ReadMask(needed);

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
