/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DamagedTiles.h"

namespace gigapixel
{

void
DamagedTiles::Add(const Place & place, const std::string & what)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_Tiles.emplace(place, &*m_Texts.insert(what).first).second)
  {
    ++m_Count;
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
  return found == m_Tiles.end() ? std::string() : *found->second;
}

std::vector<DamagedTiles::Damage>
DamagedTiles::TakeUnnamed()
{
  std::vector<Damage> unnamed;
  if (m_Count == 0)
  {
    return unnamed;
  }
  const std::lock_guard<std::mutex> lock(m_Mutex);
  for (auto tile = m_Tiles.begin(); tile != m_Tiles.end() && m_Named.size() < Named; ++tile)
  {
    if (m_Named.insert(tile->first).second)
    {
      unnamed.push_back({ tile->first, *tile->second, m_Named.size() == Named });
    }
  }
  return unnamed;
}

} // namespace gigapixel
