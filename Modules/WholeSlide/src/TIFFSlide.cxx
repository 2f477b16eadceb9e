/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TIFFSlide.h"

#include "PyramidDescription.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

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

ColorModel
GetColorModel(const TIFFPage & page)
{
  if (page.samples == 1)
  {
    return ColorModel::Gray;
  }
  const bool isYCbCr = page.compression == static_cast<unsigned>(TIFFCompression::AperioJPEG2000YCbCr) ||
                       (page.photometric == static_cast<unsigned>(TIFFPhotometric::YCbCr) &&
                        page.compression != static_cast<unsigned>(TIFFCompression::AperioJPEG2000RGB));
  return isYCbCr ? ColorModel::YCbCr : ColorModel::RGB;
}

/** 256 RGB triples of 8 bit; some writers put 8-bit values into the tag's 16 bit. */
std::vector<unsigned char>
ReadPalette(const TIFFFile & file, const TIFFPage & page)
{
  const TIFFEntry * const entry = page.Find(TIFFTag::ColorMap);
  if (entry == nullptr || entry->count < 768)
  {
    throw std::runtime_error("its palette is missing");
  }
  const auto                 values = file.ReadIntegers(*entry, 65536 * 3);
  const bool                 wide = std::any_of(values.begin(), values.end(), [](std::uint64_t v) { return v > 255; });
  std::vector<unsigned char> palette(768);
  for (std::size_t i = 0; i < palette.size(); ++i)
  {
    palette[i] = static_cast<unsigned char>(values[i % 3 * 256 + i / 3] >> (wide ? 8 : 0));
  }
  return palette;
}

/** Bits of rows that are filled up to bytes, the first in the highest bit, to 0 and 255. \a bits may be the end of the
 * pixels' own memory. */
void
UnpackBits(const unsigned char * bits, const PixelSpan & out)
{
  const std::size_t rowBytes = (out.width + 7) / 8;
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    const unsigned char * row = bits + y * rowBytes;
    unsigned char *       to = out.data + y * out.stride;
    for (std::uint32_t x = 0; x < out.width; x += 8)
    {
      const unsigned byte = row[x / 8];
      for (std::uint32_t i = x; i < std::min(out.width, x + 8); ++i)
      {
        to[i] = (byte >> (7 - i % 8) & 1u) != 0 ? 255 : 0;
      }
    }
  }
}

} // namespace

TIFFSlide::TIFFSlide(const std::string & path, std::shared_ptr<const TIFFLayout> layout)
  : Slide(path)
  , m_Layout(std::move(layout))
{
  m_Properties = m_Layout->properties;
  PyramidDescription own;
  const TIFFPage &   first = m_Layout->GetPage(m_Layout->GetLevels().front().page);
  m_HoldsLabels = PyramidDescription::Parse(first.GetText(TIFFTag::ImageDescription), own) && own.labels;
  for (const TIFFLayout::Level & level : m_Layout->GetLevels())
  {
    AddPlane(level.page, {}, level.furtherChannels);
  }
  m_NumberOfLevels = static_cast<unsigned>(m_Planes.size());
  CropLevels();
  SetDownsamples();
  AddReducedLevels();
  m_Sources.resize(m_Planes.size());
  for (const auto & associated : m_Layout->GetAssociated())
  {
    AddPlane(associated.page, associated.name, {});
  }
  const TIFFPage & base = *m_Sources.front().page;
  m_Decoder = std::string(base.tiled ? "tiles (" : "strips (") + GetCompressionName(base) + ')';
  m_ColorProfile = base.GetBytes(TIFFTag::ICCProfile);
  FillProperties();
  SetBackground();
}

TIFFSlide::Source
TIFFSlide::MakeSource(std::size_t number, bool isChannel)
{
  const TIFFPage & page = m_Layout->GetPage(number);
  Source           source;
  source.page = &page;
  source.compression = static_cast<TIFFCompression>(page.compression);
  source.model = GetColorModel(page);
  source.alpha = GetAlpha(page);
  source.tables = page.GetBytes(TIFFTag::JPEGTables);
  // Labels that we wrote are their numbers, and so are channels; the palette shows them in other viewers.
  const bool isShownByPalette = m_HoldsLabels || isChannel;
  if (page.photometric == static_cast<unsigned>(TIFFPhotometric::Palette) && !isShownByPalette)
  {
    source.palette = ReadPalette(m_Layout->GetFile(), page);
  }
  source.pieces = page.ReadPieces();
  // An entry is a byte or more. Thousands of pages that all name one table would take the machine's memory.
  m_TableEntries += source.pieces.offsets.size() + source.pieces.sizes.size() + source.tables.size();
  if (m_TableEntries > m_Layout->GetFile().GetFile().GetSize())
  {
    throw std::runtime_error("the tables of its pages overlap");
  }
  return source;
}

