/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef NetworkModule_h
#define NetworkModule_h

#include "gigapixelProgram.h"

#include "gigapixelLaunch.h"
#include "gigapixelRanks.h"

#include <memory>
#include <string>

namespace gigapixel::commandline
{

/** Where the library stands that holds train, segment, plan, networks, import and the ranks of a job, and with them
 * LibTorch: beside this library, in ITKGigapixel/. Nothing is loaded by asking. */
std::string GetNetworkModulePath();

/** Loads the module if that has not happened yet. \throw std::runtime_error saying what to install or build */
CommandFunction LoadNetworkCommand(const std::string & commandName);

/** Whether there is a preset or a ready model of this name. Loads the module for names that no file has; without it
 * there is none. */
bool IsNetworkName(const std::string & name);

/** The ranks of this process' job; loads the module if there are several.
 * \throw std::runtime_error as above, or naming the ranks that did not come */
std::shared_ptr<Ranks> JoinRanks(const Launch & launch);

/** Lines for the devices that compute beside the CPU, or why there are none. \throw std::runtime_error as above */
std::string GetDevices();

/** The version of LibTorch that the module works with; loads it. \throw std::runtime_error as above */
std::string GetTorchVersion();

} // namespace gigapixel::commandline

#endif
