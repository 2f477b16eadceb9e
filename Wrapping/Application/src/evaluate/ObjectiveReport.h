/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ObjectiveReport_h
#define ObjectiveReport_h

#include "Drawing.h"
#include "gigapixelClassificationFigures.h"
#include "gigapixelPredictionTable.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gigapixel::application
{

/** What evaluate tells of predictions. */
struct ObjectiveReport
{
  nlohmann::ordered_json json;     ///< figures; NaN, which JSON has not, is null
  nlohmann::ordered_json ofFold;   ///< numbers by their names, which are compared from fold to fold
  nlohmann::ordered_json curves{}; ///< ROC of each class, as lists of points; null: there are none
  std::string            text;     ///< the figures for people
  std::vector<std::pair<std::string, Drawing>> pictures; ///< with the names of their files
  std::vector<Diagnostic>                      warnings;
  std::vector<std::string>                     takes; ///< options of evaluate that are not of all kinds
};

struct ReportOptions
{
  std::string positive{};      ///< of two classes the one that is looked for; empty: the last
  int         bins{ 10 };      ///< intervals of probability in which calibration is judged
  bool        isFold{ false }; ///< whether the table is a part of one, of which figures may be missing
};

// One function for each kind, of tables whose cases have a truth, though parts of it may be unknown.
// std::runtime_error: there is nothing to judge.
#define GIGAPIXEL_OBJECTIVE_KIND(Name)                                                                                 \
  ObjectiveReport Report##Name(const PredictionTable & table, const ReportOptions & options);
#include "gigapixelObjectiveKindList.h"

/** Calls the one of the table's kind. */
ObjectiveReport ReportObjective(const PredictionTable & table, const ReportOptions & options);

/** How much figures differ from fold to fold: "perFold", a list with each fold's number, its cases and its figures, and
 * "overFolds", of each figure the mean, the standard deviation (of a sample: divided by the folds less one; null of one
 * fold) and of how many folds they are, those in which it is known. Nothing, of a table without folds.
 * \param judge gives the figures of a part of the table by name, null for what is not known;
 * std::runtime_error: none is, as where all cases of the part are of one class */
nlohmann::ordered_json DescribeFolds(const PredictionTable &                                                table,
                                     const std::function<nlohmann::ordered_json(const PredictionTable &)> & judge);

/** What DescribeFolds() gives, for people: a line for each figure, which begins with a line break; empty: nothing. */
std::string FormatFolds(const nlohmann::ordered_json & folds);

// What their pictures are.

Drawing DrawROC(const ClassificationFigures & figures);
Drawing DrawConfusion(const ClassificationFigures & figures);
Drawing DrawReliability(const ClassificationFigures & figures);

/** Predictions over truths, with the line where both are equal. \param name of what they are of */
Drawing DrawScatter(const std::string &         name,
                    const std::vector<double> & truths,
                    const std::vector<double> & predictions);

// What their texts are made of.

nlohmann::ordered_json ToFigure(double value);

/** The members that are numbers. */
nlohmann::ordered_json GetNumbers(const nlohmann::ordered_json & report);

/** Four digits behind the point; "-" for null. */
std::string FormatFigure(const nlohmann::ordered_json & figure);

/** With spaces behind it, one at least. */
std::string Pad(const std::string & text, std::size_t width);

/** The width of a column of names. */
std::size_t GetWidth(const std::vector<std::string> & names, const std::string & title);

} // namespace gigapixel::application

#endif
