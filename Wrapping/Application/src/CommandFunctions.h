/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef CommandFunctions_h
#define CommandFunctions_h

#include "gigapixelRunCommand.h"

namespace gigapixel::application
{
int RunInfo(const ArgumentValues & values, const Session & session);
int RunLabel(const ArgumentValues & values, const Session & session);
int RunEvaluate(const ArgumentValues & values, const Session & session);
int RunOverlay(const ArgumentValues & values, const Session & session);
int RunRasterize(const ArgumentValues & values, const Session & session);
int RunOutline(const ArgumentValues & values, const Session & session);
int RunMeasure(const ArgumentValues & values, const Session & session);
int RunReport(const ArgumentValues & values, const Session & session);
int RunConvert(const ArgumentValues & values, const Session & session);
int RunSynthesize(const ArgumentValues & values, const Session & session);
int RunDoctor(const ArgumentValues & values, const Session & session);
} // namespace gigapixel::application

#endif
