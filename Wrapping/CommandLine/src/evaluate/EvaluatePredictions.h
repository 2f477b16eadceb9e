/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef EvaluatePredictions_h
#define EvaluatePredictions_h

#include "gigapixelProgram.h"

namespace gigapixel::commandline
{

/** evaluate, of a table of predictions (see PredictionTable). */
int RunEvaluatePredictions(const ArgumentValues & values, const Session & session);

} // namespace gigapixel::commandline

#endif
