/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLearningRate_h
#define gigapixelLearningRate_h

#include "gigapixelTrainer.h"

namespace gigapixel
{

/** \class LearningRate
 * \brief The learning rate of each step of a run, by the schedules of torch.optim.lr_scheduler; they need no state but
 * the number of the step, and of epochs without a better validation loss.
 *
 * Warmup, of W steps: step t = 0, 1, ... has the factor (t + 1) / W, LinearLR(start_factor=1 / W, total_iters=W - 1).
 * Cosine: behind the warmup m + (r - m) (1 + cos(pi (t - W) / (T - W))) / 2 for T steps of all epochs, from the rate r
 * down to the minimum m, CosineAnnealingLR(eta_min=m) (Loshchilov and Hutter, "SGDR", ICLR 2017, without restarts).
 * Plateau: a factor on the rate after each so many epochs without a better validation loss, ReduceLROnPlateau with the
 * threshold 0, so that each lower loss counts. */
class GigapixelNetwork_EXPORT LearningRate
{
public:
  /** \param stepsPerEpoch of the run
   * \throw std::invalid_argument says what of the options cannot be */
  LearningRate(const TrainingOptions & options, int stepsPerEpoch);

  /** \param plateau the rate that the epochs have come to: \see Lower()
   * \param step of the run, from 0 */
  double Get(double plateau, std::int64_t step) const;

  /** The rate after an epoch. \param epochsWithoutBetter in a row, the last of which is this one; 0: it was better */
  double Lower(double plateau, int epochsWithoutBetter) const;

private:
  std::string  m_Schedule;
  double       m_Factor;
  double       m_Minimum;
  int          m_Patience;
  std::int64_t m_Warmup;
  std::int64_t m_Steps; ///< of all epochs
};

} // namespace gigapixel

#endif
