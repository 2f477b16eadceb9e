/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelChildProcess_h
#define gigapixelChildProcess_h

#include "GigapixelSystemExport.h"

#include <chrono>
#include <string>

#include <sys/types.h>

namespace gigapixel
{

/** A process that takes longer to end by itself, or to be ended, is not waited for. */
constexpr std::chrono::seconds timeToEnd{ 2 };

/** Where a program lies that is built or installed with the library that this address is part of: in the folder
 * ITKGigapixel beside it, or, of a program that the library is part of, beside the libraries. Where it would be, if it
 * is missing; empty where neither the system nor the loader tells where the library lies. */
GigapixelSystem_EXPORT std::string FindProgramBeside(const void * address, const std::string & name);

/** Starts the program with the socket as its standard input, and both outputs into the pipe. It is in a process group
 * of its own: an interruption from the keyboard is for us, and no crash of the program. Returns the system's error. */
GigapixelSystem_EXPORT int Spawn(const std::string & program, int socket, int pipe, pid_t & process);

/** Whether it is a signal that no crash sends: somebody, or a limit that the process was given, has ended it. */
GigapixelSystem_EXPORT bool IsFromOutside(int signal);

/** Ends the process, where it has not ended by itself in time. Returns its status where it has, else 0. */
GigapixelSystem_EXPORT int EndAndWait(pid_t process, std::chrono::steady_clock::duration timeByItself);

} // namespace gigapixel

#endif
