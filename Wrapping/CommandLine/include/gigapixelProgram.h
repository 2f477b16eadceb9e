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

/** What the program does for one of its commands. \throw std::runtime_error LibTorch is needed and does not load */
GigapixelCommandLine_EXPORT CommandFunction FindCommandFunction(const Command & command);

/** The whole program, as main() calls it: every exception becomes a sentence on stderr and an exit code. */
GigapixelCommandLine_EXPORT int RunProgram(int argc, const char * const * argv);

/** The same for a program of one command, whose name is the program's. */
GigapixelCommandLine_EXPORT int RunProgram(const Command &                  command,
                                           const std::vector<std::string> & words,
                                           CommandFunction                  function);

} // namespace gigapixel::commandline

#endif
