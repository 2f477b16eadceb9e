/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkTissuePixel_h
#define itkTissuePixel_h

#include "itkRGBPixel.h"

namespace itk
{

/** The pixels that tissue filters read: interleaved bytes, 1 (gray) or 3 (RGB) a pixel. Any other type does not
 * compile: premultiplied RGBA, for one, is composited by the reader, which knows what lies under it. */
template <typename TPixel>
struct TissuePixel;

/** Gray pixels. */
template <>
struct TissuePixel<unsigned char>
{
  static constexpr unsigned int Channels = 1; ///< one byte a pixel
};

/** RGB pixels. */
template <>
struct TissuePixel<RGBPixel<unsigned char>>
{
  static constexpr unsigned int Channels = 3; ///< three bytes a pixel
};

} // namespace itk

#endif
