/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelObjectiveKinds.h"
#include "gigapixelReceiverOperating.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gigapixel
{
namespace
{

/** Two classes are told apart by one output. */
int
CountOutputs(int names)
{
  return names == 2 ? 1 : names;
}

std::vector<std::string>
GetStrata(const Objective &, const ImageTruth &, const std::string & label)
{
  return { label };
}

/** The network has the names. */
void
Learn(Objective &, const std::vector<ImageTruth> &, const std::vector<ImageTruth> &)
{}

/** Logarithms of the shares; of one output, which is the logit of the second class, its log odds. */
std::vector<double>
GetBiases(int outputs, const std::vector<double> & shares)
{
  if (outputs == 1)
  {
    return { GetLogOdds(shares[1]) };
  }
  std::vector<double> biases(static_cast<std::size_t>(outputs));
  std::transform(biases.begin(), biases.end(), shares.begin(), biases.begin(), [](double, double share) {
    return std::log(ClampShare(share));
  });
  return biases;
}

/** One output is the second class' probability. */
std::vector<double>
Predict(const Objective &, const std::vector<double> & outputs)
{
  return outputs.size() == 1 ? std::vector<double>{ 1 - outputs[0], outputs[0] } : outputs;
}

int
Choose(const std::vector<double> & prediction)
{
  return static_cast<int>(std::max_element(prediction.begin(), prediction.end()) - prediction.begin());
}

std::vector<std::string>
GetFound(const Objective & objective, const std::vector<double> & prediction)
{
  return { objective.names[static_cast<std::size_t>(Choose(prediction))] };
}

std::vector<double>
Explain(int outputs, int name)
{
  std::vector<double> ofOutputs(static_cast<std::size_t>(outputs));
  ofOutputs[static_cast<std::size_t>(outputs == 1 ? 0 : name)] = outputs == 1 && name == 0 ? -1 : 1;
  return ofOutputs;
}

/** The area under the ROC of class 1, of more than two classes the mean of those of each class against the rest, as far
 * as they occur. A truth is the number of a class. */
double
GetScore(const Objective &,
         const std::vector<ImageTruth> &          truths,
         const std::vector<std::vector<double>> & predictions)
{
  const std::size_t classes = predictions.empty() ? 0 : predictions.front().size();
  double            sum = 0, number = 0;
  for (std::size_t c = classes == 2 ? 1 : 0; c < classes; ++c)
  {
    std::vector<double> scores;
    std::vector<bool>   isOfClass;
    for (std::size_t i = 0; i < truths.size(); ++i)
    {
      scores.push_back(predictions[i][c]);
      isOfClass.push_back(truths[i][0] == static_cast<double>(c));
    }
    const auto cases = std::count(isOfClass.begin(), isOfClass.end(), true);
    if (cases > 0 && static_cast<std::size_t>(cases) < truths.size())
    {
      sum += GetAreaUnderROC(scores, isOfClass).area;
      ++number;
    }
  }
  return number > 0 ? sum / number : std::numeric_limits<double>::quiet_NaN();
}

} // namespace

/** One pixel that has a class: its loss (softmax or binary cross-entropy) and balance are those of labels. */
const ObjectiveKind &
GetClassesKind()
{
  static const ObjectiveKind kind = [] {
    ObjectiveKind entry;
    entry.name = "classes";
    entry.columns = { "label" };
    entry.prediction = "p_";
    entry.found = "predicted";
    entry.numbers = "probabilities";
    entry.score = "AUC";
    entry.scoreColumn = "validation_auc";
    entry.isExclusive = true;
    entry.isBalanced = true;
    entry.takesProbabilities = true;
    entry.countOutputs = CountOutputs;
    entry.getStrata = GetStrata;
    entry.learn = Learn;
    entry.getBiases = GetBiases;
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
