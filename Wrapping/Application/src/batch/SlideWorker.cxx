/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideWorker.h"

#include "BatchManifest.h"
#include "BatchRecords.h"
#include "BatchTimings.h"
#include "DiagnosticJSON.h"
#include "Doubt.h"
#include "ITKMessages.h"

#include "gigapixelRanks.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

namespace gigapixel::application
{
namespace
{

SlideOutcome
WorkOn(const SlideTask & task, const std::string & kind, const SlideWork & work)
{
  SlideOutcome outcome;
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

/** The result of a slide that is recorded, with the warnings and doubts that it had, which name it as it is named now.
 */
nlohmann::ordered_json
Restore(nlohmann::ordered_json result, const SlideTask & task, const Session & session, std::string & text)
{
  result = MoveSlide(std::move(result), task.slide);
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
    if (!entry.is_object())
    {
      continue;
    }
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
  if (!result.contains("error"))
  {
    result["skipped"] = true;
    text += task.output + ": was there already\n";
  }
  return result;
}

} // namespace

SlideWorker::SlideWorker(const std::vector<SlideTask> & tasks,
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

std::optional<SlideOutcome>
SlideWorker::DoSlide(const SlideTask & task)
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
  const Stopwatch watch;
  SlideOutcome    outcome = WorkOn(task, m_Kind, m_Work);
  m_Records.Add(task, outcome.result);
  if (m_Records.AreKept() && outcome.failure.IsEmpty() && outcome.result.is_object() &&
      !outcome.result.value("skipped", false))
  {
    AppendTiming(task.folder, task.output, watch.Read());
  }
  m_HasWorked = true;
  return outcome;
}

bool
SlideWorker::HasWorked()
{
  return std::exchange(m_HasWorked, false);
}

void
SlideWorker::SayWhatFailedBefore() const
{
  if (m_FailedBefore > 0)
  {
    m_Session.Say(std::to_string(m_FailedBefore) + ' ' + m_Kind + (m_FailedBefore == 1 ? "" : "s") +
                  " failed in an earlier run and were not tried again: --retry tries them.");
  }
}

/** The outcome that is recorded. */
std::optional<SlideOutcome>
SlideWorker::FindDone(const SlideTask & task)
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
  SlideOutcome outcome = WorkOn(task, m_Kind, [&](const SlideTask &, std::string & text) {
    if (refusal)
    {
      std::rethrow_exception(refusal);
    }
    return Restore(*found, task, m_Session, text);
  });
  m_FailedBefore += !refusal && !outcome.failure.IsEmpty() ? 1 : 0;
  return outcome;
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

} // namespace gigapixel::application
