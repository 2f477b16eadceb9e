/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DamagedTiles.h"

namespace gigapixel
{

void
DamagedTiles::Add(const Place & place, const std::string & what)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_Tiles.emplace(place, what).second && ++m_Count <= Named)
  {
    m_News.push_back({ place, what, m_Count == Named });
  }
}

std::string
DamagedTiles::Find(const Place & place) const
{
  if (m_Count == 0)
  {
    return {};
  }
  const std::lock_guard<std::mutex> lock(m_Mutex);
  const auto                        found = m_Tiles.find(place);
  return found == m_Tiles.end() ? std::string() : found->second;
}

std::vector<DamagedTiles::Damage>
DamagedTiles::TakeNews()
{
  if (m_Count == 0)
  {
    return {};
  }
  const std::lock_guard<std::mutex> lock(m_Mutex);
  return std::exchange(m_News, {});
}

} // namespace gigapixel
