/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "StatedSizes.h"

#include "tiff/TIFFLayout.h"
#include "formats/SlideFormat.h"

#include "gigapixelDiagnostic.h"

#include <memory>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr std::uint64_t pageLimit = 4096;
constexpr std::uint64_t tilePixelLimit = std::uint64_t{ 1 } << 28;
constexpr std::uint64_t sideLimit = std::uint64_t{ 1 } << 32;

/** Baseline JPEG takes at least one bit each for the first and the other coefficients of a block of 8 x 8. */
constexpr std::uint64_t pixelsOfJPEGByte = 64 * 8 / 2;

/** Deflate, the best of the others, makes 1032 bytes of one, which hold up to 8 pixels each. */
constexpr std::uint64_t pixelsOfOtherByte = 1032 * 8;

/** Of strips: OpenSlide goes over a whole page of them when it opens the file. Tiles that hold nothing take no room. */
bool
HasRoom(const TIFFPage & page, std::uint64_t fileSize)
{
  const bool          isJPEG = page.compression == static_cast<unsigned>(TIFFCompression::JPEG);
  const std::uint64_t room = fileSize * (isJPEG ? pixelsOfJPEGByte : pixelsOfOtherByte);
  return page.height == 0 || page.width <= room / page.height;
}

void
CheckPage(const TIFFPage & page, std::uint64_t fileSize)
{
  const std::string size = std::to_string(page.width) + " x " + std::to_string(page.height) + " pixels";
  if (page.width >= sideLimit || page.height >= sideLimit || (!page.tiled && !HasRoom(page, fileSize)))
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "one of its pages states " + size + ", more than the file has room for"));
  }
  if (page.tiled && page.pieceHeight != 0 && page.pieceWidth > tilePixelLimit / page.pieceHeight)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT",
                             "one of its pages states tiles of " + std::to_string(page.pieceWidth) + " x " +
                               std::to_string(page.pieceHeight) + " pixels, more than a tile may have"));
  }
}

/** Null, and the end, where the page cannot be read. */
std::unique_ptr<const TIFFPage>
ReadPage(const TIFFFile & file, std::uint64_t & at)
{
  try
  {
    return std::make_unique<const TIFFPage>(file, std::uint64_t{ at }, at);
  }
  catch (const std::runtime_error &)
  {
    at = 0;
    return nullptr;
  }
}

void
CheckPages(const std::string & path)
{
  const TIFFFile          file(path);
  std::set<std::uint64_t> seen;
  std::uint64_t           at = file.GetFirstPage();
  while (at != 0 && seen.size() < pageLimit && seen.insert(at).second)
  {
    if (const auto page = ReadPage(file, at))
    {
      CheckPage(*page, file.GetFile().GetSize());
    }
  }
}

} // namespace

void
CheckStatedSizes(const std::string & path)
{
  if (TIFFFile::IsTIFF(path))
  {
    CheckPages(path);
  }
  else if (const SlideFormat * const format = FindFormatByExtension(path); format && format->checkStatedSizes)
  {
    format->checkStatedSizes(path);
  }
}

} // namespace gigapixel
