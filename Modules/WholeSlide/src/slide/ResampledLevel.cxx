/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ResampledLevel.h"

#include "codecs/RunOnThreads.h"

#include "gigapixelInstructionSets.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

namespace gigapixel
{
namespace
{

/** Edges of pixels are rounded to this part of a pixel of the source, unless a pixel covers so many that it would not
 * matter. */
constexpr std::int64_t Parts = 1024;
constexpr double       CoarseFactor = 250;

/** A last row or column is left out where so little of it, or less, lies on the slide. */
constexpr double Least = 0.01;

/** A thread averages so many pixels of the source at a time, or a tile: sums of a row of them fit the first cache. */
constexpr std::uint64_t BlockWidth = 2048;
constexpr std::uint64_t BlockHeight = 1024;

/** Rows are read of about so many bytes at a time. */
constexpr std::size_t ChunkBytes = std::size_t{ 2 } << 20;

std::uint64_t
CountPixels(std::uint64_t length, double factor)
{
  return static_cast<std::uint64_t>(std::max(1.0, std::ceil(static_cast<double>(length) / factor - Least)));
}

/** What a pixel covers of the source along an axis: pixels from `first` to `last`, of which these two partly. */
struct Cover
{
  std::uint64_t first, last;
  std::uint32_t ofFirst, ofLast; // parts; those of the first are all where both are one
};

/** Some pixels in a row, and what they cover. */
struct Axis
{
  std::uint32_t              parts; // of a pixel that is covered as a whole
  std::vector<Cover>         covers;
  std::vector<std::uint64_t> centers;  // the pixels of the source at the centers
  std::vector<double>        inverses; // of the lengths in parts

  Axis(std::uint64_t begin, std::uint64_t count, double factor, std::uint64_t length)
    : parts(factor < CoarseFactor ? Parts : 1)
  {
    const auto         all = static_cast<std::int64_t>(length) * parts;
    const std::int64_t whole = parts;
    const auto         edge = [step = factor * parts, end = static_cast<double>(all)](std::uint64_t pixel) {
      return static_cast<std::int64_t>(std::min(std::nearbyint(static_cast<double>(pixel) * step), end));
    };
    covers.reserve(count);
    centers.reserve(count);
    inverses.reserve(count);
    for (std::uint64_t pixel = begin; pixel < begin + count; ++pixel)
    {
      const std::int64_t from = std::min(edge(pixel), all - 1);
      const std::int64_t to = std::min(std::max(edge(pixel + 1), from + 1), all);
      const std::int64_t first = from / whole;
      const std::int64_t last = (to - 1) / whole;
      covers.push_back({ static_cast<std::uint64_t>(first),
                         static_cast<std::uint64_t>(last),
                         static_cast<std::uint32_t>(std::min(to, (first + 1) * whole) - from),
                         static_cast<std::uint32_t>(to - last * whole) });
      inverses.push_back(1.0 / static_cast<double>(to - from));
      const double center = (static_cast<double>(pixel) + 0.5) * factor;
      centers.push_back(static_cast<std::uint64_t>(std::min(center, static_cast<double>(length - 1))));
    }
  }

