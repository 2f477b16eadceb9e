/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideLimit_h
#define OpenSlideLimit_h

#include <cstdint>
#include <mutex>

#include <sys/resource.h>
#include <time.h>

namespace gigapixel
{

/** The limit to address space: what the process had taken when this was made, what OpenSlide may take
 * (OpenSlideLimits::memory), and what is added for the lanes. */
class MemoryLimit
{
public:
  MemoryLimit();

  /** Bytes more, or less. */
  void Change(std::int64_t by);

private:
  std::mutex m_Mutex;
  rlimit     m_Inherited{};
  rlim_t     m_Most{ 0 }; // 0: /proc is not there
};

/** What the thread that makes it may compute for one answer. Where it takes more, the other side of its lane is told,
 * and the process ends. */
class ProcessorLimit
{
public:
  explicit ProcessorLimit(int lane);
  ProcessorLimit(const ProcessorLimit &) = delete;
  ProcessorLimit & operator=(const ProcessorLimit &) = delete;
  ~ProcessorLimit();

  /** Begins, or ends with 0. */
  void Set(unsigned seconds);

private:
  timer_t m_Timer{};
  bool    m_IsMade;
};

} // namespace gigapixel

#endif
