/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkSyntheticSlideTruthImageSource.h"
#include "gigapixelSyntheticScene.h"

#include <algorithm>

namespace itk
{
void
SyntheticSlideTruthImageSource::DrawBlock(const gigapixel::SyntheticScene & scene,
                                          const gigapixel::SceneRegion &    region,
                                          unsigned char *                   pixels,
                                          std::int64_t                      rowLength) const
{
  using Matter = gigapixel::SyntheticScene::Matter;
  std::vector<Matter> matter(static_cast<std::size_t>(region.width * region.height));
  scene.ClassifyBlock(region, matter.data(), region.width);
  for (std::int64_t y = 0; y < region.height; ++y)
  {
    const Matter * row = matter.data() + y * region.width;
    std::transform(
      row, row + region.width, pixels + y * rowLength, [](Matter at) { return at == Matter::Tissue ? 255 : 0; });
  }
}

} // namespace itk