  std::uint64_t
  GetFirst() const
  {
    return covers.front().first;
  }
  std::uint64_t
  GetCount() const
  {
    return covers.back().last + 1 - covers.front().first;
  }
  std::uint64_t
  GetLength(std::size_t pixel) const
  {
    const Cover & cover = covers[pixel];
    return cover.first == cover.last
             ? cover.ofFirst
             : std::uint64_t{ cover.ofFirst } + cover.ofLast + (cover.last - cover.first - 1) * parts;
  }
};

/** Sums of samples along y. A column of bytes is less than 2^32: 255 x 1024 x 251, or 255 times the rows of a slide. */
template <typename TSample>
using ColumnOf = std::conditional_t<std::is_floating_point_v<TSample>,
                                    double,
                                    std::conditional_t<sizeof(TSample) == 1, std::uint32_t, std::uint64_t>>;

template <typename TSample, typename TColumn>
GIGAPIXEL_ALWAYS_INLINE void
AddRow(const TSample * row, std::size_t count, std::uint32_t weight, TColumn * columns)
{
  using Product = std::conditional_t<std::is_floating_point_v<TSample>, double, std::uint32_t>;
  const auto factor = static_cast<Product>(weight);
  for (std::size_t i = 0; i < count; ++i)
  {
    columns[i] += factor * static_cast<Product>(row[i]);
  }
}

GIGAPIXEL_INSTRUCTION_SETS void
Add(const std::uint8_t * __restrict row, std::size_t count, std::uint32_t weight, std::uint32_t * __restrict columns)
{
  AddRow(row, count, weight, columns);
}

GIGAPIXEL_INSTRUCTION_SETS void
Add(const std::uint16_t * __restrict row, std::size_t count, std::uint32_t weight, std::uint64_t * __restrict columns)
{
  AddRow(row, count, weight, columns);
}

/** Other instruction sets are left out, since they would round otherwise (fused multiply-add). */
void
Add(const float * row, std::size_t count, std::uint32_t weight, double * columns)
{
  AddRow(row, count, weight, columns);
}

/** The rounded quotient. Processors divide numbers of 64 bit slowly. \param inverse of the area, but for its last bits
 */
template <typename TSample, typename TSum>
TSample
Divide(TSum sum, std::uint64_t area, double inverse)
{
  if constexpr (std::is_floating_point_v<TSample>)
  {
    return static_cast<TSample>(sum / static_cast<double>(area));
  }
  else
  {
    const auto numerator = static_cast<std::int64_t>(2 * sum + area);
    const auto denominator = static_cast<std::int64_t>(2 * area);
    const auto near = static_cast<std::int64_t>(static_cast<double>(sum) * inverse + 0.5);
    const auto rest = numerator - near * denominator;
    return static_cast<TSample>(near + (rest >= denominator) - (rest < 0));
  }
}

/** A row of pixels of the sums of columns. \param channels as VChannels, unless that is 0 */
template <std::size_t VChannels, typename TSample>
void
DivideRow(const ColumnOf<TSample> * columns,
          const Axis &              axis,
          std::uint64_t             height,
          std::size_t               channels,
          TSample *                 to)
{
  using Sum = std::conditional_t<std::is_floating_point_v<TSample>, double, std::uint64_t>;
  const std::size_t step = VChannels == 0 ? channels : VChannels;
  const double      inverseOfHeight = 1.0 / static_cast<double>(height);
  for (std::size_t pixel = 0; pixel < axis.covers.size(); ++pixel, to += step)
  {
    const Cover &       cover = axis.covers[pixel];
    const auto * const  first = columns + (cover.first - axis.GetFirst()) * step;
    const auto * const  last = columns + (cover.last - axis.GetFirst()) * step;
    const std::uint64_t area = axis.GetLength(pixel) * height;
    const double        inverse = axis.inverses[pixel] * inverseOfHeight;
    for (std::size_t channel = 0; channel < step; ++channel)
    {
      Sum between = 0;
      for (const auto * at = first + step; at < last; at += step)
      {
        between += at[channel];
      }
      Sum sum = static_cast<Sum>(first[channel]) * cover.ofFirst + between * axis.parts;
      sum += cover.last > cover.first ? static_cast<Sum>(last[channel]) * cover.ofLast : Sum{ 0 };
      to[channel] = Divide<TSample>(sum, area, inverse);
    }
  }
}

/** The sides of a piece of the source: tiles are decoded as a whole, so that no thread should stop inside of them. */
std::array<std::uint64_t, 2>
GetPieceOf(const SlidePlane & source)
{
  return { { std::max<std::uint64_t>(BlockWidth, source.tileWidth),
             std::max<std::uint64_t>(BlockHeight, source.tileHeight) } };
}

} // namespace

/** A piece of the result, and the rows of the source that it covers, one after the other. */
struct ResampledLevel::Block
{
  Block(const ResampledLevel & level, const Rectangle & piece, const Rendering & rendering)
    : x(piece.x, piece.width, level.m_Factors[0], level.GetSourcePlane().width)
    , y(piece.y, piece.height, level.m_Factors[1], level.GetSourcePlane().height)
    , m_Level(level)
    , m_Rendering(rendering)
    , m_RowBytes(x.GetCount() * rendering.channels * level.m_Plane.GetSampleBytes())
    , m_End(y.GetFirst())
  {
    m_Rows.resize(m_RowBytes *
                  std::min<std::uint64_t>(y.GetCount(), std::max<std::size_t>(1, ChunkBytes / m_RowBytes)));
  }

  /** \param row of the source; none before the last one that was asked for */
  const unsigned char *
  GetRow(std::uint64_t row)
  {
    if (row >= m_End)
    {
      const SlidePlane &  source = m_Level.GetSourcePlane();
      const std::uint64_t last = y.GetFirst() + y.GetCount();
      m_Begin = row;
      m_End = std::min(last, row + m_Rows.size() / m_RowBytes);
      // Where rows of tiles end, if any does: then no tile is decoded for a part of its rows.
      const std::uint64_t ofTiles = m_End / source.tileHeight * source.tileHeight;
      m_End = m_End < last && ofTiles > row ? ofTiles : m_End;
      m_Level.m_Slide->ReadRegion(
        m_Level.m_Source, { x.GetFirst(), m_Begin, x.GetCount(), m_End - m_Begin }, m_Rendering, m_Rows.data(), 1);
    }
    return m_Rows.data() + (row - m_Begin) * m_RowBytes;
  }

