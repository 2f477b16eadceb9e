/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ClassificationFigures.h"

#include "gigapixelArgumentValues.h"
#include "gigapixelTableReader.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace gigapixel::application
{
namespace
{

std::string
Join(const std::vector<std::string> & names)
{
  std::string text;
  for (const std::string & name : names)
  {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

/** The number of each case's class. */
std::vector<int>
FindTruths(const PredictionTable & table)
{
  std::vector<int> truths;
  truths.reserve(table.cases.size());
  for (const Prediction & prediction : table.cases)
  {
    const auto found = std::find(table.classes.begin(), table.classes.end(), prediction.label);
    if (found == table.classes.end())
    {
      RefuseRow(table.file,
                prediction.line,
                Diagnostic("E-PREDICTIONS-FORMAT",
                           prediction.name + " has the label " + prediction.label + ", which is none of the classes (" +
                             Join(table.classes) + ")")
                  .OfValue(prediction.label));
    }
    truths.push_back(static_cast<int>(found - table.classes.begin()));
  }
  return truths;
}

int
FindPositive(const PredictionTable & table, const std::string & name)
{
  if (table.classes.size() > 2)
  {
    if (!name.empty())
    {
      throw UsageError(Diagnostic("E-OPTION-APPLIES",
                                  "--positive-class is of two classes, and there are " +
                                    std::to_string(table.classes.size()) + " (" + Join(table.classes) +
                                    "), each of which is set against the rest")
                         .OfOption("--positive-class", name));
    }
    return -1;
  }
  const auto found = std::find(table.classes.begin(), table.classes.end(), name);
  if (!name.empty() && found == table.classes.end())
  {
    throw UsageError(
      Diagnostic("E-OPTION-VALUE", "--positive-class " + name + " is none of the classes (" + Join(table.classes) + ')')
        .OfOption("--positive-class", name));
  }
  return name.empty() ? 1 : static_cast<int>(found - table.classes.begin());
}

} // namespace

ClassificationFigures
ClassificationFigures::Make(const PredictionTable & table, const std::string & positive, int bins)
{
  const int              number = static_cast<int>(table.classes.size());
  const std::vector<int> truths = FindTruths(table);
  ClassificationFigures  figures{ {}, FindPositive(table, positive), ConfusionMatrix(number), {} };
  std::vector<double>    said;
  std::vector<bool>      cameTrue;
  said.reserve(truths.size());
  cameTrue.reserve(truths.size());
  for (std::size_t i = 0; i < truths.size(); ++i)
  {
    const int predicted = table.cases[i].GetPredicted();
    const int judged = figures.positive >= 0 ? figures.positive : predicted;
    figures.confusion.Add(truths[i], predicted);
    said.push_back(table.cases[i].probabilities[static_cast<std::size_t>(judged)]);
    cameTrue.push_back(truths[i] == judged);
  }
  figures.reliability = GetReliability(said, cameTrue, bins);
  figures.calibrationError = GetExpectedCalibrationError(figures.reliability);
  for (int c = 0; c < number; ++c)
  {
    ClassFigures        ofClass{ table.classes[static_cast<std::size_t>(c)] };
    std::vector<double> scores;
    std::vector<bool>   isOfClass;
    scores.reserve(truths.size());
    isOfClass.reserve(truths.size());
    for (std::size_t i = 0; i < truths.size(); ++i)
    {
      scores.push_back(table.cases[i].probabilities[static_cast<std::size_t>(c)]);
      isOfClass.push_back(truths[i] == c);
    }
    if (const auto actual = figures.confusion.GetActual(c); actual > 0 && actual < figures.confusion.GetTotal())
    {
      ofClass.area = GetAreaUnderROC(scores, isOfClass);
      ofClass.averagePrecision = gigapixel::GetAveragePrecision(scores, isOfClass);
      ofClass.points = GetOperatingPoints(scores, isOfClass);
    }
    figures.classes.push_back(std::move(ofClass));
  }
  return figures;
}

double
ClassificationFigures::GetArea() const
{
  if (!KnowsArea())
  {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (positive >= 0)
  {
    return classes[static_cast<std::size_t>(positive)].area->area;
  }
  double sum = 0, number = 0;
  for (const ClassFigures & ofClass : classes)
  {
    sum += ofClass.area ? ofClass.area->area : 0;
    number += ofClass.area ? 1 : 0;
  }
  return sum / number;
}

bool
ClassificationFigures::KnowsArea() const
{
  return std::any_of(
    classes.begin(), classes.end(), [](const ClassFigures & ofClass) { return ofClass.area.has_value(); });
}

double
ClassificationFigures::GetAveragePrecision() const
{
  if (!KnowsArea())
  {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (positive >= 0)
  {
    return classes[static_cast<std::size_t>(positive)].averagePrecision;
  }
  double sum = 0, number = 0;
  for (const ClassFigures & ofClass : classes)
  {
    sum += ofClass.area ? ofClass.averagePrecision : 0;
    number += ofClass.area ? 1 : 0;
  }
  return sum / number;
}

} // namespace gigapixel::application
