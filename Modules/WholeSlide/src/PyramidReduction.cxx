/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidReduction.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace gigapixel
{
namespace
{
template <std::size_t VChannels>
void
TakeEverySecond(const std::uint8_t * from, std::size_t width, std::uint8_t * to)
{
  for (std::size_t x = 0; x < (width + 1) / 2; ++x)
  {
    for (std::size_t c = 0; c < VChannels; ++c)
    {
      to[x * VChannels + c] = from[2 * x * VChannels + c];
    }
  }
}

/** From the sums of two rows: a lone last column counts twice, as a lone last row does in the sums. */
template <std::size_t VChannels>
void
AverageSums(const std::uint16_t * sums, std::size_t width, std::uint8_t * to)
{
  for (std::size_t x = 0; x < width / 2; ++x)
  {
    for (std::size_t c = 0; c < VChannels; ++c)
    {
      const unsigned sum = unsigned{ sums[2 * x * VChannels + c] } + sums[(2 * x + 1) * VChannels + c];
      to[x * VChannels + c] = static_cast<std::uint8_t>((sum + 2) / 4);
    }
  }
  if (width % 2 == 1)
  {
    for (std::size_t c = 0; c < VChannels; ++c)
    {
      to[(width / 2) * VChannels + c] = static_cast<std::uint8_t>((sums[(width - 1) * VChannels + c] + 1) / 2);
    }
  }
}
} // namespace

void
ReduceByUpperLeft(const PixelBlock<const std::uint8_t> & from, const PixelBlock<std::uint8_t> & to)
{
  for (std::size_t y = 0; y < from.height; y += 2)
  {
    const std::uint8_t * source = from.samples + y * from.rowBytes;
    std::uint8_t *       target = to.samples + y / 2 * to.rowBytes;
    from.channels == 1 ? TakeEverySecond<1>(source, from.width, target)
                             : TakeEverySecond<3>(source, from.width, target);
  }
}

void
ReduceByMean(const PixelBlock<const std::uint8_t> & from, const PixelBlock<std::uint8_t> & to)
{
  std::vector<std::uint16_t> sums(from.width * from.channels);
  for (std::size_t y = 0; y < from.height; y += 2)
  {
    const std::uint8_t * first = from.samples + y * from.rowBytes;
    const std::uint8_t * second = y + 1 < from.height ? first + from.rowBytes : first;
    for (std::size_t i = 0; i < sums.size(); ++i)
    {
      sums[i] = static_cast<std::uint16_t>(first[i] + second[i]);
    }
    std::uint8_t * target = to.samples + y / 2 * to.rowBytes;
    from.channels == 1 ? AverageSums<1>(sums.data(), from.width, target)
                       : AverageSums<3>(sums.data(), from.width, target);
  }
}

} // namespace gigapixel
