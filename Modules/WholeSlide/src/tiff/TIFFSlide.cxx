/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TIFFSlide.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace gigapixel
{
namespace
{

/** Memory of one thread that grows to what is needed and is not cleared. */
struct Scratch
{
  unsigned char *
  Get(std::size_t size)
  {
    if (size > capacity)
    {
      bytes.reset();
      capacity = 0;
      bytes.reset(new unsigned char[size]);
      capacity = size;
    }
    return bytes.get();
  }
  std::unique_ptr<unsigned char[]> bytes;
  std::size_t                      capacity = 0;
};

thread_local Scratch compressedScratch;
thread_local Scratch samplesScratch;

/** Samples of 1, 2 or 4 bits of rows that are filled up to bytes, the first in the highest bits, times \a factor.
 * \a packed may be the end of the pixels' own memory. */
void
UnpackBits(const unsigned char * packed, unsigned bits, unsigned factor, const PixelSpan & out)
{
  const unsigned    perByte = 8 / bits;
  const unsigned    mask = (1u << bits) - 1u;
  const std::size_t rowBytes = (std::size_t{ out.width } * bits + 7) / 8;
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    const unsigned char * row = packed + y * rowBytes;
    unsigned char *       to = out.data + y * out.stride;
    for (std::uint32_t x = 0; x < out.width; x += perByte)
    {
      const unsigned byte = row[x / perByte];
      for (std::uint32_t i = x; i < std::min(out.width, x + perByte); ++i)
      {
        to[i] = static_cast<unsigned char>((byte >> (8 - bits * (i % perByte + 1)) & mask) * factor);
      }
    }
  }
}

} // namespace

std::shared_ptr<const TIFFLayout>
TIFFSlide::GetTIFFLayout() const
{
  return m_Layout->GetSizes().empty() && m_Transparency.empty() ? m_Layout : nullptr;
}

bool
TIFFSlide::HasTile(unsigned plane, std::uint64_t tile) const
{
  const Source & source = m_Sources[plane];
  const auto     has = [tile](const Source & of) {
    const std::uint64_t tiles = of.page->separatePlanes ? of.pieces.sizes.size() / of.page->samples : 0;
    bool                is = of.pieces.Has(tile);
    for (std::uint64_t piece = tile + tiles; tiles > 0 && !is && piece < of.pieces.sizes.size(); piece += tiles)
    {
      is = of.pieces.Has(piece); // a plane of one value may be left out
    }
    return is;
  };
  return has(source) || std::any_of(source.furtherChannels.begin(), source.furtherChannels.end(), has);
}

ByteSpan
TIFFSlide::ReadPiece(const Source & source, std::uint64_t piece) const
{
  const std::uint64_t      size = source.pieces.sizes[piece];
  const RandomAccessFile & file = source.page->GetFile().GetFile();
  if (size > file.GetSize())
  {
    throw Refusal(Diagnostic("E-FILE-DAMAGED", "the file ends early"));
  }
  unsigned char * const bytes = compressedScratch.Get(size);
  file.Read(source.pieces.offsets[piece], bytes, size);
  return { bytes, static_cast<std::size_t>(size) };
}

/** One image of a codec that knows pixels. Returns what is damaged in it, as do the functions below. */
std::string
TIFFSlide::DecodeImage(const Source & source, ByteSpan bytes, const PixelSpan & out, StoredSize stored)
{
  switch (source.compression)
  {
    case TIFFCompression::JPEG: {
      const ByteSpan tables{ reinterpret_cast<const unsigned char *>(source.tables.data()), source.tables.size() };
      return DecodeJPEG(bytes, tables, source.model, out, stored);
    }
    case TIFFCompression::WebP:
      DecodeWebP(bytes, out, stored);
      return {};
    default:
      DecodeJPEG2000(bytes, source.model, out, stored);
      return {};
  }
}

