/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelObjectiveKinds.h"

#include "gigapixelReceiverOperating.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace gigapixel
{
namespace
{

double
ReadTruth(const std::string & field)
{
  if (field != "0" && field != "1")
  {
    throw std::invalid_argument("is neither 1 (there) nor 0 (not there) nor empty (not known)");
  }
  return field == "1" ? 1 : 0;
}

/** The table has named them all. */
void
Learn(Objective &, const std::vector<ImageTruth> &, const std::vector<ImageTruth> &)
{}

OutputTargets
MakeTargets(const Objective &, const ImageTruth & truth)
{
  return { truth, {}, true };
}

std::string
DescribeTarget(const Objective & objective, int output, bool target)
{
  return (target ? "the finding " : "the answer 0 to ") + objective.names[static_cast<std::size_t>(output)];
}

std::vector<double>
Predict(const Objective &, const std::vector<double> & outputs)
{
  std::vector<double> probabilities(outputs.size());
  std::transform(outputs.begin(), outputs.end(), probabilities.begin(), GetProbability);
  return probabilities;
}

std::vector<std::string>
GetFound(const Objective & objective, const std::vector<double> & prediction)
{
  std::vector<std::string> found;
  for (std::size_t i = 0; i < prediction.size(); ++i)
  {
    if (prediction[i] >= 0.5)
    {
      found.push_back(objective.names[i]);
    }
  }
  return found;
}

int
Choose(const std::vector<double> & prediction)
{
  return static_cast<int>(std::max_element(prediction.begin(), prediction.end()) - prediction.begin());
}

/** The mean of the areas of the findings that some images have and some have not. */
double
GetScore(const Objective &                        objective,
         const std::vector<ImageTruth> &          truths,
         const std::vector<std::vector<double>> & predictions)
{
  std::vector<double> areas;
  for (std::size_t k = 0; k < objective.names.size(); ++k)
  {
    std::vector<double> scores;
    std::vector<bool>   isThere;
    for (std::size_t i = 0; i < truths.size(); ++i)
    {
      if (!std::isnan(truths[i][k]))
      {
        scores.push_back(predictions[i][k]);
        isThere.push_back(truths[i][k] == 1);
      }
    }
    const auto there = std::count(isThere.begin(), isThere.end(), true);
    areas.push_back(there > 0 && static_cast<std::size_t>(there) < isThere.size()
                      ? GetAreaUnderROC(scores, isThere).area
                      : std::numeric_limits<double>::quiet_NaN());
  }
  return GetMeanOfNumbers(areas);
}

} // namespace

const ObjectiveKind FindingsKind{ Objective::Kind::Findings,
                                  "findings",
                                  "label:",
                                  "p_label:",
                                  "",
                                  "probabilities",
                                  "AUC",
                                  "validation_auc",
                                  CountNames,
                                  ReadTruth,
                                  DescribeNamed,
                                  Learn,
                                  MakeTargets,
                                  DescribeTarget,
                                  Predict,
                                  GetFound,
                                  Choose,
                                  ExplainOutput,
                                  GetScore };

} // namespace gigapixel
