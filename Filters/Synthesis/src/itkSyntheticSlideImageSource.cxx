/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkSyntheticSlideImageSource.h"
#include "gigapixelSyntheticScene.h"

namespace itk
{
void
SyntheticSlideImageSource::DrawBlock(const gigapixel::SyntheticScene & scene,
                                     const gigapixel::SceneRegion &    region,
                                     RGBPixel<unsigned char> *         pixels,
                                     std::int64_t                      rowLength) const
{
  scene.DrawBlock(region, pixels->GetDataPointer(), 3 * rowLength);
}

} // namespace itk
