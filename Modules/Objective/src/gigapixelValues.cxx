/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelObjectiveKinds.h"

#include "gigapixelRegressionFigures.h"

#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

double
ReadTruth(std::size_t, const std::string & field)
{
  std::istringstream stream(field);
  stream.imbue(std::locale::classic());
  double value = 0;
  stream >> value;
  if (!stream || !stream.eof() || !std::isfinite(value))
  {
    throw InvalidArgument(Diagnostic("E-COHORT-FORMAT", "is no number"));
  }
  return value;
}

/** Means and deviations (of all, not of a sample) by which outputs are of the size of 1, whatever the unit is. */
void
Learn(Objective & objective, const std::vector<ImageTruth> &, const std::vector<ImageTruth> & training)
{
  objective.means.clear();
  objective.deviations.clear();
  for (std::size_t k = 0; k < objective.names.size(); ++k)
  {
    double sum = 0, number = 0, squares = 0;
    for (const ImageTruth & truth : training)
    {
      sum += std::isnan(truth[k]) ? 0 : truth[k];
      number += std::isnan(truth[k]) ? 0 : 1;
    }
    const double mean = sum / number;
    for (const ImageTruth & truth : training)
    {
      squares += std::isnan(truth[k]) ? 0 : (truth[k] - mean) * (truth[k] - mean);
    }
    const double deviation = std::sqrt(squares / number);
    if (!(deviation > 0) || !std::isfinite(deviation))
    {
      throw Refusal(Diagnostic("E-COHORT-LABELS",
                               "the training slides have no two different values of " + objective.names[k] +
                                 ": there is nothing to learn")
                      .OfValue(objective.names[k]));
    }
    objective.means.push_back(mean);
    objective.deviations.push_back(deviation);
  }
}

std::vector<std::string>
GetStrata(const Objective &, const ImageTruth &, const std::string &)
{
  return {};
}

/** The means, from which outputs are counted. */
std::vector<double>
GetBiases(int outputs, const std::vector<double> &)
{
  return std::vector<double>(static_cast<std::size_t>(outputs));
}

OutputTargets
MakeTargets(const Objective & objective, const ImageTruth & truth)
{
  OutputTargets result{ truth, {}, false };
  for (std::size_t k = 0; k < truth.size(); ++k)
  {
    result.targets[k] = (truth[k] - objective.means[k]) / objective.deviations[k];
  }
  return result;
}

std::vector<double>
Predict(const Objective & objective, const std::vector<double> & outputs)
{
  std::vector<double> values(outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k)
  {
    values[k] = objective.means[k] + objective.deviations[k] * outputs[k];
  }
  return values;
}

int
Choose(const std::vector<double> &)
{
  return 0;
}

double
GetDetermination(const std::vector<double> & truths, const std::vector<double> & predictions)
{
  return truths.empty() ? std::numeric_limits<double>::quiet_NaN()
                        : RegressionFigures::Make(truths, predictions).determination;
}

double
GetScore(const Objective &                        objective,
         const std::vector<ImageTruth> &          truths,
         const std::vector<std::vector<double>> & predictions)
{
  return GetMeanScore(objective, truths, predictions, GetDetermination);
}

} // namespace

const ObjectiveKind &
GetValuesKind()
{
  static const ObjectiveKind kind = [] {
    ObjectiveKind entry;
    entry.name = "values";
    entry.columns = { "value:" };
    entry.prediction = "predicted_value:";
    entry.numbers = "values";
    entry.score = "R2";
    entry.scoreColumn = "validation_r2";
    entry.hasUnits = true;
    entry.countOutputs = CountNames;
    entry.readTruth = ReadTruth;
    entry.describe = DescribeNamed;
    entry.getStrata = GetStrata;
    entry.learn = Learn;
    entry.makeTargets = MakeTargets;
    entry.getBiases = GetBiases;
    entry.predict = Predict;
    entry.choose = Choose;
    entry.explain = ExplainOutput;
    entry.getScore = GetScore;
    return entry;
  }();
  return kind;
}

} // namespace gigapixel
