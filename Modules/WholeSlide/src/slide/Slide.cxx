/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Slide.h"

#include "files/NumberText.h"
#include "SlideImageChoice.h"

#include "gigapixelPrintable.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <sstream>

namespace gigapixel
{
namespace
{

std::atomic<std::uint64_t> slidesOpened{ 0 };

} // namespace

SlideError::SlideError(const std::string & code,
                       const std::string & path,
                       const std::string & why,
                       const std::string & remedy)
  : Refusal(Diagnostic(code, GetPrintable(why), remedy).OfFile(path)) // why may repeat what the file says
{}

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

unsigned
Slide::GetMeasuredLevel() const
{
  constexpr std::uint64_t leastPixels = 1000000;
  unsigned                level = 0;
  for (unsigned i = 1; i < m_NumberOfLevels; ++i)
  {
    level = m_Planes[i].width * m_Planes[i].height >= leastPixels ? i : level;
  }
  return level;
}

std::vector<SlideChannel>
Slide::GetChannels() const
{
  static const char * const colors[] = { "red", "green", "blue" };
  const SlidePlane &        base = m_Planes.front();
  const bool                isColor = base.IsPicture() && base.channels == 3;
  // One of colors describes them all.
  std::vector<SlideChannel> channels = isColor && m_Channels.size() != 3 ? std::vector<SlideChannel>() : m_Channels;
  channels.resize(base.channels);
  for (unsigned i = 0; i < base.channels; ++i)
  {
    if (channels[i].name.empty())
    {
      channels[i].name = isColor ? colors[i] : base.channels == 1 ? "gray" : "channel" + std::to_string(i + 1);
    }
    if (isColor)
    {
      channels[i].color = { { 0, 0, 0 } };
      (*channels[i].color)[i] = 255;
    }
  }
  return channels;
}

std::string
Slide::GetChannelChoice() const
{
  return {};
}

std::string
Slide::DescribeChannelChoice() const
{
  return {};
}

std::vector<SlideChannel>
Slide::GetAddedChannels() const
{
  return {};
}

std::string
Slide::DecodeChannels(unsigned                           plane,
                      std::uint64_t                      tile,
                      const std::vector<unsigned> &      channels,
                      const PixelSpan &                  out,
                      std::unique_ptr<unsigned char[]> * scanned) const
{
  const SlidePlane &                      of = m_Planes[plane];
  const std::size_t                       sample = of.GetSampleBytes();
  const std::size_t                       pixel = of.channels * sample;
  thread_local std::vector<unsigned char> all;
  all.resize(pixel * of.tileWidth * of.tileHeight);
  const PixelSpan whole{ all.data(),    pixel * of.tileWidth, of.tileWidth,
                         of.tileHeight, of.channels,          static_cast<unsigned>(sample) };
  std::string     damage = of.reduction > 1 ? DecodeReduced(of, tile, whole) : DecodeTile(plane, tile, whole, scanned);
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    const unsigned char * from = whole.data + y * whole.stride;
    unsigned char *       to = out.data + y * out.stride;
    for (std::uint32_t x = 0; x < out.width; ++x, from += pixel)
    {
      for (const unsigned channel : channels)
      {
        to = std::copy_n(from + channel * sample, sample, to);
      }
    }
  }
  return damage;
}

std::size_t
Slide::GetDecodingBytes(unsigned) const
{
  return 0;
}

void
Slide::Prefetch(unsigned, std::uint64_t, std::uint64_t) const
{}

bool
Slide::IsPlausible(double x, double y)
{
  constexpr double finest = 0.05;
  constexpr double coarsest = 20.0;
  return std::min(x, y) >= finest && std::max(x, y) <= coarsest;
}

