/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideBatch.h"

#include "BatchRecords.h"
#include "DiagnosticJSON.h"
#include "Doubt.h"
#include "ITKMessages.h"
#include "NetworkModule.h"
#include "OutputCheck.h"
#include "ReportCommand.h"
#include "VolumeFile.h"

#include "gigapixelMaskName.h"
#include "gigapixelPackedDiagnostic.h"
#include "gigapixelPrintable.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace fs = std::filesystem;

namespace gigapixel::commandline
{
namespace
{

bool
MeansFolder(const std::string & output)
{
  return output.back() == '/' || fs::is_directory(output);
}

/** Whether the output is named as one file of the content is. */
bool
IsNamedAsFile(const std::string & output, const std::string & content)
{
  const auto & endings = GetEndings(content);
  return std::any_of(
    endings.begin(), endings.end(), [&output](const std::string & ending) { return EndsWith(output, ending); });
}

/** \throw UsageError the output is one file's name, and what is given is more than one slide, or a folder of slides,
 * which is to mean the same whatever the number of its slides is */
void
RefuseOneFile(const SlideList &   list,
              const std::string & output,
              const std::string & optionName,
              const std::string & content)
{
  const bool isThere = fs::exists(output);
  if (MeansFolder(output) || (!isThere && !IsNamedAsFile(output, content)))
  {
    return;
  }
  const std::string number = std::to_string(list.slides.size());
  throw UsageError(Diagnostic("E-OUTPUT-KIND",
                              optionName + ' ' + output +
                                (isThere ? " is one file, but " : " is named as one file is, but ") +
                                (list.slides.size() > 1 ? "there are " + number + ' ' : "a folder of ") + list.kind +
                                's' + (list.slides.size() > 1 ? "" : " is given"),
                              std::string("name a folder") + (isThere ? "" : ", or end it in / if it is one"))
                     .OfOption(optionName, output));
}

/** The file of a slide's name in the folder of all outputs. */
std::string
GetOutputInFolder(const std::string & folder, const std::string & slide, const std::string & content)
{
  if (content == "label")
  {
    return GetMaskInFolder(folder, slide);
  }
  const std::string name = content == "label volume" ? GetVolumeName(slide) : GetSlideName(slide);
  return (fs::path(folder) / (name + GetEndings(content).front())).string();
}

void
CheckTasks(const std::vector<SlideTask> & tasks)
{
  std::map<std::string, std::string> slideOfOutput;
  for (const SlideTask & task : tasks)
  {
    const auto [other, isNew] = slideOfOutput.emplace(task.output, task.slide);
    if (!isNew)
    {
      throw Refusal(Diagnostic("E-OUTPUT-TWICE",
                               other->second + " and " + task.slide + " would both be written to " + task.output,
                               "give them in two runs, with two folders")
                      .OfFile(task.output));
    }
  }
  std::vector<std::string> files, outputs;
  for (const SlideTask & task : tasks)
  {
    const auto own = itk::GigapixelSplitModalities(task.slide);
    files.insert(files.end(), own.begin(), own.end());
    outputs.push_back(task.output);
  }
  RefuseInputs(outputs, files);
}

using Outcome = SlideOutcome;
using SlideWork = std::function<nlohmann::ordered_json(const SlideTask &, std::string & text)>;
using BatchEnd = std::function<void(const std::vector<Outcome> &)>;

Outcome
WorkOn(const SlideTask & task, const std::string & kind, const SlideWork & work)
{
  Outcome outcome;
  try
  {
    outcome.result = work(task, outcome.text);
    if (outcome.result.contains("error"))
    {
      outcome.failure = ParseDiagnostic(outcome.result["error"]);
    }
  }
  catch (const Ranks::Stopped &)
  {
    throw;
  }
  catch (...)
  {
    outcome.failure = DiagnoseSlideFailure(task.slide);
    outcome.result = DescribeFailedSlide(task.slide, outcome.failure, kind);
  }
  const std::vector<Diagnostic> warnings = TakeWarnings();
  AddDoubts(warnings, outcome.result, outcome.text);
  if (!warnings.empty() && outcome.result.is_object())
  {
    nlohmann::ordered_json all = ToJSON(warnings);
    for (const auto & own : outcome.result.value("warnings", nlohmann::ordered_json::array()))
    {
      all.push_back(own);
    }
    outcome.result["warnings"] = all;
  }
  return outcome;
}

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
  if (list.isList || failures.empty() || !text.empty() || session.WantsJSON())
  {
    const auto & shown = list.isList ? results : results.front();
    session.PrintResult(text, shown.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  }
  ReportSlideFailures(failures, list);
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

/** Hands over the warnings that are kept for the result of a slide: those that name no slide of the batch, or this one.
 * \param slides all of the batch \param others warnings about the other slides, which were opened already to check them
 */
void
KeepWarningsOf(const SlideTask & task, const std::set<std::string> & slides, std::vector<Diagnostic> & others)
{
  std::vector<Diagnostic> later;
  for (Diagnostic & warning : others)
  {
    if (warning.file != task.slide && slides.count(warning.file) > 0)
    {
      later.push_back(std::move(warning));
    }
    else
    {
      KeepWarning(warning);
    }
  }
  others = std::move(later);
}

/** The result of a slide that is recorded, with the warnings and doubts that it had. */
nlohmann::ordered_json
Restore(nlohmann::ordered_json result,
        const SlideTask &      task,
        const std::string &    kind,
        const Session &        session,
        std::string &          text)
{
  const std::vector<Diagnostic> before = TakeWarnings();
  std::for_each(before.begin(), before.end(), KeepWarning);
  for (const auto & doubt : result.value("doubts", nlohmann::ordered_json::array()))
  {
    if (!doubt.is_object())
    {
      continue;
    }
    const auto getNumber = [&doubt](const char * key) {
      const auto found = doubt.value(key, nlohmann::ordered_json());
      return found.is_number() ? found.get<double>() : std::numeric_limits<double>::quiet_NaN();
    };
    const auto getText = [&doubt](const char * key) {
      const auto found = doubt.value(key, nlohmann::ordered_json());
      return found.is_string() ? found.get<std::string>() : std::string();
    };
    KeepDoubt({ getText("code"), getNumber("value"), getNumber("limit"), getText("file") });
  }
  for (const auto & entry : result.value("warnings", nlohmann::ordered_json::array()))
  {
    const Diagnostic warning = ParseDiagnostic(entry);
    if (std::none_of(before.begin(), before.end(), [&warning](const Diagnostic & each) {
          return each.GetText() == warning.GetText();
        }))
    {
      session.Warn(warning);
    }
  }
  result.erase("doubts");
  result.erase("warnings");
  result[kind] = task.slide;
  if (!result.contains("error"))
  {
    result["skipped"] = true;
    text += task.output + ": was there already\n";
  }
  return result;
}

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

/** Works on the slides of a batch that are not done, one after the other. */
class Worker
{
public:
  Worker(const std::vector<SlideTask> & tasks,
         const std::string &            kind,
         const SlideWork &              work,
         BatchRecords &                 records,
         const Session &                session,
         bool                           isAlone)
    : m_Kind(kind)
    , m_Work(work)
    , m_Records(records)
    , m_Session(session)
    , m_IsAlone(isAlone)
    , m_Before(TakeWarnings())
  {
    for (const SlideTask & task : tasks)
    {
      m_Slides.insert(task.slide);
    }
  }

  /** \return nothing: another process works on the slide */
  std::optional<Outcome>
  DoSlide(const SlideTask & task)
  {
    if (auto found = m_IsAlone ? this->FindDone(task) : std::nullopt)
    {
      return found;
    }
    std::unique_ptr<BatchLock> lock;
    if (m_IsAlone && m_Records.AreKept())
    {
      if (!m_Records.Lock(task, lock))
      {
        return std::nullopt;
      }
      if (auto found = this->FindDone(task)) // by another process, meanwhile
      {
        return found;
      }
    }
    KeepWarningsOf(task, m_Slides, m_Before);
    Outcome outcome = WorkOn(task, m_Kind, m_Work);
    m_Records.Add(task, outcome.result);
    m_HasWorked = true;
    return outcome;
  }

  /** Whether the last slide was worked on. */
  bool
  HasWorked()
  {
    return std::exchange(m_HasWorked, false);
  }

  void
  SayWhatFailedBefore() const
  {
    if (m_FailedBefore > 0)
    {
      m_Session.Say(std::to_string(m_FailedBefore) + ' ' + m_Kind + (m_FailedBefore == 1 ? "" : "s") +
                    " failed in an earlier run and were not tried again: --retry tries them.");
    }
  }

private:
  /** The outcome that is recorded. */
  std::optional<Outcome>
  FindDone(const SlideTask & task)
  {
    std::optional<nlohmann::ordered_json> found;
    std::exception_ptr                    refusal;
    try
    {
      found = m_Records.Find(task);
    }
    catch (const std::exception &)
    {
      refusal = std::current_exception();
    }
    if (!found && !refusal)
    {
      return std::nullopt;
    }
    KeepWarningsOf(task, m_Slides, m_Before);
    Outcome outcome = WorkOn(task, m_Kind, [&](const SlideTask &, std::string & text) {
      if (refusal)
      {
        std::rethrow_exception(refusal);
      }
      return Restore(*found, task, m_Kind, m_Session, text);
    });
    m_FailedBefore += !refusal && !outcome.failure.IsEmpty() ? 1 : 0;
    return outcome;
  }

  std::set<std::string>   m_Slides;
  const std::string &     m_Kind;
  const SlideWork &       m_Work;
  BatchRecords &          m_Records;
  const Session &         m_Session;
  const bool              m_IsAlone;
  std::vector<Diagnostic> m_Before; ///< the first result gets the warnings that came before it
  std::size_t             m_FailedBefore{ 0 };
  bool                    m_HasWorked{ false };
};

/** The rank's share of the slides. Those that another process works on wait until it is done, or dead. */
std::vector<Outcome>
DoShare(const std::vector<SlideTask> & tasks, Worker & worker, const Session & session, Ranks & ranks)
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

/** As RunBatch() says. \param isAlone whether each slide is the work of one process, which so may be another one's */
int
DealSlides(const ArgumentValues &         values,
           const Session &                session,
           const std::vector<SlideTask> & tasks,
           const SlideList &              list,
           const SlideWork &              work,
           const BatchEnd &               finish,
           Ranks &                        ranks,
           bool                           isAlone = true)
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
    Worker       worker(tasks, list.kind, work, records, session, isAlone);
    const auto   outcomes = Gather(DoShare(tasks, worker, session, ranks), tasks.size(), ranks);
    bool         failed =
      std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome & outcome) { return !outcome.failure.IsEmpty(); });
    if (ranks.GetRank() == 0)
    {
      records.Finish(session);
    }
    if (finish && ranks.GetRank() == 0)
    {
      finish(outcomes);
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

std::vector<SlideTask>
AssignOutputs(const SlideList &   list,
              const std::string & output,
              const std::string & optionName,
              const std::string & content)
{
  std::vector<SlideTask> tasks;
  if (list.slides.size() == 1 && !list.isFolder && !MeansFolder(output))
  {
    CheckEnding(optionName, output, content, ", or in / if it is a folder");
    tasks.push_back({ list.slides.front(), output });
  }
  else
  {
    RefuseOneFile(list, output, optionName, content);
    MakeFolderWithFirstOutput(output);
    for (const std::string & slide : list.slides)
    {
      tasks.push_back({ slide, GetOutputInFolder(output, slide, content), output });
    }
  }
  CheckTasks(tasks);
  return tasks;
}

void
RefuseMasks(const std::vector<SlideTask> & tasks, const std::string & tissue)
{
  if (tissue.empty())
  {
    return;
  }
  std::vector<std::string> masks{ tissue };
  if (fs::is_directory(tissue))
  {
    masks.clear();
    for (const SlideTask & task : tasks)
    {
      masks.push_back(GetMaskInFolder(tissue, task.slide));
    }
  }
  std::vector<std::string> outputs;
  for (const SlideTask & task : tasks)
  {
    outputs.push_back(task.output);
  }
  RefuseInputs(outputs, masks);
}

Diagnostic
DiagnoseSlideFailure(const std::string & slide)
{
  try
  {
    throw;
  }
  catch (const UsageError &)
  {
    throw;
  }
  catch (const Interrupted &)
  {
    throw;
  }
  catch (...)
  {
    ThrowIfInterrupted();
    const Diagnostic failure = DiagnoseThrown();
    const bool       isNamed = !failure.file.empty() || failure.why.find(slide) != std::string::npos;
    return isNamed ? failure : failure.OfFile(slide);
  }
}

nlohmann::ordered_json
DescribeFailedSlide(const std::string & slide, const Diagnostic & failure, const std::string & kind)
{
  return { { kind, slide }, { "error", ToJSON(failure) } };
}

void
ReportSlideFailures(const std::vector<Diagnostic> & failures, const SlideList & list)
{
  for (const Diagnostic & failure : failures)
  {
    std::fprintf(stderr, "gigapixel: %s\n", GetPrintable(failure.GetText()).c_str());
  }
  if (!failures.empty() && list.slides.size() > 1)
  {
    std::fprintf(stderr, "gigapixel: %zu of %zu %ss failed.\n", failures.size(), list.slides.size(), list.kind.c_str());
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
  const auto    ranks = JoinRanks(Launch::Find());
  const Witness witness(ranks);
  return DealSlides(values, session, tasks, list, work, finish, *ranks);
}

int
RunSharedBatch(
  const ArgumentValues &         values,
  const Session &                session,
  const std::vector<SlideTask> & tasks,
  const SlideList &              list,
  const std::function<nlohmann::ordered_json(const SlideTask &, const std::shared_ptr<Ranks> &, std::string &)> & work)
{
  const auto    ranks = JoinRanks(Launch::Find());
  const Witness witness(ranks);
  if (tasks.size() >= static_cast<std::size_t>(ranks->GetNumberOfRanks()))
  {
    const auto alone = std::make_shared<AloneInJob>(ranks);
    const auto workAlone = [&](const SlideTask & task, std::string & text) { return work(task, alone, text); };
    return DealSlides(values, session, tasks, list, workAlone, {}, *ranks);
  }
  bool       ended = false;
  const auto share = [&](const SlideTask & task, std::string & text) {
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
      return DealSlides(values, session, tasks, list, share, {}, alone, false);
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

} // namespace gigapixel::commandline
