/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTurns.h"

namespace gigapixel
{

void
Turns::Take(std::int64_t item, const std::function<void()> & f)
{
  {
    std::unique_lock<std::mutex> lock(m_Mutex);
    m_Changed.wait(lock, [&] { return m_Reason || m_Next == item; });
    if (m_Reason)
    {
      std::rethrow_exception(m_Reason);
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
Turns::Break(const std::exception_ptr & reason)
{
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Reason = m_Reason ? m_Reason : reason;
  }
  m_Changed.notify_all();
}

} // namespace gigapixel
