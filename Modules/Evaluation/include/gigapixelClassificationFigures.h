/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelClassificationFigures_h
#define gigapixelClassificationFigures_h

#include "GigapixelEvaluationExport.h"

#include "gigapixelCalibration.h"
#include "gigapixelConfusionMatrix.h"
#include "gigapixelReceiverOperating.h"

#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** One class against the rest. */
struct GigapixelEvaluation_EXPORT ClassFigures
{
  std::string name{}; ///< of the class
  /** None: no case is of the class, or all are. */
  std::optional<AreaUnderROC> area{};
  double                      averagePrecision{ 0 }; ///< area under the curve of precision over recall
  std::vector<OperatingPoint> points{};              ///< of the ROC

  /** \param scores of all cases, the more the likelier */
  static ClassFigures Make(const std::string &         name,
                           const std::vector<double> & scores,
                           const std::vector<bool> &   isOfClass);
};

/** How good the probabilities of classes are. */
struct GigapixelEvaluation_EXPORT ClassificationFigures
{
  std::vector<ClassFigures>   classes;        ///< each against the rest
  int                         positive{ -1 }; ///< of two classes that which is looked for; -1: there are more
  ConfusionMatrix             confusion;      ///< taken for the most probable class, of equal ones for the first
  std::vector<CalibrationBin> reliability;    ///< of the positive class, or of the predicted one where there are more
  double                      calibrationError{ 0 }; ///< expected calibration error, over the bins of the reliability

  /** \param names of the classes
   * \param truths the number of each case's class, from 0
   * \param probabilities of each case, one for each class
   * \param positive see the member \param bins of the reliability */
  static ClassificationFigures Make(const std::vector<std::string> &         names,
                                    const std::vector<int> &                 truths,
                                    const std::vector<std::vector<double>> & probabilities,
                                    int                                      positive,
                                    int                                      bins);

  /** Not where all cases are of one class. */
  bool KnowsArea() const;

  /** The area of the positive one of two classes; the mean over those of more that occur; NaN: not known. */
  double GetArea() const;
  double GetAveragePrecision() const;
};

} // namespace gigapixel

#endif
