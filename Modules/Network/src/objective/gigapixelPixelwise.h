/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPixelwise_h
#define gigapixelPixelwise_h

#include "kernels/gigapixelLossTerms.h"

#include <cmath>
#include <cstddef>

namespace gigapixel
{

/** The logits of one pixel, `stride` apart. */
template <typename T>
class LogitsOfPixel
{
public:
  LogitsOfPixel(T * values, std::ptrdiff_t stride, int channels)
    : m_Values(values)
    , m_Stride(stride)
    , m_Channels(channels)
  {}

  T &
  operator[](int c) const
  {
    return m_Values[c * m_Stride];
  }

  void
  Clear() const
  {
    for (int c = 0; c < m_Channels; ++c)
    {
      (*this)[c] = T(0);
    }
  }

  /** Logits become probabilities: sigmoid, or softmax. \param value which */
  void
  ReplaceByProbabilities(PixelValue value) const
  {
    if (value == PixelValue::Probability && m_Channels > 1)
    {
      ReplaceBySoftmax(GetGreatest());
      return;
    }
    for (int c = 0; c < m_Channels; ++c)
    {
      ReplaceBySigmoid(c);
    }
  }

  /** The same. \return -log of the probability of the class `truth` */
  T
  ReplaceByProbabilities(int truth) const
  {
    if (m_Channels == 1)
    {
      const T z = (*this)[0];
      return std::max<T>(z, 0) - (truth == 1 ? z : T(0)) + std::log1p(ReplaceBySigmoid());
    }
    const T greatest = GetGreatest(), difference = greatest - (*this)[truth];
    return std::log(ReplaceBySoftmax(greatest)) + difference;
  }

  /** Logits become the gradients of the pixel's loss. \return the loss; 0 with Dice, which has none of one pixel */
  T
  TakeLossGradient(const LossTerms & terms, int truth) const
  {
    T       loss = ReplaceByProbabilities(truth);
    const T weight = terms.HasCrossEntropy() ? static_cast<T>(terms.weights[truth]) : T(0);
    T       steepness = weight;
    if (terms.pixel)
    {
      double slope = 0;
      loss = static_cast<T>(terms.pixel(-loss, slope));
      steepness *= static_cast<T>(slope);
    }
    if (terms.HasSums())
    {
      ReplaceByDiceGradient(terms, truth, steepness);
      return T(0);
    }
    for (int c = 0; c < m_Channels; ++c)
    {
      (*this)[c] = steepness * GetErrorOfProbability(c, truth);
    }
    return weight * loss;
  }

  /** The class that a pixel is labeled with: of two the second one if its probability is at least 0.5, also where each
   * has an output; of more the first of the greatest. */
  int
  GetLabel() const
  {
    if (m_Channels == 1)
    {
      return (*this)[0] >= 0 ? 1 : 0;
    }
    int label = 0;
    for (int c = 1; c < m_Channels; ++c)
    {
      const bool isTie = m_Channels == 2 && (*this)[c] == (*this)[label];
      label = isTie || (*this)[c] > (*this)[label] ? c : label;
    }
    return label;
  }

private:
  /** \return exp(-|logit|) */
  T
  ReplaceBySigmoid(int c = 0) const
  {
    T &     z = (*this)[c];
    const T e = std::exp(-std::abs(z));
    z = (z >= 0 ? T(1) : e) / (1 + e);
    return e;
  }

  T
  GetGreatest() const
  {
    T greatest = (*this)[0];
    for (int c = 1; c < m_Channels; ++c)
    {
      greatest = std::max(greatest, (*this)[c]);
    }
    return greatest;
  }

  /** \return what the probabilities were divided by */
  T
  ReplaceBySoftmax(T greatest) const
  {
    T sum = 0;
    for (int c = 0; c < m_Channels; ++c)
    {
      (*this)[c] = std::exp((*this)[c] - greatest);
      sum += (*this)[c];
    }
    for (int c = 0; c < m_Channels; ++c)
    {
      (*this)[c] /= sum;
    }
    return sum;
  }

  /** Of a probability: the gradient of cross-entropy for its logit. */
  T
  GetErrorOfProbability(int c, int truth) const
  {
    return (*this)[c] - (m_Channels == 1 ? truth : c == truth);
  }

  /** The derivative of softmax: p[c] (g[c] - sum of g p), of sigmoid: p (1 - p) (g[1] - g[0]).
   * \param steepness of a loss of the pixel, which is added: a factor of the gradient of cross-entropy; 0: none is */
  void
  ReplaceByDiceGradient(const LossTerms & terms, int truth, T steepness) const
  {
    if (m_Channels == 1)
    {
      const T p = (*this)[0];
      (*this)[0] = p * (1 - p) * static_cast<T>(terms.GetSlope(1, truth) - terms.GetSlope(0, truth)) +
                   steepness * GetErrorOfProbability(0, truth);
      return;
    }
    T mean = 0;
    for (int c = 0; c < m_Channels; ++c)
    {
      mean += (*this)[c] * static_cast<T>(terms.GetSlope(c, truth));
    }
    for (int c = 0; c < m_Channels; ++c)
    {
      const T ofPixel = steepness * GetErrorOfProbability(c, truth);
      (*this)[c] = (*this)[c] * (static_cast<T>(terms.GetSlope(c, truth)) - mean) + ofPixel;
    }
  }

  T *            m_Values;
  std::ptrdiff_t m_Stride;
  int            m_Channels;
};

} // namespace gigapixel

#endif
