/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchLoss.h"
#include "gigapixelOperationCall.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

namespace gigapixel::torchmodule
{
namespace
{

/** Logits that are taken at a time: what is in memory beside them are a few times as many numbers. */
constexpr std::int64_t LogitsOfBand = std::int64_t{ 1 } << 20;

/** \class PixelwiseLoss
 * \brief LossTerms as arrays of a device, one row for each class. */
class PixelwiseLoss
{
public:
  PixelwiseLoss(const LossTerms & terms, int channels, const at::TensorOptions & options)
    : m_Channels(channels)
    , m_Classes(std::max(2, channels))
    , m_HasCrossEntropy(terms.HasCrossEntropy())
    , m_HasSums(terms.HasSums())
  {
    std::vector<double> slopes;
    for (int truth = 0; truth < m_Classes && m_HasSums; ++truth)
    {
      for (int c = 0; c < m_Channels; ++c)
      {
        // One channel's probability is that of the second class, and one less it is that of the first.
        slopes.push_back(m_Channels == 1 ? terms.GetSlope(1, truth) - terms.GetSlope(0, truth)
                                         : terms.GetSlope(c, truth));
      }
    }
    m_Weights = at::tensor(terms.weights, at::kDouble).to(options);
    m_Slopes = at::tensor(slopes, at::kDouble).view({ -1, m_Channels }).to(options);
  }

  /** \param logits of each pixel \return gradients, and the sums of loss, weights and pixels */
  std::pair<at::Tensor, at::Tensor>
  Take(const at::Tensor & logits, const at::Tensor & classes) const
  {
    const at::Tensor takesPart = classes.lt(m_Classes);
    const at::Tensor truth = classes.to(at::kLong).clamp_max(m_Classes - 1);
    const at::Tensor probabilities = m_Channels == 1 ? logits.sigmoid() : logits.softmax(1);
    const at::Tensor part = takesPart.to(logits.scalar_type());
    const at::Tensor wanted =
      m_Channels == 1 ? truth.unsqueeze(1).to(logits.scalar_type())
                      : truth.unsqueeze(1).eq(at::arange(m_Channels, truth.options())).to(logits.scalar_type());
    const at::Tensor weights = m_HasCrossEntropy ? m_Weights.index_select(0, truth).mul_(part) : at::Tensor();
    at::Tensor       gradients;
    if (m_HasSums)
    {
      const at::Tensor slopes = m_Slopes.index_select(0, truth).mul_(part.unsqueeze(1));
      gradients = m_Channels == 1 ? probabilities.neg().add_(1).mul_(probabilities).mul_(slopes)
                                  : slopes.sub(slopes.mul(probabilities).sum(1, true)).mul_(probabilities);
    }
    if (m_HasCrossEntropy)
    {
      const at::Tensor ofEntropy = probabilities.sub(wanted).mul_(weights.unsqueeze(1));
      gradients = m_HasSums ? gradients.add_(ofEntropy) : ofEntropy;
    }
    const at::Tensor pixels = takesPart.sum(at::kDouble);
    if (m_HasSums)
    {
      return { gradients, at::stack({ pixels.new_zeros({}), pixels, pixels }) };
    }
    const at::Tensor entropy = GetEntropies(logits, truth, wanted).mul_(weights).sum(at::kDouble);
    return { gradients, at::stack({ entropy, weights.sum(at::kDouble), pixels }) };
  }

private:
  /** -log of each pixel's probability of its class. */
  at::Tensor
  GetEntropies(const at::Tensor & logits, const at::Tensor & truth, const at::Tensor & wanted) const
  {
    return m_Channels == 1
             ? logits.clamp_min(0).sub_(logits.mul(wanted)).add_(logits.abs().neg_().exp_().log1p_()).squeeze(1)
             : at::log_softmax(logits, 1).gather(1, truth.unsqueeze(1)).squeeze(1).neg_();
  }

  int        m_Channels;
  int        m_Classes;
  bool       m_HasCrossEntropy;
  bool       m_HasSums;
  at::Tensor m_Weights; ///< by class
  at::Tensor m_Slopes;  ///< by class and channel
};

} // namespace

at::Tensor
TakeLoss(const at::Tensor & logits,
         const at::Tensor & classes,
         const LossTerms &  terms,
         at::ScalarType     type,
         LossSum &          sum)
{
  const at::ScalarType valueType = logits.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const std::int64_t   channels = logits.size(1);
  const at::Tensor     dense = MakeDense(logits);
  at::Tensor           gradients = at::empty_like(dense, dense.options().dtype(type));
  const at::Tensor     rows = dense.movedim(1, -1).view({ -1, channels });
  const at::Tensor     rowsOfGradient = gradients.movedim(1, -1).view({ -1, channels });
  const PixelwiseLoss  loss(terms, static_cast<int>(channels), logits.options().dtype(valueType));
  at::Tensor           sums = logits.new_zeros({ 4 }, logits.options().dtype(at::kDouble));
  const std::int64_t   pixels = rows.size(0), pixelsOfBand = std::max<std::int64_t>(1, LogitsOfBand / channels);
  for (std::int64_t begin = 0; begin < pixels; begin += pixelsOfBand)
  {
    const std::int64_t end = std::min(pixels, begin + pixelsOfBand);
    const at::Tensor   band = rows.slice(0, begin, end).to(valueType);
    auto [ofBand, sumsOfBand] = loss.Take(band, classes.slice(0, begin, end));
    rowsOfGradient.slice(0, begin, end).copy_(ofBand);
    sums.narrow(0, 0, 3).add_(sumsOfBand);
    sums.narrow(0, 3, 1).add_(at::isfinite(band).logical_not_().sum(at::kDouble));
  }
  const at::Tensor     found = sums.to(at::kCPU);
  const double * const values = found.data_ptr<double>();
  if (values[3] > 0)
  {
    return {};
  }
  sum.loss += values[0];
  sum.weight += values[1];
  sum.pixels += static_cast<std::int64_t>(values[2]);
  return gradients;
}

} // namespace gigapixel::torchmodule
