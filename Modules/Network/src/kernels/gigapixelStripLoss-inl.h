/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What becomes of a strip of logits, pixel by pixel: gradients of a loss, probabilities, labels.
#if defined(gigapixelStripLoss_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef gigapixelStripLoss_inl_h
#    undef gigapixelStripLoss_inl_h
#  else
#    define gigapixelStripLoss_inl_h
#  endif

#  include "gigapixelLogitStrip-inl.h"
#  include "gigapixelLossTerms.h"

#  include <hwy/contrib/math/math-inl.h>

#  include <cmath>

HWY_BEFORE_NAMESPACE();
namespace gigapixel
{
namespace kernels
{
namespace HWY_NAMESPACE
{

/** Sum of log(1 + x) over many x in [0, most], without a logarithm for each: the product of all (1 + x) is kept less
 * its 1, which keeps small x exact (adding them to 1 would lose them), and the logarithm is taken before the product
 * can overflow. */
class LogOnePlusSum
{
public:
  explicit LogOnePlusSum(float most)
    : m_Most(static_cast<int>(120.0f / std::log2(1.0f + most)))
  {}

  /** To be called before up to `factors` times Add(). */
  void
  Reserve(int factors)
  {
    if (m_Factors + factors > m_Most)
    {
      m_Sum.Add(hn::Log1p(Floats(), m_Product));
      m_Product = hn::Zero(Floats());
      m_Factors = 0;
    }
    m_Factors += factors;
  }

  HWY_INLINE void
  Add(FloatVector x)
  {
    m_Product = hn::MulAdd(x, hn::Add(m_Product, hn::Set(Floats(), 1.0f)), m_Product);
  }

