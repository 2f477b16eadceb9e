/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWorkers.h"
#include "gigapixelUsableCores.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace gigapixel
{

struct Workers::Implementation
{
  std::vector<std::thread> threads;
  std::mutex               mutex;
  std::condition_variable  wake; ///< workers: there may be something to do
  std::condition_variable  done; ///< calling thread: something was done
  int                      ready{ 0 };
  bool                     quit{ false };

  // One run.
  std::function<void(int, std::int64_t)> compute;
  std::int64_t                           items{ 0 };
  std::int64_t                           next{ 0 };  ///< to be begun
  std::int64_t                           taken{ 0 }; ///< by the calling thread
  int                                    busy{ 0 };
  int                                    most{ 0 }; ///< of busy
  std::vector<char>                      computed;  ///< per place
  std::exception_ptr                     error;

  int
  GetNumberOfPlaces() const
  {
    return 8 * static_cast<int>(threads.size());
  }

  void
  Work(int worker)
  {
    std::unique_lock<std::mutex> lock(mutex);
    ++ready;
    done.notify_all();
    for (;;)
    {
      wake.wait(lock, [this] { return quit || MayBegin(); });
      if (quit)
      {
        return;
      }
      ComputeNext(worker, lock);
    }
  }

  bool
  MayBegin() const
  {
    return !error && busy < most && next < items && next < taken + GetNumberOfPlaces();
  }

  void
  ComputeNext(int worker, std::unique_lock<std::mutex> & lock)
  {
    const std::int64_t item = next++;
    ++busy;
    lock.unlock();
    std::exception_ptr thrown;
    try
    {
      compute(worker, item);
    }
    catch (...)
    {
      thrown = std::current_exception();
    }
    lock.lock();
    --busy;
    computed[item % GetNumberOfPlaces()] = 1;
    if (thrown && !error)
    {
      error = thrown;
    }
    done.notify_all();
  }

  /** Nothing more is begun; returns when all threads rest. */
  void
  Rest(std::unique_lock<std::mutex> & lock)
  {
    items = next;
    done.wait(lock, [this] { return busy == 0; });
  }
};

Workers::Workers(int threads)
  : m_Implementation(std::make_unique<Implementation>())
{
  Implementation & implementation = *m_Implementation;
  // Locked until all are there: the number of threads is read by those that are already running.
  std::unique_lock<std::mutex> lock(implementation.mutex);
  implementation.threads.reserve(std::max(1, threads));
  for (int i = 0; i < std::max(1, threads); ++i)
  {
    try
    {
      implementation.threads.emplace_back([&implementation, i] { implementation.Work(i); });
    }
    catch (const std::system_error &)
    {
      if (i == 0)
      {
        throw Refusal(Diagnostic(
          "E-THREADS", "the system lets this process start no further thread", "raise its limit (ulimit -u)"));
      }
      break; // fewer will do
    }
  }
  implementation.computed.resize(implementation.GetNumberOfPlaces());
  implementation.done.wait(lock, [&] { return implementation.ready == GetNumberOfThreads(); });
}

Workers::~Workers()
{
  {
    std::lock_guard<std::mutex> lock(m_Implementation->mutex);
    m_Implementation->quit = true;
  }
  m_Implementation->wake.notify_all();
  for (std::thread & thread : m_Implementation->threads)
  {
    thread.join();
  }
}

int
Workers::GetNumberOfThreads() const
{
  return static_cast<int>(m_Implementation->threads.size());
}

int
Workers::GetNumberOfPlaces() const
{
  return m_Implementation->GetNumberOfPlaces();
}

bool
Workers::Run(std::int64_t                                   items,
             const std::function<void(int, std::int64_t)> & compute,
             const std::function<bool(std::int64_t)> &      take,
             int                                            together)
{
  Implementation &             run = *m_Implementation;
  std::unique_lock<std::mutex> lock(run.mutex);
  run.compute = compute;
  run.next = run.taken = 0;
  run.items = items;
  run.most = together > 0 ? together : GetNumberOfThreads();
  run.error = nullptr;
  std::fill(run.computed.begin(), run.computed.end(), 0);
  run.wake.notify_all();
  for (std::int64_t item = 0; item < items; ++item)
  {
    char & computed = run.computed[item % run.GetNumberOfPlaces()];
    run.done.wait(lock, [&] { return computed || run.error; });
    bool proceed = false;
    if (!run.error)
    {
      lock.unlock();
      try
      {
        proceed = take(item);
        lock.lock();
      }
      catch (...)
      {
        lock.lock();
        run.error = std::current_exception();
      }
    }
    computed = 0;
    run.taken = item + 1;
    if (!proceed)
    {
      run.Rest(lock);
      if (run.error)
      {
        std::rethrow_exception(run.error);
      }
      return false;
    }
    run.wake.notify_all();
  }
  return true;
}

void
Workers::ForEachPart(std::size_t size, const std::function<void(std::size_t, std::size_t)> & compute)
{
  constexpr std::size_t Part = 65536; // takes far longer than it takes to wake a thread
  if (size <= Part)
  {
    return compute(0, size);
  }
  Run(
    static_cast<std::int64_t>((size + Part - 1) / Part),
    [&](int, std::int64_t part) {
      const std::size_t begin = static_cast<std::size_t>(part) * Part;
      compute(begin, std::min(size, begin + Part));
    },
    [](std::int64_t) { return true; });
}

int
GetNumberOfThreads(int asked)
{
  return asked > 0 ? asked : CountUsableCores();
}

} // namespace gigapixel
