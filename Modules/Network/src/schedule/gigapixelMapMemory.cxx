/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMapMemory.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace gigapixel
{

void
MapMemory::Begin(std::int64_t pixels, std::int64_t greatest)
{
  m_Pixels = pixels;
  if (std::max(pixels, greatest) > m_Greatest)
  {
    // Blocks of a smaller window would lie idle beside the new ones.
    m_Blocks.clear();
    m_Greatest = std::max(pixels, greatest);
  }
  for (Block & block : m_Blocks)
  {
    block.taken = false;
  }
}

/** A map grows as its window does. The quotient is that of doubles, rounded up: the product of both numbers may be
 * beyond integers. */
std::size_t
MapMemory::GetGreatest(std::size_t size) const
{
  const double growth = static_cast<double>(m_Greatest) / static_cast<double>(m_Pixels);
  return std::max(size, static_cast<std::size_t>(std::ceil(static_cast<double>(size) * growth)));
}

kernels::MapView<float>
MapMemory::Take(std::int64_t channels, std::int64_t height, std::int64_t width)
{
  constexpr std::size_t CacheLine = 64;
  const std::size_t     size = static_cast<std::size_t>(channels * height * width);
  Block *               best = nullptr;
  for (Block & block : m_Blocks)
  {
    if (!block.taken && block.size >= size && (best == nullptr || block.size < best->size))
    {
      best = &block;
    }
  }
  if (best == nullptr)
  {
    const std::size_t greatest = GetGreatest(size);
    const std::size_t bytes = (greatest * sizeof(float) + CacheLine - 1) / CacheLine * CacheLine;
    m_Blocks.emplace_back();
    best = &m_Blocks.back();
    best->values.reset(static_cast<float *>(std::aligned_alloc(CacheLine, bytes)));
    if (best->values == nullptr)
    {
      m_Blocks.pop_back();
      throw std::bad_alloc();
    }
    best->size = greatest;
  }
  best->taken = true;
  return { best->values.get(), height, width, height * width, width, 1 };
}

void
MapMemory::Release(kernels::MapView<float> & map)
{
  for (Block & block : m_Blocks)
  {
    if (map.values != nullptr && block.values.get() == map.values)
    {
      block.taken = false;
    }
  }
  map = {};
}

} // namespace gigapixel
