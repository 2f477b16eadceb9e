/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideThumbnail.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace gigapixel::application
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

/** \class Columns
 * \brief Averages rows of pixels to one row of fewer pixels. */
class Columns
{
public:
  Columns(std::size_t from, std::size_t to)
    : m_Begins(to + 1)
    , m_Sums(3 * from)
  {
    for (std::size_t x = 0; x <= to; ++x)
    {
      m_Begins[x] = x * from / to;
    }
  }

  void
  Average(const unsigned char * pixels, std::size_t rows, unsigned char * averages)
  {
    const std::size_t values = m_Sums.size();
    if (rows == 1 && 3 * (m_Begins.size() - 1) == values)
    {
      std::copy_n(pixels, values, averages);
      return;
    }
    std::copy_n(pixels, values, m_Sums.begin());
    for (std::size_t row = 1; row < rows; ++row)
    {
      std::transform(m_Sums.begin(), m_Sums.end(), pixels + row * values, m_Sums.begin(), std::plus<>());
    }
    for (std::size_t x = 0; x + 1 < m_Begins.size(); ++x)
    {
      const std::size_t columns = std::max<std::size_t>(1, m_Begins[x + 1] - m_Begins[x]);
      const std::size_t count = columns * rows;
      for (std::size_t channel = 0; channel < 3; ++channel)
      {
        std::size_t sum = count / 2;
        for (std::size_t column = m_Begins[x]; column < m_Begins[x] + columns; ++column)
        {
          sum += m_Sums[3 * column + channel];
        }
        averages[3 * x + channel] = static_cast<unsigned char>(sum / count);
      }
    }
  }

private:
  std::vector<std::size_t>   m_Begins;
  std::vector<std::uint32_t> m_Sums;
};

/** \param read gives rows [top, bottom) of the source, without gaps */
template <typename TRead>
Picture
Average(const itk::WholeSlideImageIO::LevelSizeType & source, const std::array<unsigned, 2> & size, const TRead & read)
{
  Picture picture{ size[0], size[1], std::vector<unsigned char>(std::size_t(size[0]) * size[1] * 3) };
  Columns columns(source[0], size[0]);
  for (std::uint64_t y = 0; y < size[1]; ++y)
  {
    const std::uint64_t top = y * source[1] / size[1];
    const std::uint64_t bottom = std::max(top + 1, (y + 1) * source[1] / size[1]);
    columns.Average(read(top, bottom), bottom - top, &picture.pixels[3 * y * size[0]]);
  }
  return picture;
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
DrawThumbnail(const itk::WholeSlideImageIO & slide, const std::array<unsigned, 2> & size, Progress * progress)
{
  const unsigned             level = ChooseLevel(slide, size);
  const auto                 source = slide.GetLevelSize(level);
  std::vector<unsigned char> rows;
  return Average(source, size, [&](std::uint64_t top, std::uint64_t bottom) {
    ThrowIfInterrupted();
    rows.resize(source[0] * (bottom - top) * 3);
    slide.ReadRegion(level, 0, top, source[0], bottom - top, 3, rows.data());
    if (progress)
    {
      progress->Update(static_cast<double>(top) / static_cast<double>(source[1]));
    }
    return rows.data();
  });
}

Picture
Shrink(const Picture & picture, const std::array<unsigned, 2> & size)
{
  return size[0] == picture.width && size[1] == picture.height
           ? picture
           : Average({ { picture.width, picture.height } }, size, [&](std::uint64_t top, std::uint64_t) {
               return &picture.pixels[3 * top * picture.width];
             });
}

} // namespace gigapixel::application
