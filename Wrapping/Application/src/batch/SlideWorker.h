/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SlideWorker_h
#define SlideWorker_h

#include "SlideTask.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelSession.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gigapixel::application
{

class BatchRecords;

/** What became of one slide. */
struct SlideOutcome
{
  nlohmann::ordered_json result;
  std::string            text;
  Diagnostic             failure; ///< empty: none
};

/** Does the work for a slide: returns the JSON of its result, and appends the text for people. */
using SlideWork = std::function<nlohmann::ordered_json(const SlideTask &, std::string & text)>;

/** \class SlideWorker
 * \brief Works on the slides of a batch that are not done, one after the other. */
class SlideWorker
{
public:
  /** \param kind of the slides, as SlideList has it \param isAlone whether each slide is the work of one process */
  SlideWorker(const std::vector<SlideTask> & tasks,
              const std::string &            kind,
              const SlideWork &              work,
              BatchRecords &                 records,
              const Session &                session,
              bool                           isAlone);

  /** \return nothing: another process works on the slide */
  std::optional<SlideOutcome> DoSlide(const SlideTask & task);

  /** Whether the last slide was worked on. */
  bool HasWorked();

  void SayWhatFailedBefore() const;

private:
  std::optional<SlideOutcome> FindDone(const SlideTask & task);

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

/** What is being thrown at a slide of several, with its name. To be called where it is caught. Passes
 * on what is not the slide's fault: wrong usage, and the interruption of the command. */
GigapixelApplication_EXPORT Diagnostic DiagnoseSlideFailure(const std::string & slide);

/** What --json tells of a slide that failed. \param kind as SlideList has it */
GigapixelApplication_EXPORT nlohmann::ordered_json DescribeFailedSlide(const std::string & slide,
                                                                       const Diagnostic &  failure,
                                                                       const std::string & kind);

} // namespace gigapixel::application

#endif