  double
  GetSum()
  {
    Reserve(m_Most);
    return m_Sum.GetSum();
  }

private:
  FloatVector m_Product = hn::Zero(Floats());
  LaneSums    m_Sum;
  int         m_Factors{ 0 };
  int         m_Most;
};

/** Pixels that are summed in float before their sums go on in double: 16 numbers per lane. */
constexpr int Segment = 16 * Lanes;

/** Calls f(row, begin, end) for the segments of a strip. */
template <typename F>
HWY_INLINE void
ForEachSegment(const LogitStrip & strip, const F & f)
{
  for (int row = 0; row < strip.stride; ++row)
  {
    for (int begin = 0; begin < strip.GetPixels(); begin += Segment)
    {
      f(row, begin, std::min(strip.GetPixels(), begin + Segment));
    }
  }
}

/** The classes of as many pixels as there are lanes. */
HWY_INLINE IntVector
LoadClasses(const std::uint8_t * classes)
{
  return hn::PromoteTo(Ints(), hn::LoadU(Bytes(), classes));
}

HWY_INLINE hn::Mask<Floats>
           IsClass(IntVector truth, int c)
{
  return hn::RebindMask(Floats(), hn::Eq(truth, hn::Set(Ints(), c)));
}

/** Whether the class is one that so many output channels stand for. */
HWY_INLINE hn::Mask<Floats>
           IsKnown(IntVector truth, int channels)
{
  return hn::RebindMask(Floats(), hn::Lt(truth, hn::Set(Ints(), channels == 1 ? 2 : channels)));
}

HWY_INLINE FloatVector
SetFloat(double value)
{
  return hn::Set(Floats(), static_cast<float>(value));
}

/** Logits to gradients, in place: binary cross-entropy. With u = -z for class 1 and u = z for class 0 both classes are
 * one case: the loss is max(u, 0) + log(1 + exp(-|u|)), the gradient is sigmoid(u) with the sign that u gave to z.
 * Nothing cancels: small losses and gradients are as accurate, relatively, as great ones.
 * \tparam Weighted false: the weights are 1, and one logarithm serves many pixels */
template <bool Weighted>
void
BinaryLossGradient(LogitStrip & strip, const LossTerms & terms, LossSum & total)
{
  const Floats  d;
  const auto    one = hn::Set(d, 1.0f);
  const auto    zero = hn::Zero(d);
  const auto    minus = hn::Set(d, -0.0f);
  const auto    ofBackground = SetFloat(terms.weights[0]);
  const auto    ofObject = SetFloat(terms.weights[1]);
  LaneSums      linearSum;
  LaneSums      logarithmSum;
  LaneSums      weightSum;
  LogOnePlusSum logarithms(1.0f);
  std::int64_t  counted = 0;
  ForEachSegment(strip, [&](int row, int begin, int end) HWY_ATTR {
    float *              values = strip.GetLogits(0, row);
    const std::uint8_t * classes = strip.GetClasses(row);
    auto                 linear = zero;
    auto                 logarithm = zero;
    auto                 weights = zero;
    logarithms.Reserve(Weighted ? 0 : Segment / Lanes);
    for (int x = begin; x < end; x += Lanes)
    {
      const auto truth = LoadClasses(classes + x);
      const auto counts = IsKnown(truth, 1);
      const auto flip = hn::BitCast(d, hn::ShiftLeft<31>(truth));
      const auto u = hn::Xor(hn::Load(d, values + x), flip);
      const auto e = PowerOfTwo(hn::Or(u, minus));
      const auto negative = hn::Lt(u, zero); // not of a NaN: it goes into the loss, where it is seen
      const auto sigmoid = hn::Div(hn::IfThenElse(negative, e, one), hn::Add(one, e));
      auto       gradient = hn::IfThenElseZero(counts, hn::Xor(sigmoid, flip));
      auto       positive = hn::IfThenElseZero(counts, hn::IfThenZeroElse(negative, u));
      if constexpr (Weighted)
      {
        const auto weight = hn::IfThenElse(IsClass(truth, 1), ofObject, ofBackground);
        gradient = hn::Mul(weight, gradient);
        positive = hn::Mul(weight, positive);
        logarithm = hn::Add(logarithm, hn::IfThenElseZero(counts, hn::Mul(weight, hn::Log1p(d, e))));
        weights = hn::Add(weights, hn::IfThenElseZero(counts, weight));
      }
      else
      {
        logarithms.Add(hn::IfThenElseZero(counts, e));
      }
      hn::Store(gradient, d, values + x);
      linear = hn::Add(linear, positive);
      counted += static_cast<std::int64_t>(hn::CountTrue(d, counts));
    }
    linearSum.Add(linear);
    if constexpr (Weighted)
    {
      logarithmSum.Add(logarithm);
      weightSum.Add(weights);
    }
  });
  total.loss += LogitStrip::Ln2 * linearSum.GetSum() + (Weighted ? logarithmSum.GetSum() : logarithms.GetSum());
  total.weight += Weighted ? weightSum.GetSum() : static_cast<double>(counted);
  total.pixels += counted;
}

/** What softmax of one pixel (per lane) needs besides the exponentials, which replace the logits. */
struct Softmax
{
  FloatVector greatest;
  FloatVector sum;        ///< of exp(logit - greatest)
  FloatVector sumLessOne; ///< the same without the greatest's own 1, which would swallow small ones
};

HWY_INLINE Softmax
ReplaceByExponentials(LogitStrip & strip, int row, int x)
{
  const Floats d;
  const auto   one = hn::Set(d, 1.0f);
  auto         greatest = hn::Load(d, strip.GetLogits(0, row) + x);
  for (int c = 1; c < strip.outputChannels; ++c)
  {
    greatest = hn::Max(greatest, hn::Load(d, strip.GetLogits(c, row) + x));
  }
  auto others = hn::Zero(d);
  auto ones = hn::Zero(d);
  for (int c = 0; c < strip.outputChannels; ++c)
  {
    float *    values = strip.GetLogits(c, row) + x;
    const auto difference = hn::Sub(hn::Load(d, values), greatest);
    const auto e = PowerOfTwo(difference);
    const auto isGreatest = hn::Eq(difference, hn::Zero(d));
    others = hn::Add(others, hn::IfThenZeroElse(isGreatest, e));
    ones = hn::Add(ones, hn::IfThenElseZero(isGreatest, one));
    hn::Store(e, d, values);
  }
  return { greatest, hn::Add(ones, others), hn::Add(others, hn::Sub(ones, one)) };
}

/** Logits to gradients, in place: softmax cross-entropy. The loss is greatest - logit of the true class + log(sum);
 * the gradient is exp / sum for the other classes, and for the true one the sum of theirs with a minus, not its own
 * probability less 1, in which the digits of a confident pixel would cancel. All times the weight of the class. */
void
SoftmaxLossGradient(LogitStrip & strip, const LossTerms & terms, LossSum & total)
{
  const Floats d;
  const auto   zero = hn::Zero(d);
  const auto   ln2 = hn::Set(d, LogitStrip::Ln2);
  LaneSums     lossSum;
  LaneSums     weightSum;
  ForEachSegment(strip, [&](int row, int begin, int end) HWY_ATTR {
    auto loss = zero;
    auto weights = zero;
    for (int x = begin; x < end; x += Lanes)
    {
      const auto truth = LoadClasses(strip.GetClasses(row) + x);
      const auto counts = IsKnown(truth, strip.outputChannels);
      auto       weight = zero;
      auto       trueLogit = zero;
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        const auto isTrue = IsClass(truth, c);
        weight = hn::IfThenElse(isTrue, SetFloat(terms.weights[c]), weight);
        trueLogit = hn::IfThenElse(isTrue, hn::Load(d, strip.GetLogits(c, row) + x), trueLogit);
      }
      const Softmax softmax = ReplaceByExponentials(strip, row, x);
      auto          othersOfTrue = zero;
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        const auto e = hn::Load(d, strip.GetLogits(c, row) + x);
        othersOfTrue = hn::Add(othersOfTrue, hn::IfThenZeroElse(IsClass(truth, c), e));
      }
      const auto scale = hn::Div(weight, softmax.sum);
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        const auto e = hn::Load(d, strip.GetLogits(c, row) + x);
        const auto gradient = hn::Mul(scale, hn::IfThenElse(IsClass(truth, c), hn::Neg(othersOfTrue), e));
        hn::Store(hn::IfThenElseZero(counts, gradient), d, strip.GetLogits(c, row) + x);
      }
      const auto ofPixel = hn::MulAdd(ln2, hn::Sub(softmax.greatest, trueLogit), hn::Log1p(d, softmax.sumLessOne));
      loss = hn::Add(loss, hn::IfThenElseZero(counts, hn::Mul(weight, ofPixel)));
      weights = hn::Add(weights, weight);
      total.pixels += static_cast<std::int64_t>(hn::CountTrue(d, counts));
    }
    lossSum.Add(loss);
    weightSum.Add(weights);
  });
  total.loss += lossSum.GetSum();
  total.weight += weightSum.GetSum();
}

