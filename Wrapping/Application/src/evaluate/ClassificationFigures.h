/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ClassificationFigures_h
#define ClassificationFigures_h

#include "PredictionTable.h"

#include "gigapixelCalibration.h"
#include "gigapixelConfusionMatrix.h"
#include "gigapixelReceiverOperating.h"

#include <optional>
#include <string>
#include <vector>

namespace gigapixel::application
{
class Drawing;

/** One class against the rest. */
struct ClassFigures
{
  std::string name;
  /** None: no case is of the class, or all are. */
  std::optional<AreaUnderROC> area{};
  double                      averagePrecision{ 0 };
  std::vector<OperatingPoint> points{};
};

/** How good the probabilities of a table are, whose cases all have a label. */
struct ClassificationFigures
{
  std::vector<ClassFigures>   classes;
  int                         positive{ -1 }; ///< of two classes that which is looked for; -1: there are more
  ConfusionMatrix             confusion;      ///< taken for the most probable class
  std::vector<CalibrationBin> reliability;    ///< of the positive class, or of the predicted one where there are more
  double                      calibrationError{ 0 };

  /** \param positive of two classes the one that is looked for; empty: the last
   * \throw std::runtime_error a label is no class
   * \throw UsageError positive is no class, or there are more than two */
  static ClassificationFigures Make(const PredictionTable & table, const std::string & positive, int bins);

  /** Not where all cases are of one class. */
  bool KnowsArea() const;

  /** Of two classes the area of the positive one; of more the mean over those that occur; NaN: not known. */
  double GetArea() const;
  double GetAveragePrecision() const;
};

// Pictures of the figures.
Drawing DrawROC(const ClassificationFigures & figures);
Drawing DrawConfusion(const ClassificationFigures & figures);
Drawing DrawReliability(const ClassificationFigures & figures);

/** Predictions over truths, with the line where both are equal. \param name of what they are of */
Drawing DrawScatter(const std::string &         name,
                    const std::vector<double> & truths,
                    const std::vector<double> & predictions);

} // namespace gigapixel::application

#endif
