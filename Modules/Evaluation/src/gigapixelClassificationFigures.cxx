/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelClassificationFigures.h"

#include <algorithm>
#include <limits>

namespace gigapixel
{
namespace
{

/** The figure of the positive class, or the mean over those that have an area. */
template <typename TGet>
double
GetMean(const ClassificationFigures & figures, const TGet & get)
{
  if (!figures.KnowsArea())
  {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (figures.positive >= 0)
  {
    return get(figures.classes[static_cast<std::size_t>(figures.positive)]);
  }
  double sum = 0, number = 0;
  for (const ClassFigures & ofClass : figures.classes)
  {
    sum += ofClass.area ? get(ofClass) : 0;
    number += ofClass.area ? 1 : 0;
  }
  return sum / number;
}

} // namespace

ClassFigures
ClassFigures::Make(const std::string & name, const std::vector<double> & scores, const std::vector<bool> & isOfClass)
{
  ClassFigures figures{ name };
  const auto   number = std::count(isOfClass.begin(), isOfClass.end(), true);
  if (number > 0 && number < static_cast<std::ptrdiff_t>(isOfClass.size()))
  {
    figures.area = GetAreaUnderROC(scores, isOfClass);
    figures.averagePrecision = GetAveragePrecision(scores, isOfClass);
    figures.points = GetOperatingPoints(scores, isOfClass);
  }
  return figures;
}

ClassificationFigures
ClassificationFigures::Make(const std::vector<std::string> &         names,
                            const std::vector<int> &                 truths,
                            const std::vector<std::vector<double>> & probabilities,
                            int                                      positive,
                            int                                      bins)
{
  ClassificationFigures figures{ {}, positive, ConfusionMatrix(static_cast<int>(names.size())), {} };
  std::vector<double>   said;
  std::vector<bool>     cameTrue;
  for (std::size_t i = 0; i < truths.size(); ++i)
  {
    const auto & ofCase = probabilities[i];
    const int    predicted = static_cast<int>(std::max_element(ofCase.begin(), ofCase.end()) - ofCase.begin());
    const int    judged = positive >= 0 ? positive : predicted;
    figures.confusion.Add(truths[i], predicted);
    said.push_back(ofCase[static_cast<std::size_t>(judged)]);
    cameTrue.push_back(truths[i] == judged);
  }
  figures.reliability = GetReliability(said, cameTrue, bins);
  figures.calibrationError = GetExpectedCalibrationError(figures.reliability);
  for (std::size_t c = 0; c < names.size(); ++c)
  {
    std::vector<double> scores;
    std::vector<bool>   isOfClass;
    for (std::size_t i = 0; i < truths.size(); ++i)
    {
      scores.push_back(probabilities[i][c]);
      isOfClass.push_back(truths[i] == static_cast<int>(c));
    }
    figures.classes.push_back(ClassFigures::Make(names[c], scores, isOfClass));
  }
  return figures;
}

bool
ClassificationFigures::KnowsArea() const
{
  return std::any_of(
    classes.begin(), classes.end(), [](const ClassFigures & ofClass) { return ofClass.area.has_value(); });
}

double
ClassificationFigures::GetArea() const
{
  return GetMean(*this, [](const ClassFigures & ofClass) { return ofClass.area->area; });
}

double
ClassificationFigures::GetAveragePrecision() const
{
  return GetMean(*this, [](const ClassFigures & ofClass) { return ofClass.averagePrecision; });
}

} // namespace gigapixel
