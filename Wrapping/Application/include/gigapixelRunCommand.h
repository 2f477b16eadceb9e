/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRunCommand_h
#define gigapixelRunCommand_h

#include "gigapixelArgumentValues.h"
#include "gigapixelSession.h"

namespace gigapixel::application
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

/** The function of a command. \throw Refusal the build has no engine, and the command is of networks */
GigapixelApplication_EXPORT CommandFunction FindCommandFunction(const Command & command);

/** Runs a command in this process, where one runs at a time. ITK keeps for the process how many threads it starts, what
 * strict reading is and where its warnings go: all of this is as before when the command has ended.
 *
 * \param function null: that of the command
 * \return an ExitCode; of several files, some may have failed where it is Failure
 * \throw Refusal, Interrupted, itk::ExceptionObject, std::exception what failed: see DiagnoseThrown() */
GigapixelApplication_EXPORT int RunCommand(const ArgumentValues & values,
                                           FrontEnd &             frontEnd,
                                           CommandFunction        function = nullptr);

/** What loads LibTorch where the dynamic loader does not find it, see gigapixelTorchVersion.h. */
GigapixelApplication_EXPORT void SetTorchFinder(void (*find)());

} // namespace gigapixel::application

#endif
