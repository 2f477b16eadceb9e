/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelJoinGuard_h
#define gigapixelJoinGuard_h

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelLaunch.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include <unistd.h>

namespace gigapixel
{

/** \class JoinGuard
 * \brief Ends the process if the store, which keeps not all of its own limits, does not come back in time, or if a
 * thread of c10d cannot take what answers in place of rank 0. Nothing has been begun then that could be left half done.
 */
class JoinGuard
{
public:
  JoinGuard(const Launch & launch, std::chrono::seconds limit)
    : m_Before(std::set_terminate([] { Leave("what answers is another program"); }))
  {
    place = launch.host + ", port " + std::to_string(launch.port);
    m_Thread = std::thread([this, limit] {
      std::unique_lock<std::mutex> lock(m_Mutex);
      if (!m_Changed.wait_for(lock, limit, [this] { return m_Joined; }))
      {
        Leave("no answer within " + FormatCount(limit.count(), "second"));
      }
    });
  }

  ~JoinGuard()
  {
    {
      std::lock_guard<std::mutex> lock(m_Mutex);
      m_Joined = true;
    }
    m_Changed.notify_all();
    m_Thread.join();
    std::set_terminate(m_Before);
  }

private:
  [[noreturn]] static void
  Leave(const std::string & reason)
  {
    const Diagnostic problem(
      "E-RANK-LOST", "rank 0 does not answer at " + place + " (" + reason + ")", "check MASTER_ADDR and MASTER_PORT");
    std::fprintf(stderr, "gigapixel: %s\n", problem.GetText().c_str());
    _exit(EXIT_FAILURE);
  }

  static inline std::string place; ///< a terminate handler has no arguments

  std::terminate_handler  m_Before;
  std::mutex              m_Mutex;
  std::condition_variable m_Changed;
  bool                    m_Joined{ false };
  std::thread             m_Thread;
};

} // namespace gigapixel

#endif