  Axis x;
  Axis y;

private:
  const ResampledLevel &     m_Level;
  const Rendering &          m_Rendering;
  std::size_t                m_RowBytes;
  std::vector<unsigned char> m_Rows;
  std::uint64_t              m_Begin{ 0 };
  std::uint64_t              m_End;
};

ResampledLevel::ResampledLevel(std::shared_ptr<const Slide>  slide,
                               unsigned                      source,
                               const std::array<double, 2> & factors,
                               double                        downsample,
                               bool                          picks)
  : m_Slide(std::move(slide))
  , m_Source(source)
  , m_Factors(factors)
  , m_Plane(m_Slide->GetPlanes().at(source))
{
  const SlidePlane & of = this->GetSourcePlane();
  const auto         scale = [](std::uint32_t side, double factor) {
    return static_cast<std::uint32_t>(std::max(1.0, std::ceil(side / factor)));
  };
  m_Plane.downsample = downsample;
  m_Plane.holdsLabels = of.holdsLabels || picks;
  m_Plane.width = CountPixels(of.width, factors[0]);
  m_Plane.height = CountPixels(of.height, factors[1]);
  m_Plane.tileWidth = scale(of.tileWidth, factors[0]);
  m_Plane.tileHeight = scale(of.tileHeight, factors[1]);
}

const SlidePlane &
ResampledLevel::GetSourcePlane() const
{
  return m_Slide->GetPlanes()[m_Source];
}

template <typename TSample>
void
ResampledLevel::Average(Block & block, unsigned channels, unsigned char * out, std::size_t stride) const
{
  using Column = ColumnOf<TSample>;
  std::vector<Column> columns(block.x.GetCount() * channels);
  for (std::size_t pixel = 0; pixel < block.y.covers.size(); ++pixel)
  {
    const Cover & cover = block.y.covers[pixel];
    std::fill(columns.begin(), columns.end(), Column{ 0 });
    for (std::uint64_t row = cover.first; row <= cover.last; ++row)
    {
      const std::uint32_t weight = row == cover.first  ? cover.ofFirst
                                   : row == cover.last ? cover.ofLast
                                                       : block.y.parts;
      Add(reinterpret_cast<const TSample *>(block.GetRow(row)), columns.size(), weight, columns.data());
    }
    auto * const        to = reinterpret_cast<TSample *>(out + pixel * stride);
    const std::uint64_t height = block.y.GetLength(pixel);
    channels == 1   ? DivideRow<1>(columns.data(), block.x, height, channels, to)
    : channels == 3 ? DivideRow<3>(columns.data(), block.x, height, channels, to)
                    : DivideRow<0>(columns.data(), block.x, height, channels, to);
  }
}

void
ResampledLevel::Pick(Block & block, std::size_t pixelBytes, unsigned char * out, std::size_t stride) const
{
  for (std::size_t pixel = 0; pixel < block.y.centers.size(); ++pixel)
  {
    const unsigned char * const row = block.GetRow(block.y.centers[pixel]);
    unsigned char *             to = out + pixel * stride;
    for (const std::uint64_t center : block.x.centers)
    {
      std::memcpy(to, row + (center - block.x.GetFirst()) * pixelBytes, pixelBytes);
      to += pixelBytes;
    }
  }
}

void
ResampledLevel::ReadBlock(const Rectangle & piece,
                          const Rendering & rendering,
                          unsigned char *   out,
                          std::size_t       stride) const
{
  Block          block(*this, piece, rendering);
  const unsigned channels = rendering.channels;
  const bool     isAveraged = m_Plane.sample == SampleType::UInt8 || m_Plane.sample == SampleType::UInt16 ||
                          m_Plane.sample == SampleType::Float32;
  if (m_Plane.holdsLabels || !isAveraged)
  {
    this->Pick(block, std::size_t{ channels } * m_Plane.GetSampleBytes(), out, stride);
    return;
  }
  m_Plane.sample == SampleType::UInt8    ? this->Average<std::uint8_t>(block, channels, out, stride)
  : m_Plane.sample == SampleType::UInt16 ? this->Average<std::uint16_t>(block, channels, out, stride)
                                         : this->Average<float>(block, channels, out, stride);
}

void
ResampledLevel::CheckRectangle(const Rectangle & rectangle) const
{
  if (rectangle.width > m_Plane.width || rectangle.x > m_Plane.width - rectangle.width ||
      rectangle.height > m_Plane.height || rectangle.y > m_Plane.height - rectangle.height)
  {
    std::ostringstream what;
    what << "the region " << rectangle.x << ',' << rectangle.y << ',' << rectangle.width << ',' << rectangle.height
         << " is not inside the resampled slide of " << m_Plane.width << " x " << m_Plane.height << " pixels";
    throw SlideError("E-REGION", m_Slide->GetPath(), what.str(), "ask for a region inside it");
  }
}

void
ResampledLevel::ReadRegion(const Rectangle & rectangle,
                           const Rendering & rendering,
                           unsigned char *   out,
                           unsigned          threads) const
{
  this->CheckRectangle(rectangle);
  if (rectangle.width == 0 || rectangle.height == 0)
  {
    return;
  }
  const auto    piece = GetPieceOf(this->GetSourcePlane());
  std::uint64_t sides[2];
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    sides[axis] =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(piece[axis]) / m_Factors[axis]));
  }
  const std::uint64_t across = (rectangle.width + sides[0] - 1) / sides[0];
  const std::uint64_t blocks = across * ((rectangle.height + sides[1] - 1) / sides[1]);
  const std::size_t   pixelBytes = std::size_t{ rendering.channels } * m_Plane.GetSampleBytes();
  const std::size_t   stride = rectangle.width * pixelBytes;
  // Where several pieces fail, the first one is told, whatever the threads do.
  std::atomic<std::uint64_t> next{ 0 };
  std::atomic<std::uint64_t> failed{ blocks };
  std::exception_ptr         failure;
  std::mutex                 failing;
  RunOnThreads(static_cast<unsigned>(std::min<std::uint64_t>(std::max(threads, 1u), blocks)), [&](unsigned) {
    for (std::uint64_t i = next++; i < blocks && i < failed; i = next++)
    {
      const std::uint64_t x = i % across * sides[0];
      const std::uint64_t y = i / across * sides[1];
      const Rectangle     block{ rectangle.x + x,
                             rectangle.y + y,
                             std::min(sides[0], rectangle.width - x),
                             std::min(sides[1], rectangle.height - y) };
      try
      {
        this->ReadBlock(block, rendering, out + y * stride + x * pixelBytes, stride);
      }
      catch (...)
      {
        const std::lock_guard<std::mutex> lock(failing);
        if (i < failed)
        {
          failed = i;
          failure = std::current_exception();
        }
      }
    }
  });
  if (failure)
  {
    std::rethrow_exception(failure);
  }
}

