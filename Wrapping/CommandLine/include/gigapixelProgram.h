/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelProgram_h
#define gigapixelProgram_h

#include "gigapixelRunCommand.h"

#include <string>
#include <vector>

namespace gigapixel::commandline
{

/** The whole program, as main() calls it: every exception becomes a sentence on stderr and an exit code. */
int RunProgram(int argc, const char * const * argv);

/** The same for a program of one command, whose name is the program's.
 * \param areDiagnosticsJSON errors and warnings are lines of JSON on stderr */
int RunProgram(const application::Command &     command,
               const std::vector<std::string> & words,
               application::CommandFunction     function,
               bool                             areDiagnosticsJSON);

} // namespace gigapixel::commandline

#endif
