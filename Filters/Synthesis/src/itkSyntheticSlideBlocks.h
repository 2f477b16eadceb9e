/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkSyntheticSlideBlocks_h
#define itkSyntheticSlideBlocks_h

#include "gigapixelSyntheticScene.h"
#include "itkImageSource.h"
#include "itkMultiThreaderBase.h"

#include <algorithm>
#include <memory>

namespace itk
{

/** The scene of a source's settings; throws, naming the value, where they are out of range. */
inline std::shared_ptr<const gigapixel::SyntheticScene>
MakeSyntheticScene(const ProcessObject * source, const Size<2> & size, double micronsPerPixel, unsigned int seed)
{
  constexpr SizeValueType limit = 1 << 24;
  for (const SizeValueType side : size)
  {
    if (side < 1 || side > limit)
    {
      itkGenericExceptionMacro(<< source->GetNameOfClass() << ": a slide of " << size[0] << " x " << size[1]
                               << " pixels is not possible; each side is 1 to " << limit);
    }
  }
  if (!(micronsPerPixel >= 0.1 && micronsPerPixel <= 8.0))
  {
    itkGenericExceptionMacro(<< source->GetNameOfClass() << ": " << micronsPerPixel
                             << " micrometers per pixel are not possible; the tissue is drawn for 0.1 to 8");
  }
  return std::make_shared<gigapixel::SyntheticScene>(
    static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]), micronsPerPixel, seed);
}

/** Calls \a draw, from all threads, for each block of the scene that the output's buffer touches, clipped to it. Split
 * by blocks rather than by ITK's bands: a block's fields are then computed once. */
template <typename TSource, typename TDraw>
void
DrawInBlocks(TSource * source, const gigapixel::SyntheticScene & scene, const TDraw & draw)
{
  const auto &       buffered = source->GetOutput()->GetBufferedRegion();
  const std::int64_t side = scene.GetBlockSize();
  const std::int64_t begin[2] = { buffered.GetIndex(0), buffered.GetIndex(1) };
  const std::int64_t end[2] = { begin[0] + static_cast<std::int64_t>(buffered.GetSize(0)),
                                begin[1] + static_cast<std::int64_t>(buffered.GetSize(1)) };
  if (begin[0] == end[0] || begin[1] == end[1])
  {
    return;
  }
  const std::int64_t first[2] = { begin[0] / side, begin[1] / side };
  const std::int64_t columns = (end[0] - 1) / side - first[0] + 1;
  const std::int64_t rows = (end[1] - 1) / side - first[1] + 1;
  const auto         drawOne = [&](SizeValueType number) {
    const auto             column = static_cast<std::int64_t>(number) / rows;
    const auto             row = static_cast<std::int64_t>(number) % rows;
    gigapixel::SceneRegion block;
    block.x = std::max(begin[0], (first[0] + column) * side);
    block.y = std::max(begin[1], (first[1] + row) * side);
    block.width = std::min(end[0], (first[0] + column + 1) * side) - block.x;
    block.height = std::min(end[1], (first[1] + row + 1) * side) - block.y;
    draw(block);
  };
  source->GetMultiThreader()->ParallelizeArray(0, static_cast<SizeValueType>(columns * rows), drawOne, source);
}

} // namespace itk

#endif
