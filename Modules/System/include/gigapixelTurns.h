/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTurns_h
#define gigapixelTurns_h

#include "GigapixelSystemExport.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace gigapixel
{

/** \class Turns
 * \brief Threads that compute items side by side do the last part of each in the items' order.
 *
 * Items have to be begun in their order, as Workers do: then the first of those that are being computed waits for
 * nobody. */
class GigapixelSystem_EXPORT Turns
{
public:
  /** Calls f() when that of all items before has returned, and while that of no other one runs.
   * \throw what Break() was given */
  void Take(std::int64_t item, const std::function<void()> & f);

  /** An item will never take its turn: nobody waits for it. \param reason what the first of these items threw */
  void Break(const std::exception_ptr & reason);

private:
  std::mutex              m_Mutex;
  std::condition_variable m_Changed;
  std::int64_t            m_Next{ 0 };
  std::exception_ptr      m_Reason;
};

} // namespace gigapixel

#endif
