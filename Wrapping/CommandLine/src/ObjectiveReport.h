/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ObjectiveReport_h
#define ObjectiveReport_h

#include "Drawing.h"
#include "PredictionTable.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace gigapixel::commandline
{

/** What evaluate tells of predictions that are no classes. */
struct ObjectiveReport
{
  nlohmann::ordered_json                       json;     ///< figures; NaN, which JSON has not, is null
  std::string                                  text;     ///< the same for people
  std::vector<std::pair<std::string, Drawing>> pictures; ///< with the names of their files
  std::vector<std::string>                     warnings;
};

// One function for each kind, of tables whose cases have a truth, though parts of it may be unknown.
// std::runtime_error: there is nothing to judge.

/** Each finding by itself. \param bins intervals in which calibration is judged */
ObjectiveReport ReportFindings(const PredictionTable & table, int bins);

ObjectiveReport ReportGrades(const PredictionTable & table);

/** Each value by itself. */
ObjectiveReport ReportValues(const PredictionTable & table);

// What their texts are made of.

nlohmann::ordered_json ToFigure(double value);

/** Four digits behind the point; "-" for null. */
std::string FormatFigure(const nlohmann::ordered_json & figure);

/** With spaces behind it, one at least. */
std::string Pad(const std::string & text, std::size_t width);

/** The width of a column of names. */
std::size_t GetWidth(const std::vector<std::string> & names, const std::string & title);

} // namespace gigapixel::commandline

#endif
