/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What is neither TIFF nor DICOM, has no file of its own here, and OpenSlide knows: Sakura, and what it may learn.
#include "SlideFormat.h"

namespace gigapixel
{

extern const SlideFormat openSlideFormat;
const SlideFormat        openSlideFormat{ "openslide", { ".svslide" }, IsOpenSlides, OpenThroughOpenSlide, nullptr };

} // namespace gigapixel
