/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTurns_h
#define gigapixelTurns_h

#include "GigapixelSystemExport.h"

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <set>

namespace gigapixel
{

/** \class Turns
 * \brief Threads that compute items side by side wait for items before theirs: for those that an item needs, or for all
 * of them, so that the last part of each is done in the items' order.
 *
 * Items have to be begun in their order, as Workers do: then the first of those that are being computed waits for
 * nobody. */
class GigapixelSystem_EXPORT Turns
{
public:
  /** Returns when so many items, the first ones, are finished. \throw what Break() was given */
  void WaitFor(std::int64_t items);

  /** The item is finished, in whatever order. */
  void Finish(std::int64_t item);

  /** Calls f() when all items before are finished, and while that of no other one runs; then the item is finished.
   * \throw what Break() was given */
  void Take(std::int64_t item, const std::function<void()> & f);

  /** An item will never be finished: nobody waits for it. \param reason what the first of these items threw */
  void Break(const std::exception_ptr & reason);

private:
  std::mutex              m_Mutex;
  std::condition_variable m_Changed;
  std::int64_t            m_Next{ 0 };  ///< all items before it are finished
  std::set<std::int64_t>  m_Finished{}; ///< behind it
  std::exception_ptr      m_Reason;
};

} // namespace gigapixel

#endif