void
TIFFSlide::AddPlane(std::size_t number, std::string name, const std::vector<std::size_t> & furtherChannels)
{
  Source           source = MakeSource(number, !furtherChannels.empty());
  const TIFFPage & page = *source.page;
  for (const std::size_t further : furtherChannels)
  {
    source.furtherChannels.push_back(MakeSource(further, true));
  }
  SlidePlane plane;
  plane.width = page.width;
  plane.height = page.height;
  plane.tileWidth = static_cast<std::uint32_t>(page.pieceWidth);
  plane.tileHeight = static_cast<std::uint32_t>(page.pieceHeight);
  plane.channels = page.samples == 1 && source.palette.empty() ? 1 : 3;
  if (IsStoredOnly(page))
  {
    plane.channels = page.samples;
    plane.hasDyes = page.samples > 1;
    plane.sample = page.bits == 8 ? SampleType::UInt8 : page.bits == 16 ? SampleType::UInt16 : SampleType::Float32;
  }
  if (!furtherChannels.empty())
  {
    plane.channels = page.samples * static_cast<unsigned>(1 + furtherChannels.size());
    plane.hasDyes = true;
  }
  plane.hasAlpha = source.alpha != TIFFAlpha::None;
  plane.name = std::move(name);
  m_Planes.push_back(std::move(plane));
  m_Sources.push_back(std::move(source));
}

/** To the sizes that the format says they have: tiles beyond are left out. */
void
TIFFSlide::CropLevels()
{
  for (std::size_t level = 0; level < m_Layout->GetSizes().size(); ++level)
  {
    SlidePlane &           plane = m_Planes[level];
    const std::uint64_t    storedAcross = plane.GetTilesAcross();
    const std::uint64_t    storedTiles = storedAcross * plane.GetTilesDown();
    const TIFFPage::Pieces stored = std::move(m_Sources[level].pieces);
    TIFFPage::Pieces       pieces;
    plane.width = m_Layout->GetSizes()[level][0];
    plane.height = m_Layout->GetSizes()[level][1];
    const TIFFPage &    page = *m_Sources[level].page;
    const std::uint64_t storedPieces = storedTiles * (page.separatePlanes ? page.samples : 1);
    for (std::uint64_t first = 0; first < storedPieces; first += storedTiles)
    {
      for (std::uint64_t tile = 0; tile < plane.GetTilesAcross() * plane.GetTilesDown(); ++tile)
      {
        const std::uint64_t at = first + tile / plane.GetTilesAcross() * storedAcross + tile % plane.GetTilesAcross();
        pieces.offsets.push_back(stored.offsets[at]);
        pieces.sizes.push_back(stored.sizes[at]);
      }
    }
    m_Sources[level].pieces = std::move(pieces);
  }
}

std::shared_ptr<const TIFFLayout>
TIFFSlide::GetTIFFLayout() const
{
  return m_Layout->GetSizes().empty() ? m_Layout : nullptr;
}

bool
TIFFSlide::HasTile(unsigned plane, std::uint64_t tile) const
{
  const Source & source = m_Sources[plane];
  const auto     has = [tile](const Source & of) { return of.pieces.Has(tile); };
  return has(source) || std::any_of(source.furtherChannels.begin(), source.furtherChannels.end(), has);
}

