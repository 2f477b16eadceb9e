/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Maps of float laid out for a strided convolution: what gigapixelPixelPlanes-inl.h is for bytes.
#if defined(gigapixelMapPlanes_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef gigapixelMapPlanes_inl_h
#    undef gigapixelMapPlanes_inl_h
#  else
#    define gigapixelMapPlanes_inl_h
#  endif

#  include "gigapixelMapConvolution.h"
#  include "gigapixelPlaneRing-inl.h"

#  include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** Rows of a map. */
class MapPlanes : public PlaneRing<MapPlanes>
{
public:
  static constexpr int MaximumColumns = 128;

  using Source = InputMap;

  /** What stands for 1. */
  static constexpr float Unit = 1.0f;

  /** \param outputRows that are looked at together */
  MapPlanes(const InputMap & map, const Convolution & convolution, int outputRows)
    : PlaneRing(convolution,
                map.channels,
                map.view.height,
                convolution.stride * map.channels,
                GetPitch(convolution),
                outputRows)
    , m_Map(map)
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
    m_Columns = RoundUp(RoundUp(columns, Lanes) + (m_Kernel - 1) / m_Stride, Lanes);
    Restart();
  }

private:
  friend class PlaneRing<MapPlanes>;

  /** A vector may begin at the last column of the kernel's overhang. */
  static int
  GetPitch(const Convolution & convolution)
  {
    return RoundUp(MaximumColumns + (convolution.kernel - 1) / convolution.stride, Lanes) + Lanes;
  }

  void
  SplitRow(std::int64_t y, float * target)
  {
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
  std::int64_t   m_FirstColumn{ 0 };
  int            m_Columns{ 0 }; // to lay out, the kernel's overhang included

  hwy::AlignedFreeUniquePtr<float[]> m_Row; // one row of a channel with its surroundings
};

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#endif