Rectangle
ResampledLevel::GetCovered(const Rectangle & rectangle) const
{
  const Axis x(rectangle.x, rectangle.width, m_Factors[0], this->GetSourcePlane().width);
  const Axis y(rectangle.y, rectangle.height, m_Factors[1], this->GetSourcePlane().height);
  return { x.GetFirst(), y.GetFirst(), x.GetCount(), y.GetCount() };
}

void
ResampledLevel::ReadAhead(const Rectangle & rectangle) const
{
  this->CheckRectangle(rectangle);
  if (rectangle.width > 0 && rectangle.height > 0)
  {
    m_Slide->ReadAhead(m_Source, this->GetCovered(rectangle));
  }
}

bool
ResampledLevel::ReadScanned(const Rectangle & rectangle, unsigned char * scanned) const
{
  this->CheckRectangle(rectangle);
  if (rectangle.width == 0 || rectangle.height == 0)
  {
    return true;
  }
  const Axis                 x(rectangle.x, rectangle.width, m_Factors[0], this->GetSourcePlane().width);
  const Axis                 y(rectangle.y, rectangle.height, m_Factors[1], this->GetSourcePlane().height);
  std::vector<unsigned char> row(x.GetCount());
  bool                       everywhere = true;
  for (const std::uint64_t center : y.centers)
  {
    m_Slide->ReadScanned(m_Source, { x.GetFirst(), center, x.GetCount(), 1 }, row.data());
    for (const std::uint64_t column : x.centers)
    {
      *scanned = row[column - x.GetFirst()];
      everywhere = everywhere && *scanned == 255;
      ++scanned;
    }
  }
  return everywhere;
}

std::size_t
ResampledLevel::GetReadingBytes() const
{
  const std::size_t width =
    std::max<std::uint64_t>(GetPieceOf(this->GetSourcePlane())[0], static_cast<std::uint64_t>(std::ceil(m_Factors[0])));
  const std::size_t samples = width * m_Plane.channels;
  return m_Slide->GetDecodingBytes(m_Source) + std::max(ChunkBytes, samples * m_Plane.GetSampleBytes()) +
         samples * sizeof(std::uint64_t);
}

} // namespace gigapixel
