/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Pixels laid out for a strided convolution: from interleaved bytes to planes of float.
#if defined(gigapixelPixelPlanes_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef gigapixelPixelPlanes_inl_h
#    undef gigapixelPixelPlanes_inl_h
#  else
#    define gigapixelPixelPlanes_inl_h
#  endif

#  include "gigapixelPixelConvolution.h"
#  include "gigapixelPlaneRing-inl.h"

#  include <hwy/cache_control.h>

#  include <algorithm>
#  include <cstring>

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** Rows of pixels. Samples stay 0..255 (exact in float); the scale is left to the weights. */
class PixelPlanes : public PlaneRing<PixelPlanes>
{
public:
  /** Output columns of a strip: few enough for the planes of a 16-row kernel to stay close to the core, enough to make
   * the columns that are split twice, at the seams, rare. */
  static constexpr int MaximumColumns = 64;

  using Source = PixelView;

  /** What stands for 1. */
  static constexpr float Unit = 255.0f;

  /** \param outputRows that are looked at together */
  PixelPlanes(const PixelView & pixels, const Convolution & convolution, int outputRows)
    : PlaneRing(convolution,
                pixels.channels,
                pixels.height,
                GetPlanes(pixels, convolution),
                GetPitch(convolution),
                outputRows)
    , m_Pixels(pixels)
    , m_Group(m_Stride * pixels.channels)
    , m_Planes(GetPlanes(pixels, convolution))
    , m_Bytes(Allocate<std::uint8_t>(static_cast<std::size_t>(m_Group) * m_Pitch))
    , m_Split(Allocate<std::uint8_t>(static_cast<std::size_t>(m_Planes) * m_Pitch))
  {}

  static std::size_t
  GetBytesOfRow(const PixelView & pixels, const Convolution & convolution)
  {
    return sizeof(float) * GetPlanes(pixels, convolution) * GetPitch(convolution);
  }

  /** Starts a strip. */
  void
  SetColumns(std::int64_t first, int columns)
  {
    m_FirstColumn = first;
    m_Columns = RoundUp(columns, Lanes) + (m_Kernel - 1) / m_Stride;
    // The few columns that the kernel hangs over are not worth a step of their own.
    m_ColumnsInSteps = m_Columns % Step <= 4 ? m_Columns / Step * Step : RoundUp(m_Columns, Step);
    m_Columns = std::max(m_Columns, m_ColumnsInSteps);
    Restart();
  }

private:
  friend class PlaneRing<PixelPlanes>;

  /** Columns that one step of the splitting takes. */
  static constexpr int Step = 16;

  static constexpr int PrefetchRows = 8;

  /** Pixels that no kernel column sees have none. */
  static int
  GetPlanes(const PixelView & pixels, const Convolution & convolution)
  {
    return std::min(convolution.kernel, convolution.stride) * pixels.channels;
  }

  static int
  GetPitch(const Convolution & convolution)
  {
    return RoundUp(MaximumColumns + (convolution.kernel - 1) / convolution.stride, Step);
  }

  void
  SplitRow(std::int64_t y, float * target)
  {
    const std::uint8_t * source = GetSamples(y);
    int                  plane = 0;
    for (; plane + 8 <= m_Planes; plane += 8)
    {
      for (int j = 0; j < m_ColumnsInSteps; j += Step)
      {
        SplitBlock(source + j * m_Group + plane, m_Split.get() + plane * m_Pitch + j);
      }
    }
    SplitSlowly(source, plane, 0, m_ColumnsInSteps);
    SplitSlowly(source, 0, m_ColumnsInSteps, m_Columns);
    ConvertSplit(target);
  }

  /** Planes from the given one on, of the columns [begin, end): what no block takes. */
  void
  SplitSlowly(const std::uint8_t * source, int plane, int begin, int end) const
  {
    for (; plane < m_Planes; ++plane)
    {
      std::uint8_t * target = m_Split.get() + plane * m_Pitch;
      for (int j = begin; j < end; ++j)
      {
        target[j] = source[j * m_Group + plane];
      }
    }
  }

