/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelValueCounts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace gigapixel
{
namespace
{
/** Values that occur, in ascending order, each with its count. */
using Occurrences = std::vector<std::pair<double, std::uint64_t>>;

/** The value of rank position \a rank, which may lie between two samples. */
double
GetAtRank(const Occurrences & occurrences, double rank)
{
  const auto    lower = static_cast<std::uint64_t>(rank);
  auto          at = occurrences.begin();
  std::uint64_t end = at->second;
  for (; end <= lower; end += at->second)
  {
    ++at;
  }
  const double between = rank - static_cast<double>(lower);
  const double next = end == lower + 1 && between > 0 ? (at + 1)->first : at->first;
  return at->first + (next - at->first) * between;
}
} // namespace

/** Counts by value from now on where the samples would become more than there are values. */
void
ValueCounts::MakeRoom(std::size_t coming)
{
  if (!m_Counts.empty() || m_Few.size() + coming <= m_Values)
  {
    return;
  }
  m_Counts.resize(m_Values);
  for (const std::uint16_t value : m_Few)
  {
    ++m_Counts[value];
  }
  m_Few = {};
}

template <typename TSample>
void
ValueCounts::Add(const TSample * samples, std::size_t count, std::size_t stride)
{
  this->MakeRoom(count);
  if (m_Counts.empty())
  {
    for (std::size_t i = 0; i < count; ++i)
    {
      m_Few.push_back(samples[i * stride]);
    }
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
  {
    ++m_Counts[samples[i * stride]];
  }
}

template void ValueCounts::Add(const std::uint8_t *, std::size_t, std::size_t);
template void ValueCounts::Add(const std::uint16_t *, std::size_t, std::size_t);

void
ValueCounts::Add(const ValueCounts & other)
{
  if (other.m_Counts.empty())
  {
    this->Add(other.m_Few.data(), other.m_Few.size());
    return;
  }
  this->MakeRoom(m_Values + 1);
  std::transform(m_Counts.begin(), m_Counts.end(), other.m_Counts.begin(), m_Counts.begin(), std::plus<>());
}

ValueSummary
ValueCounts::Summarize() const
{
  Occurrences occurrences;
  if (m_Counts.empty())
  {
    std::vector<std::uint16_t> sorted = m_Few;
    std::sort(sorted.begin(), sorted.end());
    for (const std::uint16_t value : sorted)
    {
      if (occurrences.empty() || occurrences.back().first != value)
      {
        occurrences.emplace_back(value, 0);
      }
      ++occurrences.back().second;
    }
  }
  for (std::size_t value = 0; value < m_Counts.size(); ++value)
  {
    if (m_Counts[value] > 0)
    {
      occurrences.emplace_back(value, m_Counts[value]);
    }
  }
  ValueSummary summary;
  if (occurrences.empty())
  {
    summary.mean = summary.deviation = std::numeric_limits<double>::quiet_NaN();
    summary.percentiles.fill(summary.mean);
    return summary;
  }
  double sum = 0; // exact: a sum of whole numbers below 2^53
  for (const auto & [value, count] : occurrences)
  {
    sum += value * static_cast<double>(count);
    summary.count += count;
  }
  const auto number = static_cast<double>(summary.count);
  summary.mean = sum / number;
  double squares = 0;
  for (const auto & [value, count] : occurrences)
  {
    squares += (value - summary.mean) * (value - summary.mean) * static_cast<double>(count);
  }
  summary.deviation = std::sqrt(squares / number);
  for (std::size_t i = 0; i < summary.percentiles.size(); ++i)
  {
    summary.percentiles[i] = GetAtRank(occurrences, (number - 1) * ValueSummary::Percents[i] / 100);
  }
  return summary;
}

} // namespace gigapixel
