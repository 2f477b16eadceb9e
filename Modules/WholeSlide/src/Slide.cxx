/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Slide.h"

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

/** Runs `work` on up to `threads` threads, this one among them; throws what the first failing one threw. */
template <typename TWork>
void
RunOnThreads(unsigned threads, const TWork & work)
{
  std::exception_ptr failure;
  std::mutex         mutex;
  const auto         guarded = [&] {
    try
    {
      work();
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
      others.emplace_back(guarded);
    }
    catch (const std::system_error &)
    {
      break; // the system has no more threads: fewer do
    }
  }
  guarded();
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

void
Slide::AddReducedLevels()
{
  constexpr double tolerance = 1.1; // that of choosing a level: itk::WholeSlideImageIO::ResolutionTolerance
  for (unsigned i = 0; i < m_NumberOfLevels; ++i)
  {
    const SlidePlane level = m_Planes[i];
    const bool       isLast = i + 1 == m_NumberOfLevels;
    for (unsigned reduction = 2; reduction <= GetLargestReduction(i); reduction *= 2)
    {
      const double downsample = level.downsample * reduction;
      const bool   serves = !isLast && m_Planes[i + 1].downsample <= downsample * tolerance;
      if (serves || level.tileWidth % reduction != 0 || level.tileHeight % reduction != 0)
      {
        break;
      }
      SlidePlane reduced = level;
      reduced.width = (level.width + reduction - 1) / reduction;
      reduced.height = (level.height + reduction - 1) / reduction;
      reduced.tileWidth /= reduction;
      reduced.tileHeight /= reduction;
      reduced.downsample = downsample;
      reduced.reduction = reduction;
      reduced.source = i;
      m_Planes.push_back(reduced);
      ++m_NumberOfReducedLevels;
    }
  }
}

unsigned
Slide::GetLargestReduction(unsigned) const
{
  return 1;
}

void
Slide::DecodeReducedTile(unsigned, std::uint64_t, unsigned, const PixelSpan &) const
{
  throw std::logic_error("this slide has no reduced levels");
}

void
Slide::Prefetch(unsigned, std::uint64_t, std::uint64_t) const
{}

void
Slide::SetMicronsPerPixel(double x, double y)
{
  constexpr double finest = 0.05;
  constexpr double coarsest = 20.0;
  if (!(x > 0.0) || !(y > 0.0) || !std::isfinite(x) || !std::isfinite(y))
  {
    return;
  }
  if (std::min(x, y) < finest || std::max(x, y) > coarsest)
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

void
Slide::DecodeInto(unsigned                           plane,
                  std::uint64_t                      tile,
                  const PixelSpan &                  out,
                  std::unique_ptr<unsigned char[]> * scanned) const
{
  try
  {
    if (m_Planes[plane].reduction > 1)
    {
      DecodeReduced(m_Planes[plane], tile, out);
      return;
    }
    DecodeTile(plane, tile, out, scanned);
  }
  catch (const std::bad_alloc &)
  {
    throw SlideError(m_Path, "there is no memory left to decode a tile", "read smaller regions or a coarser level");
  }
  catch (const std::exception & error)
  {
    const SlidePlane & of = m_Planes[plane];
    std::ostringstream what;
    what << "the tile at " << tile % of.GetTilesAcross() << ',' << tile / of.GetTilesAcross() << " of ";
    if (plane < m_NumberOfLevels + m_NumberOfReducedLevels)
    {
      what << "level " << (of.reduction > 1 ? of.source : plane);
    }
    else
    {
      what << "the image '" << of.name << '\'';
    }
    what << " cannot be decoded: " << error.what();
    throw SlideError(m_Path, what.str(), "get the file again from where it came, or leave that region out");
  }
}

void
Slide::DecodeReduced(const SlidePlane & of, std::uint64_t tile, const PixelSpan & out) const
{
  DecodeReducedTile(of.source, tile, of.reduction, out);
  const SlidePlane & source = m_Planes[of.source];
  const bool         lastColumn = tile % source.GetTilesAcross() + 1 == source.GetTilesAcross();
  const bool         lastRow = tile / source.GetTilesAcross() + 1 == source.GetTilesDown();
  if ((lastColumn && source.width % of.reduction != 0) || (lastRow && source.height % of.reduction != 0))
  {
    AverageEdgeBlocks(of, tile, out);
  }
}

/** Sets those pixels of a reduced tile whose blocks reach beyond the picture. */
void
Slide::AverageEdgeBlocks(const SlidePlane & of, std::uint64_t tile, const PixelSpan & out) const
{
  const SlidePlane &         source = m_Planes[of.source];
  const std::uint64_t        width = source.width - tile % source.GetTilesAcross() * source.tileWidth;
  const std::uint64_t        height = source.height - tile / source.GetTilesAcross() * source.tileHeight;
  const std::size_t          stride = std::size_t{ source.tileWidth } * out.channels;
  std::vector<unsigned char> pixels(stride * source.tileHeight);
  DecodeTile(of.source, tile, { pixels.data(), stride, source.tileWidth, source.tileHeight, out.channels }, nullptr);
  for (std::uint64_t y = 0; y < out.height && y * of.reduction < height; ++y)
  {
    const std::uint64_t bottom = std::min<std::uint64_t>((y + 1) * of.reduction, height);
    for (std::uint64_t x = 0; x < out.width && x * of.reduction < width; ++x)
    {
      const std::uint64_t right = std::min<std::uint64_t>((x + 1) * of.reduction, width);
      const std::uint64_t count = (right - x * of.reduction) * (bottom - y * of.reduction);
      if (count == std::uint64_t{ of.reduction } * of.reduction)
      {
        continue;
      }
      for (unsigned c = 0; c < out.channels; ++c)
      {
        std::uint64_t sum = 0;
        for (std::uint64_t j = y * of.reduction; j < bottom; ++j)
        {
          for (std::uint64_t i = x * of.reduction; i < right; ++i)
          {
            sum += pixels[j * stride + i * out.channels + c];
          }
        }
        out.data[y * out.stride + x * out.channels + c] = static_cast<unsigned char>((2 * sum + count) / (2 * count));
      }
    }
  }
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
  if (!HasTile(of.reduction > 1 ? of.source : plane, tile))
  {
    FillBackground(target);
    return;
  }
  DecodedTilePointer decoded;
  if (placement.columns == of.tileWidth && placement.rows == of.tileHeight)
  {
    // Wholly wanted: decoded straight to where it is wanted. Streams pass here, and copying would cost them; the cache
    // gets a copy only if another thread asked for the tile meanwhile.
    TileCache &   cache = TileCache::GetInstance();
    const TileKey key{ m_Number, plane, channels, tile };
    decoded = cache.Acquire(key);
    if (!decoded)
    {
      try
      {
        DecodeInto(plane, tile, target, nullptr);
      }
      catch (...)
      {
        cache.Release(key);
        throw;
      }
      if (of.hasAlpha || !cache.IsAwaited(key))
      {
        cache.Release(key);
        return;
      }
      const auto copy = std::make_shared<DecodedTile>(of.tileWidth, of.tileHeight, pixelBytes);
      for (std::uint32_t y = 0; y < target.height; ++y)
      {
        const std::size_t rowSize = std::size_t{ of.tileWidth } * pixelBytes;
        std::memcpy(copy->pixels.get() + y * rowSize, target.data + y * stride, rowSize);
      }
      cache.Publish(key, copy);
      return;
    }
  }
  else
  {
    decoded = GetTile(plane, tile, channels);
  }
  const std::size_t     rowSize = std::size_t{ of.tileWidth } * pixelBytes;
  const unsigned char * from = decoded->pixels.get() + placement.tileY * rowSize + placement.tileX * pixelBytes;
  for (std::uint64_t y = 0; y < placement.rows; ++y)
  {
    std::memcpy(target.data + y * stride, from + y * rowSize, placement.columns * pixelBytes);
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
    Prefetch(of.reduction > 1 ? of.source : plane,
             row * across + rectangle.x / of.tileWidth,
             row * across + (rectangle.x + rectangle.width - 1) / of.tileWidth);
  }
}

void
Slide::ReadRegion(unsigned plane, const Rectangle & rectangle, unsigned channels, unsigned char * out, unsigned threads)
  const
{
  CheckRectangle(plane, rectangle);
  CheckChannels(plane, channels);
  if (rectangle.width == 0 || rectangle.height == 0)
  {
    return;
  }
  FollowStream(plane, rectangle);
  const SlidePlane &         of = m_Planes[plane];
  const std::uint64_t        firstColumn = rectangle.x / of.tileWidth;
  const std::uint64_t        firstRow = rectangle.y / of.tileHeight;
  const std::uint64_t        columns = (rectangle.x + rectangle.width - 1) / of.tileWidth - firstColumn + 1;
  const std::uint64_t        rows = (rectangle.y + rectangle.height - 1) / of.tileHeight - firstRow + 1;
  std::atomic<std::uint64_t> next{ 0 };
  std::atomic<bool>          failed{ false };
  const auto                 work = [&] {
    for (std::uint64_t i = next++; i < columns * rows && !failed; i = next++)
    {
      const std::uint64_t tile = (firstRow + i / columns) * of.GetTilesAcross() + firstColumn + i % columns;
      try
      {
        ReadTile(plane, tile, Placement(of, tile, rectangle), channels, out);
      }
      catch (...)
      {
        failed = true;
        throw;
      }
    }
  };
  RunOnThreads(static_cast<unsigned>(std::min<std::uint64_t>(std::max(threads, 1u), columns * rows)), work);
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
      const bool          present = HasTile(of.reduction > 1 ? of.source : plane, tile);
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
