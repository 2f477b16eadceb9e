/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidReduction.h"

#include <algorithm>
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

/** Of four samples, some of which may be counted twice. */
template <typename TSample, typename TSum>
TSample
GetMean(TSum sum)
{
  if constexpr (std::is_floating_point_v<TSample>)
  {
    return sum / 4;
  }
  else
  {
    return static_cast<TSample>((sum + 2u) / 4u);
  }
}

/** From the sums of two rows, which are overwritten: a lone last column counts twice, as a lone last row does in the
 * sums. The mean of every pixel with the next one is twice the work, but without gaps between what is read: compilers
 * make vectors of it. */
template <std::size_t VChannels, typename TSample>
void
AverageSums(std::vector<SumOf<TSample>> & sums, std::vector<TSample> & means, std::size_t width, TSample * to)
{
  std::copy_n(sums.end() - 2 * VChannels, VChannels, sums.end() - VChannels);
  for (std::size_t i = 0; i < width * VChannels; ++i)
  {
    means[i] = GetMean<TSample>(static_cast<SumOf<TSample>>(sums[i] + sums[i + VChannels]));
  }
  for (std::size_t x = 0; x < (width + 1) / 2; ++x)
  {
    for (std::size_t c = 0; c < VChannels; ++c)
    {
      to[x * VChannels + c] = means[2 * x * VChannels + c];
    }
  }
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
  using Sum = SumOf<TSample>;
  const std::size_t    samples = from.width * from.channels;
  std::vector<Sum>     sums(samples + from.channels); // and the last pixel again
  std::vector<TSample> means(samples);
  for (std::size_t y = 0; y < from.height; y += 2)
  {
    const TSample * first = from.samples + y * from.rowSamples;
    const TSample * second = y + 1 < from.height ? first + from.rowSamples : first;
    for (std::size_t i = 0; i < samples; ++i)
    {
      sums[i] = static_cast<Sum>(static_cast<Sum>(first[i]) + static_cast<Sum>(second[i]));
    }
    TSample * target = to.samples + y / 2 * to.rowSamples;
    from.channels == 1 ? AverageSums<1>(sums, means, from.width, target)
                       : AverageSums<3>(sums, means, from.width, target);
  }
}

template void ReduceByUpperLeft(const PixelBlock<const std::uint8_t> &, const PixelBlock<std::uint8_t> &);
template void ReduceByUpperLeft(const PixelBlock<const std::uint16_t> &, const PixelBlock<std::uint16_t> &);
template void ReduceByUpperLeft(const PixelBlock<const float> &, const PixelBlock<float> &);
template void ReduceByMean(const PixelBlock<const std::uint8_t> &, const PixelBlock<std::uint8_t> &);
template void ReduceByMean(const PixelBlock<const std::uint16_t> &, const PixelBlock<std::uint16_t> &);
template void ReduceByMean(const PixelBlock<const float> &, const PixelBlock<float> &);

} // namespace gigapixel
