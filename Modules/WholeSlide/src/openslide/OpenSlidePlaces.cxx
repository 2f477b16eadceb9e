/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlidePlaces.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

namespace gigapixel
{

OpenSlidePlaces::OpenSlidePlaces()
  : m_Owner(getpid())
{}

OpenSlidePlaces &
OpenSlidePlaces::Get()
{
  static OpenSlidePlaces & places = *new OpenSlidePlaces;
  return places;
}

bool
OpenSlidePlaces::Take(Process process, std::function<void()> retire, const std::function<bool()> & isInterrupted)
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  ForgetAfterFork();
  while (m_Taken.size() >= Most)
  {
    const auto idle =
      std::find_if(m_Taken.begin(), m_Taken.end(), [](const Place & place) { return place.users == 0; });
    if (idle != m_Taken.end())
    {
      idle->retire();
      m_Taken.erase(idle);
    }
    else if (isInterrupted())
    {
      return false;
    }
    else
    {
      m_IsFree.wait_for(lock, TimeToLook);
    }
  }
  m_Taken.push_back({ process, std::move(retire), 1 });
  return true;
}

bool
OpenSlidePlaces::BeginUse(Process process)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  ForgetAfterFork();
  const auto place = Find(process);
  if (place == m_Taken.end())
  {
    return false;
  }
  ++place->users;
  std::rotate(place, place + 1, m_Taken.end());
  return true;
}

void
OpenSlidePlaces::EndUse(Process process)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  const auto                        place = Find(process);
  if (place != m_Taken.end() && --place->users == 0)
  {
    m_IsFree.notify_one();
  }
}

void
OpenSlidePlaces::GiveBack(Process process)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  const auto                        place = Find(process);
  if (place != m_Taken.end())
  {
    m_Taken.erase(place);
    m_IsFree.notify_one();
  }
}

std::vector<OpenSlidePlaces::Place>::iterator
OpenSlidePlaces::Find(Process process)
{
  return std::find_if(
    m_Taken.begin(), m_Taken.end(), [process](const Place & place) { return place.process == process; });
}

void
OpenSlidePlaces::ForgetAfterFork()
{
  if (m_Owner != getpid())
  {
    m_Taken.clear();
    m_Owner = getpid();
  }
}

} // namespace gigapixel
