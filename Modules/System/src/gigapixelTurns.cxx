/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTurns.h"

namespace gigapixel
{

void
Turns::WaitFor(std::int64_t items)
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  m_Changed.wait(lock, [&] { return m_Reason || m_Next >= items; });
  if (m_Reason)
  {
    std::rethrow_exception(m_Reason);
  }
}

void
Turns::Finish(std::int64_t item)
{
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Finished.insert(item);
    while (!m_Finished.empty() && *m_Finished.begin() == m_Next)
    {
      m_Finished.erase(m_Finished.begin());
      ++m_Next;
    }
  }
  m_Changed.notify_all();
}

void
Turns::Take(std::int64_t item, const std::function<void()> & f)
{
  this->WaitFor(item);
  f();
  this->Finish(item);
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
