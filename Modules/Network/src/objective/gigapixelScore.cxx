/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelScore.h"
#include "gigapixelReceiverOperating.h"

#include <algorithm>
#include <limits>

namespace gigapixel
{
namespace
{

template <typename T>
void
AddElements(std::vector<T> & sum, const std::vector<T> & other)
{
  sum.resize(std::max(sum.size(), other.size()));
  for (std::size_t i = 0; i < other.size(); ++i)
  {
    sum[i] += other[i];
  }
}

} // namespace

void
LossGradient::Add(const LossGradient & other)
{
  LossSum::Add(other);
  AddElements(gradient, other.gradient);
}

void
Score::Add(const Score & other)
{
  LossSum::Add(other);
  AddElements(both, other.both);
  AddElements(predicted, other.predicted);
  AddElements(actual, other.actual);
}

void
Score::SetNumberOfClasses(std::size_t classes)
{
  both.resize(classes);
  predicted.resize(classes);
  actual.resize(classes);
}

double
Score::GetMeanLoss() const
{
  return weight > 0 ? loss / weight : std::numeric_limits<double>::quiet_NaN();
}

double
Score::GetDice() const
{
  double sum = 0;
  int    classes = 0;
  for (std::size_t c = 1; c < both.size(); ++c)
  {
    if (predicted[c] + actual[c] > 0)
    {
      sum += 2.0 * both[c] / (predicted[c] + actual[c]);
      ++classes;
    }
  }
  return classes > 0 ? sum / classes : 1.0;
}

double
GetAreaUnderROC(const std::vector<Score> & images)
{
  const std::size_t classes = images.empty() ? 0 : images.front().actual.size();
  double            sum = 0, number = 0;
  for (std::size_t c = classes == 2 ? 1 : 0; c < classes; ++c)
  {
    std::vector<double> scores;
    std::vector<bool>   isOfClass;
    scores.reserve(images.size());
    isOfClass.reserve(images.size());
    for (const Score & image : images)
    {
      scores.push_back(image.probabilities.size() == 1 ? image.probabilities[0] : image.probabilities[c]);
      isOfClass.push_back(image.actual[c] > 0);
    }
    const auto cases = std::count(isOfClass.begin(), isOfClass.end(), true);
    if (cases > 0 && static_cast<std::size_t>(cases) < images.size())
    {
      sum += GetAreaUnderROC(scores, isOfClass).area;
      ++number;
    }
  }
  return number > 0 ? sum / number : std::numeric_limits<double>::quiet_NaN();
}

} // namespace gigapixel
