/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelConfusionMatrix_h
#define gigapixelConfusionMatrix_h

#include "GigapixelEvaluationExport.h"

#include <cstdint>
#include <vector>

namespace gigapixel
{

/** \class ConfusionMatrix
 * \brief How many cases of each class were taken for each class, and what is made of that.
 *
 * A figure that has nothing to judge is NaN: the sensitivity of a class that no case is of, the precision of one that
 * no case is taken for, F1 where both hold. */
class GigapixelEvaluation_EXPORT ConfusionMatrix
{
public:
  /** \param classes 2 or more */
  explicit ConfusionMatrix(int classes);

  /** As it was made with. */
  int
  GetNumberOfClasses() const
  {
    return m_Classes;
  }

  /** One case more; both are from 0 to the number of classes less one. */
  void Add(int truth, int predicted);

  std::int64_t GetCount(int truth,
                        int predicted) const; ///< cases of class truth that were predicted as class predicted

  /** Number of all cases. */
  std::int64_t GetTotal() const;

  /** Cases that are of the class, and those that are taken for it. */
  std::int64_t GetActual(int c) const;
  std::int64_t GetPredicted(int c) const;

  /** Share of the cases that are taken for what they are. */
  double GetAccuracy() const;

  /** Mean of the sensitivities of all classes that occur (scikit-learn's balanced_accuracy_score). */
  double GetBalancedAccuracy() const;

  /** For classes that are ranks: Cohen's kappa weighted by squared distances of the ranks, 1 - observed / expected ones
   * (scikit-learn's cohen_kappa_score(weights="quadratic")). NaN: all cases are of one class and taken for it. */
  double GetQuadraticKappa() const;

  // Figures of one class against the rest.

  /** Recall: the share of the class's cases that are taken for it. */
  double GetSensitivity(int c) const;

  /** The share of the other cases that are not taken for the class. */
  double GetSpecificity(int c) const;

  /** The share of the cases taken for the class that are of it. */
  double GetPrecision(int c) const;

  /** Harmonic mean of precision and sensitivity: 2 hits / (actual + predicted). */
  double GetF1(int c) const;

private:
  int                       m_Classes;
  std::vector<std::int64_t> m_Counts;
};

} // namespace gigapixel

#endif
