/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef EvaluatePredictions_h
#define EvaluatePredictions_h

#include "ClassificationFigures.h"
#include "FoldFigures.h"
#include "ObjectiveReport.h"

#include "gigapixelProgram.h"

#include <nlohmann/json.hpp>

namespace gigapixel::commandline
{

/** evaluate, of a table of predictions (see PredictionTable). */
int RunEvaluatePredictions(const ArgumentValues & values, const Session & session);

/** The figures of classes as --json prints them, without those of folds. */
nlohmann::ordered_json DescribeClassification(const PredictionTable & table, const ClassificationFigures & figures);

/** The figures of one fold. */
nlohmann::ordered_json DescribeFold(const ClassificationFigures & figures);

/** The figures of a table of findings, grades or values. \param bins intervals in which calibration is judged */
ObjectiveReport ReportObjective(const PredictionTable & table, int bins = 10);

} // namespace gigapixel::commandline

#endif
