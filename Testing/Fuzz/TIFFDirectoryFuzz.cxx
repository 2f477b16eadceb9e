/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Page tables of TIFFs: their entries' values, the pieces' positions, and which page is what.
#include "FuzzTarget.h"
#include "codecs/StatedSizes.h"
#include "tiff/TIFFDirectory.h"
#include "tiff/TIFFLayout.h"

using namespace gigapixel;

namespace
{

void
ReadPages(const std::string & path)
{
  const TIFFFile file(path);
  std::uint64_t  next = file.GetFirstPage();
  for (int pages = 0; next != 0 && pages < 16; ++pages)
  {
    const TIFFPage page(file, next, next);
    page.GetText(TIFFTag::ImageDescription);
    page.GetBytes(TIFFTag::ICCProfile);
    page.GetNumber(TIFFTag::XResolution, 0);
    page.ReadPieces();
  }
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const std::uint8_t * data, std::size_t size)
{
  static const gigapixel_fuzz::InputFile input("slide.tif");
  const std::string &                    path = input.Write(data, size);
  TIFFFile::IsTIFF(path);
  gigapixel_fuzz::MayRefuse("", [&] { ReadPages(path); });
  gigapixel_fuzz::MayRefuse("", [&] {
    TIFFLayout layout(path);
    layout.SetImages(layout.FindImages());
    layout.GetSizes();
  });
  gigapixel_fuzz::MayRefuse("", [&] { CheckStatedSizes(path); });
  return 0;
}
