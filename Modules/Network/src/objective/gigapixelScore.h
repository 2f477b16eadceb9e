/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelScore_h
#define gigapixelScore_h

#include "GigapixelNetworkExport.h"
#include "kernels/gigapixelLossTerms.h"

namespace gigapixel
{

/** Sums over pixels; the mean loss and its gradient are these divided by the sum's weight. */
struct GigapixelNetwork_EXPORT LossGradient : LossSum
{
  std::vector<double> gradient; ///< as in ParameterLayout

  void Add(const LossGradient & other);
};

/** How well the labels at probability 0.5 (or of the most probable class) meet the truth, in pixels. */
struct GigapixelNetwork_EXPORT Score : LossSum
{
  std::vector<std::int64_t> both;      ///< per class: labeled so, and truly so
  std::vector<std::int64_t> predicted; ///< labeled so
  std::vector<std::int64_t> actual;    ///< truly so

  void Add(const Score & other);

  void SetNumberOfClasses(std::size_t classes);

  /** One pixel more. */
  void
  Count(std::uint8_t truth, int label)
  {
    ++pixels;
    ++predicted[label];
    ++actual[truth];
    both[truth] += label == truth;
  }

  double GetMeanLoss() const;

  /** 2 both / (predicted + actual) of class 1, or its mean over the classes 1, 2, ... that occur; 1 where none does. */
  double GetDice() const;
};

} // namespace gigapixel

#endif
