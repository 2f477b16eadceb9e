/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReportRows_h
#define ReportRows_h

#include "gigapixelDiagnostic.h"
#include "gigapixelSession.h"

#include <nlohmann/json.hpp>

#include <exception>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** What is known of one slide. */
struct ReportRow
{
  std::string            name;   ///< GetSlideName()
  std::string            slide;  ///< its file, as somebody named it; empty: nobody did
  std::string            mask;   ///< its file; empty: there is none
  nlohmann::ordered_json data;   ///< as Modules/Report/page/report.js shows it
  std::string            read{}; ///< what of the slide's file was read, as IdentifySlide() says it; empty: unknown

  /** Says what the row lacks. \param what a clause without names */
  void Miss(const std::string & what, const std::exception & error);

  /** Takes the probability of a class from one more table: "perTable" has all of them, "probabilities" their mean. */
  void AddProbability(const std::string & name, double probability);
};

/** What a report lacks: {"what", "file", "why", "code"}. \param what a clause without names */
nlohmann::ordered_json DescribeMissing(const std::string & what, const Diagnostic & reason);

/** \class ReportRows
 * \brief The slides of a report, from whatever names them: masks, tables, results of commands. What is said of one
 * slide in several places makes one row, but for several masks of it. Paths of files that are not there are of one
 * slide where one ends as the other does. */
class ReportRows
{
public:
  /** Takes a mask that one of our commands has written. \return whether it is one */
  bool AddMask(const std::string & file);

  /** Takes a result of a command, as --json prints it: an object, or a list of them. \param folder that the file of the
   * result lies in \return how many parts of it are shown */
  int AddResults(const nlohmann::ordered_json & results, const std::string & folder);

  /** Takes from an entry of a manifest how the result of its slide was made, where the slide has a row: "made" has
   * lists of "version", "command", "options" and "inputs". \param folder of the manifest */
  void AddMaking(const nlohmann::ordered_json & entry, const std::string & folder);

  /** Takes what making the result of a slide took (ReadTimings()), where the slide has a row whose result does not tell
   * it. \param folder of the manifest */
  void AddTiming(const std::string & slide, const nlohmann::ordered_json & timing, const std::string & folder);

  /** Takes the rows of a table with the column slide. \throw Refusal the table cannot be read */
  void AddTable(const std::string & file);

  /** Finds the slides that are not where they were named, by their names in these files and folders. */
  void FindSlides(const std::vector<std::string> & places);

  std::vector<ReportRow> &
  Get()
  {
    return m_Rows;
  }

  /** Further columns of tables, in their order. */
  const std::vector<std::string> &
  GetColumns() const
  {
    return m_Columns;
  }

  /** Results that are of no slide: what evaluate says of a table. */
  const std::vector<nlohmann::ordered_json> &
  GetOthers() const
  {
    return m_Others;
  }

private:
  ReportRow &              FindRow(const std::string & slide, const std::string & mask = {});
  std::vector<ReportRow *> FindRowsThere(const std::string & slide);
  ReportRow &              FindRowOfMask(const std::string & mask);
  bool                     AddResult(nlohmann::ordered_json result, const std::string & folder);

  std::vector<ReportRow>                          m_Rows;
  std::map<std::string, std::vector<std::size_t>> m_ByName;
  std::vector<std::string>                        m_Columns;
  std::set<std::string>                           m_Tables; // by their contents
  std::vector<nlohmann::ordered_json>             m_Others;
};

} // namespace gigapixel::application

#endif
