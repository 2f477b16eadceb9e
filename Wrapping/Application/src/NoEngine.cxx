/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Engine.h"

#include "gigapixelDiagnostic.h"

namespace gigapixel::application
{
namespace
{
[[noreturn]] void
RefuseWithoutEngine()
{
  throw Refusal(Diagnostic("E-INSTALLATION",
                           "this build has no networks: train, segment, classify, features, plan, networks, import and "
                           "several ranks need them",
                           "build with -DGigapixel_BUILD_NETWORK=ON"));
}
} // namespace

bool
HasEngine()
{
  return false;
}

CommandFunction
FindEngineCommand(const std::string &)
{
  RefuseWithoutEngine();
}

bool
IsNetworkName(const std::string &)
{
  return false;
}

std::shared_ptr<Ranks>
JoinJob(const Launch & launch)
{
  if (launch.ranks > 1)
  {
    RefuseWithoutEngine();
  }
  return std::make_shared<Ranks>();
}

std::string
DescribeDevices()
{
  RefuseWithoutEngine();
}

std::string
FindTorchVersion()
{
  RefuseWithoutEngine();
}

void
SetTorchFinder(void (*)())
{}

} // namespace gigapixel::application