/** Fills `raw`, rows without gaps, with the samples as they are stored. */
std::string
TIFFSlide::DecodeSamples(const Source & source, ByteSpan bytes, const PixelSpan & raw, StoredSize stored) const
{
  if (IsImageCodec(*source.page))
  {
    return DecodeImage(source, bytes, raw, stored);
  }
  const unsigned        bits = source.page->bits;
  const bool            isPacked = bits < 8;
  const std::size_t     rowBytes = isPacked ? (raw.stride * bits + 7) / 8 : raw.stride;
  const std::size_t     size = rowBytes * raw.height;
  unsigned char * const samples = raw.data + (raw.stride * raw.height - size); // at the end: unpacked from there
  const std::size_t     written = DecodeBytes(source.compression, bytes, samples, size);
  const std::size_t     lastRow = isPacked ? (std::size_t{ stored.width } * bits + 7) / 8
                                           : std::size_t{ stored.width } * raw.channels * raw.sampleBytes;
  if (written < (stored.height - 1) * rowBytes + lastRow)
  {
    throw Refusal(Diagnostic("E-CODEC-DATA", "it holds fewer pixels than its size needs"));
  }
  if (isPacked)
  {
    UnpackBits(samples, bits, m_ReadsLabels ? 1 : 255, raw);
    return {};
  }
  if (source.page->predictor == 3)
  {
    UndoFloatDifferencing(raw.data, raw.width, stored.height, raw.channels, raw.sampleBytes);
    return {};
  }
  if (raw.sampleBytes > 1 && source.page->GetFile().IsBigEndian() != IsBigEndianMachine())
  {
    SwapBytes(raw.data, raw.stride * stored.height, raw.sampleBytes);
  }
  if (source.page->predictor == 2)
  {
    UndoHorizontalDifferencing(raw.data, raw.width, stored.height, raw.channels, raw.sampleBytes);
  }
  return {};
}

namespace
{

void
CopyHalves(const unsigned char * in, unsigned samples, unsigned char * to)
{
  for (unsigned sample = 0; sample < samples; ++sample)
  {
    std::uint16_t half = 0;
    std::memcpy(&half, in + 2 * sample, sizeof(half));
    const float value = ToFloat(half);
    std::memcpy(to + sizeof(value) * sample, &value, sizeof(value));
  }
}

} // namespace

/** Samples of any type, of all channels, to where they are wanted: rows of pixels as they are stored. Floats of 16 bit
 * become floats of 32. Where channels are named, of those pages alone, which have one sample a pixel. */
void
TIFFSlide::DecodeStored(const Source &                source,
                        const SlidePlane &            of,
                        std::uint64_t                 tile,
                        StoredSize                    stored,
                        const PixelSpan &             out,
                        const std::vector<unsigned> & channels) const
{
  // Colors that are not stored are the background. All channels of a page are alike empty.
  const std::vector<unsigned char> emptyPixel =
    of.emptyPixel.empty() ? std::vector<unsigned char>(m_Background.begin(), m_Background.end()) : of.emptyPixel;
  std::vector<const Source *> pages{ &source };
  for (const Source & further : source.furtherChannels)
  {
    pages.push_back(&further);
  }
  if (!channels.empty())
  {
    std::vector<const Source *> named;
    std::transform(
      channels.begin(), channels.end(), std::back_inserter(named), [&pages](unsigned i) { return pages[i]; });
    pages = std::move(named);
  }
  const std::size_t outPixel = std::size_t{ out.channels } * out.sampleBytes;
  unsigned          channel = 0;
  for (const Source * const from : pages)
  {
    const unsigned      planes = from->page->separatePlanes ? from->page->samples : 1;
    const unsigned      samples = from->page->samples / planes;
    const unsigned      sampleBytes = std::max(1u, from->page->bits / 8);
    const bool          isHalf = sampleBytes < out.sampleBytes;
    const std::size_t   pixel = std::size_t{ samples } * sampleBytes;
    const std::uint64_t tiles = from->pieces.sizes.size() / planes;
    const PixelSpan     raw{
      samplesScratch.Get(pixel * out.width * out.height), pixel * out.width, out.width, out.height, samples, sampleBytes
    };
    for (unsigned plane = 0; plane < planes; ++plane, channel += samples)
    {
      const std::uint64_t piece = tile + plane * tiles;
      const bool          has = from->pieces.Has(piece);
      if (has)
      {
        DecodeSamples(*from, ReadPiece(*from, piece), raw, stored);
      }
      if (has && IsInverted(*from))
      {
        std::transform(raw.data, raw.data + raw.stride * stored.height, raw.data, [](unsigned char byte) {
          return static_cast<unsigned char>(~byte);
        });
      }
      for (std::uint32_t y = 0; y < stored.height; ++y)
      {
        const unsigned char * in = raw.data + y * raw.stride;
        unsigned char *       to = out.data + y * out.stride + std::size_t{ channel } * out.sampleBytes;
        if (has && !isHalf && pixel == outPixel)
        {
          std::memcpy(to, in, pixel * out.width);
          continue;
        }
        for (std::uint32_t x = 0; x < out.width; ++x, in += pixel, to += outPixel)
        {
          if (!has)
          {
            const auto empty = emptyPixel.begin() + std::ptrdiff_t{ channel } * out.sampleBytes;
            std::copy(empty, empty + std::ptrdiff_t{ samples } * out.sampleBytes, to);
          }
          else if (isHalf)
          {
            CopyHalves(in, samples, to);
          }
          else
          {
            std::memcpy(to, in, pixel);
          }
        }
      }
    }
  }
}

