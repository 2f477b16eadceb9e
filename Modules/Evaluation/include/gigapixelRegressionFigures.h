/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRegressionFigures_h
#define gigapixelRegressionFigures_h

#include "GigapixelEvaluationExport.h"

#include <vector>

namespace gigapixel
{

/** How good predicted numbers are. A figure that has nothing to judge is NaN: the last three where all truths are
 * equal, correlations also where all predictions are. */
struct GigapixelEvaluation_EXPORT RegressionFigures
{
  double rootMeanSquaredError{ 0 }; ///< in the unit of the values
  double meanAbsoluteError{ 0 };    ///< in the unit of the values
  double determination{ 0 }; ///< R^2: 1 - squared errors / squared differences of the truths to their mean; may be < 0
  double pearson{ 0 };       ///< correlation of the values, -1 to 1
  double spearman{ 0 };      ///< Pearson's correlation of the ranks; equal numbers share the mean of theirs

  /** \throw std::invalid_argument there are not as many of the one as of the other, or none, or one is not finite */
  static RegressionFigures Make(const std::vector<double> & truths, const std::vector<double> & predictions);
};

} // namespace gigapixel

#endif
