/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef RunOnThreads_h
#define RunOnThreads_h

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gigapixel
{

/** Runs `work`, told which of them it is, on up to `threads` threads, this one (0) among them; throws what the first
 * failing one threw. */
template <typename TWork>
void
RunOnThreads(unsigned threads, const TWork & work)
{
  std::exception_ptr failure;
  std::mutex         mutex;
  const auto         guarded = [&](unsigned number) {
    try
    {
      work(number);
    }
    catch (...)
    {
      const std::lock_guard<std::mutex> lock(mutex);
      failure = failure ? failure : std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
  {
    try
    {
      others.emplace_back(guarded, i);
    }
    catch (const std::system_error &)
    {
      break; // the system has no more threads: fewer do
    }
  }
  guarded(0);
  for (auto & other : others)
  {
    other.join();
  }
  if (failure)
  {
    std::rethrow_exception(failure);
  }
}

} // namespace gigapixel

#endif
