/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OpenSlideLimit.h"

#include "openslide/OpenSlideMessage.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace gigapixel
{
namespace
{

void
End(int, siginfo_t * info, void *)
{
  if (info->si_code != SI_TIMER) // the whole process's limit (ulimit -t), by which it ends as without us
  {
    std::signal(SIGXCPU, SIG_DFL);
    std::raise(SIGXCPU);
    return;
  }
  SendLate(info->si_value.sival_int);
  _exit(1);
}

} // namespace

MemoryLimit::MemoryLimit()
{
  getrlimit(RLIMIT_AS, &m_Inherited);
  std::FILE * const file = std::fopen("/proc/self/statm", "r");
  char              line[64] = "";
  if (file != nullptr && std::fgets(line, sizeof(line), file) != nullptr)
  {
    const rlim_t pages = std::strtoul(line, nullptr, 10);
    m_Most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + OpenSlideLimits::memory;
    std::fclose(file);
  }
  Change(0);
}

void
MemoryLimit::Change(std::int64_t by)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_Most != 0)
  {
    m_Most += static_cast<rlim_t>(by);
    // The soft one, unless somebody else's is tighter.
    const rlimit limit{ std::min(m_Most, m_Inherited.rlim_cur), m_Inherited.rlim_max };
    setrlimit(RLIMIT_AS, &limit);
  }
}

ProcessorLimit::ProcessorLimit(int lane)
{
  struct sigaction action = {};
  action.sa_sigaction = End;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGXCPU, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGXCPU;
  event.sigev_value.sival_int = lane;
  m_IsMade = timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &m_Timer) == 0;
}

ProcessorLimit::~ProcessorLimit()
{
  if (m_IsMade)
  {
    timer_delete(m_Timer);
  }
}

void
ProcessorLimit::Set(unsigned seconds)
{
  itimerspec time{};
  time.it_value.tv_sec = seconds;
  if (m_IsMade)
  {
    timer_settime(m_Timer, 0, &time, nullptr);
  }
}

} // namespace gigapixel