void
Slide::SetMicronsPerPixel(double x, double y, bool isOwn)
{
  constexpr double coarse = 8.0; // no scanner's level 0
  if (!(x > 0.0) || !(y > 0.0) || !std::isfinite(x) || !std::isfinite(y))
  {
    return;
  }
  if (!isOwn && !IsPlausible(x, y))
  {
    std::ostringstream sentence;
    sentence << "its resolution of " << x << " x " << y
             << " micrometers per pixel is not plausible for a slide (0.05 to 20) and is treated as unknown";
    m_Warnings.push_back(Diagnostic("W-SLIDE-RESOLUTION",
                                    sentence.str(),
                                    "state the right one where it matters (SetLevelZeroMicronsPerPixel, --slide-mpp)")
                           .OfFile(m_Path)
                           .OfValue(ToText(IsPlausible(x, x) ? y : x)));
    return;
  }
  if (!isOwn && std::max(x, y) >= coarse)
  {
    std::ostringstream sentence;
    sentence << "its resolution of " << x << " x " << y << " micrometers per pixel is coarse for a slide, and is used";
    m_Warnings.push_back(Diagnostic("W-SLIDE-RESOLUTION-COARSE",
                                    sentence.str(),
                                    "check that the file is a slide, and not an overview of one")
                           .OfFile(m_Path)
                           .OfValue(ToText(std::max(x, y))));
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
Slide::FillBackground(const PixelSpan & out, bool isPicture) const
{
  if (!isPicture)
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

/** A tile that the file does not hold. */
void
Slide::FillEmpty(const SlidePlane & of, bool asBackground, const PixelSpan & out) const
{
  if (of.emptyPixel.empty() || (asBackground && of.IsPicture()))
  {
    FillBackground(out, of.IsPicture());
    return;
  }
  std::vector<unsigned char> pixel = of.emptyPixel;
  if (of.IsPicture() && out.channels != of.channels)
  {
    pixel = out.channels == 3 ? std::vector<unsigned char>(3, pixel[0])
                              : std::vector<unsigned char>{ LumaFromRGB(pixel[0], pixel[1], pixel[2]) };
  }
  const bool isEven =
    std::all_of(pixel.begin(), pixel.end(), [&pixel](unsigned char byte) { return byte == pixel[0]; });
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    unsigned char * to = out.data + y * out.stride;
    if (isEven)
    {
      std::memset(to, pixel[0], out.width * pixel.size());
    }
    for (std::uint32_t x = 0; x < out.width && !isEven; ++x)
    {
      to = std::copy(pixel.begin(), pixel.end(), to);
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
  const std::string focalPlane = isLevel ? DescribeFocalPlane(m_Images) : std::string();
  text << (focalPlane.empty() ? "" : " in focal plane ") << focalPlane;
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
      m_DamagedTiles->Add({ GetSource(plane), tile }, damage);
    }
  }
  catch (const std::exception & error)
  {
    RefuseTile(plane, tile, error);
  }
}

/** As DecodeChannels(), with errors that name the tile, and without a word on damage: whoever reads the tile meets it.
 */
void
Slide::DecodeMeasured(unsigned                      plane,
                      std::uint64_t                 tile,
                      const std::vector<unsigned> & channels,
                      const PixelSpan &             out) const
{
  try
  {
    DecodeChannels(plane, tile, channels, out, nullptr);
  }
  catch (const std::exception & error)
  {
    RefuseTile(plane, tile, error);
  }
}

void
Slide::RefuseTile(unsigned plane, std::uint64_t tile, const std::exception & error) const
{
  if (dynamic_cast<const std::bad_alloc *>(&error) != nullptr)
  {
    throw SlideError(
      "E-MEMORY", m_Path, "there is not enough memory to decode a tile", "read smaller regions or a coarser level");
  }
  if (dynamic_cast<const SlideError *>(&error) != nullptr)
  {
    throw; // a tile that this one is made of, which it names
  }
  const Diagnostic inner = Diagnostic::Of(error);
  throw SlideError(inner.code == "E-OTHER" ? "E-CODEC-DATA" : inner.code,
                   m_Path,
                   DescribeTile(plane, tile) + " cannot be decoded: " + inner.why,
                   inner.remedy.empty() ? DamagedTileRemedy : inner.remedy);
}

void
Slide::RefuseDamaged(unsigned plane, std::uint64_t tile) const
{
  const std::string damage = m_DamagedTiles->Find({ GetSource(plane), tile });
  if (!damage.empty())
  {
    throw SlideError("E-SLIDE-DAMAGED",
                     m_Path,
                     DescribeTile(plane, tile) + " is damaged: " + damage,
                     "get the file again from where it came, or accept damaged pixels (without --strict, "
                     "StrictOff())");
  }
}

std::vector<Diagnostic>
Slide::TakeDamageWarnings() const
{
  std::vector<Diagnostic> warnings;
  for (const DamagedTiles::Damage & damage : m_DamagedTiles->TakeUnnamed())
  {
    const std::string  what = DescribeTile(damage.place.first, damage.place.second) + " is damaged: " + damage.what;
    const char * const further = damage.isLastNamed ? ". Further damaged tiles are only counted" : "";
    warnings.push_back(
      Diagnostic("W-SLIDE-DAMAGED", GetPrintable(what) + "; its pixels are used as far as they are decoded" + further)
        .OfFile(m_Path));
  }
  return warnings;
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
  thread_local std::vector<unsigned char> kept;
  // Decoding may read tiles of another slide on this thread, which then have memory of their own.
  std::vector<unsigned char> scratch = std::move(kept);
  PixelSpan                  whole = target;
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
    kept = std::move(scratch);
    return nullptr;
  }
  const auto copy = std::make_shared<DecodedTile>(of.tileWidth, of.tileHeight, static_cast<unsigned>(pixelBytes));
  for (std::uint32_t y = 0; y < of.tileHeight; ++y)
  {
    std::memcpy(copy->pixels.get() + y * rowSize, whole.data + y * whole.stride, rowSize);
  }
  kept = std::move(scratch);
  cache.Publish(key, copy);
  return nullptr;
}

} // namespace gigapixel
