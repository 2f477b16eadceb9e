/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelObjectiveKinds.h"

#include "gigapixelConfusionMatrix.h"

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

namespace gigapixel
{

// CORN (X. Shi, W. Cao, S. Raschka, arXiv:2111.08851, 2021). Output k is the logit of the probability that an image
// that reaches rank k exceeds it. Only such images take part in its loss. The probability of exceeding rank k is the
// product of these probabilities up to k, so that it never rises with k.

std::size_t
GetGrade(const std::vector<double> & probabilities)
{
  double      reaches = 1;
  std::size_t grade = 0;
  for (std::size_t k = 0; k + 1 < probabilities.size(); ++k)
  {
    reaches -= probabilities[k];
    grade = reaches > 0.5 ? k + 1 : grade;
  }
  return grade;
}

namespace
{

constexpr int GreatestGrade = 1000;

double
ReadTruth(std::size_t, const std::string & text)
{
  const std::string field = WithoutZeros(text);
  const bool isNumber = !field.empty() && field.size() <= 4 && field.find_first_not_of("0123456789") == field.npos;
  if (!isNumber || std::stoi(field) > GreatestGrade)
  {
    throw InvalidArgument(Diagnostic(
      "E-COHORT-FORMAT", "is no grade: a whole number from 0 to " + std::to_string(GreatestGrade) + " is wanted"));
  }
  return std::stoi(field);
}

void
CheckNames(const std::vector<std::string> & names)
{
  double before = -1;
  for (const std::string & name : names)
  {
    const double grade = ReadTruth(0, name);
    if (grade <= before)
    {
      throw InvalidArgument(Diagnostic("E-COHORT-FORMAT", "does not stand in the order of the grades").OfValue(name));
    }
    before = grade;
  }
}

std::vector<std::string>
Describe(const Objective &, const ImageTruth & truth)
{
  return { "grade=" + std::to_string(static_cast<int>(truth[0])) };
}

std::vector<std::string>
GetStrata(const Objective & objective, const ImageTruth & truth, const std::string &)
{
  return Describe(objective, truth);
}

void
Learn(Objective & objective, const std::vector<ImageTruth> & all, const std::vector<ImageTruth> &)
{
  std::set<int> grades;
  for (const std::string & name : objective.names) // of all folds
  {
    grades.insert(std::stoi(name));
  }
  for (const ImageTruth & truth : all)
  {
    grades.insert(static_cast<int>(truth[0]));
  }
  if (grades.size() < 2)
  {
    throw Refusal(Diagnostic("E-COHORT-LABELS",
                             "all slides have the grade " + std::to_string(grades.empty() ? 0 : *grades.begin()) +
                               ": there is nothing to tell apart"));
  }
  objective.names.clear();
  for (const int grade : grades)
  {
    objective.names.push_back(std::to_string(grade));
  }
}

int
CountOutputs(int names)
{
  return names - 1;
}

OutputTargets
MakeTargets(const Objective & objective, const ImageTruth & truth)
{
  OutputTargets result;
  for (std::size_t k = 0; k + 1 < objective.names.size(); ++k)
  {
    const double grade = std::stod(objective.names[k]);
    result.targets.push_back(truth[0] < grade ? std::numeric_limits<double>::quiet_NaN() : truth[0] > grade ? 1 : 0);
  }
  return result;
}

std::string
DescribeTarget(const Objective & objective, int output, bool target)
{
  return (target ? "a grade above " : "the grade ") + objective.names[static_cast<std::size_t>(output)];
}

std::vector<double>
Predict(const Objective &, const std::vector<double> & outputs)
{
  std::vector<double> probabilities;
  double              reaches = 1;
  for (const double output : outputs)
  {
    // Of the logit and its negative: their product with what reaches the rank keeps its digits.
    probabilities.push_back(reaches * GetProbability(-output));
    reaches *= GetProbability(output);
  }
  probabilities.push_back(reaches);
  return probabilities;
}

std::vector<std::string>
GetFound(const Objective & objective, const std::vector<double> & prediction)
{
  return { objective.names[GetGrade(prediction)] };
}

int
Choose(const std::vector<double> & prediction)
{
  return static_cast<int>(GetGrade(prediction));
}

/** The output by which a grade is reached; of the least one, that by which it is not exceeded. */
std::vector<double>
Explain(int outputs, int name)
{
  std::vector<double> ofOutputs(static_cast<std::size_t>(outputs));
  ofOutputs[static_cast<std::size_t>(std::max(0, name - 1))] = name > 0 ? 1 : -1;
  return ofOutputs;
}

/** Quadratic weighted kappa of the ranks. */
double
GetScore(const Objective &                        objective,
         const std::vector<ImageTruth> &          truths,
         const std::vector<std::vector<double>> & predictions)
{
  ConfusionMatrix confusion(static_cast<int>(objective.names.size()));
  for (std::size_t i = 0; i < truths.size(); ++i)
  {
    const auto name = std::to_string(static_cast<int>(truths[i][0]));
    const auto rank = std::find(objective.names.begin(), objective.names.end(), name) - objective.names.begin();
    confusion.Add(static_cast<int>(rank), static_cast<int>(GetGrade(predictions[i])));
  }
  return confusion.GetQuadraticKappa();
}

} // namespace

const ObjectiveKind &
GetGradesKind()
{
  static const ObjectiveKind kind = [] {
    ObjectiveKind entry;
    entry.name = "grades";
    entry.columns = { "grade" };
    entry.prediction = "p_grade:";
    entry.found = "predicted_grade";
    entry.numbers = "probabilities";
    entry.score = "kappa";
    entry.scoreColumn = "validation_kappa";
    entry.isExclusive = true;
    entry.isBalanced = true;
    entry.countOutputs = CountOutputs;
    entry.readTruth = ReadTruth;
    entry.checkNames = CheckNames;
    entry.describe = Describe;
    entry.getStrata = GetStrata;
    entry.learn = Learn;
    entry.makeTargets = MakeTargets;
    entry.describeTarget = DescribeTarget;
    entry.getBiases = GetBiasesOfLogits;
    entry.predict = Predict;
    entry.getFound = GetFound;
    entry.choose = Choose;
    entry.explain = Explain;
    entry.getScore = GetScore;
    return entry;
  }();
  return kind;
}

} // namespace gigapixel
