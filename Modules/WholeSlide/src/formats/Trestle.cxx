/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Trestle's TIFF, whose tiles overlap: read through OpenSlide.
#include "SlideFormat.h"

namespace gigapixel
{
namespace
{

bool
Detect(const SlideFile & file)
{
  const TIFFPage * const page = file.GetFirstPage();
  return page != nullptr && page->GetText(TIFFTag::Software).rfind("MedScan", 0) == 0 && file.IsConfirmed("trestle");
}

} // namespace

extern const SlideFormat trestleFormat;
const SlideFormat        trestleFormat{ "trestle", {}, Detect, OpenThroughOpenSlide, nullptr };

} // namespace gigapixel
