/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What is neither TIFF nor DICOM and OpenSlide knows: Hamamatsu VMS and VMU, MIRAX, Sakura, and what it may learn.
#include "OpenSlideSlide.h"
#include "SlideFormat.h"

namespace gigapixel
{
namespace
{

/** A file that ends OpenSlide as it looks what it is, is refused with that when it is opened. */
bool
Detect(const SlideFile & file)
{
  const std::optional<std::string> & vendor = file.GetOpenSlideVendor();
  return vendor ? !vendor->empty() : !GetOpenSlideVersion().empty();
}

} // namespace

extern const SlideFormat openSlideFormat;
const SlideFormat        openSlideFormat{ "openslide",
                                   { ".vms", ".vmu", ".mrxs", ".svslide" },
                                   Detect,
                                   OpenThroughOpenSlide,
                                   nullptr };

} // namespace gigapixel
