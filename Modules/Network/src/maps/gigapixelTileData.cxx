/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTileData.h"

#include <algorithm>
#include <cstdlib>

namespace gigapixel
{
namespace
{

/** The background of a slide. */
constexpr std::uint8_t White = 255;

/** Spreads the rows that fill the buffer's front over a wider and higher window, last row first. */
void
PadWithWhite(std::vector<std::uint8_t> & samples, std::int64_t rows, std::size_t row, std::size_t widerRow)
{
  for (std::int64_t y = rows; y-- > 0;)
  {
    const auto from = samples.begin() + y * row;
    const auto to = samples.begin() + y * widerRow;
    std::copy_backward(from, from + row, to + row);
    std::fill(to + row, to + widerRow, White);
  }
  std::fill(samples.begin() + rows * widerRow, samples.end(), White);
}

/** From an image's first sample to that of a region. */
SamplesInMemory
AdvanceTo(const Region & region, SamplesInMemory samples)
{
  samples.first += region.x * samples.column + region.y * samples.row;
  return samples;
}

} // namespace

void
ReadPixels(PixelSource & source, const Tile & tile, TileData & data)
{
  data.inMemory = {};
  const Size   size = source.GetSize();
  const Region real = Intersect(tile.window, GetWhole(size));
  data.tile = tile;
  data.sampleType = source.GetSampleType();
  const std::int64_t pixelBytes = source.GetNumberOfChannels() * GetSampleBytes(data.sampleType);
  const std::int64_t pitch = tile.window.width * pixelBytes;
  const auto         bytes = static_cast<std::size_t>(pitch * tile.window.height * tile.window.depth);
  if (bytes > data.pixels.capacity())
  {
    data.pixels = std::vector<std::uint8_t>(); // else a vector that grows holds both, and takes twice as much
  }
  data.pixels.resize(bytes);
  source.Read(real, data.pixels.data());
  if (real.width != tile.window.width || real.height != tile.window.height)
  {
    PadWithWhite(data.pixels, real.height, real.width * pixelBytes, pitch);
  }
  data.rows = { data.pixels.data(), pitch, pitch * tile.window.height };
}

void
FindPixels(PixelSource & source, const Tile & tile, TileData & data)
{
  const Size     size = source.GetSize();
  const Region & window = tile.window;
  const bool     inside = window.x + window.width <= size.width && window.y + window.height <= size.height;
  data.rows = inside ? source.FindRows(window) : RowsInMemory{};
  if (!data.rows.first)
  {
    return ReadPixels(source, tile, data);
  }
  data.pixels = std::vector<std::uint8_t>(); // of an earlier tile
  data.sampleType = source.GetSampleType();
  data.tile = tile;
  data.inMemory = {};
}

bool
PointTo(const PixelSource & pixels, const LabelSource & labels, const Tile & tile, TileData & data)
{
  const SamplesInMemory classes = labels.GetInMemory();
  if (!classes.first || !PointTo(pixels, tile, data))
  {
    return false;
  }
  data.inMemory.classes = AdvanceTo(tile.core, classes);
  return true;
}

bool
PointTo(const PixelSource & pixels, const Tile & tile, TileData & data)
{
  const SamplesInMemory all = pixels.GetInMemory();
  if (!all.first)
  {
    return false;
  }
  const Size   size = pixels.GetSize();
  const Region real = Intersect(tile.window, GetWhole(size));
  data.tile = tile;
  data.rows = {};
  data.inMemory = { AdvanceTo(tile.window, all), {}, { real.width, real.height } };
  return true;
}

BytesInMemory
GetComingRows(const PixelSource & pixels, const Tile & tile, std::int64_t tileSize)
{
  const SamplesInMemory samples = pixels.GetInMemory();
  const Size            size = pixels.GetSize();
  if (tile.core.x > 0 || std::abs(samples.row) < std::abs(samples.column))
  {
    return {};
  }
  const std::int64_t end = std::min(size.height, tile.window.y + tile.window.height + tileSize);
  const std::int64_t y = samples.row > 0 ? tile.window.y : end - 1, x = samples.column > 0 ? 0 : size.width - 1;
  return { samples.first + y * samples.row + x * samples.column,
           static_cast<std::size_t>((end - tile.window.y) * std::abs(samples.row)) };
}

void
ReadClasses(LabelSource & source, const Tile & tile, const NetworkDescription & network, TileData & data)
{
  data.classes.resize(tile.core.width * tile.core.height * tile.core.depth);
  source.Read(tile.core, data.classes.data());
  if (network.ignoredLabel != LabelSource::Ignored)
  {
    const std::uint8_t ignored = LabelSource::Ignored;
    std::replace(data.classes.begin(), data.classes.end(), static_cast<std::uint8_t>(network.ignoredLabel), ignored);
  }
  // One pass without a branch: 255 + 1 wraps to 0, so that Ignored is never the greatest.
  std::uint8_t greatest = 0;
  for (const std::uint8_t c : data.classes)
  {
    greatest = std::max(greatest, static_cast<std::uint8_t>(c + 1));
  }
  const int classes = network.GetNumberOfClasses();
  if (greatest > classes)
  {
    throw LabelError(Diagnostic("E-LABEL-VALUE",
                                "the labels hold the class " + std::to_string(greatest - 1) +
                                  ", but the network tells only the classes 0 to " + std::to_string(classes - 1) +
                                  " apart")
                       .OfValue(std::to_string(greatest - 1)));
  }
}

bool
TakesNoPart(const std::vector<std::uint8_t> & classes)
{
  return std::all_of(classes.begin(), classes.end(), [](std::uint8_t c) { return c == LabelSource::Ignored; });
}

} // namespace gigapixel
