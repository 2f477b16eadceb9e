/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ChannelWindow.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelPrintable.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <locale>
#include <sstream>

namespace gigapixel
{
namespace
{

constexpr std::size_t           numberOfBins = 65536;
constexpr std::array<double, 2> percentiles{ { 0.1, 99.9 } };

/** Whole numbers in the order of the floats. */
std::uint32_t
ToKey(float sample)
{
  std::uint32_t bits = 0;
  std::memcpy(&bits, &sample, sizeof(bits));
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

float
ToSample(std::uint32_t key)
{
  const std::uint32_t bits = key >> 31 != 0 ? key & 0x7fffffffu : ~key;
  float               sample = 0.0f;
  std::memcpy(&sample, &bits, sizeof(sample));
  return sample;
}

} // namespace

ChannelWindow
ChannelWindow::Parse(const std::string & text)
{
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  ChannelWindow window{ 0.0, 0.0 };
  char          comma = 0;
  const bool    isRead = stream >> window.low >> comma >> window.high && comma == ',' && (stream >> std::ws).eof();
  if (!isRead || !std::isfinite(window.low) || !std::isfinite(window.high) || !(window.low < window.high))
  {
    throw Refusal(Diagnostic("E-OPTION-VALUE",
                             "a window is LOW,HIGH with LOW below HIGH, or auto, not \"" + text + '"',
                             "state two values, such as 100,4000")
                    .OfOption("--window", text));
  }
  return window;
}

std::string
ChannelWindow::ToText() const
{
  return FormatShortest(low) + ',' + FormatShortest(high);
}

ChannelHistogram::ChannelHistogram(bool isFloat)
  : m_IsFloat(isFloat)
  , m_Bins(numberOfBins)
{}

void
ChannelHistogram::Add(std::uint32_t sample, std::uint64_t count)
{
  m_Bins[sample] += count;
  m_Count += count;
  m_Smallest = std::min(m_Smallest, sample);
  m_Largest = std::max(m_Largest, sample);
}

void
ChannelHistogram::Add(float sample, std::uint64_t count)
{
  if (!std::isfinite(sample))
  {
    return;
  }
  const std::uint32_t key = ToKey(sample);
  if (!m_IsSecondPass)
  {
    m_Bins[key >> 16] += count;
    m_Count += count;
    m_Smallest = std::min(m_Smallest, key);
    m_Largest = std::max(m_Largest, key);
    return;
  }
  for (std::size_t i = 0; i < m_Ranks.size(); ++i)
  {
    if (m_Ranks[i].bin == key >> 16)
    {
      m_Finer[i][key & 0xffff] += count;
    }
  }
}

/** The samples on both sides of each percentile. */
void
ChannelHistogram::SetRanks()
{
  m_Ranks.clear();
  for (const double percentile : percentiles)
  {
    const auto first = static_cast<std::uint64_t>(percentile / 100.0 * static_cast<double>(m_Count - 1));
    m_Ranks.push_back({ first });
    m_Ranks.push_back({ std::min(first + 1, m_Count - 1) });
  }
  for (Rank & rank : m_Ranks)
  {
    while (rank.below + m_Bins[rank.bin] <= rank.number)
    {
      rank.below += m_Bins[rank.bin++];
    }
  }
}

void
ChannelHistogram::BeginSecondPass()
{
  m_IsSecondPass = true;
  if (m_Count > 0)
  {
    SetRanks();
    m_Finer.assign(m_Ranks.size(), std::vector<std::uint64_t>(numberOfBins));
  }
}

double
ChannelHistogram::GetValue(const Rank & rank) const
{
  if (!m_IsFloat)
  {
    return rank.bin;
  }
  const auto &  finer = m_Finer[static_cast<std::size_t>(&rank - m_Ranks.data())];
  std::uint64_t below = rank.below;
  std::uint32_t low = 0;
  while (low + 1 < numberOfBins && below + finer[low] <= rank.number)
  {
    below += finer[low++];
  }
  return ToSample(rank.bin << 16 | low);
}

ChannelRange
ChannelHistogram::GetRange() const
{
  if (m_Count == 0)
  {
    return { { 0.0, 0.0 }, false };
  }
  ChannelHistogram counted = *this;
  if (!m_IsFloat)
  {
    counted.SetRanks();
  }
  std::array<double, 2> values{};
  for (std::size_t i = 0; i < values.size(); ++i)
  {
    const double position = percentiles[i] / 100.0 * static_cast<double>(m_Count - 1);
    const double part = position - std::floor(position);
    const double below = counted.GetValue(counted.m_Ranks[2 * i]);
    const double step = counted.GetValue(counted.m_Ranks[2 * i + 1]) - below;
    values[i] = part < 0.5 ? below + step * part : below + step - step * (1.0 - part);
  }
  return { { values[0], values[1] }, m_Smallest < m_Largest };
}

} // namespace gigapixel