/** Logits to gradients, in place: Dice with one output channel. p (1 - p) = e / (1 + e)^2 with e = exp(-|z|).
 * \tparam CrossEntropy its gradient is added: see BinaryLossGradient() */
template <bool CrossEntropy>
void
BinaryDiceGradient(LogitStrip & strip, const LossTerms & terms, LossSum & total)
{
  const Floats d;
  const auto   one = hn::Set(d, 1.0f);
  const auto   ofBackground = SetFloat(terms.GetSlope(1, 0) - terms.GetSlope(0, 0));
  const auto   ofObject = SetFloat(terms.GetSlope(1, 1) - terms.GetSlope(0, 1));
  const auto   weightOfBackground = SetFloat(CrossEntropy ? terms.weights[0] : 0);
  const auto   weightOfObject = SetFloat(CrossEntropy ? terms.weights[1] : 0);
  std::int64_t counted = 0;
  ForEachSegment(strip, [&](int row, int begin, int end) HWY_ATTR {
    float *              values = strip.GetLogits(0, row);
    const std::uint8_t * classes = strip.GetClasses(row);
    for (int x = begin; x < end; x += Lanes)
    {
      const auto truth = LoadClasses(classes + x);
      const auto counts = IsKnown(truth, 1);
      const auto z = hn::Load(d, values + x);
      const auto e = PowerOfTwo(hn::Or(z, hn::Set(d, -0.0f)));
      const auto ratio = hn::Div(one, hn::Add(one, e));
      const auto slope = hn::IfThenElse(IsClass(truth, 1), ofObject, ofBackground);
      auto       gradient = hn::Mul(hn::Mul(slope, e), hn::Mul(ratio, ratio));
      if constexpr (CrossEntropy)
      {
        const auto flip = hn::BitCast(d, hn::ShiftLeft<31>(truth));
        const auto negative = hn::Lt(hn::Xor(z, flip), hn::Zero(d));
        const auto sigmoid = hn::Mul(hn::IfThenElse(negative, e, one), ratio);
        const auto weight = hn::IfThenElse(IsClass(truth, 1), weightOfObject, weightOfBackground);
        gradient = hn::MulAdd(weight, hn::Xor(sigmoid, flip), gradient);
      }
      hn::Store(hn::IfThenElseZero(counts, gradient), d, values + x);
      counted += static_cast<std::int64_t>(hn::CountTrue(d, counts));
    }
  });
  total.pixels += counted;
  total.weight += static_cast<double>(counted);
}

/** Logits to gradients, in place: Dice with several output channels, p[c] (g[c] - sum of g p). All g are taken less
 * that of the greatest probability, which changes nothing but the digits: those of a confident pixel would cancel.
 * \tparam CrossEntropy its gradient is added: see SoftmaxLossGradient() */
