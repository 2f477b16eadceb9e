/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelRankWatch.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelJoinGuard.h"
#include "gigapixelPackedDiagnostic.h"
#include "gigapixelRanks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace gigapixel
{
namespace
{

constexpr std::chrono::milliseconds Beat{ 500 };
constexpr std::chrono::seconds      DeathLimit{ 10 };
/** What a call of the store may take at most: not every version of it keeps its own limits. */
constexpr std::chrono::seconds StoreLimit{ 15 };
/** What a rank has to end itself in, after the job has ended. */
constexpr std::chrono::seconds LeaveLimit{ 10 };
const std::string              EndKey = "end";
const std::string              LeftKey = "number of those that left";
const std::string              Failed = "failed ";
const std::string              Left = "left";

std::string
GetHostKey(int rank)
{
  return "host/" + std::to_string(rank);
}

std::string
GetSignKey(int rank)
{
  return "sign/" + std::to_string(rank);
}

} // namespace

RankWatch::RankWatch(c10::intrusive_ptr<c10d::Store> store,
                     const Launch &                  launch,
                     const std::string &             host,
                     std::chrono::seconds            joinLimit)
  : m_Store(std::move(store))
  , m_Launch(launch)
  // Environment variable GIGAPIXEL_RANK_TIMEOUT: Seconds without progress after which a rank counts as hanging.
  // The default is 300.
  , m_HangLimit(Launch::GetNumber("GIGAPIXEL_RANK_TIMEOUT", 300))
  , m_Hosts(launch.ranks)
{
  if (m_HangLimit.count() < 1)
  {
    throw InvalidArgument(
      Diagnostic("E-OPTION-VALUE", "the environment variable GIGAPIXEL_RANK_TIMEOUT has to be 1 second or more")
        .OfOption("GIGAPIXEL_RANK_TIMEOUT", std::to_string(m_HangLimit.count())));
  }
  const JoinGuard guard(launch, joinLimit + StoreLimit);
  std::string     missing;
  try
  {
    missing = Meet(host, joinLimit);
  }
  catch (const c10::Error &)
  {
    throw Refusal(Diagnostic("E-RANK-LOST", "rank 0 ended before all ranks had come"));
  }
  catch (const std::system_error &) // of older versions of c10d
  {
    throw Refusal(Diagnostic("E-RANK-LOST", "rank 0 ended before all ranks had come"));
  }
  if (!missing.empty())
  {
    throw Refusal(Diagnostic("E-RANK-LOST",
                             "of " + FormatCount(launch.ranks, "rank") + ", these did not come within " +
                               FormatCount(joinLimit.count(), "second") + ": " + missing));
  }
}

/** \return the ranks that did not come */
std::string
RankWatch::Meet(const std::string & host, std::chrono::seconds joinLimit)
{
  const std::string own = std::to_string(m_Launch.rank), number = std::to_string(m_Launch.ranks);
  if (m_Store->add("place/" + own, 1) > 1)
  {
    throw Refusal(Diagnostic("E-RANKS-DIFFER",
                             "two processes say that they are rank " + own,
                             "give each another RANK, and each job another MASTER_PORT"));
  }
  SetText(GetSignKey(m_Launch.rank), "-1");
  SetText(GetHostKey(m_Launch.rank), number + ' ' + host);
  const auto  end = Clock::now() + joinLimit;
  std::string missing;
  for (int rank = 0; rank < m_Launch.ranks; ++rank)
  {
    while (!m_Store->check({ GetHostKey(rank) }) && Clock::now() < end)
    {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (!m_Store->check({ GetHostKey(rank) }))
    {
      missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
      continue;
    }
    const std::string text = GetText(GetHostKey(rank));
    const auto        blank = text.find(' ');
    if (blank == std::string::npos)
    {
      throw Refusal(Diagnostic(
        "E-RANK-LOST", "what answers in place of rank 0 is another program", "check MASTER_ADDR and MASTER_PORT"));
    }
    m_Hosts[rank] = text.substr(blank + 1);
    if (text.substr(0, blank) != number)
    {
      throw Refusal(Diagnostic("E-RANKS-DIFFER",
                               Name(rank) + " was started as one of " + text.substr(0, blank) + " ranks, rank " + own +
                                 " as one of " + number,
                               "start all with the same WORLD_SIZE"));
    }
  }
  return missing;
}

RankWatch::~RankWatch()
{
  {
    std::lock_guard<std::mutex> lock(m_Mutex);
    m_Leaving = true;
  }
  m_Changed.notify_all();
  for (std::thread * thread : { &m_Thread, &m_Guard })
  {
    if (thread->joinable())
    {
      thread->join();
    }
  }
  if (m_End == Failed + DescribeDeath(0))
  {
    return; // its store would keep this process for another DeathLimit
  }
  try
  {
    const auto end = Clock::now() + (m_End.empty() ? LeaveLimit : LeaveLimit / 3);
    SetText(GetSignKey(m_Launch.rank), Left);
    m_Store->add(LeftKey, 1);
    while (m_Launch.rank == 0 && m_Store->add(LeftKey, 0) < m_Launch.ranks && Clock::now() < end)
    {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  catch (const std::exception &)
  {
    // Rank 0 has gone just now: nobody is left to be told.
  }
}

void
RankWatch::Start()
{
  m_Store->setTimeout(DeathLimit);
  GetText(GetHostKey(0)); // some calls of the store keep the limit that the last get() had
  m_Signs.assign(m_Launch.ranks, Sign{ {}, Clock::now(), {}, Clock::now() });
  m_LastBeat = Clock::now();
  m_Thread = std::thread([this] { Run(); });
  m_Guard = std::thread([this] { GuardRun(); });
}

void
RankWatch::ReportProgress()
{
  std::lock_guard<std::mutex> lock(m_Mutex);
  ++m_Progress;
  ThrowIfEnded();
}

void
RankWatch::BeginWaiting(const std::function<void()> & abort)
{
  std::lock_guard<std::mutex> lock(m_Mutex);
  ThrowIfEnded();
  m_Waiting = true;
  m_Abort = abort;
}

void
RankWatch::EndWaiting(int peer, const std::string & trouble)
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  m_Abort = {};
  if (!trouble.empty())
  {
    // A connection breaks at once when a process dies; whose fault it was, rank 0 finds out.
    m_Changed.wait_for(lock, DeathLimit + 4 * Beat, [this] { return !m_End.empty(); });
  }
  m_Waiting = false;
  ++m_Progress;
  ThrowIfEnded();
  if (!trouble.empty())
  {
    throw Refusal(Diagnostic("E-RANK-LOST", "the connection to " + Name(peer) + " broke (" + trouble + ")"));
  }
}

void
RankWatch::End(const std::string & how, const std::string & reason)
{
  const std::string end = how + ' ' + reason;
  {
    std::lock_guard<std::mutex> lock(m_Mutex);
    if (!m_End.empty())
    {
      return;
    }
  }
  try
  {
    // Not locked: a rank 0 that does not answer holds this call, too, and the guard has to see that.
    m_Store->compareSet(EndKey, {}, std::vector<std::uint8_t>(end.begin(), end.end()));
  }
  catch (const std::exception &)
  {
    // Rank 0 is gone, which the others see themselves.
  }
  std::lock_guard<std::mutex> lock(m_Mutex);
  m_End = m_End.empty() ? end : m_End;
  m_EndIsKnown = m_EndIsKnown || std::this_thread::get_id() != m_Thread.get_id();
  m_Changed.notify_all();
}

void
RankWatch::ThrowIfEnded()
{
  if (!m_End.empty())
  {
    m_EndIsKnown = true;
    m_Changed.notify_all();
    if (m_End.compare(0, Failed.size(), Failed) == 0)
    {
      throw Refusal(UnpackDiagnostic(m_End.substr(Failed.size()), "E-RANK-LOST"));
    }
    throw Ranks::Stopped();
  }
}

std::string
RankWatch::Name(int rank) const
{
  return "rank " + std::to_string(rank) + " on " + m_Hosts[rank];
}

std::string
RankWatch::DescribeDeath(int rank) const
{
  return Name(rank) + " died, or its host does not answer any more";
}

std::string
RankWatch::GetText(const std::string & key)
{
  const std::vector<std::uint8_t> bytes = m_Store->get(key);
  return { bytes.begin(), bytes.end() };
}

void
RankWatch::SetText(const std::string & key, const std::string & text)
{
  m_Store->set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
}

void
RankWatch::Run()
{
  std::string end;
  for (std::int64_t beat = 0; end.empty(); ++beat)
  {
    std::string sign;
    {
      std::unique_lock<std::mutex> lock(m_Mutex);
      if (m_Changed.wait_for(lock, Beat, [this] { return m_Leaving; }))
      {
        return;
      }
      m_LastBeat = Clock::now();
      sign = std::to_string(beat) + (m_Waiting ? " " : ' ' + std::to_string(m_Progress));
    }
    try
    {
      SetText(GetSignKey(m_Launch.rank), sign);
      if (m_Launch.rank == 0)
      {
        LookAtOthers();
      }
      end = m_Store->check({ EndKey }) ? GetText(EndKey) : std::string();
    }
    catch (const std::exception &)
    {
      end = Failed + DescribeDeath(0);
    }
  }
  TakeEnd(end);
}

/** A rank 0 that is there, but does not answer, holds Run() in a call that never returns. */
void
RankWatch::GuardRun()
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  while (!m_Changed.wait_for(lock, Beat, [this] { return m_Leaving || !m_End.empty(); }))
  {
    if (Clock::now() - m_LastBeat > StoreLimit)
    {
      std::fprintf(stderr, "gigapixel: %s\n", Diagnostic("E-RANK-LOST", DescribeDeath(0)).GetText().c_str());
      _exit(EXIT_FAILURE);
    }
  }
}

void
RankWatch::LookAtOthers()
{
  const auto now = Clock::now();
  for (int rank = 0; rank < m_Launch.ranks; ++rank)
  {
    Sign &            sign = m_Signs[rank];
    const std::string text = GetText(GetSignKey(rank));
    const std::string progress = text.substr(std::min(text.find(' '), text.size()));
    if (text != sign.text)
    {
      sign.text = text;
      sign.since = now;
    }
    if (progress != sign.progress || progress == " ")
    {
      sign.progress = progress;
      sign.progressSince = now;
    }
    if (text == Left)
    {
      continue;
    }
    if (now - sign.since > DeathLimit)
    {
      End("failed", DescribeDeath(rank));
    }
    else if (sign.since - sign.progressSince > m_HangLimit)
    {
      End("failed",
          Name(rank) + " hangs: it made no progress for " + FormatCount(m_HangLimit.count(), "second") +
            " (GIGAPIXEL_RANK_TIMEOUT)");
    }
  }
}

void
RankWatch::TakeEnd(const std::string & end)
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  m_End = end;
  if (m_Abort)
  {
    m_Abort();
  }
  m_Changed.notify_all();
  if (end.compare(0, Failed.size(), Failed) == 0 &&
      !m_Changed.wait_for(lock, LeaveLimit, [this] { return m_Leaving || m_EndIsKnown; }))
  {
    // The thread that computes is stuck: nobody else can end this process.
    const Diagnostic problem = UnpackDiagnostic(end.substr(Failed.size()), "E-RANK-LOST");
    std::fprintf(stderr, "gigapixel: %s\n", problem.GetText().c_str());
    _exit(EXIT_FAILURE);
  }
}

} // namespace gigapixel
