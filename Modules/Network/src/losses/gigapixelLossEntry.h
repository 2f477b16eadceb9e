/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLossEntry_h
#define gigapixelLossEntry_h

#include "kernels/gigapixelLossTerms.h"

#include <string>
#include <vector>

namespace gigapixel
{

/** A fraction of sums, and the derivatives of its numerator and denominator. */
struct Overlap
{
  double numerator;
  double denominator;
  double numeratorByHits{ 0 };
  double denominatorByHits{ 0 };
  double numeratorByProbabilities{ 0 };
  double denominatorByProbabilities{ 0 };
};

/** The terms of a loss of pixels, which are added. Each has the factor 1. */
struct LossFormula
{
  /** A weighted mean over the pixels, by the classes' weights. Null: there is no such term. */
  PixelLoss pixel{ nullptr };
  /** Overlap of a class by sums over the image; the term is 1 less the weighted mean of the classes. Null: there is no
   * such term. */
  Overlap (*overlap)(double hits, double probabilities, double truths){ nullptr };
  bool isOfImages{ false }; ///< whether networks that label images learn by it, too

  /** Whether there are kernels that are fused with it. */
  bool IsFused() const;
};

/** A line of gigapixelLossList.h, and the formula that a file of this folder has for it. */
struct LossEntry
{
  std::string name;       ///< in a network's file
  std::string option;     ///< of --loss
  int         least{ 1 }; ///< output channels
  int         most{ 0 };  ///< likewise; 0: any number
  LossFormula formula;

  bool
  IsFor(int channels) const
  {
    return channels >= least && (most == 0 || channels <= most);
  }

  static const std::vector<LossEntry> & GetAll(); ///< in the order of NetworkDescription::Loss
};

#define GIGAPIXEL_LOSS(Name, file, option, least, most) LossFormula Get##Name##Loss();
#include "gigapixelLossList.h"

} // namespace gigapixel

#endif
