/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Engine.h"

#include "NetworkCommands.h"

#include "gigapixelDevice.h"
#include "gigapixelJoinNames.h"
#include "gigapixelJoinRanks.h"
#include "gigapixelSession.h"
#include "gigapixelTorchVersion.h"

#include <map>

namespace gigapixel::application
{

bool
HasEngine()
{
  return true;
}

CommandFunction
FindEngineCommand(const std::string & name)
{
  static const std::map<std::string, CommandFunction> functions{
    { "train", RunTrain },   { "segment", RunSegment }, { "plan", RunPlan },         { "networks", RunNetworks },
    { "import", RunImport }, { "info", RunModelInfo },  { "classify", RunClassify }, { "features", RunFeatures },
  };
  return functions.at(name);
}

std::shared_ptr<Ranks>
JoinJob(const Launch & launch)
{
  if (launch.ranks == 1)
  {
    return std::make_shared<Ranks>();
  }
  const EndAtInterruption guard;
  return JoinRanks(launch);
}

std::string
DescribeDevices()
{
  const std::string lines = JoinNames(Device::GetDescriptions(), "; ");
  return lines.empty() ? "none: " + Device::GetProblem() : lines;
}

std::string
FindTorchVersion()
{
  return GetTorchVersion();
}

void
SetTorchFinder(void (*find)())
{
  gigapixel::SetTorchFinder(find);
}

} // namespace gigapixel::application
