/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelProgram_h
#define gigapixelProgram_h

#include "gigapixelArgumentValues.h"
#include "gigapixelSession.h"

namespace gigapixel::commandline
{

enum ExitCode : int
{
  Success = 0,
  Failure = 1,         ///< the work failed, or a part of it
  WrongUsage = 2,      ///< the command line is wrong; nothing was done
  WasInterrupted = 130 ///< as shells report SIGINT
};

/** What a command does with its arguments; returns an ExitCode. Failures are exceptions with one sentence. */
using CommandFunction = int (*)(const ArgumentValues & values, const Session & session);

/** The whole program, as main() calls it: every exception becomes a sentence on stderr and an exit code. */
GigapixelCommandLine_EXPORT int RunProgram(int argc, const char * const * argv);

} // namespace gigapixel::commandline

#endif