/** All samples of a tile, interleaved, be they stored so or one plane behind the other. */
std::string
TIFFSlide::DecodePieces(const Source &     source,
                        std::uint64_t      tile,
                        const SlidePlane & plane,
                        StoredSize         stored,
                        unsigned char *    raw) const
{
  const unsigned  samples = source.page->samples;
  const PixelSpan all{ raw, std::size_t{ plane.tileWidth } * samples, plane.tileWidth, plane.tileHeight, samples };
  if (!source.page->separatePlanes)
  {
    return DecodeSamples(source, ReadPiece(source, tile), all, stored);
  }
  const std::size_t   area = std::size_t{ plane.tileWidth } * plane.tileHeight;
  const std::uint64_t tiles = plane.GetTilesAcross() * plane.GetTilesDown();
  const PixelSpan     single{ raw + area * samples, plane.tileWidth, plane.tileWidth, plane.tileHeight, 1 };
  std::string         damage;
  for (unsigned sample = 0; sample < samples; ++sample)
  {
    const std::uint64_t piece = tile + sample * tiles;
    if (source.pieces.Has(piece))
    {
      const std::string found = DecodeSamples(source, ReadPiece(source, piece), single, stored);
      damage = damage.empty() ? found : damage;
    }
    else
    {
      std::memset(single.data, plane.emptyPixel.empty() ? 0 : plane.emptyPixel.front(), area);
    }
    for (std::size_t i = 0; i < area; ++i)
    {
      raw[i * samples + sample] = single.data[i];
    }
  }
  return damage;
}

/** Whether the largest stored value is black, and black is to be 0. */
bool
TIFFSlide::IsInverted(const Source & source) const
{
  return !m_ReadsLabels && source.page->photometric == static_cast<unsigned>(TIFFPhotometric::MinIsWhite);
}

/** Whether the tiles' streams decode straight to what is wanted: the path of nearly all slides. */
bool
TIFFSlide::IsDirect(const Source & source)
{
  return IsImageCodec(*source.page) && source.page->samples != 4 && source.palette.empty() &&
         source.furtherChannels.empty() && !source.page->separatePlanes &&
         source.page->photometric != static_cast<unsigned>(TIFFPhotometric::MinIsWhite);
}

StoredSize
TIFFSlide::GetStoredSize(unsigned plane, std::uint64_t tile) const
{
  const SlidePlane &  of = m_Planes[plane];
  const std::uint64_t left = tile % of.GetTilesAcross() * of.tileWidth;
  const std::uint64_t top = tile / of.GetTilesAcross() * of.tileHeight;
  return { static_cast<std::uint32_t>(std::min<std::uint64_t>(of.tileWidth, of.width - left)),
           static_cast<std::uint32_t>(std::min<std::uint64_t>(of.tileHeight, of.height - top)) };
}

unsigned
TIFFSlide::GetLargestReduction(unsigned plane) const
{
  const Source & source = m_Sources[plane];
  if (!m_Planes[plane].IsPicture() || !IsDirect(source) || source.transparency ||
      source.compression == TIFFCompression::WebP)
  {
    return 1;
  }
  if (source.compression == TIFFCompression::JPEG)
  {
    return 8;
  }
  for (std::uint64_t tile = 0; tile < source.pieces.sizes.size(); ++tile)
  {
    if (HasTile(plane, tile))
    {
      return GetLargestJPEG2000Reduction(ReadPiece(source, tile));
    }
  }
  return 1;
}

