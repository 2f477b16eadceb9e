/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelObjectiveKinds_h
#define gigapixelObjectiveKinds_h

#include "gigapixelObjective.h"

namespace gigapixel
{

extern const ObjectiveKind ClassesKind;
extern const ObjectiveKind FindingsKind;
extern const ObjectiveKind GradesKind;
extern const ObjectiveKind ValuesKind;

/** One output for each name. */
int CountNames(int names);

/** ObjectiveKind::describe() of numbers with names. */
std::vector<std::string> DescribeNamed(const Objective & objective, const ImageTruth & truth);

/** What speaks for a name is its output. */
std::vector<double> ExplainOutput(const Objective & objective, int name);

double GetProbability(double logit);

/** The mean of those that are numbers; NaN: none is. */
double GetMeanOfNumbers(const std::vector<double> & values);

} // namespace gigapixel

#endif
