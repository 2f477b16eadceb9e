/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelObjectiveKinds.h"

#include "gigapixelReceiverOperating.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <stdexcept>

namespace gigapixel
{
namespace
{

double
ReadTruth(std::size_t, const std::string & field)
{
  return ReadAnswer(field);
}

std::vector<std::string>
GetStrata(const Objective & objective, const ImageTruth & truth, const std::string &)
{
  return DescribeNamed(objective, truth);
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

/** Some images have the finding and some have not, else NaN. */
double
GetArea(const std::vector<double> & truths, const std::vector<double> & predictions)
{
  std::vector<bool> isThere(truths.size());
  std::transform(truths.begin(), truths.end(), isThere.begin(), [](double truth) { return truth == 1; });
  const auto there = std::count(isThere.begin(), isThere.end(), true);
  return there > 0 && static_cast<std::size_t>(there) < isThere.size() ? GetAreaUnderROC(predictions, isThere).area
                                                                       : std::numeric_limits<double>::quiet_NaN();
}

double
GetScore(const Objective &                        objective,
         const std::vector<ImageTruth> &          truths,
         const std::vector<std::vector<double>> & predictions)
{
  return GetMeanScore(objective, truths, predictions, GetArea);
}

} // namespace

const ObjectiveKind &
GetFindingsKind()
{
  static const ObjectiveKind kind = [] {
    ObjectiveKind entry;
    entry.name = "findings";
    entry.columns = { "label:" };
    entry.prediction = "p_label:";
    entry.numbers = "probabilities";
    entry.score = "AUC";
    entry.scoreColumn = "validation_auc";
    entry.isBalanced = true;
    entry.countOutputs = CountNames;
    entry.readTruth = ReadTruth;
    entry.describe = DescribeNamed;
    entry.getStrata = GetStrata;
    entry.learn = Learn;
    entry.makeTargets = MakeTargets;
    entry.describeTarget = DescribeTarget;
    entry.getBiases = GetBiasesOfLogits;
    entry.predict = Predict;
    entry.getFound = GetFound;
    entry.choose = Choose;
    entry.explain = ExplainOutput;
    entry.getScore = GetScore;
    return entry;
  }();
  return kind;
}

} // namespace gigapixel