  /** The samples under the strip, with what lies outside the pixels as the sample that becomes 0. */
  const std::uint8_t *
  GetSamples(std::int64_t y)
  {
    const std::int64_t   x = m_FirstColumn * m_Stride - m_Padding;
    const std::int64_t   end = x + static_cast<std::int64_t>(m_Columns) * m_Stride;
    const std::uint8_t * row = m_Pixels.samples + y * m_Pixels.pitch;
    if (x >= 0 && end <= m_Pixels.width)
    {
      const std::uint8_t * samples = row + x * m_Pixels.channels;
      if (y + PrefetchRows < m_Pixels.height)
      {
        Prefetch(samples + PrefetchRows * m_Pixels.pitch);
      }
      return samples;
    }
    std::memset(m_Bytes.get(), m_Pixels.invert ? 255 : 0, static_cast<std::size_t>(m_Columns) * m_Group);
    const std::int64_t from = std::max<std::int64_t>(x, 0);
    const std::int64_t to = std::min(end, m_Pixels.width);
    if (from < to)
    {
      std::memcpy(m_Bytes.get() + (from - x) * m_Pixels.channels,
                  row + from * m_Pixels.channels,
                  (to - from) * m_Pixels.channels);
    }
    return m_Bytes.get();
  }

  /** Rows lie in different pages: the processor does not guess that the strip goes on in the next one. */
  void
  Prefetch(const std::uint8_t * samples) const
  {
    for (int i = 0; i < m_Columns * m_Group; i += 64)
    {
      hwy::Prefetch(samples + i);
    }
  }

  /** Transposes 16 groups of 8 samples. Interleaving the first half of 128 bytes with the second rotates the 7 bits of
   * each byte's address by one; four times turn (group, sample) into (sample, group). */
  HWY_INLINE void
  SplitBlock(const std::uint8_t * source, std::uint8_t * target) const
  {
#  if HWY_TARGET == HWY_SCALAR
    for (int sample = 0; sample < 8; ++sample)
    {
      for (int group = 0; group < Step; ++group)
      {
        target[sample * m_Pitch + group] = source[group * m_Group + sample];
      }
    }
#  else
    const hn::Full128<std::uint8_t> d;
    const hn::Half<decltype(d)>     half;
    hn::Vec<decltype(d)>            v[8];
    for (int i = 0; i < 8; ++i)
    {
      const std::uint8_t * pair = source + 2 * i * m_Group;
      v[i] = m_Group == 8 ? hn::LoadU(d, pair) : hn::Combine(d, hn::LoadU(half, pair + m_Group), hn::LoadU(half, pair));
    }
    for (int rotation = 0; rotation < 4; ++rotation)
    {
      hn::Vec<decltype(d)> next[8];
      for (int i = 0; i < 4; ++i)
      {
        next[2 * i] = hn::InterleaveLower(d, v[i], v[i + 4]);
        next[2 * i + 1] = hn::InterleaveUpper(d, v[i], v[i + 4]);
      }
      std::copy_n(next, 8, v);
    }
    for (int sample = 0; sample < 8; ++sample)
    {
      hn::StoreU(v[sample], d, target + sample * m_Pitch);
    }
#  endif
  }

  void
  ConvertSplit(float * target) const
  {
    const int            columns = m_ColumnsInSteps;
    const int            end = m_Columns;
    const int            planes = m_Planes;
    const std::uint8_t   flipped = m_Pixels.invert ? 255 : 0;
    const Floats         d;
    const auto           flip = hn::Set(Bytes(), flipped);
    const int            pitch = m_Pitch;
    const std::uint8_t * split = m_Split.get();
    for (int plane = 0; plane < planes; ++plane)
    {
      for (int j = 0; j < columns; j += Lanes)
      {
        const auto bytes = hn::Xor(hn::LoadU(Bytes(), split + plane * pitch + j), flip);
        hn::Store(hn::ConvertTo(d, hn::PromoteTo(Ints(), bytes)), d, target + plane * pitch + j);
      }
      for (int j = columns; j < end; ++j)
      {
        target[plane * pitch + j] = split[plane * pitch + j] ^ flipped;
      }
    }
  }

  const PixelView m_Pixels;
  const int       m_Group;  // samples from output column to output column
  const int       m_Planes; // of a row
  std::int64_t    m_FirstColumn{ 0 };
  int             m_Columns{ 0 };        // to split, the kernel's overhang included
  int             m_ColumnsInSteps{ 0 }; // of them those that are split in blocks

  hwy::AlignedFreeUniquePtr<std::uint8_t[]> m_Bytes; // one row with its surroundings
  hwy::AlignedFreeUniquePtr<std::uint8_t[]> m_Split; // one row's planes
};

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#endif
