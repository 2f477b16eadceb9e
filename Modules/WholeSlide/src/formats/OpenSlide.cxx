/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What is neither TIFF nor DICOM and OpenSlide knows: Hamamatsu VMS and VMU, MIRAX, Sakura, and what it may learn.
#include "SlideFormat.h"

namespace gigapixel
{
namespace
{

bool
Detect(const SlideFile & file)
{
  return !file.GetOpenSlideVendor().empty();
}

} // namespace

extern const SlideFormat openSlideFormat;
const SlideFormat        openSlideFormat{ "openslide",
                                   { ".vms", ".vmu", ".mrxs", ".svslide" },
                                   Detect,
                                   OpenThroughOpenSlide,
                                   nullptr };

} // namespace gigapixel