std::size_t
TIFFSlide::GetDecodingBytes(unsigned plane) const
{
  const SlidePlane &  of = m_Planes[plane];
  const Source &      source = m_Sources[of.reduction > 1 ? of.source : plane];
  const auto &        sizes = source.pieces.sizes;
  const std::uint64_t largest = sizes.empty() ? 0 : *std::max_element(sizes.begin(), sizes.end());
  const std::size_t   area = std::size_t{ of.tileWidth } * of.tileHeight * of.GetSampleBytes();
  const TIFFPage &    page = *source.page;
  const bool          isDirect = of.IsPicture() && IsDirect(source);
  const std::uint64_t stored = std::min(largest, page.GetFile().GetFile().GetSize()); // a larger one is refused
  const std::size_t   samples =
    isDirect ? 0 : area * (page.samples + (page.separatePlanes ? 1 : 0) + source.furtherChannels.size());
  if (!source.transparency)
  {
    return stored + samples;
  }
  const TIFFPage & mask = *m_Transparency[*source.transparency].page;
  return stored + std::max(samples, std::size_t{ mask.pieceWidth } * mask.pieceHeight) + area;
}

std::string
TIFFSlide::DecodeReducedTile(unsigned plane, std::uint64_t tile, unsigned reduction, const PixelSpan & out) const
{
  StoredSize stored = GetStoredSize(plane, tile);
  stored.reduction = reduction;
  return DecodeImage(m_Sources[plane], ReadPiece(m_Sources[plane], tile), out, stored);
}

void
TIFFSlide::Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const
{
  const TIFFPage::Pieces & pieces = m_Sources[plane].pieces;
  // Tiles that follow each other in the file are one request.
  for (std::uint64_t tile = first; tile <= last; ++tile)
  {
    const std::uint64_t begin = pieces.offsets[tile];
    std::uint64_t       end = begin + pieces.sizes[tile];
    while (tile < last && pieces.offsets[tile + 1] >= end && pieces.offsets[tile + 1] - end < 4096)
    {
      ++tile;
      end = pieces.offsets[tile] + pieces.sizes[tile];
    }
    m_Sources[plane].page->GetFile().GetFile().Prefetch(begin, end - begin);
  }
}

std::string
TIFFSlide::DecodeTile(unsigned                           plane,
                      std::uint64_t                      tile,
                      const PixelSpan &                  out,
                      std::unique_ptr<unsigned char[]> * scanned) const
{
  const StoredSize stored = GetStoredSize(plane, tile);
  std::string      damage;
  if (m_Planes[plane].IsPicture())
  {
    damage = DecodePicture(plane, tile, stored, out, scanned);
  }
  else
  {
    DecodeStored(m_Sources[plane], m_Planes[plane], tile, stored, out); // by codecs that give all or nothing
  }
  if (m_Sources[plane].transparency)
  {
    ApplyTransparency(plane, tile, out, scanned);
  }
  return damage;
}

std::string
TIFFSlide::DecodeChannels(unsigned                           plane,
                          std::uint64_t                      tile,
                          const std::vector<unsigned> &      channels,
                          const PixelSpan &                  out,
                          std::unique_ptr<unsigned char[]> * scanned) const
{
  const Source & source = m_Sources[plane];
  if (source.furtherChannels.empty() || source.page->samples > 1 || source.transparency)
  {
    return Slide::DecodeChannels(plane, tile, channels, out, scanned);
  }
  DecodeStored(source, m_Planes[plane], tile, GetStoredSize(plane, tile), out, channels);
  return {};
}

std::string
TIFFSlide::DecodePicture(unsigned                           plane,
                         std::uint64_t                      tile,
                         StoredSize                         stored,
                         const PixelSpan &                  out,
                         std::unique_ptr<unsigned char[]> * scanned) const
{
  const SlidePlane & of = m_Planes[plane];
  const Source &     source = m_Sources[plane];
  const TIFFPage &   page = *source.page;
  if (IsDirect(source))
  {
    return DecodeImage(source, ReadPiece(source, tile), out, stored);
  }
  const std::size_t area = std::size_t{ of.tileWidth } * of.tileHeight;
  if (!source.furtherChannels.empty())
  {
    thread_local std::vector<unsigned char> rgb;
    rgb.resize(3 * area);
    const PixelSpan colors{ rgb.data(), std::size_t{ 3 } * of.tileWidth, of.tileWidth, of.tileHeight, 3 };
    DecodeStored(source, of, tile, stored, colors);
    for (std::uint32_t y = 0; y < stored.height; ++y)
    {
      const unsigned char * from = colors.data + y * colors.stride;
      unsigned char *       to = out.data + y * out.stride;
      for (std::uint32_t x = 0; x < out.width; ++x, from += 3)
      {
        to = out.channels == 3 ? std::copy_n(from, 3, to) : (*to = LumaFromRGB(from[0], from[1], from[2]), to + 1);
      }
    }
    return {};
  }
  unsigned char * const raw = samplesScratch.Get(area * (page.samples + (page.separatePlanes ? 1 : 0)));
  std::string           damage = DecodePieces(source, tile, of, stored, raw);
  const bool            marks = source.alpha != TIFFAlpha::None && scanned != nullptr;
  if (marks)
  {
    scanned->reset(new unsigned char[area]);
  }
  // Rows that are not stored (the last strip's, those beyond the edge) stay as they are.
  PixelSpan real = out;
  real.height = stored.height;
  Convert(source, raw, real, marks ? scanned->get() : nullptr);
  return damage;
}

