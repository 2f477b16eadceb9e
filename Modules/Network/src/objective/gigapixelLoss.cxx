/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLoss.h"

#include <algorithm>
#include <numeric>

namespace gigapixel
{
namespace
{

/** D of one class as a fraction. */
struct DiceOfClass
{
  double weight;
  double numerator;
  double denominator;
  double pixels; ///< whose class it is
};

std::vector<DiceOfClass>
GetDiceOfClasses(const NetworkDescription & network, const LossSum & sum)
{
  const int           classes = network.GetNumberOfClasses();
  std::vector<double> weights = network.classWeights;
  if (weights.empty())
  {
    weights.assign(classes, 1.0);
    weights[0] = 0; // the background
  }
  const double             whole = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<DiceOfClass> dice;
  for (int c = 0; c < classes; ++c)
  {
    double hits = sum.hits[0], probabilities = sum.probabilities[0], truths = sum.truths[0];
    if (sum.hits.size() > 1)
    {
      hits = sum.hits[c];
      probabilities = sum.probabilities[c];
      truths = sum.truths[c];
    }
    else if (c == 0) // the only channel is that of class 1
    {
      const double pixels = static_cast<double>(sum.pixels);
      hits += pixels - probabilities - truths;
      probabilities = pixels - probabilities;
      truths = pixels - truths;
    }
    dice.push_back({ weights[c] / whole, 2 * hits + 1, probabilities + truths + 1, truths });
  }
  return dice;
}

/** Factor for the weights of cross-entropy that makes of its sum its mean, times the number of pixels. */
double
GetCrossEntropyScale(const NetworkDescription & network, const LossSum & sum)
{
  const LossTerms terms = MakeLossTerms(network);
  double          weight = 0;
  int             c = 0;
  for (const DiceOfClass & d : GetDiceOfClasses(network, sum))
  {
    weight += terms.HasCrossEntropy() ? terms.weights[c++] * d.pixels : 0;
  }
  return weight > 0 ? static_cast<double>(sum.pixels) / weight : 0;
}

} // namespace

LossTerms
MakeLossTerms(const NetworkDescription & network)
{
  static const PixelLoss losses[] = {
#define GIGAPIXEL_LOSS(Name, file, option, least, most) nullptr,
#define GIGAPIXEL_PIXEL_LOSS(Name, file, option, least, most) &Get##Name##Loss,
#include "gigapixelLossList.h"
  };
  const int classes = network.GetNumberOfClasses();
  LossTerms terms;
  terms.pixel = losses[static_cast<std::size_t>(network.loss)];
  const bool both = network.loss == NetworkDescription::Loss::DiceAndCrossEntropy;
  if (both || network.loss == NetworkDescription::Loss::Dice)
  {
    terms.slopes.resize(classes);
    terms.offsets.resize(classes);
  }
  if (both || !terms.IsDice())
  {
    terms.weights = network.classWeights;
    terms.weights.resize(classes, 1.0);
  }
  return terms;
}

void
TakeDiceLoss(const NetworkDescription & network, LossSum & sum)
{
  double dice = 0;
  for (const DiceOfClass & d : GetDiceOfClasses(network, sum))
  {
    dice += d.weight * d.numerator / d.denominator;
  }
  sum.weight = static_cast<double>(sum.pixels);
  const double scale = GetCrossEntropyScale(network, sum);
  sum.loss = (1 - dice) * sum.weight + (scale > 0 ? scale * sum.loss : 0);
}

LossTerms
MakeDiceTerms(const NetworkDescription & network, const LossSum & sum)
{
  LossTerms    terms = MakeLossTerms(network);
  const double ofCrossEntropy = GetCrossEntropyScale(network, sum);
  std::transform(terms.weights.begin(), terms.weights.end(), terms.weights.begin(), [ofCrossEntropy](double weight) {
    return ofCrossEntropy * weight;
  });
  terms.slopes.clear();
  terms.offsets.clear();
  for (const DiceOfClass & d : GetDiceOfClasses(network, sum))
  {
    const double scale = d.weight * static_cast<double>(sum.pixels) / d.denominator;
    terms.slopes.push_back(-2 * scale);
    terms.offsets.push_back(scale * d.numerator / d.denominator);
  }
  return terms;
}

} // namespace gigapixel
