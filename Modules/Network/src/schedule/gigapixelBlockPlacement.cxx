/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBlockPlacement.h"

#include <algorithm>
#include <iterator>

namespace gigapixel
{

namespace
{

/** Up to a 64th more. Maps that differ by a row or a column take each other's places then, instead of leaving gaps that
 * are a little too small: a fifth less memory for a U-Net, and the same for who estimates and who runs, whose blocks
 * differ by a few bytes. */
std::int64_t
RoundUpSize(std::int64_t bytes)
{
  std::int64_t unit = BlockPlacement::Alignment;
  while (unit * 128 <= bytes)
  {
    unit *= 2;
  }
  return std::max<std::int64_t>((bytes + unit - 1) / unit, 1) * unit;
}

} // namespace

std::int64_t
BlockPlacement::Take(std::int64_t bytes)
{
  bytes = RoundUpSize(bytes);
  const auto   gap = std::find_if(m_Gaps.begin(), m_Gaps.end(), [&](const auto & g) { return g.second >= bytes; });
  std::int64_t first = m_End;
  if (gap == m_Gaps.end())
  {
    m_End += bytes;
    m_Peak = std::max(m_Peak, m_End);
  }
  else
  {
    first = gap->first;
    const std::int64_t left = gap->second - bytes;
    m_Gaps.erase(gap);
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
