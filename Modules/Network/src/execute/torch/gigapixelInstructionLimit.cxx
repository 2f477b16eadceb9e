/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelInstructionLimit.h"

#include <torch/csrc/api/include/torch/version.h>

#include <cstdlib>

#include <dlfcn.h>

namespace gigapixel::torchmodule
{
namespace
{

// Of oneDNN 2's dnnl_cpu_isa_t, whose bits are features.
constexpr int WithoutTiles = 0xe7; ///< AVX-512 with bf16
constexpr int WithTiles = 0x3e7;   ///< and AMX

bool
Limit()
{
  Dl_info module{};
  dladdr(reinterpret_cast<const void *>(&Limit), &module);
  void * const handle = TORCH_VERSION_MAJOR < 2 ? dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (!handle)
  {
    return true;
  }
  const auto set = reinterpret_cast<int (*)(int)>(dlsym(handle, "dnnl_set_max_cpu_isa"));
  const auto get = reinterpret_cast<int (*)()>(dlsym(handle, "dnnl_get_effective_cpu_isa"));
  // Environment variable ONEDNN_MAX_CPU_ISA: Instructions that LibTorch's convolutions may use.
  if (set && !std::getenv("ONEDNN_MAX_CPU_ISA") && !std::getenv("DNNL_MAX_CPU_ISA"))
  {
    set(WithoutTiles);
  }
  const bool limited = !get || (get() & WithTiles) != WithTiles;
  dlclose(handle);
  return limited;
}

} // namespace

bool
AvoidTileInstructions()
{
  static const bool limited = Limit();
  return limited;
}

} // namespace gigapixel::torchmodule
