/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReportCommand_h
#define ReportCommand_h

#include "SlideBatch.h"

namespace gigapixel::application
{

/** For --report of commands that work on many slides: refuses, before any work, a page that cannot be written. A report
 * of an earlier call of the command may be replaced, as the command goes on where that was interrupted. */
void CheckReportOfBatch(const ArgumentValues & values);

/** Writes the page of --report, if it is given. */
void WriteReportOfBatch(const ArgumentValues &            values,
                        const Session &                   session,
                        const std::vector<SlideOutcome> & outcomes);

} // namespace gigapixel::application

#endif
