/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelScore.h"

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

} // namespace gigapixel
