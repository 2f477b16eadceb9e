/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideBatch.h"

#include "BatchRecords.h"
#include "DiagnosticJSON.h"
#include "ITKMessages.h"
#include "Engine.h"
#include "NameText.h"
#include "ReportCommand.h"

#include "gigapixelPackedDiagnostic.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace gigapixel::application
{
namespace
{

using Outcome = SlideOutcome;
using BatchEnd = std::function<void(const std::vector<Outcome> &)>;

/** All outcomes for rank 0, in the order of the slides; the others keep their own. */
std::vector<Outcome>
Gather(std::vector<Outcome> own, std::size_t slides, Ranks & ranks)
{
  if (ranks.GetRank() > 0)
  {
    auto list = nlohmann::ordered_json::array();
    for (const Outcome & outcome : own)
    {
      list.push_back({ outcome.result, outcome.text, ToJSON(outcome.failure) });
    }
    const std::vector<std::uint8_t> bytes = nlohmann::ordered_json::to_cbor(list);
    const std::uint64_t             size = bytes.size();
    ranks.Send(0, &size, sizeof(size));
    ranks.Send(0, bytes.data(), bytes.size());
    return own;
  }
  const auto           number = static_cast<std::size_t>(ranks.GetNumberOfRanks());
  std::vector<Outcome> all(slides);
  for (std::size_t i = 0; i < own.size(); ++i)
  {
    all[i * number] = std::move(own[i]);
  }
  for (std::size_t rank = 1; rank < number; ++rank)
  {
    std::uint64_t size = 0;
    ranks.Receive(static_cast<int>(rank), &size, sizeof(size));
    std::vector<std::uint8_t> bytes(size);
    ranks.Receive(static_cast<int>(rank), bytes.data(), size);
    std::size_t place = rank;
    for (const auto & entry : nlohmann::ordered_json::from_cbor(bytes))
    {
      all.at(place) = { entry[0], entry[1], ParseDiagnostic(entry[2]) };
      place += number;
    }
  }
  return all;
}

/** JSON has no bytes that are not UTF-8: names with such are spelled as in manifests. */
void
SpellNames(nlohmann::ordered_json & told)
{
  if (told.is_string())
  {
    told = ToNameText(told.get<std::string>());
  }
  for (auto item = told.begin(); told.is_structured() && item != told.end(); ++item)
  {
    if (told.is_array() || item.key() != "why") // a sentence is for people
    {
      SpellNames(*item);
    }
  }
}

void
Report(const Session & session, const std::vector<Outcome> & outcomes, const SlideList & list)
{
  std::string             text;
  auto                    results = nlohmann::ordered_json::array();
  std::vector<Diagnostic> failures;
  for (const Outcome & outcome : outcomes)
  {
    results.push_back(outcome.result);
    text += outcome.text;
    if (!outcome.failure.IsEmpty())
    {
      failures.push_back(outcome.failure);
    }
  }
  AddPassedOver(results, list);
  SpellNames(results);
  const auto & shown = list.isList ? results : results.front();
  session.ShowResult(text, shown);
  ShowSlideFailures(session, failures, list);
}

/** What makes progress meanwhile shows the other ranks of the job that this one is alive. */
class Witness
{
public:
  explicit Witness(std::shared_ptr<Ranks> job)
  {
    Progress::SetWitness([job = std::move(job)] { job->ReportProgress(); });
  }
  ~Witness() { Progress::SetWitness({}); }
  Witness(const Witness &) = delete;
  Witness & operator=(const Witness &) = delete;
};

/** Says now and then how far a batch is, and how long it will take. */
class Pace
{
public:
  Pace(const Session & session, std::size_t slides)
    : m_Session(session)
    , m_Slides(slides)
  {}

  void
  Count(bool isDoneNow)
  {
    ++m_Done;
    // Slides between this process's own ones are mostly those that other processes did meanwhile.
    m_DoneNow += isDoneNow || m_DoneNow > 0 ? 1 : 0;
    const auto now = Clock::now();
    if (m_DoneNow == 0 || m_Done == m_Slides || now - m_Said < std::chrono::seconds(10))
    {
      return;
    }
    m_Said = now;
    const double seconds = std::chrono::duration<double>(now - m_Begin).count();
    m_Session.Say(std::to_string(m_Done) + " of " + std::to_string(m_Slides) + " are done, " +
                  FormatDuration(seconds / static_cast<double>(m_DoneNow) * static_cast<double>(m_Slides - m_Done)) +
                  " left");
  }

private:
  using Clock = std::chrono::steady_clock;

  const Session &         m_Session;
  const std::size_t       m_Slides;
  std::size_t             m_Done{ 0 };
  std::size_t             m_DoneNow{ 0 }; ///< in this run, by all processes
  const Clock::time_point m_Begin{ Clock::now() };
  Clock::time_point       m_Said{ m_Begin };
};

/** The rank's share of the slides. Those that another process works on wait until it is done, or dead. */
std::vector<Outcome>
DoShare(const std::vector<SlideTask> & tasks, SlideWorker & worker, const Session & session, Ranks & ranks)
{
  std::vector<const SlideTask *> own;
  for (std::size_t i = ranks.GetRank(); i < tasks.size(); i += ranks.GetNumberOfRanks())
  {
    own.push_back(&tasks[i]);
  }
  std::vector<std::optional<Outcome>> outcomes(own.size());
  Pace                                pace(session, own.size());
  bool                                isWaiting = false;
  for (std::size_t left = own.size(); left > 0;)
  {
    const std::size_t before = left;
    for (std::size_t i = 0; i < own.size(); ++i)
    {
      ThrowIfInterrupted();
      ranks.ReportProgress();
      if (outcomes[i])
      {
        continue;
      }
      outcomes[i] = worker.DoSlide(*own[i]);
      if (outcomes[i])
      {
        --left;
        pace.Count(worker.HasWorked());
      }
    }
    if (left == before)
    {
      if (!std::exchange(isWaiting, true))
      {
        session.Say("Waiting for another process, which works on the last of them: " + std::to_string(left) + " left.");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
  worker.SayWhatFailedBefore();
  std::vector<Outcome> done;
  done.reserve(outcomes.size());
  for (auto & outcome : outcomes)
  {
    done.push_back(std::move(*outcome));
  }
  return done;
}

/** What works on a slide that was dealt to it: alone, but the others of its job see its progress. */
class AloneInJob : public Ranks
{
public:
  explicit AloneInJob(std::shared_ptr<Ranks> job)
    : m_Job(std::move(job))
  {}

  void
  ReportProgress() override
  {
    m_Job->ReportProgress();
  }

private:
  std::shared_ptr<Ranks> m_Job;
};

/** What is done of each slide, and behind all of them. */
struct BatchWork
{
  const SlideWork & ofSlide;
  const BatchEnd &  atEnd;
  bool              isAlone{ true }; ///< each slide is the work of one process, which so may be another one's
};

/** As RunBatch() says. */
int
DealSlides(const ArgumentValues &         values,
           const Session &                session,
           const std::vector<SlideTask> & tasks,
           const SlideList &              list,
           const BatchWork &              work,
           Ranks &                        ranks)
{
  try
  {
    std::string all = values.Describe();
    for (const SlideTask & task : tasks)
    {
      all += task.slide + '\n' + task.output + '\n';
    }
    ranks.CheckSame(all);
    bool agreed = true; // nobody writes anything before all have
    for (int rank = 1; rank < ranks.GetNumberOfRanks(); ++rank)
    {
      ranks.Broadcast(rank, &agreed, sizeof(agreed));
    }
    CheckReportOfBatch(values);
    BatchRecords records(values, tasks);
    SlideWorker  worker(tasks, list.kind, work.ofSlide, records, session, work.isAlone);
    const auto   outcomes = Gather(DoShare(tasks, worker, session, ranks), tasks.size(), ranks);
    bool         failed =
      std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome & outcome) { return !outcome.failure.IsEmpty(); });
    if (ranks.GetRank() == 0)
    {
      records.Finish(session);
    }
    if (work.atEnd && ranks.GetRank() == 0)
    {
      work.atEnd(outcomes);
    }
    ranks.Broadcast(0, &failed, sizeof(failed));
    if (ranks.GetRank() == 0)
    {
      Report(session, outcomes, list);
      WriteReportOfBatch(values, session, outcomes);
    }
    return failed ? Failure : Success;
  }
  catch (const Ranks::Stopped &)
  {
    throw Interrupted();
  }
  catch (const Interrupted &)
  {
    ranks.Stop();
    throw;
  }
  catch (const std::exception &)
  {
    ranks.Fail(PackDiagnostic(DiagnoseThrown()));
    throw;
  }
}
} // namespace

void
ShowSlideFailures(const Session & session, const std::vector<Diagnostic> & failures, const SlideList & list)
{
  for (const Diagnostic & failure : failures)
  {
    session.GetFrontEnd().ShowDiagnostic(failure);
  }
  if (!failures.empty() && list.slides.size() > 1)
  {
    session.GetFrontEnd().ShowFailures(std::to_string(failures.size()) + " of " + std::to_string(list.slides.size()) +
                                       ' ' + list.kind + "s failed.");
  }
}

int
RunBatch(const ArgumentValues &                                                               values,
         const Session &                                                                      session,
         const std::vector<SlideTask> &                                                       tasks,
         const SlideList &                                                                    list,
         const std::function<nlohmann::ordered_json(const SlideTask &, std::string & text)> & work,
         const std::function<void(const std::vector<SlideOutcome> &)> &                       finish)
{
  const auto    ranks = JoinJob(Launch::Find());
  const Witness witness(ranks);
  return DealSlides(values, session, tasks, list, { work, finish }, *ranks);
}

int
RunSharedBatch(
  const ArgumentValues &         values,
  const Session &                session,
  const std::vector<SlideTask> & tasks,
  const SlideList &              list,
  const std::function<nlohmann::ordered_json(const SlideTask &, const std::shared_ptr<Ranks> &, std::string &)> & work)
{
  const auto    ranks = JoinJob(Launch::Find());
  const Witness witness(ranks);
  if (tasks.size() >= static_cast<std::size_t>(ranks->GetNumberOfRanks()))
  {
    const auto      alone = std::make_shared<AloneInJob>(ranks);
    const SlideWork workAlone = [&](const SlideTask & task, std::string & text) { return work(task, alone, text); };
    return DealSlides(values, session, tasks, list, { workAlone, {} }, *ranks);
  }
  bool            ended = false;
  const SlideWork share = [&](const SlideTask & task, std::string & text) {
    if (ended)
    {
      throw Refusal(
        Diagnostic("E-RANK-LOST",
                   "not begun, since the job of " + std::to_string(ranks->GetNumberOfRanks()) + " ranks had ended",
                   "see the message of the rank that ended it")
          .OfFile(task.slide));
    }
    try
    {
      auto result = work(task, ranks, text);
      bool written = true;
      ranks->Broadcast(0, &written, sizeof(written)); // the others stay until rank 0 has the file
      return result;
    }
    catch (const Ranks::Stopped &)
    {
      throw Interrupted();
    }
    catch (const UsageError &)
    {
      ended = true;
      throw;
    }
    catch (...)
    {
      ended = true;
      ThrowIfInterrupted();
      const Diagnostic failure = DiagnoseThrown();
      ranks->Fail(PackDiagnostic(failure));
      throw Refusal(failure);
    }
  };
  try
  {
    if (ranks->GetRank() == 0)
    {
      Ranks alone;
      return DealSlides(values, session, tasks, list, { share, {}, false }, alone);
    }
    std::string ignored;
    std::for_each(tasks.begin(), tasks.end(), [&](const SlideTask & task) { share(task, ignored); });
    return Success;
  }
  catch (const Interrupted &)
  {
    ranks->Stop();
    throw;
  }
}

} // namespace gigapixel::application
