/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef CrossValidation_h
#define CrossValidation_h

#include "gigapixelRunCommand.h"

#include "gigapixelCohort.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gigapixel::application
{

/** The table of --cohort, with the truths of --objective and what there is to be warned of.
 * \param needsSplit see Cohort::Load() */
Cohort LoadCohort(const ArgumentValues & values, const Session & session, bool needsSplit);

/** Trains on a cohort.
 * \param whenStepped called after each step
 * \param text gets the result for people
 * \return the result for --json */
using TrainFunction = std::function<nlohmann::ordered_json(const Cohort &                cohort,
                                                           const ArgumentValues &        values,
                                                           const std::function<void()> & whenStepped,
                                                           std::string &                 text)>;

/** train --folds: a run for each fold, or for one, and a table of what each says of the slides that it held back. */
int RunCrossValidation(const ArgumentValues & values, const Session & session, const TrainFunction & train);

} // namespace gigapixel::application

#endif
