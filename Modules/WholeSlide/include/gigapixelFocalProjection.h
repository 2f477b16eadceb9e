/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFocalProjection_h
#define gigapixelFocalProjection_h

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace gigapixel
{

/** How focal planes become one image. */
enum class ProjectionMethod
{
  Maximum, ///< of each channel, pixel by pixel
  Focus    ///< each pixel of the plane that is sharpest around it
};

/** \class FocalProjection
 * \brief Focal planes to one image, one plane at a time: the memory does not grow with their number.
 *
 * Focus is the sum-modified-Laplacian (Nayar and Nakagawa, Shape from Focus, IEEE PAMI 16, 1994): with g the sum of the
 * channels of a pixel,
 *
 *   M(x, y) = |2 g(x, y) - g(x - 1, y) - g(x + 1, y)| + |2 g(x, y) - g(x, y - 1) - g(x, y + 1)|
 *
 * and the sum of M over the 9 x 9 pixels around (x, y). The plane with the greatest sum gives the pixel, the first one
 * of equals. Pixels beyond the given ones repeat the last row and column. Sums are taken in one order, so that a part
 * of an image has the same pixels as the whole if Margin pixels around it are given, as far as the image has them. */
template <typename TSample>
class FocalProjection
{
public:
  static constexpr std::size_t Radius = 4;          ///< 9 x 9 pixels, about as large as a nucleus' texture at 40x
  static constexpr std::size_t Margin = Radius + 1; ///< pixels, with the neighbors of the outermost of them

  /** Pixels that are given, and which of them are wanted. */
  struct Area
  {
    std::size_t width;        ///< of the given pixels
    std::size_t height;       ///< of the given pixels
    std::size_t left{ 0 };    ///< of the first wanted column among the given ones
    std::size_t top{ 0 };     ///< of the first wanted row among the given ones
    std::size_t columns{ 0 }; ///< that are wanted
    std::size_t rows{ 0 };    ///< that are wanted
  };

  /** Begins without planes. \param channels samples of a pixel */
  FocalProjection(ProjectionMethod method, const Area & area, std::size_t channels)
    : m_Method(method)
    , m_Area(area)
    , m_Channels(channels)
  {}

  /** The next plane: rows of given pixels without gaps, channels interleaved. */
  void
  Add(const TSample * plane)
  {
    const bool isFirst = m_Pixels.empty();
    m_Pixels.resize(m_Area.columns * m_Area.rows * m_Channels);
    if (m_Method == ProjectionMethod::Focus)
    {
      Measure(plane);
    }
    for (std::size_t y = 0; y < m_Area.rows; ++y)
    {
      const TSample * from = plane + ((m_Area.top + y) * m_Area.width + m_Area.left) * m_Channels;
      TSample *       to = m_Pixels.data() + y * m_Area.columns * m_Channels;
      for (std::size_t x = 0; x < m_Area.columns; ++x, from += m_Channels, to += m_Channels)
      {
        const std::size_t pixel = y * m_Area.columns + x;
        for (std::size_t c = 0; c < m_Channels; ++c)
        {
          const bool isTaken =
            isFirst || (m_Method == ProjectionMethod::Focus ? m_Energy[pixel] > m_Most[pixel] : from[c] > to[c]);
          to[c] = isTaken ? from[c] : to[c];
        }
      }
    }
    if (m_Method == ProjectionMethod::Focus)
    {
      m_Most.resize(m_Energy.size());
      for (std::size_t pixel = 0; pixel < m_Energy.size(); ++pixel)
      {
        m_Most[pixel] = isFirst ? m_Energy[pixel] : std::max(m_Most[pixel], m_Energy[pixel]);
      }
    }
  }

  /** The wanted pixels, rows without gaps; empty where no plane was added. */
  const std::vector<TSample> &
  GetPixels() const
  {
    return m_Pixels;
  }

private:
  using Number = std::conditional_t<std::is_floating_point_v<TSample>, double, std::int64_t>;

  /** Sharpness of the wanted pixels. */
  void
  Measure(const TSample * plane)
  {
    const std::size_t width = m_Area.width, height = m_Area.height;
    m_Gray.assign(width * height, 0);
    for (std::size_t i = 0; i < width * height * m_Channels; ++i)
    {
      m_Gray[i / m_Channels] += static_cast<Number>(plane[i]);
    }
    // Sums along x of all given rows, then along y of the wanted pixels.
    m_RowSums.assign(m_Area.columns * height, 0);
    std::vector<Number> changes(width);
    for (std::size_t y = 0; y < height; ++y)
    {
      const Number * const row = m_Gray.data() + y * width;
      const Number * const above = row - (y > 0 ? width : 0);
      const Number * const below = row + (y + 1 < height ? width : 0);
      for (std::size_t x = 0; x < width; ++x)
      {
        changes[x] = Distance(2 * row[x], row[x > 0 ? x - 1 : 0] + row[std::min(x + 1, width - 1)]) +
                     Distance(2 * row[x], above[x] + below[x]);
      }
      for (std::size_t x = 0; x < m_Area.columns; ++x)
      {
        m_RowSums[y * m_Area.columns + x] =
          Sum(m_Area.left + x, width, [&changes](std::size_t at) { return changes[at]; });
      }
    }
    m_Energy.resize(m_Area.columns * m_Area.rows);
    for (std::size_t pixel = 0; pixel < m_Energy.size(); ++pixel)
    {
      m_Energy[pixel] = Sum(m_Area.top + pixel / m_Area.columns, height, [&](std::size_t at) {
        return m_RowSums[at * m_Area.columns + pixel % m_Area.columns];
      });
    }
  }

  static Number
  Distance(Number one, Number other)
  {
    return one > other ? one - other : other - one;
  }

  /** Over the window around a place, whose places outside are those at the edge. */
  template <typename TGet>
  static Number
  Sum(std::size_t place, std::size_t size, const TGet & get)
  {
    Number sum = 0;
    for (std::size_t at = place; at <= place + 2 * Radius; ++at)
    {
      sum += get(std::min(std::max(at, Radius) - Radius, size - 1));
    }
    return sum;
  }

  ProjectionMethod     m_Method;
  Area                 m_Area;
  std::size_t          m_Channels;
  std::vector<TSample> m_Pixels;
  std::vector<Number>  m_Gray;
  std::vector<Number>  m_RowSums;
  std::vector<Number>  m_Energy; // of the last plane
  std::vector<Number>  m_Most;   // of all planes
};

} // namespace gigapixel

#endif
