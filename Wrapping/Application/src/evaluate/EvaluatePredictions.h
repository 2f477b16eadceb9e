/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef EvaluatePredictions_h
#define EvaluatePredictions_h

#include "gigapixelRunCommand.h"

namespace gigapixel::application
{

/** evaluate, of a table of predictions (see PredictionTable). */
int RunEvaluatePredictions(const ArgumentValues & values, const Session & session);

} // namespace gigapixel::application

#endif
