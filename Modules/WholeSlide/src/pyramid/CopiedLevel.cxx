/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CopiedLevel.h"

#include "ImpersonalBytes.h"
#include "slide/Slide.h"

#include <algorithm>
#include <stdexcept>

namespace gigapixel
{
namespace
{
std::vector<std::uint16_t>
GetShorts(const TIFFFile & file, const TIFFPage & page, TIFFTag tag)
{
  const TIFFEntry * const entry = page.Find(tag);
  if (entry == nullptr)
  {
    return {};
  }
  const auto values = file.ReadIntegers(*entry, 65536 * 3);
  return { values.begin(), values.end() };
}

/** Whether all readers of TIFF decode tiles of this page. */
bool
IsCommon(const TIFFPage & page)
{
  constexpr TIFFCompression common[] = { TIFFCompression::None,      TIFFCompression::LZW,
                                         TIFFCompression::JPEG,      TIFFCompression::AdobeDeflate,
                                         TIFFCompression::Deflate,   TIFFCompression::PackBits,
                                         TIFFCompression::Zstandard, TIFFCompression::WebP };
  const bool knownCodec = std::any_of(std::begin(common), std::end(common), [&page](TIFFCompression compression) {
    return page.compression == static_cast<unsigned>(compression);
  });
  const bool knownSamples = (page.samples == 1 || page.samples == 3) && (page.bits == 8 || page.bits == 1);
  return knownCodec && knownSamples && page.tiled && !page.separatePlanes && page.orientation == 1 &&
         page.fillOrder == 1 && page.pieceWidth % 16 == 0 && page.pieceHeight % 16 == 0;
}

} // namespace

PyramidPage
CopiedLevel::Describe(const TIFFPage & page)
{
  const TIFFFile & file = page.GetFile();
  PyramidPage      made;
  made.tileWidth = static_cast<std::uint32_t>(page.pieceWidth);
  made.tileHeight = static_cast<std::uint32_t>(page.pieceHeight);
  made.bits = static_cast<std::uint16_t>(page.bits);
  made.samples = static_cast<std::uint16_t>(page.samples);
  made.compression = static_cast<std::uint16_t>(page.compression);
  made.photometric = static_cast<std::uint16_t>(page.photometric);
  made.predictor = static_cast<std::uint16_t>(page.predictor);
  if (page.photometric == static_cast<unsigned>(TIFFPhotometric::YCbCr))
  {
    made.subsampling = GetShorts(file, page, TIFFTag::YCbCrSubSampling);
    made.subsampling = made.subsampling.size() == 2 ? made.subsampling : std::vector<std::uint16_t>{ 2, 2 };
  }
  made.colorMap = GetShorts(file, page, TIFFTag::ColorMap);
  const std::string tables = page.GetBytes(TIFFTag::JPEGTables);
  made.jpegTables = RemoveJPEGTexts({ tables.begin(), tables.end() });
  return made;
}

namespace
{

/** The tiles of an axis that a stretch of it begins and ends at; none where it does not. */
bool
IsOfWholeTiles(std::uint64_t begin, std::uint64_t size, std::uint64_t all, std::uint64_t tile)
{
  const std::uint64_t end = begin + size;
  return size > 0 && begin % tile == 0 && (end == all || (end < all && end % tile == 0));
}
} // namespace

std::unique_ptr<const CopiedLevel>
CopiedLevel::Find(std::shared_ptr<const TIFFLayout> layout,
                  std::size_t                       level,
                  std::uint64_t                     x,
                  std::uint64_t                     y,
                  std::uint64_t                     width,
                  std::uint64_t                     height)
{
  const TIFFPage & page = layout->GetPage(layout->GetLevels()[level].page);
  if (!IsCommon(page) || !FindObstacle(page).what.empty() || !IsOfWholeTiles(x, width, page.width, page.pieceWidth) ||
      !IsOfWholeTiles(y, height, page.height, page.pieceHeight))
  {
    return nullptr;
  }
  std::unique_ptr<CopiedLevel> found(new CopiedLevel);
  found->m_Page = Describe(page);
  found->m_Page.width = width;
  found->m_Page.height = height;
  found->m_Pieces = page.ReadPieces();
  found->m_Level = level;
  const std::uint64_t tilesAcross = (page.width + page.pieceWidth - 1) / page.pieceWidth;
  found->m_TilesAcross = tilesAcross;
  for (std::uint64_t row = 0; row < found->m_Page.GetTilesDown(); ++row)
  {
    for (std::uint64_t column = 0; column < found->m_Page.GetTilesAcross(); ++column)
    {
      const std::uint64_t tile = (y / page.pieceHeight + row) * tilesAcross + x / page.pieceWidth + column;
      if (!found->m_Pieces.Has(tile))
      {
        return nullptr;
      }
      found->m_Tiles.push_back(tile);
    }
  }
  found->m_Layout = std::move(layout);
  return found;
}

std::vector<std::uint8_t>
CopiedLevel::ReadTile(std::uint64_t tile) const
{
  const std::uint64_t       number = m_Tiles[tile];
  const std::uint64_t       size = m_Pieces.sizes[number];
  const TIFFPage &          page = m_Layout->GetPage(m_Layout->GetLevels()[m_Level].page);
  const RandomAccessFile &  file = page.GetFile().GetFile();
  std::vector<std::uint8_t> bytes(std::min(size, file.GetSize()));
  try
  {
    file.Read(m_Pieces.offsets[number], bytes.data(), static_cast<std::size_t>(size));
  }
  catch (const std::runtime_error & error)
  {
    const Diagnostic inner = Diagnostic::Of(error);
    throw SlideError(inner.code,
                     m_Layout->GetPath(),
                     "the tile at " + std::to_string(number % m_TilesAcross) + ',' +
                       std::to_string(number / m_TilesAcross) + " of level " + std::to_string(m_Level) +
                       " cannot be copied: " + inner.why,
                     inner.remedy.empty() ? DamagedTileRemedy : inner.remedy);
  }
  const auto compression = static_cast<TIFFCompression>(m_Page.compression);
  switch (compression)
  {
    case TIFFCompression::JPEG:
      return RemoveJPEGTexts(bytes);
    case TIFFCompression::WebP:
      return RemoveWebPTexts(bytes);
    default: {
      const std::size_t bits = std::size_t{ m_Page.tileWidth } * m_Page.tileHeight * m_Page.samples * m_Page.bits;
      return CutBehindEnd(compression, std::move(bytes), bits / 8);
    }
  }
}

} // namespace gigapixel
