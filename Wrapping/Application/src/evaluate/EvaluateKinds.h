/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef EvaluateKinds_h
#define EvaluateKinds_h

#include "gigapixelRunCommand.h"

#include <string>

namespace gigapixel::application
{

/** evaluate, of a table of predictions (see PredictionTable). */
int RunEvaluatePredictions(const ArgumentValues & values, const Session & session);

/** Whether both are volumes of several slices; NRRD and MetaImage files with one are masks of slides.
 * \throw std::runtime_error one of them is a volume, and the other is not */
bool AreLabelVolumes(const std::string & prediction, const std::string & truth);

/** evaluate, of two volumes of labels. */
int RunEvaluateVolumes(const ArgumentValues & values, const Session & session);

} // namespace gigapixel::application

#endif
