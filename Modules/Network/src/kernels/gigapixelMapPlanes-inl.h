/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Maps of float laid out for a strided convolution: what gigapixelPixelPlanes-inl.h is for bytes.
#if defined(gigapixelMapPlanes_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef gigapixelMapPlanes_inl_h
#    undef gigapixelMapPlanes_inl_h
#  else
#    define gigapixelMapPlanes_inl_h
#  endif

#  include "gigapixelConvolution.h"
#  include "gigapixelLanes-inl.h"
#  include "gigapixelMapConvolution.h"

#  include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** Rows of a map under a strip of output columns: plane (p, c) of a row holds channel c of the columns p, p + stride,
 * p + 2 stride, ..., so that a kernel column is one load for neighbouring output columns. Rows are kept in a ring and
 * counted from the first padding row on; what lies outside the map is zero. */
class MapPlanes
{
public:
  static constexpr int MaximumColumns = 128;

  using Source = InputMap;

  /** What stands for 1. */
  static constexpr float Unit = 1.0f;

  /** \param outputRows that are looked at together */
  MapPlanes(const InputMap & map, const Convolution & convolution, int outputRows)
    : m_Map(map)
    , m_Kernel(convolution.kernel)
    , m_Stride(convolution.stride)
    , m_Padding(convolution.padding)
    , m_Pitch(GetPitch(convolution))
    , m_RowSize(m_Stride * map.channels * m_Pitch)
    , m_RingRows((outputRows - 1) * m_Stride + m_Kernel)
    , m_Values(Allocate<float>(static_cast<std::size_t>(m_RingRows) * m_RowSize))
    , m_Row(Allocate<float>(static_cast<std::size_t>(m_Stride) * m_Pitch))
  {}

  static std::size_t
  GetBytesOfRow(const InputMap & map, const Convolution & convolution)
  {
    return sizeof(float) * convolution.stride * map.channels * GetPitch(convolution);
  }

  /** Starts a strip. */
  void
  SetColumns(std::int64_t first, int columns)
  {
    m_FirstColumn = first;
    m_Columns = RoundUp(RoundUp(columns) + (m_Kernel - 1) / m_Stride);
    m_NextRow = 0;
  }

  /** Lays out the rows that output rows [first, end) see, as far as that is not done. */
  void
  LoadFor(std::int64_t first, std::int64_t end)
  {
    m_NextRow = std::max(m_NextRow, first * m_Stride);
    for (const std::int64_t last = (end - 1) * m_Stride + m_Kernel; m_NextRow < last; ++m_NextRow)
    {
      if (m_NextRow % m_Stride < m_Kernel)
      {
        LoadRow(m_NextRow);
      }
    }
  }

  /** The planes of a row. */
  const float *
  GetRow(std::int64_t row) const
  {
    return m_Values.get() + (row % m_RingRows) * m_RowSize;
  }

  /** Where column kx of the kernel finds channel c for output column 0, from GetRow() on. */
  int
  GetOffset(int kx, int channel) const
  {
    return ((kx % m_Stride) * m_Map.channels + channel) * m_Pitch + kx / m_Stride;
  }

private:
  static int
  RoundUp(int value)
  {
    return (value + Lanes - 1) / Lanes * Lanes;
  }

  /** A vector may begin at the last column of the kernel's overhang. */
  static int
  GetPitch(const Convolution & convolution)
  {
    return RoundUp(MaximumColumns + (convolution.kernel - 1) / convolution.stride) + Lanes;
  }

  void
  LoadRow(std::int64_t row)
  {
    float *            target = m_Values.get() + (row % m_RingRows) * m_RowSize;
    const std::int64_t y = row - m_Padding;
    if (y < 0 || y >= m_Map.view.height)
    {
      std::fill_n(target, m_RowSize, 0.0f);
      return;
    }
    for (int c = 0; c < m_Map.channels; ++c)
    {
      Split(GetValues(y, c), target + c * m_Pitch);
    }
  }

  /** A row of a channel under the strip, zeros outside the map. */
  const float *
  GetValues(std::int64_t y, int channel)
  {
    const MapView<const float> & view = m_Map.view;
    const std::int64_t           x = m_FirstColumn * m_Stride - m_Padding;
    const std::int64_t           end = x + static_cast<std::int64_t>(m_Columns) * m_Stride;
    const float *                row = view.values + channel * view.channelStride + y * view.rowStride;
    if (x >= 0 && end <= view.width && view.columnStride == 1)
    {
      return row + x;
    }
    const std::int64_t from = std::clamp<std::int64_t>(x, 0, view.width);
    const std::int64_t to = std::clamp<std::int64_t>(end, from, view.width);
    float *            target = m_Row.get();
    std::fill(target, target + std::min(from, end) - x, 0.0f);
    for (std::int64_t i = from; i < to; ++i)
    {
      target[i - x] = row[i * view.columnStride];
    }
    std::fill(target + std::max(to, x) - x, target + (end - x), 0.0f);
    return target;
  }

  void
  Split(const float * source, float * target) const
  {
    const int columns = m_Columns;
    const int plane = m_Map.channels * m_Pitch;
    if (m_Stride == 1)
    {
      std::copy_n(source, columns, target);
      return;
    }
#  if HWY_TARGET != HWY_SCALAR
    if (m_Stride == 2)
    {
      const Floats d;
      for (int j = 0; j < columns; j += Lanes)
      {
        const auto low = hn::LoadU(d, source + 2 * j);
        const auto high = hn::LoadU(d, source + 2 * j + Lanes);
        hn::StoreU(hn::ConcatEven(d, high, low), d, target + j);
        hn::StoreU(hn::ConcatOdd(d, high, low), d, target + plane + j);
      }
      return;
    }
#  endif
    for (int p = 0; p < m_Stride; ++p)
    {
      for (int j = 0; j < columns; ++j)
      {
        target[p * plane + j] = source[j * m_Stride + p];
      }
    }
  }

  const InputMap m_Map;
  const int      m_Kernel;
  const int      m_Stride;
  const int      m_Padding;
  const int      m_Pitch; // of a plane
  const int      m_RowSize;
  const int      m_RingRows;
  std::int64_t   m_FirstColumn{ 0 };
  int            m_Columns{ 0 }; // to lay out, the kernel's overhang included
  std::int64_t   m_NextRow{ 0 };

  hwy::AlignedFreeUniquePtr<float[]> m_Values; // [row][plane][column]
  hwy::AlignedFreeUniquePtr<float[]> m_Row;    // one row of a channel with its surroundings
};

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#endif
