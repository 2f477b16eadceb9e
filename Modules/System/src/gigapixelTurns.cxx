/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTurns.h"

#include <stdexcept>

namespace gigapixel
{

void
Turns::Take(std::int64_t item, const std::function<void()> & f)
{
  {
    std::unique_lock<std::mutex> lock(m_Mutex);
    m_Changed.wait(lock, [&] { return m_Broken || m_Next == item; });
    if (m_Broken)
    {
      throw std::runtime_error("another tile could not be computed");
    }
  }
  f();
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    ++m_Next;
  }
  m_Changed.notify_all();
}

void
Turns::Break()
{
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Broken = true;
  }
  m_Changed.notify_all();
}

} // namespace gigapixel