template <bool CrossEntropy>
void
SoftmaxDiceGradient(LogitStrip & strip, const LossTerms & terms, LossSum & total)
{
  const Floats d;
  const auto   zero = hn::Zero(d);
  const auto   getSlope = [&](IntVector truth, int c) HWY_ATTR {
    return hn::IfThenElse(IsClass(truth, c), SetFloat(terms.GetSlope(c, c)), SetFloat(terms.offsets[c]));
  };
  ForEachSegment(strip, [&](int row, int begin, int end) HWY_ATTR {
    for (int x = begin; x < end; x += Lanes)
    {
      const auto truth = LoadClasses(strip.GetClasses(row) + x);
      const auto counts = IsKnown(truth, strip.outputChannels);
      const auto scale = hn::Div(hn::Set(d, 1.0f), ReplaceByExponentials(strip, row, x).sum);
      auto       ofGreatest = zero;
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        const auto isGreatest = hn::Eq(hn::Load(d, strip.GetLogits(c, row) + x), hn::Set(d, 1.0f));
        ofGreatest = hn::IfThenElse(isGreatest, getSlope(truth, c), ofGreatest);
      }
      auto mean = zero;
      auto weight = zero;       // CrossEntropy
      auto othersOfTrue = zero; // likewise
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        const auto p = hn::Mul(scale, hn::Load(d, strip.GetLogits(c, row) + x));
        mean = hn::MulAdd(p, hn::Sub(getSlope(truth, c), ofGreatest), mean);
        if constexpr (CrossEntropy)
        {
          weight = hn::IfThenElse(IsClass(truth, c), SetFloat(terms.weights[c]), weight);
          othersOfTrue = hn::Add(othersOfTrue, hn::IfThenZeroElse(IsClass(truth, c), p));
        }
      }
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        const auto p = hn::Mul(scale, hn::Load(d, strip.GetLogits(c, row) + x));
        auto       gradient = hn::Mul(p, hn::Sub(hn::Sub(getSlope(truth, c), ofGreatest), mean));
        if constexpr (CrossEntropy)
        {
          gradient = hn::MulAdd(weight, hn::IfThenElse(IsClass(truth, c), hn::Neg(othersOfTrue), p), gradient);
        }
        hn::Store(hn::IfThenElseZero(counts, gradient), d, strip.GetLogits(c, row) + x);
      }
      const auto counted = static_cast<std::int64_t>(hn::CountTrue(d, counts));
      total.pixels += counted;
      total.weight += static_cast<double>(counted);
    }
  });
}

/** Logits to gradients, in place: cross-entropy. */
HWY_INLINE void
TakeCrossEntropyGradient(LogitStrip & strip, const LossTerms & terms, LossSum & total)
{
  if (strip.outputChannels == 1)
  {
    (terms.IsWeighted() ? BinaryLossGradient<true> : BinaryLossGradient<false>)(strip, terms, total);
  }
  else
  {
    SoftmaxLossGradient(strip, terms, total);
  }
}

/** Logits to gradients, in place. */
HWY_INLINE void
TakeLossGradient(LogitStrip & strip, const LossTerms & terms, LossSum & total)
{
  const bool binary = strip.outputChannels == 1;
  if (terms.HasSums())
  {
    terms.HasCrossEntropy() ? (binary ? BinaryDiceGradient<true> : SoftmaxDiceGradient<true>)(strip, terms, total)
                            : (binary ? BinaryDiceGradient<false> : SoftmaxDiceGradient<false>)(strip, terms, total);
  }
  else
  {
    TakeCrossEntropyGradient(strip, terms, total);
  }
}

/** Logits hold gradients. */
void
AddBiasGradient(LogitStrip & strip, double * biasGradient)
{
  for (int c = 0; c < strip.outputChannels; ++c)
  {
    LaneSums sum;
    ForEachSegment(strip, [&](int row, int begin, int end) HWY_ATTR {
      auto part = hn::Zero(Floats());
      for (int x = begin; x < end; x += Lanes)
      {
        part = hn::Add(part, hn::Load(Floats(), strip.GetLogits(c, row) + x));
      }
      sum.Add(part);
    });
    biasGradient[c] += sum.GetSum();
  }
}

