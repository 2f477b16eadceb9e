/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkTissueSample_h
#define itkTissueSample_h

#include "gigapixelTissuePresets.h"
#include "itkStreamedInput.h"
#include "itkTissuePixel.h"

#include <algorithm>

namespace itk
{

/** Small patches all over an image, which its pipeline makes. */
template <typename TImage>
gigapixel::TissueSample
SampleTissue(TImage * image)
{
  using PixelType = typename TImage::PixelType;
  const auto whole = image->GetLargestPossibleRegion();
  const auto read = [&](std::size_t x, std::size_t y, std::size_t width, std::size_t height, unsigned char * out) {
    const ImageRegion<2> patch(
      { { whole.GetIndex(0) + static_cast<IndexValueType>(x), whole.GetIndex(1) + static_cast<IndexValueType>(y) } },
      { { width, height } });
    UpdateRegion(image, patch);
    auto row = patch.GetIndex();
    for (std::size_t i = 0; i < height; ++i, ++row[1], out += width * sizeof(PixelType))
    {
      const auto * pixels =
        reinterpret_cast<const unsigned char *>(image->GetBufferPointer() + image->ComputeOffset(row));
      std::copy_n(pixels, width * sizeof(PixelType), out);
    }
  };
  return gigapixel::SampleTissue(whole.GetSize(0), whole.GetSize(1), TissuePixel<PixelType>::Channels, read);
}

} // namespace itk

#endif
