/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelAgreement_h
#define gigapixelAgreement_h

#include <cstdint>

namespace gigapixel
{

/** \class Agreement
 * \brief Counts of pixels in which a prediction agrees with the truth, and what is made of them.
 *
 * Where a quotient has nothing to judge it is 1: Dice and IoU of two empty masks, sensitivity without object in the
 * truth, precision without object in the prediction, specificity without background in the truth. */
struct Agreement
{
  std::int64_t truePositives{ 0 };  ///< object in both
  std::int64_t falsePositives{ 0 }; ///< object in the prediction alone
  std::int64_t falseNegatives{ 0 }; ///< object in the truth alone
  std::int64_t trueNegatives{ 0 };  ///< object in neither

  /** Dice coefficient, 2 TP / (2 TP + FP + FN). */
  double
  GetDice() const
  {
    return Quotient(2 * truePositives, 2 * truePositives + falsePositives + falseNegatives);
  }

  /** Intersection over union, TP / (TP + FP + FN). */
  double
  GetIoU() const
  {
    return Quotient(truePositives, truePositives + falsePositives + falseNegatives);
  }

  /** The share of the truth that was found. */
  double
  GetSensitivity() const
  {
    return Quotient(truePositives, truePositives + falseNegatives);
  }

  /** The share of the background that was left. */
  double
  GetSpecificity() const
  {
    return Quotient(trueNegatives, trueNegatives + falsePositives);
  }

  /** The share of the prediction that is right. */
  double
  GetPrecision() const
  {
    return Quotient(truePositives, truePositives + falsePositives);
  }

  /** Dice of calling every pixel object: what a prediction has to be better than. */
  double
  GetDiceOfAllForeground() const
  {
    const std::int64_t objects = truePositives + falseNegatives;
    return Quotient(2 * objects, objects + GetPixels());
  }

  /** All that were compared. */
  std::int64_t
  GetPixels() const
  {
    return truePositives + falsePositives + falseNegatives + trueNegatives;
  }

private:
  static double
  Quotient(std::int64_t part, std::int64_t whole)
  {
    return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

} // namespace gigapixel

#endif
