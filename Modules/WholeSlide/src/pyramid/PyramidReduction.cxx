/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidReduction.h"

#include "gigapixelInstructionSets.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace gigapixel
{
namespace
{
/** Type of the sum of four samples. */
template <typename TSample>
using SumOf = std::conditional_t<std::is_floating_point_v<TSample>,
                                 TSample,
                                 std::conditional_t<sizeof(TSample) == 1, std::uint16_t, std::uint32_t>>;

template <std::size_t VChannels, typename TSample>
void
TakeEverySecond(const TSample * from, std::size_t width, TSample * to)
{
  constexpr std::size_t bytes = VChannels * sizeof(TSample);
  // One store for RGB's three bytes: the fourth is of the next pixel, which comes next.
  constexpr std::size_t copied = bytes == 3 ? 4 : bytes;
  const std::size_t     last = (width - 1) / 2;
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC unroll 8
#endif
  for (std::size_t x = 0; x < last; ++x)
  {
    std::memcpy(to + x * VChannels, from + 2 * x * VChannels, copied);
  }
  std::memcpy(to + last * VChannels, from + 2 * last * VChannels, bytes);
}

/** Of four samples, from the sums of two. */
template <typename TSample>
TSample
GetMean(SumOf<TSample> left, SumOf<TSample> right)
{
  if constexpr (std::is_floating_point_v<TSample>)
  {
    return (left + right) / 4;
  }
  else
  {
    return static_cast<TSample>((left + right + 2u) / 4u);
  }
}

/** Of two rows, the means of \a count samples and those \a step behind them. */
template <typename TSample>
void
AverageNeighbors(const TSample * first, const TSample * second, std::size_t count, std::size_t step, TSample * means)
{
  using Sum = SumOf<TSample>;
  for (std::size_t i = 0; i < count; ++i)
  {
    means[i] = GetMean<TSample>(static_cast<Sum>(Sum{ first[i] } + Sum{ second[i] }),
                                static_cast<Sum>(Sum{ first[i + step] } + Sum{ second[i + step] }));
  }
}

/** The same of bytes without wider numbers, as the rounded mean of two is one instruction: the rounded mean of two such
 * means is one too many where a pair was odd and one of the two means is. */
inline void
AverageBytes(const std::uint8_t * __restrict first,
             const std::uint8_t * __restrict second,
             std::size_t count,
             std::size_t step,
             std::uint8_t * __restrict means)
{
  for (std::size_t i = 0; i < count; ++i)
  {
    const std::uint8_t a = first[i];
    const std::uint8_t b = second[i];
    const std::uint8_t c = first[i + step];
    const std::uint8_t d = second[i + step];
    const auto         left = static_cast<std::uint8_t>((a + b + 1) >> 1);
    const auto         right = static_cast<std::uint8_t>((c + d + 1) >> 1);
    const auto         both = static_cast<std::uint8_t>((left + right + 1) >> 1);
    const auto         excess = static_cast<std::uint8_t>(((a ^ b) | (c ^ d)) & (left ^ right) & 1);
    means[i] = static_cast<std::uint8_t>(both - excess);
  }
}

/** What nearly all slides are made of. In blocks, of which the last overlaps the one before: the remainder of a loop
 * that was made vectors of takes as long as all the rest. */
GIGAPIXEL_INSTRUCTION_SETS void
AverageNeighbors(const std::uint8_t * first,
                 const std::uint8_t * second,
                 std::size_t          count,
                 std::size_t          step,
                 std::uint8_t *       means)
{
  constexpr std::size_t block = 64;
  if (count < block)
  {
    AverageBytes(first, second, count, step, means);
    return;
  }
  for (std::size_t begin = 0; begin < count; begin += block)
  {
    const std::size_t at = std::min(begin, count - block);
    AverageBytes(first + at, second + at, block, step, means + at);
  }
}

/** Two rows to one: a lone last column counts twice, as a lone last row does where both are the same. The mean of every
 * pixel with the next one is twice the work, but without gaps in what is read: compilers make vectors of it. */
template <std::size_t VChannels, typename TSample>
void
AverageRows(const TSample * first, const TSample * second, std::size_t width, TSample * means, TSample * to)
{
  const std::size_t last = (width - 1) * VChannels;
  AverageNeighbors(first, second, last, VChannels, means);
  AverageNeighbors(first + last, second + last, VChannels, 0, means + last);
  TakeEverySecond<VChannels>(means, width, to);
}
} // namespace

template <typename TSample>
void
ReduceByUpperLeft(const PixelBlock<const TSample> & from, const PixelBlock<TSample> & to)
{
  for (std::size_t y = 0; y < from.height; y += 2)
  {
    const TSample * source = from.samples + y * from.rowSamples;
    TSample *       target = to.samples + y / 2 * to.rowSamples;
    from.channels == 1 ? TakeEverySecond<1>(source, from.width, target)
                             : TakeEverySecond<3>(source, from.width, target);
  }
}

template <typename TSample>
void
ReduceByMean(const PixelBlock<const TSample> & from, const PixelBlock<TSample> & to)
{
  std::vector<TSample> means(from.width * from.channels);
  for (std::size_t y = 0; y < from.height; y += 2)
  {
    const TSample * first = from.samples + y * from.rowSamples;
    const TSample * second = y + 1 < from.height ? first + from.rowSamples : first;
    TSample *       target = to.samples + y / 2 * to.rowSamples;
    from.channels == 1 ? AverageRows<1>(first, second, from.width, means.data(), target)
                             : AverageRows<3>(first, second, from.width, means.data(), target);
  }
}

template void ReduceByUpperLeft(const PixelBlock<const std::uint8_t> &, const PixelBlock<std::uint8_t> &);
template void ReduceByUpperLeft(const PixelBlock<const std::uint16_t> &, const PixelBlock<std::uint16_t> &);
template void ReduceByUpperLeft(const PixelBlock<const std::uint32_t> &, const PixelBlock<std::uint32_t> &);
template void ReduceByUpperLeft(const PixelBlock<const float> &, const PixelBlock<float> &);
template void ReduceByMean(const PixelBlock<const std::uint8_t> &, const PixelBlock<std::uint8_t> &);
template void ReduceByMean(const PixelBlock<const std::uint16_t> &, const PixelBlock<std::uint16_t> &);
template void ReduceByMean(const PixelBlock<const float> &, const PixelBlock<float> &);

} // namespace gigapixel
