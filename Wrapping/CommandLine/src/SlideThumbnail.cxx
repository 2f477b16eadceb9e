/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideThumbnail.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gigapixel::commandline
{
namespace
{
/** The coarsest level that has at least the picture's pixels. */
unsigned
ChooseLevel(const itk::WholeSlideImageIO & slide, const std::array<unsigned, 2> & picture)
{
  for (unsigned level = slide.GetNumberOfLevels(); level-- > 0;)
  {
    const auto size = slide.GetLevelSize(level);
    if (size[0] >= picture[0] && size[1] >= picture[1])
    {
      return level;
    }
  }
  return 0;
}
} // namespace

std::array<unsigned, 2>
FitSize(const itk::WholeSlideImageIO::LevelSizeType & slide, std::int64_t longerSide)
{
  const auto   longest = static_cast<double>(std::max(slide[0], slide[1]));
  const double scale = std::min(1.0, static_cast<double>(longerSide) / longest);
  return { std::max(1u, static_cast<unsigned>(std::lround(scale * static_cast<double>(slide[0])))),
           std::max(1u, static_cast<unsigned>(std::lround(scale * static_cast<double>(slide[1])))) };
}

Picture
DrawThumbnail(const itk::WholeSlideImageIO & slide, const std::array<unsigned, 2> & size, Progress & progress)
{
  const unsigned level = ChooseLevel(slide, size);
  const auto     source = slide.GetLevelSize(level);
  Picture        picture{ size[0], size[1], std::vector<unsigned char>(std::size_t(size[0]) * size[1] * 3) };
  std::vector<unsigned char> rows;
  for (std::uint64_t y = 0; y < size[1]; ++y)
  {
    ThrowIfInterrupted();
    const std::uint64_t top = y * source[1] / size[1];
    const std::uint64_t bottom = std::max(top + 1, (y + 1) * source[1] / size[1]);
    rows.resize(source[0] * (bottom - top) * 3);
    slide.ReadRegion(level, 0, top, source[0], bottom - top, 3, rows.data());
    for (std::uint64_t x = 0; x < size[0]; ++x)
    {
      const std::uint64_t left = x * source[0] / size[0];
      const std::uint64_t right = std::max(left + 1, (x + 1) * source[0] / size[0]);
      for (unsigned channel = 0; channel < 3; ++channel)
      {
        std::uint64_t sum = 0;
        for (std::uint64_t row = 0; row < bottom - top; ++row)
        {
          for (std::uint64_t column = left; column < right; ++column)
          {
            sum += rows[(row * source[0] + column) * 3 + channel];
          }
        }
        const std::uint64_t count = (bottom - top) * (right - left);
        picture.pixels[(y * size[0] + x) * 3 + channel] = static_cast<unsigned char>((sum + count / 2) / count);
      }
    }
    progress.Update(static_cast<double>(y) / size[1]);
  }
  return picture;
}

} // namespace gigapixel::commandline
