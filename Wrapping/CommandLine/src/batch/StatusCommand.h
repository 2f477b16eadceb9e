/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef StatusCommand_h
#define StatusCommand_h

#include "gigapixelProgram.h"

namespace gigapixel::commandline
{

/** How far the batch of a folder is, from its records (BatchFolder). */
int RunStatus(const ArgumentValues & values, const Session & session);

} // namespace gigapixel::commandline

#endif
