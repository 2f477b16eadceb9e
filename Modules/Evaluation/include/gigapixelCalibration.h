/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelCalibration_h
#define gigapixelCalibration_h

#include "GigapixelEvaluationExport.h"

#include <cstdint>
#include <vector>

namespace gigapixel
{

/** Cases whose probabilities lie in one interval, above its lower end (0 included in the first) up to its upper end. */
struct CalibrationBin
{
  double       lower{ 0 };           ///< end of the interval, excluded but for 0
  double       upper{ 0 };           ///< end of the interval, included
  std::int64_t cases{ 0 };           ///< number of cases in the interval
  double       meanProbability{ 0 }; ///< NaN without cases
  double       share{ 0 };           ///< of the cases for which it came true; NaN without cases
};

/** The reliability diagram: how often it came true what was said with a probability.
 * \param probabilities from 0 to 1
 * \param cameTrue as many
 * \param bins equal intervals of 0..1, as of scikit-learn's calibration_curve(strategy="uniform"), empty ones with it
 * \throw std::invalid_argument there are not as many of both, a probability is none, or bins is below 1 */
GigapixelEvaluation_EXPORT std::vector<CalibrationBin> GetReliability(const std::vector<double> & probabilities,
                                                                      const std::vector<bool> &   cameTrue,
                                                                      int                         bins);

/** Expected calibration error: the mean over the cases of the distance between share and mean probability of their bin
 * (C. Guo et al., ICML 2017, arXiv:1706.04599, equation 3); 0 without cases. */
GigapixelEvaluation_EXPORT double GetExpectedCalibrationError(const std::vector<CalibrationBin> & bins);

} // namespace gigapixel

#endif
