/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideThumbnail_h
#define SlideThumbnail_h

#include "PictureFile.h"
#include "gigapixelSession.h"

#include "itkWholeSlideImageIO.h"

#include <array>

namespace gigapixel::application
{

/** Size of a picture of the slide whose longer side is this, or the slide's own size where that is less. */
GigapixelApplication_EXPORT std::array<unsigned, 2> FitSize(const itk::WholeSlideImageIO::LevelSizeType & slide,
                                                            std::int64_t                                  longerSide);

/** Mean of the pixels of a level below each pixel of the picture, whose rows are read one at a time.
 * \param progress null: nobody is told */
GigapixelApplication_EXPORT Picture DrawThumbnail(const itk::WholeSlideImageIO &  slide,
                                                  const std::array<unsigned, 2> & size,
                                                  Progress *                      progress = nullptr);

/** As well, of the pixels of a larger picture. */
GigapixelApplication_EXPORT Picture Shrink(const Picture & picture, const std::array<unsigned, 2> & size);

} // namespace gigapixel::application

#endif
