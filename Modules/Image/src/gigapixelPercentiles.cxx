/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPercentiles.h"

#include <cmath>
#include <numeric>

namespace gigapixel
{
namespace
{

/** The float that has this number. */
float
GetFloat(std::uint32_t order)
{
  const std::uint32_t bits = (order & 0x80000000u) != 0 ? order & 0x7FFFFFFFu : ~order;
  float               value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

} // namespace

void
Percentiles::EndPass()
{
  if (m_Count == 0)
  {
    this->FindRanks();
  }
  if (m_Count == 0)
  {
    return;
  }
  std::vector<Table> next;
  for (std::size_t i = 0; i < m_Ranks.size(); ++i)
  {
    const std::uint64_t start = this->Narrow(m_Ranks[i]);
    if (std::none_of(next.begin(), next.end(), [start](const Table & table) { return table.start == start; }))
    {
      next.emplace_back();
      next.back().start = start;
    }
  }
  m_Tables = std::move(next);
  m_Shift -= Bits;
}

double
Percentiles::Get(std::size_t which) const
{
  const double below = GetFloat(static_cast<std::uint32_t>(m_Ranks[2 * which].start >> 1));
  const double above = GetFloat(static_cast<std::uint32_t>(m_Ranks[2 * which + 1].start >> 1));
  const double place = this->GetPlace(which);
  return below + (above - below) * (place - std::floor(place));
}

void
Percentiles::FindRanks()
{
  const auto & counts = m_Tables.front().counts;
  m_Count = std::accumulate(counts.begin(), counts.end(), std::int64_t{ 0 });
  for (std::size_t which = 0; which < m_Percentages.size(); ++which)
  {
    const double place = this->GetPlace(which);
    m_Ranks[2 * which].before = static_cast<std::int64_t>(std::floor(place));
    m_Ranks[2 * which + 1].before = static_cast<std::int64_t>(std::ceil(place));
  }
}

std::uint64_t
Percentiles::Narrow(Rank & rank) const
{
  const auto   is = [&rank](const Table & table) { return table.start == rank.start; };
  const auto & counts = std::find_if(m_Tables.begin(), m_Tables.end(), is)->counts;
  std::size_t  place = 0;
  while (counts[place] <= rank.before)
  {
    rank.before -= counts[place++];
  }
  return rank.start = rank.start << Bits | place;
}

} // namespace gigapixel
