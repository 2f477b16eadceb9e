/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideBatch_h
#define SlideBatch_h

#include "SlideList.h"
#include "SlideTask.h"
#include "SlideWorker.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelRunCommand.h"

#include "gigapixelRanks.h"

#include <nlohmann/json_fwd.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** Does the work for each slide that is not done (BatchRecords), whatever happens to the others; where a launcher
 * started several ranks, each of them does its share of the slides. Then reports those that failed, and prints the
 * result, as one process would: one JSON object for one slide given as a file, else a list in the order of the slides.
 * With several ranks that is rank 0, and all return the same; a rank that dies or hangs ends the job. \param work
 * returns the JSON of its result, and appends the text for people to its second argument; a result that has an "error"
 * (ToJSON) is shown, but the slide is one that failed \param finish is called, by rank 0, with what became of each
 * slide, in their order, before it is shown */
GigapixelApplication_EXPORT int RunBatch(
  const ArgumentValues &                                                               values,
  const Session &                                                                      session,
  const std::vector<SlideTask> &                                                       tasks,
  const SlideList &                                                                    list,
  const std::function<nlohmann::ordered_json(const SlideTask &, std::string & text)> & work,
  const std::function<void(const std::vector<SlideOutcome> &)> &                       finish = {});

/** As RunBatch(), but where there are fewer slides than ranks, all ranks do the work for each slide together: what goes
 * wrong in one of them then ends the job, and rank 0 prints the results. */
GigapixelApplication_EXPORT int RunSharedBatch(
  const ArgumentValues &         values,
  const Session &                session,
  const std::vector<SlideTask> & tasks,
  const SlideList &              list,
  const std::function<nlohmann::ordered_json(const SlideTask &, const std::shared_ptr<Ranks> &, std::string & text)> &
    work);

/** Prints each failure, and of several slides how many failed. */
GigapixelApplication_EXPORT void ShowSlideFailures(const Session &                 session,
                                                   const std::vector<Diagnostic> & failures,
                                                   const SlideList &               list);

} // namespace gigapixel::application

#endif