/** Logits from the strip's unit, ln 2, to those of the network, in place. */
void
ScaleToNaturalUnit(LogitStrip & strip)
{
  const Floats d;
  const auto   unit = hn::Set(d, LogitStrip::Ln2);
  ForEachSegment(strip, [&](int row, int begin, int end) HWY_ATTR {
    for (int c = 0; c < strip.outputChannels; ++c)
    {
      float * const values = strip.GetLogits(c, row);
      for (int x = begin; x < end; x += Lanes)
      {
        hn::Store(hn::Mul(unit, hn::Load(d, values + x)), d, values + x);
      }
    }
  });
}

/** Logits to probabilities, in place. */
void
ReplaceByProbabilities(LogitStrip & strip)
{
  const Floats d;
  const auto   one = hn::Set(d, 1.0f);
  ForEachSegment(strip, [&](int row, int begin, int end) HWY_ATTR {
    for (int x = begin; x < end; x += Lanes)
    {
      if (strip.outputChannels == 1)
      {
        float *    values = strip.GetLogits(0, row) + x;
        const auto z = hn::Load(d, values);
        const auto e = PowerOfTwo(hn::Or(z, hn::Set(d, -0.0f)));
        hn::Store(hn::Div(hn::IfThenElse(hn::Lt(z, hn::Zero(d)), e, one), hn::Add(one, e)), d, values);
        continue;
      }
      const auto scale = hn::Div(one, ReplaceByExponentials(strip, row, x).sum);
      for (int c = 0; c < strip.outputChannels; ++c)
      {
        float * values = strip.GetLogits(c, row) + x;
        hn::Store(hn::Mul(scale, hn::Load(d, values)), d, values);
      }
    }
  });
}

/** The sums that Dice is made from. Logits hold probabilities. */
void
AddDiceSums(LogitStrip & strip, LossSum & total)
{
  const Floats d;
  const auto   zero = hn::Zero(d);
  std::int64_t counted = 0;
  for (int c = 0; c < strip.outputChannels; ++c)
  {
    LaneSums     hitSum;
    LaneSums     probabilitySum;
    std::int64_t truths = 0;
    ForEachSegment(strip, [&](int row, int begin, int end) HWY_ATTR {
      auto hits = zero;
      auto probabilities = zero;
      for (int x = begin; x < end; x += Lanes)
      {
        const auto truth = LoadClasses(strip.GetClasses(row) + x);
        const auto isTrue = IsClass(truth, strip.outputChannels == 1 ? 1 : c);
        const auto counts = IsKnown(truth, strip.outputChannels);
        const auto p = hn::Load(d, strip.GetLogits(c, row) + x);
        hits = hn::Add(hits, hn::IfThenElseZero(isTrue, p));
        probabilities = hn::Add(probabilities, hn::IfThenElseZero(counts, p));
        truths += static_cast<std::int64_t>(hn::CountTrue(d, isTrue));
        counted += c > 0 ? 0 : static_cast<std::int64_t>(hn::CountTrue(d, counts));
      }
      hitSum.Add(hits);
      probabilitySum.Add(probabilities);
    });
    total.hits[c] += hitSum.GetSum();
    total.probabilities[c] += probabilitySum.GetSum();
    total.truths[c] += static_cast<double>(truths);
  }
  total.pixels += counted;
  total.weight += static_cast<double>(counted);
}

/** Logits to labels, in the place of the classes. */
void
FindLabels(LogitStrip & strip, float threshold, std::uint8_t object)
{
  const Floats d;
  for (int row = 0; row < strip.stride; ++row)
  {
    for (int x = 0; x < strip.GetPixels(); x += Lanes)
    {
      auto greatest = hn::Load(d, strip.GetLogits(0, row) + x);
      auto label = hn::IfThenElseZero(hn::RebindMask(Ints(), hn::Ge(greatest, hn::Set(d, threshold))),
                                      hn::Set(Ints(), strip.outputChannels == 1 ? object : 0));
      for (int c = 1; c < strip.outputChannels; ++c)
      {
        const auto value = hn::Load(d, strip.GetLogits(c, row) + x);
        const auto isGreater = strip.outputChannels == 2 ? hn::Ge(value, greatest) : hn::Gt(value, greatest);
        label = hn::IfThenElse(hn::RebindMask(Ints(), isGreater), hn::Set(Ints(), c), label);
        greatest = hn::Max(greatest, value);
      }
      hn::StoreU(hn::DemoteTo(Bytes(), label), Bytes(), strip.GetClasses(row) + x);
    }
  }
}

} // namespace HWY_NAMESPACE
} // namespace kernels
} // namespace gigapixel
HWY_AFTER_NAMESPACE();

#endif
