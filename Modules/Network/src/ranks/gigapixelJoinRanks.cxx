/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelJoinRanks.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "execute/gigapixelModuleFile.h"
#include "execute/gigapixelTorchModule.h"

#include <cstdlib>
#include <stdexcept>

namespace gigapixel
{

std::shared_ptr<Ranks>
JoinRanks(const Launch & launch)
{
  if (launch.ranks == 1)
  {
    return std::make_shared<Ranks>();
  }
  using JoinFunction = Ranks * (*)(const Launch *);
  // What goes wrong is said by our own sentences. When loaded, PyPI's LibTorch reads the first, Debian's the second.
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  setenv("GLOG_minloglevel", "3", 0);
  void * join = nullptr;
  try
  {
    ChooseTorchVersion();
    join = FindInModule("GigapixelRanks", "GigapixelJoinRanks");
    ChooseTorchVersion();
  }
  catch (const std::runtime_error & error)
  {
    if (!Diagnostic::Of(error).value.empty())
    {
      throw; // of another LibTorch
    }
    throw Refusal(Diagnostic("E-INSTALLATION",
                             "a launcher started " + FormatCount(launch.ranks, "rank") +
                               ", but the module that connects them does not load (" + Diagnostic::Of(error).why + ")",
                             "build with Gloo's headers (Debian: libgloo-dev), or start one process"));
  }
  return std::shared_ptr<Ranks>(reinterpret_cast<JoinFunction>(join)(&launch));
}

} // namespace gigapixel
