/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelModuleFile.h"

#include "kernels/gigapixelKernelTable.h"

#include <stdexcept>
#include <string>

namespace gigapixel
{

/** Of an engine that loads the kernels. */
const kernels::KernelTable &
kernels::GetKernels()
{
  static const KernelTable & table = []() -> const KernelTable & {
    try
    {
      return *static_cast<const KernelTable *>(FindInModule("GigapixelFusedKernels", "GigapixelKernelTable"));
    }
    catch (const std::runtime_error & error)
    {
      throw Refusal(Diagnostic("E-INSTALLATION",
                               "the engine's kernels do not load (" + Diagnostic::Of(error).why + ")",
                               "install ITKGigapixel as a whole, and Highway (Debian: libhwy1)"));
    }
  }();
  return table;
}

} // namespace gigapixel
