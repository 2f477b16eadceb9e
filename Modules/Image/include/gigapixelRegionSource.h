/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRegionSource_h
#define gigapixelRegionSource_h

#include "GigapixelImageExport.h"
#include "gigapixelSource.h"

#include <memory>

namespace gigapixel
{

/** A region of an image, or of a volume, as one of its own.
 * \throw std::runtime_error when the region is empty or not inside the image. */
GigapixelImage_EXPORT std::shared_ptr<PixelSource> MakeRegionSource(std::shared_ptr<PixelSource> image,
                                                                    const Region &               region);

/** The same of labels. */
GigapixelImage_EXPORT std::shared_ptr<LabelSource> MakeRegionSource(std::shared_ptr<LabelSource> labels,
                                                                    const Region &               region);

} // namespace gigapixel

#endif
