/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideBatch_h
#define SlideBatch_h

#include "SlideList.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelProgram.h"

#include "gigapixelRanks.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gigapixel::commandline
{

/** One slide and where its result goes. */
struct SlideTask
{
  std::string              slide;
  std::string              output;
  std::string              folder{};  ///< of all results, which has records of them; empty: the output was named
  std::vector<std::string> further{}; ///< outputs of the same slide

  std::vector<std::string>
  GetOutputs() const
  {
    std::vector<std::string> outputs{ output };
    outputs.insert(outputs.end(), further.begin(), further.end());
    return outputs;
  }
};

/** Pairs slides, or volumes, with outputs. The output is a .tif file for one slide, else a folder with
 * SLIDE-NAME.pyramid.tif for each, which CheckOutput() makes where it is not there. For a folder of slides it is a
 * folder, however many they are.
 * \param optionName for messages
 * \param content of the outputs: "label", or another one, whose ending stands in the place of .tif and .pyramid.tif
 * \throw UsageError several slides, or a folder of them, for one file; a file name that is no .tif
 * \throw std::runtime_error two slides of one name; an output that is the slide; a folder that cannot be written */
GigapixelCommandLine_EXPORT std::vector<SlideTask> AssignOutputs(const SlideList &   list,
                                                                 const std::string & output,
                                                                 const std::string & optionName,
                                                                 const std::string & content = "label");

/** \param tissue the mask, or the folder of masks, of these slides; empty: none
 * \throw std::runtime_error an output is one of these masks, which are read */
GigapixelCommandLine_EXPORT void RefuseMasks(const std::vector<SlideTask> & tasks, const std::string & tissue);

/** What became of one slide. */
struct SlideOutcome
{
  nlohmann::ordered_json result;
  std::string            text;
  Diagnostic             failure; ///< empty: none
};

/** Does the work for each slide that is not done (BatchRecords), whatever happens to the others; where a launcher
 * started several ranks, each of them does its share of the slides. Then reports those that failed, and prints the
 * result, as one process would: one JSON object for one slide given as a file, else a list in the order of the slides.
 * With several ranks that is rank 0, and all return the same; a rank that dies or hangs ends the job. \param work
 * returns the JSON of its result, and appends the text for people to its second argument; a result that has an "error"
 * (ToJSON) is shown, but the slide is one that failed \param finish is called, by rank 0, with what became of each
 * slide, in their order, before it is shown */
GigapixelCommandLine_EXPORT int RunBatch(
  const ArgumentValues &                                                               values,
  const Session &                                                                      session,
  const std::vector<SlideTask> &                                                       tasks,
  const SlideList &                                                                    list,
  const std::function<nlohmann::ordered_json(const SlideTask &, std::string & text)> & work,
  const std::function<void(const std::vector<SlideOutcome> &)> &                       finish = {});

/** As RunBatch(), but where there are fewer slides than ranks, all ranks do the work for each slide together: what goes
 * wrong in one of them then ends the job, and rank 0 prints the results. */
GigapixelCommandLine_EXPORT int RunSharedBatch(
  const ArgumentValues &         values,
  const Session &                session,
  const std::vector<SlideTask> & tasks,
  const SlideList &              list,
  const std::function<nlohmann::ordered_json(const SlideTask &, const std::shared_ptr<Ranks> &, std::string & text)> &
    work);

/** What is being thrown at a slide of several, with its name. To be called where it is caught. Passes
 * on what is not the slide's fault: wrong usage, and the interruption of the command. */
GigapixelCommandLine_EXPORT Diagnostic DiagnoseSlideFailure(const std::string & slide);

/** What --json tells of a slide that failed. \param kind as SlideList has it */
GigapixelCommandLine_EXPORT nlohmann::ordered_json DescribeFailedSlide(const std::string & slide,
                                                                       const Diagnostic &  failure,
                                                                       const std::string & kind);

/** Prints each failure, and of several slides how many failed. */
GigapixelCommandLine_EXPORT void ReportSlideFailures(const std::vector<Diagnostic> & failures, const SlideList & list);

} // namespace gigapixel::commandline

#endif