const unsigned char *
TIFFSlide::DecodeTransparencyPiece(const Source & mask, std::uint64_t piece, std::uint64_t across) const
{
  const auto            width = static_cast<std::uint32_t>(mask.page->pieceWidth);
  const auto            height = static_cast<std::uint32_t>(mask.page->pieceHeight);
  const std::uint64_t   left = piece % across * width;
  const std::uint64_t   top = piece / across * height;
  const StoredSize      stored{ static_cast<std::uint32_t>(std::min<std::uint64_t>(width, mask.page->width - left)),
                           static_cast<std::uint32_t>(std::min<std::uint64_t>(height, mask.page->height - top)) };
  unsigned char * const pixels = samplesScratch.Get(std::size_t{ width } * height);
  DecodeSamples(mask, ReadPiece(mask, piece), { pixels, width, width, height, 1 }, stored);
  return pixels;
}

void
TIFFSlide::Convert(const Source &        source,
                   const unsigned char * raw,
                   const PixelSpan &     out,
                   unsigned char *       scanned) const
{
  const unsigned samples = source.page->samples;
  if (source.alpha != TIFFAlpha::None)
  {
    ConvertAlpha(source, raw, out, scanned);
    return;
  }
  const bool invert = IsInverted(source);
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    const unsigned char * from = raw + std::size_t{ y } * out.width * samples;
    unsigned char *       to = out.data + y * out.stride;
    if (samples == out.channels && source.palette.empty() && !invert)
    {
      std::memcpy(to, from, std::size_t{ out.width } * samples);
      continue;
    }
    for (std::uint32_t x = 0; x < out.width; ++x, from += samples, to += out.channels)
    {
      const unsigned char   gray[3] = { from[0], from[0], from[0] };
      const unsigned char * rgb = samples == 1 ? gray : from;
      if (!source.palette.empty())
      {
        rgb = source.palette.data() + std::size_t{ from[0] } * 3;
      }
      const unsigned char flip = invert ? 255 : 0;
      if (out.channels == 1)
      {
        to[0] = static_cast<unsigned char>((rgb == gray ? from[0] : LumaFromRGB(rgb[0], rgb[1], rgb[2])) ^ flip);
        continue;
      }
      for (unsigned i = 0; i < 3; ++i)
      {
        to[i] = static_cast<unsigned char>(rgb[i] ^ flip);
      }
    }
  }
}

/** Over the background, rounded to nearest: c + (255 - a) b / 255, with c = a s / 255 where alpha is straight. */
void
TIFFSlide::ConvertAlpha(const Source &        source,
                        const unsigned char * raw,
                        const PixelSpan &     out,
                        unsigned char *       scanned) const
{
  const bool straight = source.alpha == TIFFAlpha::Straight;
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    const unsigned char * from = raw + std::size_t{ y } * out.width * 4;
    unsigned char *       to = out.data + y * out.stride;
    for (std::uint32_t x = 0; x < out.width; ++x, from += 4, to += out.channels)
    {
      const unsigned alpha = from[3];
      unsigned       rgb[3];
      for (unsigned i = 0; i < 3; ++i)
      {
        const unsigned color = straight ? from[i] * alpha : from[i] * 255u;
        rgb[i] = std::min(255u, (color + (255 - alpha) * m_Background[i] + 127) / 255);
      }
      if (scanned != nullptr)
      {
        scanned[std::size_t{ y } * out.width + x] = alpha == 0 ? 0 : 255;
      }
      if (out.channels == 1)
      {
        to[0] = LumaFromRGB(rgb[0], rgb[1], rgb[2]);
        continue;
      }
      std::copy(rgb, rgb + 3, to);
    }
  }
}

} // namespace gigapixel
