/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelEqualReductions.h"

namespace gigapixel
{

bool
EqualReductions::MakeKey(const TileData & data, int channels, Key & key)
{
  key.first = data.tile.program->signature;
  const bool isConstant = EqualMaps::FindConstants(data, channels, key.second);
  key.second.insert(key.second.end(), data.counted.begin(), data.counted.end());
  return isConstant;
}

bool
EqualReductions::FindSums(const Key & key, std::vector<double> & sums)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  const auto                        found = m_Sums.find(key);
  sums = found == m_Sums.end() ? sums : found->second;
  return found != m_Sums.end();
}

void
EqualReductions::Remember(const Key & key, const std::vector<double> & sums)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_Sums.size() < EqualMaps::MostParts)
  {
    m_Sums.emplace(key, sums);
  }
}

bool
EqualReductions::Count(const TileData & data, int channels)
{
  for (const TileProgram::Step & step : data.tile.program->steps)
  {
    if (step.sources.empty() && step.needsGradient) // each has to give its own to a map that is kept
    {
      return false;
    }
  }
  Key key;
  if (!MakeKey(data, channels, key))
  {
    return false;
  }
  const std::lock_guard<std::mutex> lock(m_Mutex);
  const auto                        found = m_Counted.find(key);
  if (found != m_Counted.end())
  {
    ++found->second.times;
    return true;
  }
  return m_Counted.size() < EqualMaps::MostParts && m_Counted.emplace(key, Counted{ data.tile, 1 }).second;
}

std::vector<EqualReductions::Counted>
EqualReductions::GetCounted() const
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  std::vector<Counted>              counted;
  for (const auto & item : m_Counted)
  {
    counted.push_back(item.second);
  }
  return counted;
}

} // namespace gigapixel
