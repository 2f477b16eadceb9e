/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkSyntheticSlideTruthImageSource.h"
#include "gigapixelSyntheticScene.h"

namespace itk
{
void
SyntheticSlideTruthImageSource::DrawBlock(const gigapixel::SyntheticScene & scene,
                                          const gigapixel::SceneRegion &    region,
                                          unsigned char *                   pixels,
                                          std::int64_t                      rowLength) const
{
  scene.MarkTissue(region, pixels, rowLength);
}

} // namespace itk
