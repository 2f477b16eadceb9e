/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBlockPlacement.h"

#include <algorithm>
#include <iterator>

namespace gigapixel
{

std::int64_t
BlockPlacement::Take(std::int64_t bytes)
{
  bytes = std::max<std::int64_t>((bytes + Alignment - 1) / Alignment, 1) * Alignment;
  auto best = m_Gaps.end();
  for (auto gap = m_Gaps.begin(); gap != m_Gaps.end(); ++gap)
  {
    if (gap->second >= bytes && (best == m_Gaps.end() || gap->second < best->second))
    {
      best = gap;
    }
  }
  std::int64_t first = m_End;
  if (best == m_Gaps.end())
  {
    m_End += bytes;
    m_Peak = std::max(m_Peak, m_End);
  }
  else
  {
    first = best->first;
    const std::int64_t left = best->second - bytes;
    m_Gaps.erase(best);
    if (left > 0)
    {
      m_Gaps[first + bytes] = left;
    }
  }
  m_Taken[first] = bytes;
  return first;
}

void
BlockPlacement::Give(std::int64_t first)
{
  const auto   block = m_Taken.find(first);
  std::int64_t end = first + block->second;
  m_Taken.erase(block);
  const auto after = m_Gaps.find(end);
  if (after != m_Gaps.end())
  {
    end += after->second;
    m_Gaps.erase(after);
  }
  const auto next = m_Gaps.lower_bound(first);
  if (next != m_Gaps.begin())
  {
    const auto before = std::prev(next);
    if (before->first + before->second == first)
    {
      first = before->first;
      m_Gaps.erase(before);
    }
  }
  if (end == m_End)
  {
    m_End = first;
    return;
  }
  m_Gaps[first] = end - first;
}

} // namespace gigapixel
