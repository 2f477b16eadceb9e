/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Engine_h
#define Engine_h

#include "gigapixelRunCommand.h"

#include "gigapixelLaunch.h"
#include "gigapixelRanks.h"

#include <memory>
#include <string>

/** \file
 * What the program asks of the engine of networks. The files of the folder network answer; a build without the engine
 * has NoEngine.cxx in its place, which refuses with what to build where it cannot answer. LibTorch is loaded by the
 * commands that compute a network which needs it, and where it is said below. */
namespace gigapixel::application
{

/** Whether the engine is part of this build. */
bool HasEngine();

/** train, segment and the others of the folder network, and "info" for the one of models. */
CommandFunction FindEngineCommand(const std::string & name);

/** Whether there is a preset or a ready model of this name; false for what could be a file. */
bool IsNetworkName(const std::string & name);

/** The ranks of this process' job: this one alone, where no launcher started it.
 * \throw Refusal naming the ranks that did not come */
std::shared_ptr<Ranks> JoinJob(const Launch & launch);

/** Lines for the devices that compute beside the CPU, or why there are none. Loads LibTorch. */
std::string DescribeDevices();

/** The version of LibTorch that the engine works with. Loads it. */
std::string FindTorchVersion();

} // namespace gigapixel::application

#endif
