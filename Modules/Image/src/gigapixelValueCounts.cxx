/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelValueCounts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
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

constexpr std::size_t FloatsKept = 65536;

/** The upper half of a float's bits, turned so that it rises with the float. */
std::size_t
GetBucket(float sample)
{
  std::uint32_t bits = 0;
  std::memcpy(&bits, &sample, sizeof(bits));
  constexpr std::uint32_t sign = 0x80000000;
  return ((bits & sign) != 0 ? ~bits : bits | sign) >> 16;
}

/** Samples in ascending order, as values with their counts. */
template <typename TSample>
Occurrences
CountSorted(std::vector<TSample> samples)
{
  std::sort(samples.begin(), samples.end());
  Occurrences occurrences;
  for (const TSample value : samples)
  {
    if (occurrences.empty() || occurrences.back().first != value)
    {
      occurrences.emplace_back(value, 0);
    }
    ++occurrences.back().second;
  }
  return occurrences;
}
} // namespace

/** Counts by value from now on where the samples would become more than there are values. */
void
ValueCounts::MakeRoom(std::size_t coming)
{
  if (!m_Counts.empty() || (m_Few.size() + coming) * sizeof(m_Few.front()) <= m_Values * sizeof(m_Counts.front()))
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

void
ValueCounts::AddFloat(float sample)
{
  if (!std::isfinite(sample))
  {
    return;
  }
  if (m_Buckets.empty() && m_FewFloats.size() < FloatsKept)
  {
    m_FewFloats.push_back(sample);
    return;
  }
  m_Buckets.resize(65536);
  const auto count = [this](float value) {
    Bucket & bucket = m_Buckets[GetBucket(value)];
    ++bucket.count;
    bucket.sum += value;
    // B. P. Welford, "Note on a method for calculating corrected sums of squares and products" (1962)
    const double distance = value - m_Mean;
    m_Mean += distance / static_cast<double>(++m_Number);
    m_Squares += distance * (value - m_Mean);
  };
  std::for_each(m_FewFloats.begin(), m_FewFloats.end(), count);
  m_FewFloats = {};
  count(sample);
}

template <typename TSample>
void
ValueCounts::Add(const TSample * samples, std::size_t count, std::size_t stride)
{
  if constexpr (std::is_same_v<TSample, float>)
  {
    for (std::size_t i = 0; i < count; ++i)
    {
      this->AddFloat(samples[i * stride]);
    }
    return;
  }
  else
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
}

template void ValueCounts::Add(const std::uint8_t *, std::size_t, std::size_t);
template void ValueCounts::Add(const std::uint16_t *, std::size_t, std::size_t);
template void ValueCounts::Add(const float *, std::size_t, std::size_t);

void
ValueCounts::AddFloats(const ValueCounts & other)
{
  std::for_each(other.m_FewFloats.begin(), other.m_FewFloats.end(), [this](float sample) { this->AddFloat(sample); });
  if (other.m_Buckets.empty())
  {
    return;
  }
  if (m_Buckets.empty())
  {
    ValueCounts sum = other;
    sum.AddFloats(*this);
    *this = std::move(sum);
    return;
  }
  for (std::size_t i = 0; i < m_Buckets.size(); ++i)
  {
    m_Buckets[i].count += other.m_Buckets[i].count;
    m_Buckets[i].sum += other.m_Buckets[i].sum;
  }
  // T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm" (1979)
  const auto   own = static_cast<double>(m_Number), others = static_cast<double>(other.m_Number);
  const double distance = other.m_Mean - m_Mean;
  m_Squares += other.m_Squares + distance * distance * own * others / (own + others);
  m_Mean += distance * others / (own + others);
  m_Number += other.m_Number;
}

void
ValueCounts::Add(const ValueCounts & other)
{
  if (m_Few.empty() && m_Counts.empty() && m_FewFloats.empty() && m_Buckets.empty())
  {
    *this = other; // without room for more: a label image has a class for each object
    return;
  }
  if (m_Values == Floats)
  {
    this->AddFloats(other);
    return;
  }
  if (other.m_Counts.empty())
  {
    this->Add(other.m_Few.data(), other.m_Few.size());
    return;
  }
  this->MakeRoom(m_Values * sizeof(m_Counts.front()));
  std::transform(m_Counts.begin(), m_Counts.end(), other.m_Counts.begin(), m_Counts.begin(), std::plus<>());
}

ValueSummary
ValueCounts::Summarize() const
{
  Occurrences occurrences = m_Values == Floats ? CountSorted(m_FewFloats) : CountSorted(m_Few);
  for (const Bucket & bucket : m_Buckets)
  {
    if (bucket.count > 0)
    {
      occurrences.emplace_back(bucket.sum / static_cast<double>(bucket.count), bucket.count);
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
  double sum = 0; // of integers exact: whole numbers below 2^53
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
  summary.deviation = std::sqrt((m_Buckets.empty() ? squares : m_Squares) / number);
  for (std::size_t i = 0; i < summary.percentiles.size(); ++i)
  {
    summary.percentiles[i] = GetAtRank(occurrences, (number - 1) * ValueSummary::Percents[i] / 100);
  }
  return summary;
}

} // namespace gigapixel
