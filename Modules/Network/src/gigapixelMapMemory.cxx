/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelMapMemory.h"

#include <algorithm>
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

/** A map grows as its window does. */
std::size_t
MapMemory::GetGreatest(std::size_t size) const
{
  const auto pixels = static_cast<std::size_t>(m_Pixels), greatest = static_cast<std::size_t>(m_Greatest);
  return (size * greatest + pixels - 1) / pixels;
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
