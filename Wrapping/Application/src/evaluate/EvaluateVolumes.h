/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef EvaluateVolumes_h
#define EvaluateVolumes_h

#include "gigapixelArgumentValues.h"
#include "gigapixelRunCommand.h"

#include <string>

namespace gigapixel::application
{

/** Whether both are volumes of several slices; NRRD and MetaImage files with one are masks of slides.
 * \throw std::runtime_error one of them is a volume, and the other is not */
bool AreLabelVolumes(const std::string & prediction, const std::string & truth);

/** evaluate, of two volumes of labels. */
int RunEvaluateVolumes(const ArgumentValues & values, const Session & session);

} // namespace gigapixel::application

#endif
