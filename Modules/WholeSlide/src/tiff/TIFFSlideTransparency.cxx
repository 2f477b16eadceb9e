/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Pages that say which pixels of a picture were scanned, as GDAL writes them.
#include "TIFFSlide.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace gigapixel
{
namespace
{

constexpr std::uint64_t transparencyPieceLimit = std::uint64_t{ 1 } << 28; // pixels

} // namespace

void
TIFFSlide::FindTransparencyMasks()
{
  for (const std::size_t mask : m_ReadsLabels ? std::vector<std::size_t>() : m_Layout->GetTransparencyMasks())
  {
    m_Transparency.push_back(MakeSource(mask, true));
    if (m_Layout->GetPage(mask).pieceHeight > transparencyPieceLimit / m_Layout->GetPage(mask).pieceWidth)
    {
      throw Refusal(
        Diagnostic("E-TIFF-CODEC", "its transparency mask has pieces that are too large to be decoded one by one"));
    }
  }
  std::stable_sort(m_Transparency.begin(), m_Transparency.end(), [](const Source & a, const Source & b) {
    return a.page->width > b.page->width;
  });
}

/** The mask of the level's size, else the coarsest one of the same picture that is finer, else the finest one. */
std::optional<std::size_t>
TIFFSlide::GetTransparency(const TIFFPage & page) const
{
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < m_Transparency.size(); ++i)
  {
    const TIFFPage & mask = *m_Transparency[i].page;
    const double     ratio = static_cast<double>(mask.width) / static_cast<double>(page.width);
    const double     expected = static_cast<double>(page.height) * ratio;
    const bool       isOfPicture = std::abs(expected - static_cast<double>(mask.height)) <= 1.0 + ratio;
    if (isOfPicture && (!found || mask.width >= page.width))
    {
      found = i;
    }
  }
  return found;
}

/** Shows the background where the mask says that nothing was scanned, and adds that to `scanned`. */
void
TIFFSlide::ApplyTransparency(unsigned                           plane,
                             std::uint64_t                      tile,
                             const PixelSpan &                  out,
                             std::unique_ptr<unsigned char[]> * scanned) const
{
  const SlidePlane & of = m_Planes[plane];
  const StoredSize   stored = GetStoredSize(plane, tile);
  const std::size_t  area = std::size_t{ of.tileWidth } * of.tileHeight;
  if (scanned != nullptr && *scanned == nullptr)
  {
    scanned->reset(new unsigned char[area]);
    std::memset(scanned->get(), 255, area);
  }
  thread_local std::vector<unsigned char> shown;
  ReadTransparency(plane, tile, stored, shown);
  const std::size_t pixel = std::size_t{ out.channels } * out.sampleBytes;
  for (std::uint32_t y = 0; y < stored.height; ++y)
  {
    for (std::uint32_t x = 0; x < stored.width; ++x)
    {
      if (shown[std::size_t{ y } * stored.width + x] != 0)
      {
        continue;
      }
      const PixelSpan single{ out.data + y * out.stride + x * pixel, pixel, 1, 1, out.channels, out.sampleBytes };
      FillBackground(single, of.IsPicture());
      if (scanned != nullptr)
      {
        (*scanned)[std::size_t{ y } * of.tileWidth + x] = 0;
      }
    }
  }
}

/** What the mask says of the tile's stored pixels, each by the mask's pixel at its center. Pieces of the mask that are
 * not stored are 0. */
void
TIFFSlide::ReadTransparency(unsigned                     plane,
                            std::uint64_t                tile,
                            StoredSize                   stored,
                            std::vector<unsigned char> & shown) const
{
  const SlidePlane &  of = m_Planes[plane];
  const TIFFPage &    page = *m_Sources[plane].page;
  const Source &      mask = m_Transparency[*m_Sources[plane].transparency];
  const TIFFPage &    maskPage = *mask.page;
  const std::uint64_t left = tile % of.GetTilesAcross() * of.tileWidth;
  const std::uint64_t top = tile / of.GetTilesAcross() * of.tileHeight;
  const auto          find = [](std::uint64_t at, std::uint64_t size, std::uint64_t maskSize) {
    return std::min(maskSize - 1, (2 * at + 1) * maskSize / (2 * size));
  };
  const auto          getColumn = [&](std::uint32_t x) { return find(left + x, page.width, maskPage.width); };
  const auto          getRow = [&](std::uint32_t y) { return find(top + y, page.height, maskPage.height); };
  const std::uint64_t across = (maskPage.width + maskPage.pieceWidth - 1) / maskPage.pieceWidth;
  const auto          width = static_cast<std::uint32_t>(maskPage.pieceWidth);
  shown.assign(std::size_t{ stored.width } * stored.height, 0);
  std::uint64_t held = std::numeric_limits<std::uint64_t>::max();
  const auto *  pixels = static_cast<const unsigned char *>(nullptr);
  for (std::uint32_t firstRow = 0, endRow = 0; firstRow < stored.height; firstRow = endRow)
  {
    const std::uint64_t pieceRow = getRow(firstRow) / maskPage.pieceHeight;
    for (endRow = firstRow; endRow < stored.height && getRow(endRow) / maskPage.pieceHeight == pieceRow;)
    {
      ++endRow;
    }
    for (std::uint32_t x = 0; x < stored.width; ++x)
    {
      const std::uint64_t column = getColumn(x);
      const std::uint64_t piece = pieceRow * across + column / width;
      if (piece != held)
      {
        held = piece;
        pixels = mask.pieces.Has(piece) ? DecodeTransparencyPiece(mask, piece, across) : nullptr;
      }
      for (std::uint32_t y = firstRow; y < endRow && pixels != nullptr; ++y)
      {
        const std::uint64_t row = getRow(y) % maskPage.pieceHeight;
        shown[std::size_t{ y } * stored.width + x] = pixels[row * width + column % width];
      }
    }
  }
}

} // namespace gigapixel
