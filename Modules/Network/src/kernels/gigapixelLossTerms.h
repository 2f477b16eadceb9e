/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLossTerms_h
#define gigapixelLossTerms_h

#include <algorithm>
#include <cstdint>
#include <vector>

namespace gigapixel
{

struct OutputTargets;

/** What is given of a pixel for each output channel: the network's logit, or what the last step, sigmoid or softmax,
 * makes of it. */
enum class PixelValue
{
  Logit,
  Probability,    ///< of one channel by sigmoid, of several by softmax
  EachProbability ///< of each channel by sigmoid
};

/** A loss of one pixel alone, by the logarithm of the probability of its class.
 * \param slope gets minus the derivative; that of cross-entropy is 1 */
using PixelLoss = double (*)(double logProbability, double & slope);

/** What the loss of an image asks of each pixel that takes part. One output channel (sigmoid) tells two classes apart,
 * more (softmax) one each; all arrays are per class.
 *
 * Cross-entropy (weights not empty): -weights[t] log(p[t]) for the true class t, or another loss of a pixel in its
 * place.
 * Dice and other losses of sums (slopes not empty): the gradient for the probability p[c] is slopes[c] + offsets[c] for
 * the true class and offsets[c] for the others; both follow from sums over the whole image. With both the gradient is
 * the sum of both. */
struct LossTerms
{
  std::vector<double> weights;
  std::vector<double> slopes;
  std::vector<double> offsets;
  PixelLoss           pixel{ nullptr }; ///< in the place of cross-entropy; no kernel is fused with it
  /** Of an image that has one pixel, in place of all that: what its outputs should be. Null: it has a class. */
  const OutputTargets * image{ nullptr };

  /** Whether the loss, or a part of it, is made of sums over the whole image. */
  bool
  HasSums() const
  {
    return !slopes.empty();
  }

  bool
  HasCrossEntropy() const
  {
    return !weights.empty();
  }

  /** Whether not all weights are 1. */
  bool
  IsWeighted() const
  {
    return std::any_of(weights.begin(), weights.end(), [](double weight) { return weight != 1; });
  }

  /** Dice: gradient for p[c] where the class `truth` is the true one. */
  double
  GetSlope(int c, int truth) const
  {
    return offsets[c] + (c == truth ? slopes[c] : 0.0);
  }
};

/** Sums over the pixels that take part. */
struct LossSum
{
  double       loss{ 0 };   ///< of cross-entropy; gradients of Dice leave it as it is
  double       weight{ 0 }; ///< of the pixels' classes, with Dice 1 each; the mean loss is loss / weight
  std::int64_t pixels{ 0 };

  // For Dice, per output channel.
  std::vector<double> hits;          ///< probabilities of the pixels whose class is this one
  std::vector<double> probabilities; ///< of all pixels
  std::vector<double> truths;        ///< pixels whose class is this one

  void
  SetNumberOfChannels(std::size_t channels)
  {
    hits.resize(channels);
    probabilities.resize(channels);
    truths.resize(channels);
  }

  void
  Add(const LossSum & other)
  {
    loss += other.loss;
    weight += other.weight;
    pixels += other.pixels;
    SetNumberOfChannels(std::max(hits.size(), other.hits.size()));
    for (std::size_t c = 0; c < other.hits.size(); ++c)
    {
      hits[c] += other.hits[c];
      probabilities[c] += other.probabilities[c];
      truths[c] += other.truths[c];
    }
  }
};

/** Whether a class is one that the output channels stand for: one channel tells 0 and 1 apart. */
inline bool
TakesPart(std::uint8_t truth, int channels)
{
  return truth < (channels == 1 ? 2 : channels);
}

} // namespace gigapixel

#endif
