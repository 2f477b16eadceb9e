/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelModuleFile.h"

#include "gigapixelDiagnostic.h"

#include <filesystem>
#include <stdexcept>

#include <dlfcn.h>

namespace gigapixel
{

void *
FindInModule(const std::string & module, const std::string & symbol)
{
  Dl_info library{};
  dladdr(reinterpret_cast<const void *>(&FindInModule), &library);
  const auto   folder = std::filesystem::weakly_canonical(library.dli_fname).parent_path() / "ITKGigapixel";
  const auto   path = folder / ("lib" + module + ".so");
  void * const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void * const address = handle ? dlsym(handle, symbol.c_str()) : nullptr;
  if (!address)
  {
    const char * const reason = dlerror();
    throw Refusal(
      Diagnostic("E-INSTALLATION", reason ? reason : path.string() + " does not load").OfFile(path.string()));
  }
  return address;
}

} // namespace gigapixel
