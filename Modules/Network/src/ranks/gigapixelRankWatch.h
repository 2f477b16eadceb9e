/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRankWatch_h
#define gigapixelRankWatch_h

#include "gigapixelLaunch.h"

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gigapixel
{

/** \class RankWatch
 * \brief Signs of life of all ranks, in the store that rank 0 holds.
 *
 * A thread of each rank writes a sign of life twice a second, with the count of its progress and whether it waits for
 * another rank, and looks whether the job has ended. That of rank 0 reads the others' signs: a rank without a new one
 * has died; one that does not wait and makes no progress hangs. */
class RankWatch
{
public:
  /** Returns when all ranks have come. */
  RankWatch(c10::intrusive_ptr<c10d::Store> store,
            const Launch &                  launch,
            const std::string &             host,
            std::chrono::seconds            joinLimit);

  /** Rank 0 waits a little until the others have left, since they need its store. */
  ~RankWatch();

  void Start();

  void ReportProgress();

  /** \param abort ends the waiting; called by another thread */
  void BeginWaiting(const std::function<void()> & abort);

  /** \param trouble empty: it went well
   * \throw Ranks::Stopped, or std::runtime_error with the reason of the job's end */
  void EndWaiting(int peer, const std::string & trouble);

  /** Tells all ranks. \param how "stopped" or "failed" */
  void End(const std::string & how, const std::string & reason);

private:
  using Clock = std::chrono::steady_clock;

  /** The last that was seen of a rank. */
  struct Sign
  {
    std::string       text;
    Clock::time_point since;    ///< of this text
    std::string       progress; ///< empty: it waits
    Clock::time_point progressSince;
  };

  std::string Meet(const std::string & host, std::chrono::seconds joinLimit);
  void        Run();
  void        GuardRun();
  void        LookAtOthers();
  std::string GetText(const std::string & key);
  void        SetText(const std::string & key, const std::string & text);
  std::string Name(int rank) const;
  std::string DescribeDeath(int rank) const;
  void        TakeEnd(const std::string & end);
  void        ThrowIfEnded();

  c10::intrusive_ptr<c10d::Store> m_Store;
  Launch                          m_Launch;
  std::chrono::seconds            m_HangLimit;
  std::vector<std::string>        m_Hosts;
  std::vector<Sign>               m_Signs;
  std::thread                     m_Thread;
  std::thread                     m_Guard;

  std::mutex              m_Mutex;
  std::condition_variable m_Changed;
  bool                    m_Leaving{ false };
  Clock::time_point       m_LastBeat; ///< of this rank
  std::int64_t            m_Progress{ 0 };
  bool                    m_Waiting{ false };
  std::function<void()>   m_Abort;
  std::string             m_End;                 ///< empty; "stopped"; or "failed" and the reason
  bool                    m_EndIsKnown{ false }; ///< to the thread that computes
};

} // namespace gigapixel

#endif
