/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Regions of a slide: which tiles they are made of, and which thread reads which.
#include "codecs/RunOnThreads.h"
#include "Slide.h"

#include "codecs/ColorTransform.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

namespace gigapixel
{
namespace
{

/** Larger tiles are refused: a damaged size must not take the machine's memory. 16384 x 16384 RGB fits. */
constexpr std::uint64_t tileBytesLimit = std::uint64_t{ 1 } << 30;

} // namespace

/** Where a tile and the rectangle meet: `columns` x `rows` pixels, at (tileX, tileY) of the tile and (outX, outY) of
 * the rectangle, whose rows are `outWidth` pixels. */
struct Slide::Placement
{
  std::uint64_t tileX, tileY, outX, outY, columns, rows, outWidth;
  bool          isWhole; // all of the tile that is inside the plane

  Placement(const SlidePlane & plane, std::uint64_t tile, const Rectangle & rectangle)
  {
    const std::uint64_t left = tile % plane.GetTilesAcross() * plane.tileWidth;
    const std::uint64_t top = tile / plane.GetTilesAcross() * plane.tileHeight;
    const std::uint64_t x0 = std::max(left, rectangle.x);
    const std::uint64_t y0 = std::max(top, rectangle.y);
    tileX = x0 - left;
    tileY = y0 - top;
    outX = x0 - rectangle.x;
    outY = y0 - rectangle.y;
    columns = std::min(left + plane.tileWidth, rectangle.x + rectangle.width) - x0;
    rows = std::min(top + plane.tileHeight, rectangle.y + rectangle.height) - y0;
    outWidth = rectangle.width;
    isWhole = columns == std::min<std::uint64_t>(plane.tileWidth, plane.width - left) &&
              rows == std::min<std::uint64_t>(plane.tileHeight, plane.height - top);
  }
};

void
Slide::CheckRectangle(unsigned plane, const Rectangle & rectangle) const
{
  if (plane >= m_Planes.size())
  {
    throw SlideError("E-SLIDE-LEVEL",
                     m_Path,
                     "it has no level " + std::to_string(plane),
                     "ask for one of 0 to " + std::to_string(m_NumberOfLevels - 1));
  }
  const SlidePlane & of = m_Planes[plane];
  if (rectangle.width > of.width || rectangle.x > of.width - rectangle.width || rectangle.height > of.height ||
      rectangle.y > of.height - rectangle.height)
  {
    std::ostringstream what;
    what << "the region " << rectangle.x << ',' << rectangle.y << ',' << rectangle.width << ',' << rectangle.height
         << " is not inside level " << plane << " of " << of.width << " x " << of.height << " pixels";
    throw SlideError("E-REGION", m_Path, what.str(), "ask for a region inside it");
  }
  const std::uint64_t pixelBytes = std::max(4u, of.channels * of.GetSampleBytes());
  if (std::uint64_t{ of.tileWidth } * of.tileHeight > tileBytesLimit / pixelBytes)
  {
    throw SlideError("E-SLIDE-FORMAT",
                     m_Path,
                     "its pieces of " + std::to_string(of.tileWidth) + " x " + std::to_string(of.tileHeight) +
                       " pixels are too large to be decoded one by one",
                     "convert it to smaller tiles, e.g. with vips tiffsave --tile");
  }
}

void
Slide::CheckChannels(unsigned plane, unsigned channels) const
{
  const SlidePlane & of = m_Planes[plane];
  if (of.IsPicture() ? channels == 1 || channels == 3 : channels == of.channels)
  {
    return;
  }
  throw SlideError("E-SLIDE-CHANNELS",
                   m_Path,
                   "its pixels have " + std::to_string(of.channels) + " channel(s) of " +
                     std::to_string(8 * of.GetSampleBytes()) + " bit, which are not converted to gray or RGB",
                   "convert the slide to 8-bit gray or RGB");
}

void
Slide::ReadTile(unsigned          plane,
                std::uint64_t     tile,
                const Placement & placement,
                const Rendering & rendering,
                unsigned char *   out) const
{
  const SlidePlane & of = m_Planes[plane];
  const unsigned     channels = rendering.channels;
  const unsigned     pixelBytes = channels * of.GetSampleBytes();
  const std::size_t  stride = placement.outWidth * pixelBytes;
  PixelSpan          target{ out + placement.outY * stride + placement.outX * pixelBytes,
                    stride,
                    static_cast<std::uint32_t>(placement.columns),
                    static_cast<std::uint32_t>(placement.rows),
                    channels,
                    of.GetSampleBytes() };
  if (!HasTile(GetSource(plane), tile))
  {
    FillEmpty(of, rendering.unscannedAsBackground, target);
    return;
  }
  const DecodedTilePointer decoded =
    placement.isWhole ? DecodeWhole(plane, tile, target) : GetTile(plane, tile, channels);
  if (!decoded)
  {
    return;
  }
  const std::size_t     rowSize = std::size_t{ of.tileWidth } * pixelBytes;
  const unsigned char * from = decoded->pixels.get() + placement.tileY * rowSize + placement.tileX * pixelBytes;
  for (std::uint64_t y = 0; y < placement.rows; ++y)
  {
    std::memcpy(target.data + y * stride, from + y * rowSize, placement.columns * pixelBytes);
  }
}

/** ReadTile(), and what has to be computed from colors. */
void
Slide::RenderTile(unsigned          plane,
                  std::uint64_t     tile,
                  const Placement & placement,
                  const Rendering & rendering,
                  unsigned char *   out) const
{
  const SlidePlane & of = m_Planes[plane];
  const bool         computes = rendering.toSRGB != nullptr || (rendering.grayFromRGB && rendering.channels == 1);
  if (!computes || !of.IsPicture() || of.channels != 3 || !HasTile(GetSource(plane), tile))
  {
    ReadTile(plane, tile, placement, rendering, out);
    return;
  }
  thread_local std::vector<unsigned char> rgb;
  rgb.resize(placement.columns * placement.rows * 3);
  Placement alone = placement;
  alone.outX = alone.outY = 0;
  alone.outWidth = placement.columns;
  ReadTile(plane, tile, alone, 3u, rgb.data());
  if (rendering.toSRGB != nullptr)
  {
    rendering.toSRGB->Apply(rgb.data(), placement.columns * placement.rows);
  }
  for (std::uint64_t y = 0; y < placement.rows; ++y)
  {
    const unsigned char * from = rgb.data() + y * placement.columns * 3;
    unsigned char *       to = out + ((placement.outY + y) * placement.outWidth + placement.outX) * rendering.channels;
    if (rendering.channels == 3)
    {
      std::memcpy(to, from, placement.columns * 3);
      continue;
    }
    for (std::uint64_t x = 0; x < placement.columns; ++x, from += 3)
    {
      to[x] = LumaFromRGB(from[0], from[1], from[2]);
    }
  }
}

/** Rows of tiles from `first` to before `end`, of the rectangle's columns. */
void
Slide::PrefetchRows(unsigned plane, const Rectangle & columns, std::uint64_t first, std::uint64_t end) const
{
  const SlidePlane &  of = m_Planes[plane];
  const std::uint64_t across = of.GetTilesAcross();
  for (std::uint64_t row = first; row < end; ++row)
  {
    Prefetch(GetSource(plane),
             row * across + columns.x / of.tileWidth,
             row * across + (columns.x + columns.width - 1) / of.tileWidth);
  }
}

void
Slide::ReadAhead(unsigned plane, const Rectangle & rectangle) const
{
  CheckRectangle(plane, rectangle);
  if (rectangle.width > 0 && rectangle.height > 0)
  {
    const std::uint64_t tileHeight = m_Planes[plane].tileHeight;
    const std::uint64_t last = (rectangle.y + rectangle.height - 1) / tileHeight;
    PrefetchRows(plane, rectangle, rectangle.y / tileHeight, last + 1);
  }
}

/** Where the rectangle begins where the last one ended, the next one will follow below. */
void
Slide::FollowStream(unsigned plane, const Rectangle & rectangle) const
{
  const std::uint64_t bottom = rectangle.y + rectangle.height;
  const SlidePlane &  of = m_Planes[plane];
  if (m_StreamBottom.exchange(bottom) != rectangle.y || rectangle.y == 0)
  {
    return;
  }
  const std::uint64_t next = (bottom + of.tileHeight - 1) / of.tileHeight;
  const std::uint64_t last = std::min(of.GetTilesDown(), (bottom + rectangle.height - 1) / of.tileHeight + 1);
  PrefetchRows(plane, rectangle, next, last);
}

void
Slide::ReadRegion(unsigned          plane,
                  const Rectangle & rectangle,
                  const Rendering & rendering,
                  unsigned char *   out,
                  unsigned          threads) const
{
  CheckRectangle(plane, rectangle);
  CheckChannels(plane, rendering.channels);
  if (rectangle.width == 0 || rectangle.height == 0)
  {
    return;
  }
  FollowStream(plane, rectangle);
  const SlidePlane &  of = m_Planes[plane];
  const std::uint64_t firstColumn = rectangle.x / of.tileWidth;
  const std::uint64_t firstRow = rectangle.y / of.tileHeight;
  const std::uint64_t columns = (rectangle.x + rectangle.width - 1) / of.tileWidth - firstColumn + 1;
  const std::uint64_t rows = (rectangle.y + rectangle.height - 1) / of.tileHeight - firstRow + 1;
  const std::uint64_t workers = std::min<std::uint64_t>(std::max(threads, 1u), columns * rows);
  const std::uint64_t share = (columns * rows + workers - 1) / workers;
  // Of several tiles that fail the first one is told, whatever the threads do: all before it are read.
  std::atomic<std::uint64_t> failed{ columns * rows };
  std::exception_ptr         failure;
  std::mutex                 failing;
  // Each thread has a share of its own, and helps the others when it is done: with tiles taken in turn two threads,
  // which then write side by side, were slower than one.
  std::vector<std::atomic<std::uint64_t>> next(workers);
  const auto                              readShare = [&](std::uint64_t owner) {
    const std::uint64_t end = std::min((owner + 1) * share, columns * rows);
    for (std::uint64_t i = owner * share + next[owner]++; i < end && i < failed; i = owner * share + next[owner]++)
    {
      const std::uint64_t tile = (firstRow + i / columns) * of.GetTilesAcross() + firstColumn + i % columns;
      try
      {
        RenderTile(plane, tile, Placement(of, tile, rectangle), rendering, out);
        if (rendering.strict)
        {
          RefuseDamaged(plane, tile); // here, since the pixels may come from the cache
        }
      }
      catch (...)
      {
        const std::lock_guard<std::mutex> lock(failing);
        if (i < failed)
        {
          failed = i;
          failure = std::current_exception();
        }
      }
    }
  };
  RunOnThreads(static_cast<unsigned>(workers), [&](std::uint64_t worker) {
    for (std::uint64_t other = 0; other < workers; ++other)
    {
      readShare((worker + other) % workers);
    }
  });
  if (failure)
  {
    std::rethrow_exception(failure);
  }
}

std::vector<Diagnostic>
Slide::FindUndecodableTiles(unsigned          plane,
                            std::uint64_t     y,
                            std::uint64_t     height,
                            const Rendering & rendering,
                            unsigned          threads) const
{
  const SlidePlane & of = m_Planes.at(plane);
  CheckRectangle(plane, { 0, y, of.width, height });
  CheckChannels(plane, rendering.channels);
  const std::uint64_t across = of.GetTilesAcross();
  const std::uint64_t first = (y + of.tileHeight - 1) / of.tileHeight * across;
  const std::uint64_t end = (y + height + of.tileHeight - 1) / of.tileHeight * across;
  if (first == end)
  {
    return {}; // no thread need start
  }
  std::map<std::uint64_t, Diagnostic> errors; // by tiles, of which a file may name far more than it holds
  std::mutex                          mutex;
  std::atomic<std::uint64_t>          next{ first };
  RunOnThreads(std::max(threads, 1u), [&](unsigned) {
    std::vector<unsigned char> pixels;
    for (std::uint64_t tile = next++; tile < end; tile = next++)
    {
      if (!HasTile(GetSource(plane), tile))
      {
        continue;
      }
      const Rectangle place{ tile % across * of.tileWidth, tile / across * of.tileHeight, 0, 0 };
      const Rectangle all{ place.x,
                           place.y,
                           std::min<std::uint64_t>(of.tileWidth, of.width - place.x),
                           std::min<std::uint64_t>(of.tileHeight, of.height - place.y) };
      pixels.resize(all.width * all.height * rendering.channels * of.GetSampleBytes());
      try
      {
        RenderTile(plane, tile, Placement(of, tile, all), rendering, pixels.data());
        if (rendering.strict)
        {
          RefuseDamaged(plane, tile);
        }
      }
      catch (const SlideError & error)
      {
        const std::lock_guard<std::mutex> lock(mutex);
        errors[tile] = error.GetDiagnostic();
      }
    }
  });
  std::vector<Diagnostic> inOrder;
  inOrder.reserve(errors.size());
  for (auto & error : errors)
  {
    inOrder.push_back(std::move(error.second));
  }
  return inOrder;
}

bool
Slide::ReadScanned(unsigned plane, const Rectangle & rectangle, unsigned char * scanned) const
{
  CheckRectangle(plane, rectangle);
  const SlidePlane & of = m_Planes[plane];
  bool               everywhere = true;
  if (rectangle.width == 0 || rectangle.height == 0)
  {
    return everywhere;
  }
  const std::uint64_t lastColumn = (rectangle.x + rectangle.width - 1) / of.tileWidth;
  const std::uint64_t lastRow = (rectangle.y + rectangle.height - 1) / of.tileHeight;
  for (std::uint64_t row = rectangle.y / of.tileHeight; row <= lastRow; ++row)
  {
    for (std::uint64_t column = rectangle.x / of.tileWidth; column <= lastColumn; ++column)
    {
      const std::uint64_t tile = row * of.GetTilesAcross() + column;
      const Placement     at(of, tile, rectangle);
      const bool          present = HasTile(GetSource(plane), tile);
      const auto          decoded = present && of.hasAlpha ? GetTile(plane, tile, of.channels) : nullptr;
      const auto * const  alpha = decoded ? decoded->scanned.get() : nullptr;
      everywhere = everywhere && present;
      for (std::uint64_t y = 0; y < at.rows; ++y)
      {
        unsigned char * const to = scanned + (at.outY + y) * at.outWidth + at.outX;
        if (alpha == nullptr)
        {
          std::memset(to, present ? 255 : 0, at.columns);
          continue;
        }
        std::memcpy(to, alpha + (at.tileY + y) * of.tileWidth + at.tileX, at.columns);
        everywhere = everywhere && std::memchr(to, 0, at.columns) == nullptr;
      }
    }
  }
  return everywhere;
}

} // namespace gigapixel
