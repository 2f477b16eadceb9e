/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What the inputs of a strided convolution have in common, bytes or floats: rows split into planes, kept in a ring.
#if defined(gigapixelPlaneRing_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef gigapixelPlaneRing_inl_h
#    undef gigapixelPlaneRing_inl_h
#  else
#    define gigapixelPlaneRing_inl_h
#  endif

#  include "gigapixelConvolution.h"
#  include "gigapixelLanes-inl.h"

#  include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** Rows of the input under a strip of output columns, split into planes so that the stride disappears: plane (p, c) of
 * a row holds channel c of the columns p, p + stride, p + 2 stride, ... A kernel column kx = stride * t + p of output
 * column j then finds its input in that plane at j + t: whole vectors of neighbouring output columns are one load.
 *
 * Rows are kept in a ring, because the kernel is higher than the stride: each row is split once for all the output rows
 * that see it. They are counted from the first padding row on; what lies outside the input is zero.
 * \tparam TPlanes has SplitRow(y, target), which fills the planes of row y of the input */
template <typename TPlanes>
class PlaneRing
{
public:
  /** Splits the rows that output rows [first, end) see, as far as that is not done. */
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
    return ((kx % m_Stride) * m_Channels + channel) * m_Pitch + kx / m_Stride;
  }

protected:
  /** \param height of the input
   * \param planes of a row
   * \param pitch of a plane
   * \param outputRows that are looked at together */
  PlaneRing(const Convolution & convolution, int channels, std::int64_t height, int planes, int pitch, int outputRows)
    : m_Kernel(convolution.kernel)
    , m_Stride(convolution.stride)
    , m_Padding(convolution.padding)
    , m_Channels(channels)
    , m_Pitch(pitch)
    , m_Height(height)
    , m_RowSize(planes * pitch)
    , m_RingRows((outputRows - 1) * m_Stride + m_Kernel)
    , m_Values(Allocate<float>(static_cast<std::size_t>(m_RingRows) * m_RowSize))
  {}

  static int
  RoundUp(int value, int multiple)
  {
    return (value + multiple - 1) / multiple * multiple;
  }

  /** A strip begins. */
  void
  Restart()
  {
    m_NextRow = 0;
  }

  const int m_Kernel;
  const int m_Stride;
  const int m_Padding;
  const int m_Channels;
  const int m_Pitch;

private:
  void
  LoadRow(std::int64_t row)
  {
    float *            target = m_Values.get() + (row % m_RingRows) * m_RowSize;
    const std::int64_t y = row - m_Padding;
    if (y < 0 || y >= m_Height)
    {
      std::fill_n(target, m_RowSize, 0.0f);
      return;
    }
    static_cast<TPlanes *>(this)->SplitRow(y, target);
  }

  const std::int64_t                 m_Height;
  const int                          m_RowSize;
  const int                          m_RingRows;
  std::int64_t                       m_NextRow{ 0 };
  hwy::AlignedFreeUniquePtr<float[]> m_Values; // [row][plane][column]
};

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#endif
