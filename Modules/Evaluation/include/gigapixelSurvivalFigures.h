/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSurvivalFigures_h
#define gigapixelSurvivalFigures_h

#include "GigapixelEvaluationExport.h"

#include <array>
#include <vector>

namespace gigapixel
{

/** A case that was seen until a time, at which it had its event or not. */
struct SurvivalCase
{
  double time{ 0 };         ///< from 0, in any unit
  bool   hasEvent{ false }; ///< else it was not seen longer
  double risk{ 0 };         ///< as it was predicted: the more, the sooner
};

/** The concordance index of F. E. Harrell et al., JAMA 247:2543, 1982: of the pairs of cases of which one is known to
 * have its event first, the share in which it has the greater risk; equal risks count half. */
struct GigapixelEvaluation_EXPORT Concordance
{
  double index{ 0 }; ///< 0 to 1; NaN: there is no such pair
  double pairs{ 0 }; ///< number of them
  /** The index has this standard error by the jackknife, which leaves out one case after the other (B. Efron, C. Stein,
   * Ann. Stat. 9:586, 1981); NaN where no pair is left without some case. */
  double standardError{ 0 };

  /** Takes time of the square of the number of cases. */
  static Concordance Make(const std::vector<SurvivalCase> & cases);
};

/** The share of cases without an event, from a time on. */
struct SurvivalStep
{
  double time{ 0 };     ///< from which on the share holds
  double survival{ 1 }; ///< until the next step
};

/** The estimate of E. L. Kaplan and P. Meier, J. Am. Stat. Assoc. 53:457, 1958. \return a step for each time at which
 * a case ends, rising, behind one at time 0 */
GigapixelEvaluation_EXPORT std::vector<SurvivalStep> GetKaplanMeier(std::vector<SurvivalCase> cases);

/** The log-rank test of N. Mantel, Cancer Chemother. Rep. 50:163, 1966, of two groups. \return chi squared of one
 * degree of freedom; NaN where there is nothing to compare */
GigapixelEvaluation_EXPORT double GetLogRank(const std::vector<SurvivalCase> & first,
                                             const std::vector<SurvivalCase> & second);

/** The cases below the median risk, and the others. */
GigapixelEvaluation_EXPORT std::array<std::vector<SurvivalCase>, 2> SplitAtMedianRisk(std::vector<SurvivalCase> cases);

/** When half of the cases have had their event by GetKaplanMeier(); NaN: never. */
GigapixelEvaluation_EXPORT double GetMedianTime(const std::vector<SurvivalCase> & cases);

} // namespace gigapixel

#endif
