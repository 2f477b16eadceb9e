/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelWorkers_h
#define gigapixelWorkers_h

#include "GigapixelSystemExport.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace gigapixel
{

/** \class Workers
 * \brief Threads that compute items side by side, while the calling thread takes the results in the items' order.
 *
 * The order is what makes sums of floating-point numbers the same for any number of threads. A worker waits before it
 * runs too far ahead of the calling thread, so that few results wait at a time. */
class GigapixelSystem_EXPORT Workers
{
public:
  explicit Workers(int threads); ///< 1 or more; they wait for work
  ~Workers();

  int GetNumberOfThreads() const; ///< as it was made with

  /** \param compute (worker, item) is called once for every item, by several threads
   * \param take (item) is called by the calling thread, for item 0, 1, ... after its computation; false stops
   * \param together how many threads compute at the same time; 0: all
   * \return false if it was stopped. The first exception of either function is passed on, after all threads rest. */
  bool Run(std::int64_t                                   items,
           const std::function<void(int, std::int64_t)> & compute,
           const std::function<bool(std::int64_t)> &      take,
           int                                            together = 0);

  /** Calls compute (begin, end) for parts of 0 to size, by several threads; a small size is one part, by the calling
   * one. Returns when all is done. For what needs no order: each value by itself. */
  void ForEachPart(std::size_t size, const std::function<void(std::size_t, std::size_t)> & compute);

  /** Results that may wait: item modulo this number is a place for a result that nobody else uses. */
  int GetNumberOfPlaces() const;

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

/** 0: as many as the machine has cores. */
GigapixelSystem_EXPORT int GetNumberOfThreads(int asked);

} // namespace gigapixel

#endif
