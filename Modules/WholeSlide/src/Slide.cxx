/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Slide.h"

#include "ColorTransform.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <sstream>
#include <thread>

namespace gigapixel
{
namespace
{

std::atomic<std::uint64_t> slidesOpened{ 0 };

/** Larger tiles are refused: a damaged size must not take the machine's memory. 16384 x 16384 RGB fits. */
constexpr std::uint64_t tileBytesLimit = std::uint64_t{ 1 } << 30;

/** Runs `work`, told which of them it is, on up to `threads` threads, this one (0) among them; throws what the first
 * failing one threw. */
template <typename TWork>
void
RunOnThreads(unsigned threads, const TWork & work)
{
  std::exception_ptr failure;
  std::mutex         mutex;
  const auto         guarded = [&](unsigned number) {
    try
    {
      work(number);
    }
    catch (...)
    {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = failure ? failure : std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
  {
    try
    {
      others.emplace_back(guarded, i);
    }
    catch (const std::system_error &)
    {
      break; // the system has no more threads: fewer do
    }
  }
  guarded(0);
  for (auto & other : others)
  {
    other.join();
  }
  if (failure)
  {
    std::rethrow_exception(failure);
  }
}

} // namespace

SlideError::SlideError(const std::string & path, const std::string & what, const std::string & remedy)
  : std::runtime_error(path + ": " + what + "; " + remedy + '.')
{}

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

Slide::Slide(std::string path)
  : m_Path(std::move(path))
  , m_Number(++slidesOpened)
{}

Slide::~Slide()
{
  TileCache::GetInstance().Forget(m_Number);
}

void
Slide::SetDownsamples()
{
  const SlidePlane & base = m_Planes.front();
  for (unsigned i = 0; i < m_NumberOfLevels; ++i)
  {
    SlidePlane & level = m_Planes[i];
    const double ratioX = static_cast<double>(base.width) / static_cast<double>(level.width);
    const double ratioY = static_cast<double>(base.height) / static_cast<double>(level.height);
    // The longer side tells the factor best; the integer holds if both sides are the exact quotient, rounded either
    // way.
    const double factor = std::round(base.width > base.height ? ratioX : ratioY);
    const double restX = std::abs(static_cast<double>(base.width) / factor - static_cast<double>(level.width));
    const double restY = std::abs(static_cast<double>(base.height) / factor - static_cast<double>(level.height));
    level.downsample = restX < 1.0 && restY < 1.0 ? factor : (ratioX + ratioY) / 2.0;
  }
}

std::shared_ptr<const TIFFLayout>
Slide::GetTIFFLayout() const
{
  return nullptr;
}

std::string
Slide::DecodeTile(unsigned plane, std::uint64_t tile, const PixelSpan & out, std::unique_ptr<unsigned char[]> *) const
{
  return DecodeReducedTile(plane, tile, 1, out);
}

void
Slide::Prefetch(unsigned, std::uint64_t, std::uint64_t) const
{}

void
Slide::SetMicronsPerPixel(double x, double y, bool isOwn)
{
  constexpr double finest = 0.05;
  constexpr double coarsest = 20.0;
  if (!(x > 0.0) || !(y > 0.0) || !std::isfinite(x) || !std::isfinite(y))
  {
    return;
  }
  if (!isOwn && (std::min(x, y) < finest || std::max(x, y) > coarsest))
  {
    std::ostringstream sentence;
    sentence << m_Path << ": its resolution of " << x << " x " << y
             << " micrometers per pixel is not plausible for a slide (0.05 to 20) and is taken for unknown; state the "
                "right one where it matters (SetLevelZeroMicronsPerPixel, --slide-mpp).";
    m_Warnings.push_back(sentence.str());
    return;
  }
  m_MicronsPerPixel = { { x, y } };
}

void
Slide::SetBackground()
{
  const auto color = m_Properties.find("openslide.background-color");
  if (color == m_Properties.end() || color->second.size() != 6 ||
      color->second.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos)
  {
    return;
  }
  const unsigned long rgb = std::stoul(color->second, nullptr, 16);
  m_Background = { { static_cast<unsigned char>(rgb >> 16),
                     static_cast<unsigned char>(rgb >> 8 & 255),
                     static_cast<unsigned char>(rgb & 255) } };
}

void
Slide::CheckRectangle(unsigned plane, const Rectangle & rectangle) const
{
  if (plane >= m_Planes.size())
  {
    throw SlideError(m_Path,
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
    throw SlideError(m_Path, what.str(), "ask for a region inside it");
  }
  const std::uint64_t pixelBytes = std::max(4u, of.channels * of.GetSampleBytes());
  if (std::uint64_t{ of.tileWidth } * of.tileHeight > tileBytesLimit / pixelBytes)
  {
    throw SlideError(m_Path,
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
  throw SlideError(m_Path,
                   "its pixels are of " + std::to_string(of.channels) + " channel(s) of " +
                     std::to_string(8 * of.GetSampleBytes()) + " bit, which are not made gray or RGB unasked",
                   "read them as they are through itk::ImageFileReader, or convert the slide to 8-bit gray or RGB");
}

void
Slide::FillBackground(const PixelSpan & out) const
{
  if (out.sampleBytes > 1 || (out.channels != 1 && out.channels != 3))
  {
    for (std::uint32_t y = 0; y < out.height; ++y)
    {
      std::memset(out.data + y * out.stride, 0, std::size_t{ out.width } * out.channels * out.sampleBytes);
    }
    return; // what counts light has seen none
  }
  const unsigned char gray = LumaFromRGB(m_Background[0], m_Background[1], m_Background[2]);
  const bool          even = m_Background[0] == m_Background[1] && m_Background[1] == m_Background[2];
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    unsigned char * row = out.data + y * out.stride;
    if (even || out.channels == 1)
    {
      std::memset(row, gray, std::size_t{ out.width } * out.channels);
      continue;
    }
    for (std::uint32_t x = 0; x < out.width; ++x, row += 3)
    {
      std::copy(m_Background.begin(), m_Background.end(), row);
    }
  }
}

/** The plane whose tiles are stored: that of a reduced level is a level. */
unsigned
Slide::GetSource(unsigned plane) const
{
  return m_Planes[plane].reduction > 1 ? m_Planes[plane].source : plane;
}

/** "the tile at 3,4 of level 0": column and row. */
std::string
Slide::DescribeTile(unsigned plane, std::uint64_t tile) const
{
  const SlidePlane & of = m_Planes[plane];
  const bool         isLevel = plane < m_NumberOfLevels + m_NumberOfReducedLevels;
  std::ostringstream text;
  text << "the tile at " << tile % of.GetTilesAcross() << ',' << tile / of.GetTilesAcross() << " of "
       << (isLevel ? "level " + std::to_string(GetSource(plane)) : "the image '" + of.name + '\'');
  return text.str();
}

void
Slide::DecodeInto(unsigned                           plane,
                  std::uint64_t                      tile,
                  const PixelSpan &                  out,
                  std::unique_ptr<unsigned char[]> * scanned) const
{
  try
  {
    const std::string damage =
      m_Planes[plane].reduction > 1 ? DecodeReduced(m_Planes[plane], tile, out) : DecodeTile(plane, tile, out, scanned);
    if (!damage.empty())
    {
      m_DamagedTiles.Add({ GetSource(plane), tile }, damage);
    }
  }
  catch (const std::bad_alloc &)
  {
    throw SlideError(m_Path, "there is no memory left to decode a tile", "read smaller regions or a coarser level");
  }
  catch (const std::exception & error)
  {
    throw SlideError(m_Path,
                     DescribeTile(plane, tile) + " cannot be decoded: " + error.what(),
                     "get the file again from where it came, or leave that region out");
  }
}

void
Slide::RefuseDamaged(unsigned plane, std::uint64_t tile) const
{
  const std::string damage = m_DamagedTiles.Find({ GetSource(plane), tile });
  if (!damage.empty())
  {
    throw SlideError(m_Path,
                     DescribeTile(plane, tile) + " is damaged: " + damage,
                     "get the file again from where it came, or take its pixels as they are (without --strict, "
                     "StrictOff())");
  }
}

std::vector<std::string>
Slide::TakeDamageWarnings() const
{
  std::vector<std::string> sentences;
  for (const DamagedTiles::Damage & damage : m_DamagedTiles.TakeUnnamed())
  {
    sentences.push_back(m_Path + ": " + DescribeTile(damage.place.first, damage.place.second) +
                        " is damaged: " + damage.what + "; its pixels are taken as far as they decode." +
                        (damage.isLastNamed ? " Further damaged tiles are only counted." : ""));
  }
  return sentences;
}

DecodedTilePointer
Slide::GetTile(unsigned plane, std::uint64_t tile, unsigned channels) const
{
  TileCache &        cache = TileCache::GetInstance();
  const TileKey      key{ m_Number, plane, channels, tile };
  DecodedTilePointer found = cache.Acquire(key);
  if (found)
  {
    return found;
  }
  try
  {
    const SlidePlane & of = m_Planes[plane];
    const unsigned     pixelBytes = channels * of.GetSampleBytes();
    const auto         decoded = std::make_shared<DecodedTile>(of.tileWidth, of.tileHeight, pixelBytes);
    const std::size_t  stride = std::size_t{ of.tileWidth } * pixelBytes;
    DecodeInto(plane,
               tile,
               { decoded->pixels.get(), stride, of.tileWidth, of.tileHeight, channels, of.GetSampleBytes() },
               &decoded->scanned);
    found = decoded;
  }
  catch (...)
  {
    cache.Release(key);
    throw;
  }
  cache.Publish(key, found);
  return found;
}

/** A tile of which all is wanted: decoded straight to where it is wanted, or found in the cache and returned. Streams
 * pass here, and copying would cost them; the cache gets a copy only if another thread asked for the tile meanwhile.
 * Tiles that reach beyond the plane are decoded beside, in memory that is used again. */
DecodedTilePointer
Slide::DecodeWhole(unsigned plane, std::uint64_t tile, const PixelSpan & target) const
{
  constexpr std::size_t scratchLimit = std::size_t{ 1 } << 22;
  const SlidePlane &    of = m_Planes[plane];
  const std::size_t     pixelBytes = std::size_t{ target.channels } * target.sampleBytes;
  const std::size_t     rowSize = of.tileWidth * pixelBytes;
  const bool            isInside = target.width == of.tileWidth && target.height == of.tileHeight;
  if (!isInside && rowSize * of.tileHeight > scratchLimit)
  {
    return GetTile(plane, tile, target.channels);
  }
  TileCache &   cache = TileCache::GetInstance();
  const TileKey key{ m_Number, plane, target.channels, tile };
  if (auto found = cache.Acquire(key))
  {
    return found;
  }
  thread_local std::vector<unsigned char> scratch;
  PixelSpan                               whole = target;
  try
  {
    if (!isInside)
    {
      scratch.resize(rowSize * of.tileHeight);
      whole = { scratch.data(), rowSize, of.tileWidth, of.tileHeight, target.channels, target.sampleBytes };
    }
    DecodeInto(plane, tile, whole, nullptr);
  }
  catch (...)
  {
    cache.Release(key);
    throw;
  }
  for (std::uint32_t y = 0; y < target.height && !isInside; ++y)
  {
    std::memcpy(target.data + y * target.stride, whole.data + y * rowSize, target.width * pixelBytes);
  }
  if (of.hasAlpha || !cache.IsAwaited(key))
  {
    cache.Release(key);
    return nullptr;
  }
  const auto copy = std::make_shared<DecodedTile>(of.tileWidth, of.tileHeight, static_cast<unsigned>(pixelBytes));
  for (std::uint32_t y = 0; y < of.tileHeight; ++y)
  {
    std::memcpy(copy->pixels.get() + y * rowSize, whole.data + y * whole.stride, rowSize);
  }
  cache.Publish(key, copy);
  return nullptr;
}

void
Slide::ReadTile(unsigned plane, std::uint64_t tile, const Placement & placement, unsigned channels, unsigned char * out)
  const
{
  const SlidePlane & of = m_Planes[plane];
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
    FillBackground(target);
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
    ReadTile(plane, tile, placement, rendering.channels, out);
    return;
  }
  thread_local std::vector<unsigned char> rgb;
  rgb.resize(placement.columns * placement.rows * 3);
  Placement alone = placement;
  alone.outX = alone.outY = 0;
  alone.outWidth = placement.columns;
  ReadTile(plane, tile, alone, 3, rgb.data());
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
  const std::uint64_t across = of.GetTilesAcross();
  const std::uint64_t next = (bottom + of.tileHeight - 1) / of.tileHeight;
  const std::uint64_t last = std::min(of.GetTilesDown(), (bottom + rectangle.height - 1) / of.tileHeight + 1);
  for (std::uint64_t row = next; row < last; ++row)
  {
    Prefetch(GetSource(plane),
             row * across + rectangle.x / of.tileWidth,
             row * across + (rectangle.x + rectangle.width - 1) / of.tileWidth);
  }
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

std::vector<std::string>
Slide::FindUndecodableTiles(unsigned          plane,
                            std::uint64_t     y,
                            std::uint64_t     height,
                            const Rendering & rendering,
                            unsigned          threads) const
{
  const SlidePlane & of = m_Planes.at(plane);
  CheckRectangle(plane, { 0, y, of.width, height });
  CheckChannels(plane, rendering.channels);
  const std::uint64_t        across = of.GetTilesAcross();
  const std::uint64_t        first = (y + of.tileHeight - 1) / of.tileHeight * across;
  const std::uint64_t        end = (y + height + of.tileHeight - 1) / of.tileHeight * across;
  std::vector<std::string>   sentences(end - first);
  std::atomic<std::uint64_t> next{ first };
  RunOnThreads(std::max(threads, 1u), [&](unsigned) {
    std::vector<unsigned char> pixels;
    for (std::uint64_t tile = next++; tile < end; tile = next++)
    {
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
        sentences[tile - first] = error.what();
      }
    }
  });
  sentences.erase(std::remove(sentences.begin(), sentences.end(), std::string()), sentences.end());
  return sentences;
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
