/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidReduction.h"

#include <cstdint>
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
  for (std::size_t x = 0; x < (width + 1) / 2; ++x)
  {
    for (std::size_t c = 0; c < VChannels; ++c)
    {
      to[x * VChannels + c] = from[2 * x * VChannels + c];
    }
  }
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

/** Two rows to one: a lone last column counts twice, as a lone last row does where both are the same. The mean of every
 * pixel with the next one is twice the work, but without gaps in what is read: compilers make vectors of it. */
template <std::size_t VChannels, typename TSample>
void
AverageRows(const TSample * first, const TSample * second, std::size_t width, TSample * means, TSample * to)
{
  using Sum = SumOf<TSample>;
  const auto        sum = [&](std::size_t i) { return static_cast<Sum>(Sum{ first[i] } + Sum{ second[i] }); };
  const std::size_t last = (width - 1) * VChannels;
  for (std::size_t i = 0; i < last; ++i)
  {
    means[i] = GetMean<TSample>(sum(i), sum(i + VChannels));
  }
  for (std::size_t i = last; i < last + VChannels; ++i)
  {
    means[i] = GetMean<TSample>(sum(i), sum(i));
  }
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
template void ReduceByUpperLeft(const PixelBlock<const float> &, const PixelBlock<float> &);
template void ReduceByMean(const PixelBlock<const std::uint8_t> &, const PixelBlock<std::uint8_t> &);
template void ReduceByMean(const PixelBlock<const std::uint16_t> &, const PixelBlock<std::uint16_t> &);
template void ReduceByMean(const PixelBlock<const float> &, const PixelBlock<float> &);

} // namespace gigapixel
