/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelObjectiveKinds_h
#define gigapixelObjectiveKinds_h

#include "gigapixelObjective.h"

namespace gigapixel
{

#define GIGAPIXEL_OBJECTIVE_KIND(Name) const ObjectiveKind & Get##Name##Kind();
#include "gigapixelObjectiveKindList.h"

/** One output for each name. */
int CountNames(int names);

/** ObjectiveKind::describe() of numbers with names. */
std::vector<std::string> DescribeNamed(const Objective & objective, const ImageTruth & truth);

/** What speaks for a name is its output. */
std::vector<double> ExplainOutput(int outputs, int name);

/** 1 or 0, also in words and with zeros behind a point. \throw std::invalid_argument as ObjectiveKind::readTruth() */
double ReadAnswer(const std::string & field);

double GetProbability(double logit);

/** A share between 1/1000 and all but 1/1000, which has a finite logarithm. */
double ClampShare(double share);

double GetLogOdds(double share);

/** ObjectiveKind::getBiases() of outputs that are logits. */
std::vector<double> GetBiasesOfLogits(int outputs, const std::vector<double> & shares);

/** A whole number in the digits that it needs: "2" of "2.0". Anything else as it is. */
std::string WithoutZeros(const std::string & number);

/** The mean over the names of a score of the images whose truth is known. Names whose score is NaN are left out; NaN:
 * all are. */
double GetMeanScore(const Objective &                        objective,
                    const std::vector<ImageTruth> &          truths,
                    const std::vector<std::vector<double>> & predictions,
                    double (*getScore)(const std::vector<double> & truths, const std::vector<double> & predictions));

} // namespace gigapixel

#endif
