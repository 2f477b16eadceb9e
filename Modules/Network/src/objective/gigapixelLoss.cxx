/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelLoss.h"

#include <algorithm>
#include <numeric>

namespace gigapixel
{
namespace
{

struct OverlapOfClass
{
  double  weight;
  Overlap overlap;
  double  pixels; ///< whose class it is
};

std::vector<OverlapOfClass>
GetOverlaps(const NetworkDescription & network, const LossSum & sum)
{
  const int           classes = network.GetNumberOfClasses();
  std::vector<double> weights = network.classWeights;
  if (weights.empty())
  {
    weights.assign(classes, 1.0);
    weights[0] = 0; // the background
  }
  const auto                  getOverlap = network.GetLoss().formula.overlap;
  const double                whole = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<OverlapOfClass> overlaps;
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
    overlaps.push_back({ weights[c] / whole, getOverlap(hits, probabilities, truths), truths });
  }
  return overlaps;
}

/** Factor for the weights of single pixels' loss that makes of its sum its mean, times the number of pixels. */
double
GetPixelScale(const NetworkDescription & network, const LossSum & sum)
{
  const LossTerms terms = MakeLossTerms(network);
  double          weight = 0;
  int             c = 0;
  for (const OverlapOfClass & each : GetOverlaps(network, sum))
  {
    weight += terms.HasCrossEntropy() ? terms.weights[c++] * each.pixels : 0;
  }
  return weight > 0 ? static_cast<double>(sum.pixels) / weight : 0;
}

} // namespace

LossTerms
MakeLossTerms(const NetworkDescription & network)
{
  const LossFormula & formula = network.GetLoss().formula;
  const int           classes = network.GetNumberOfClasses();
  LossTerms           terms;
  terms.pixel = formula.IsFused() ? nullptr : formula.pixel;
  if (formula.overlap)
  {
    terms.slopes.resize(classes);
    terms.offsets.resize(classes);
  }
  if (formula.pixel)
  {
    terms.weights = network.classWeights;
    terms.weights.resize(classes, 1.0);
  }
  return terms;
}

void
TakeSumLoss(const NetworkDescription & network, LossSum & sum)
{
  double mean = 0;
  for (const auto & [weight, overlap, pixels] : GetOverlaps(network, sum))
  {
    mean += weight * overlap.numerator / overlap.denominator;
  }
  sum.weight = static_cast<double>(sum.pixels);
  const double scale = GetPixelScale(network, sum);
  sum.loss = (1 - mean) * sum.weight + (scale > 0 ? scale * sum.loss : 0);
}

LossTerms
MakeSumTerms(const NetworkDescription & network, const LossSum & sum)
{
  LossTerms    terms = MakeLossTerms(network);
  const double ofPixels = GetPixelScale(network, sum);
  std::transform(terms.weights.begin(), terms.weights.end(), terms.weights.begin(), [ofPixels](double weight) {
    return ofPixels * weight;
  });
  terms.slopes.clear();
  terms.offsets.clear();
  for (const auto & [weight, overlap, pixels] : GetOverlaps(network, sum))
  {
    const double scale = weight * static_cast<double>(sum.pixels) / overlap.denominator;
    const double ratio = scale * overlap.numerator / overlap.denominator;
    terms.slopes.push_back(ratio * overlap.denominatorByHits - scale * overlap.numeratorByHits);
    terms.offsets.push_back(ratio * overlap.denominatorByProbabilities - scale * overlap.numeratorByProbabilities);
  }
  return terms;
}

} // namespace gigapixel
