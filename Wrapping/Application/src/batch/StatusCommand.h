/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef StatusCommand_h
#define StatusCommand_h

#include "gigapixelRunCommand.h"

namespace gigapixel::application
{

/** How far the batch of a folder is, from its records (BatchFolder). */
int RunStatus(const ArgumentValues & values, const Session & session);

} // namespace gigapixel::application

#endif
