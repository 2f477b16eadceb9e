/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelReceiverOperating_h
#define gigapixelReceiverOperating_h

#include "GigapixelEvaluationExport.h"

#include <vector>

namespace gigapixel
{

/** What a test finds that calls every case positive whose score reaches the threshold. */
struct OperatingPoint
{
  double threshold{ 0 };         ///< infinity: of the first point, where nothing is called positive
  double falsePositiveRate{ 0 }; ///< 1 less the specificity
  double truePositiveRate{ 0 };  ///< sensitivity, or recall
  double precision{ 1 };         ///< 1 of the first point
};

/** The area under the receiver operating characteristic, with its confidence interval. */
struct AreaUnderROC
{
  double area{ 0 }; ///< 0 to 1; 1/2 is chance
  /** Error of the area, by DeLong's method; NaN with fewer than two cases of either kind. */
  double standardError{ 0 };
  /** The interval of 95 %: area -+ 1.96 standard errors, cut to 0..1; NaN likewise. Where the area is 0 or 1 it has no
   * width, which says that the method has nothing to go by, and not that the area is certain. */
  double lower{ 0 };
  double upper{ 0 }; ///< the interval's other end
};

// In all functions scores[i] is the higher, the more the case i is thought positive; isPositive[i] is the truth.
// Cases of one score share one threshold, whatever their order is. std::invalid_argument: there are not as many truths
// as scores, a score is no finite number, or no case is positive, or none negative.

/** Points of the characteristic, from (0, 0) to (1, 1), one for each score that occurs, falling thresholds: what
 * scikit-learn's roc_curve(drop_intermediate=False) and precision_recall_curve give. */
GigapixelEvaluation_EXPORT std::vector<OperatingPoint> GetOperatingPoints(const std::vector<double> & scores,
                                                                          const std::vector<bool> &   isPositive);

/** The probability that a positive case has a higher score than a negative one, ties counting half, and its variance by
 * E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson, Biometrics 44, 1988, computed from midranks as X. Sun, W. Xu, IEEE
 * Signal Processing Letters 21, 2014, show: in n log n steps. */
GigapixelEvaluation_EXPORT AreaUnderROC GetAreaUnderROC(const std::vector<double> & scores,
                                                        const std::vector<bool> &   isPositive);

/** The area under the curve of precision over recall as average precision: the sum over the thresholds of the precision
 * times the recall that is gained, without interpolation (scikit-learn's average_precision_score). */
GigapixelEvaluation_EXPORT double GetAveragePrecision(const std::vector<double> & scores,
                                                      const std::vector<bool> &   isPositive);

} // namespace gigapixel

#endif