ByteSpan
TIFFSlide::ReadPiece(const Source & source, std::uint64_t piece) const
{
  const std::uint64_t      size = source.pieces.sizes[piece];
  const RandomAccessFile & file = m_Layout->GetFile().GetFile();
  if (size > file.GetSize())
  {
    throw std::runtime_error("the file ends early");
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
  const bool            isPacked = source.page->bits == 1;
  const std::size_t     rowBytes = isPacked ? (raw.stride + 7) / 8 : raw.stride;
  const std::size_t     size = rowBytes * raw.height;
  unsigned char * const samples = raw.data + (raw.stride * raw.height - size); // at the end: unpacked from there
  std::size_t           written = std::min(size, bytes.size);
  switch (source.compression)
  {
    case TIFFCompression::LZW:
      written = DecodeLZW(bytes, samples, size);
      break;
    case TIFFCompression::AdobeDeflate:
    case TIFFCompression::Deflate:
      written = DecodeDeflate(bytes, samples, size);
      break;
    case TIFFCompression::PackBits:
      written = DecodePackBits(bytes, samples, size);
      break;
    case TIFFCompression::Zstandard:
      written = DecodeZstandard(bytes, samples, size);
      break;
    default:
      std::memcpy(samples, bytes.data, written);
  }
  const std::size_t lastRow =
    isPacked ? (stored.width + 7) / 8 : std::size_t{ stored.width } * raw.channels * raw.sampleBytes;
  if (written < (stored.height - 1) * rowBytes + lastRow)
  {
    throw std::runtime_error("it holds fewer pixels than its size");
  }
  if (isPacked)
  {
    UnpackBits(samples, raw);
    return {};
  }
  if (raw.sampleBytes > 1 && m_Layout->GetFile().IsBigEndian() != IsBigEndianMachine())
  {
    SwapBytes(raw.data, raw.stride * stored.height, raw.sampleBytes);
  }
  if (source.page->predictor == 2)
  {
    UndoHorizontalDifferencing(raw.data, raw.width, stored.height, raw.channels, raw.sampleBytes);
  }
  return {};
}

/** Samples of any type, of all channels, to where they are wanted: rows of pixels as they are stored. */
void
TIFFSlide::DecodeStored(const Source & source, std::uint64_t tile, StoredSize stored, const PixelSpan & out) const
{
  std::vector<const Source *> pages{ &source };
  for (const Source & further : source.furtherChannels)
  {
    pages.push_back(&further);
  }
  unsigned channel = 0;
  for (const Source * const of : pages)
  {
    const unsigned      planes = of->page->separatePlanes ? of->page->samples : 1;
    const unsigned      samples = of->page->samples / planes;
    const std::size_t   pixel = std::size_t{ samples } * out.sampleBytes;
    const std::uint64_t tiles = of->pieces.sizes.size() / planes;
    const PixelSpan     raw{ samplesScratch.Get(pixel * out.width * out.height),
                         pixel * out.width,
                         out.width,
                         out.height,
                         samples,
                         out.sampleBytes };
    for (unsigned plane = 0; plane < planes; ++plane, channel += samples)
    {
      const std::uint64_t piece = tile + plane * tiles;
      if (!of->pieces.Has(piece))
      {
        std::memset(raw.data, 0, raw.stride * raw.height);
      }
      else
      {
        DecodeSamples(*of, ReadPiece(*of, piece), raw, stored);
      }
      for (std::uint32_t y = 0; y < stored.height; ++y)
      {
        const unsigned char * from = raw.data + y * raw.stride;
        unsigned char *       to = out.data + y * out.stride + std::size_t{ channel } * out.sampleBytes;
        for (std::uint32_t x = 0; x < out.width;
             ++x, from += pixel, to += std::size_t{ out.channels } * out.sampleBytes)
        {
          std::memcpy(to, from, pixel);
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
    const std::string found = DecodeSamples(source, ReadPiece(source, tile + sample * tiles), single, stored);
    damage = damage.empty() ? found : damage;
    for (std::size_t i = 0; i < area; ++i)
    {
      raw[i * samples + sample] = single.data[i];
    }
  }
  return damage;
}

/** Whether the tiles' streams decode straight to what is wanted: the path of nearly all slides. */
bool
TIFFSlide::IsDirect(const Source & source)
{
  return IsImageCodec(*source.page) && source.page->samples != 4 && source.palette.empty() &&
         !source.page->separatePlanes && source.page->photometric != static_cast<unsigned>(TIFFPhotometric::MinIsWhite);
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
  if (!m_Planes[plane].IsPicture() || !IsDirect(source) || source.compression == TIFFCompression::WebP)
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
  const std::uint64_t stored = std::min(largest, m_Layout->GetFile().GetFile().GetSize()); // a larger one is refused
  return stored + (isDirect ? 0 : area * (page.samples + (page.separatePlanes ? 1 : 0)));
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
    m_Layout->GetFile().GetFile().Prefetch(begin, end - begin);
  }
}

std::string
TIFFSlide::DecodeTile(unsigned                           plane,
                      std::uint64_t                      tile,
                      const PixelSpan &                  out,
                      std::unique_ptr<unsigned char[]> * scanned) const
{
  const SlidePlane & of = m_Planes[plane];
  const Source &     source = m_Sources[plane];
  const TIFFPage &   page = *source.page;
  const StoredSize   stored = GetStoredSize(plane, tile);
  if (!of.IsPicture())
  {
    DecodeStored(source, tile, stored, out); // by codecs that give all or nothing
    return {};
  }
  if (IsDirect(source))
  {
    return DecodeImage(source, ReadPiece(source, tile), out, stored);
  }
  const std::size_t     area = std::size_t{ of.tileWidth } * of.tileHeight;
  unsigned char * const raw = samplesScratch.Get(area * (page.samples + (page.separatePlanes ? 1 : 0)));
  std::string           damage = DecodePieces(source, tile, of, stored, raw);
  if (source.alpha != TIFFAlpha::None && scanned != nullptr)
  {
    scanned->reset(new unsigned char[area]);
  }
  // Rows that are not stored (the last strip's, those beyond the edge) stay as they are.
  PixelSpan real = out;
  real.height = stored.height;
  Convert(source, raw, real, scanned != nullptr ? scanned->get() : nullptr);
  return damage;
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
  const bool invert = source.page->photometric == static_cast<unsigned>(TIFFPhotometric::MinIsWhite);
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
