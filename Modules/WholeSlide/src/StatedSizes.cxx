/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "StatedSizes.h"

#include "KeyFile.h"
#include "NumberText.h"
#include "TIFFLayout.h"

#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr std::uint64_t pageLimit = 4096;
constexpr std::uint64_t tilePixelLimit = std::uint64_t{ 1 } << 28;
constexpr double        imageLimit = 1 << 25; // of MIRAX: a slide of 100,000 pixels a side has 150,000
constexpr double        fileLimit = 1 << 16;
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
    throw std::runtime_error("one of its pages states " + size + ", more than the file has room for");
  }
  if (page.tiled && page.pieceHeight != 0 && page.pieceWidth > tilePixelLimit / page.pieceHeight)
  {
    throw std::runtime_error("one of its pages states tiles of " + std::to_string(page.pieceWidth) + " x " +
                             std::to_string(page.pieceHeight) + " pixels, more than a tile may have");
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

double
GetNumber(const KeyFile & values, const std::string & key)
{
  const auto found = values.find(key);
  return found == values.end() ? 0.0 : ToNumber(found->second);
}

/** `what` is in the plural. */
void
CheckProduct(const KeyFile &     values,
             const std::string & first,
             const std::string & second,
             double              most,
             const char *        what)
{
  const double numbers[] = { GetNumber(values, first), GetNumber(values, second) };
  if (numbers[0] * numbers[1] > most)
  {
    throw std::runtime_error("it states " + ToText(numbers[0]) + " x " + ToText(numbers[1]) + ' ' + what +
                             ", more than a slide has");
  }
}

void
CheckCount(const KeyFile & values, const std::string & key, const char * what)
{
  const double number = GetNumber(values, key);
  if (number > fileLimit)
  {
    throw std::runtime_error("it states " + ToText(number) + ' ' + what + ", more than a slide has");
  }
}

void
CheckMIRAX(const KeyFile & values)
{
  CheckProduct(values, "GENERAL/IMAGENUMBER_X", "GENERAL/IMAGENUMBER_Y", imageLimit, "images");
  CheckCount(values, "DATAFILE/FILE_COUNT", "files");
  CheckCount(values, "HIERARCHICAL/HIER_0_COUNT", "levels");
  const std::string width = "/DIGITIZER_WIDTH";
  for (const auto & value : values)
  {
    const std::size_t group = value.first.rfind(width);
    if (group != std::string::npos)
    {
      CheckProduct(
        values, value.first, value.first.substr(0, group) + "/DIGITIZER_HEIGHT", tilePixelLimit, "pixels of an image");
    }
  }
}

} // namespace

void
CheckStatedSizes(const std::string & path)
{
  const std::filesystem::path named(path);
  if (TIFFFile::IsTIFF(path))
  {
    CheckPages(path);
  }
  else if (named.extension() == ".mrxs")
  {
    CheckMIRAX(ReadKeyFile(std::filesystem::path(named).replace_extension() / "Slidedat.ini"));
  }
  else if (named.extension() == ".vms")
  {
    const std::string group = "Virtual Microscope Specimen/";
    CheckProduct(ReadKeyFile(named), group + "NoJpegColumns", group + "NoJpegRows", fileLimit, "files");
  }
}

} // namespace gigapixel
