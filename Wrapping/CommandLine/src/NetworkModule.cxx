/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkModule.h"

#include "gigapixelSession.h"

#include <dlfcn.h>
#include <filesystem>
#include <stdexcept>

namespace gigapixel::commandline
{
namespace
{
/** Any symbol of the module. */
void *
FindSymbol(const char * symbol)
{
  const std::string path = GetNetworkModulePath();
  if (!std::filesystem::exists(path))
  {
    throw Refusal(Diagnostic("E-INSTALLATION",
                             "the network module is not installed (" + path +
                               " is missing): train, segment, classify, features, plan, networks, import and several "
                               "ranks need it",
                             "build with -DGigapixel_BUILD_NETWORK=ON, which needs LibTorch (Debian: libtorch-dev)")
                    .OfFile(path));
  }
  void * module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void * address = module ? dlsym(module, symbol) : nullptr;
  if (!address)
  {
    const char * reason = dlerror();
    throw Refusal(Diagnostic("E-INSTALLATION",
                             "the network module does not load: " + std::string(reason ? reason : "unknown reason"),
                             "install the libraries that it was built with, or build again")
                    .OfFile(path));
  }
  return address;
}
} // namespace

std::string
GetNetworkModulePath()
{
  Dl_info library{};
  dladdr(reinterpret_cast<const void *>(&GetNetworkModulePath), &library);
  const auto folder = std::filesystem::weakly_canonical(library.dli_fname).parent_path();
  return (folder / "ITKGigapixel" / "libGigapixelNetworkCommands.so").string();
}

CommandFunction
LoadNetworkCommand(const std::string & commandName)
{
  using Finder = CommandFunction (*)(const char *);
  return reinterpret_cast<Finder>(FindSymbol("GigapixelFindNetworkCommand"))(commandName.c_str());
}

bool
IsNetworkName(const std::string & name)
{
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored) || !std::filesystem::exists(GetNetworkModulePath(), ignored) ||
      name.find_first_of("./\\") != std::string::npos)
  {
    return false;
  }
  using Question = bool (*)(const char *);
  return reinterpret_cast<Question>(FindSymbol("GigapixelIsNetworkName"))(name.c_str());
}

std::shared_ptr<Ranks>
JoinRanks(const Launch & launch)
{
  auto ranks = std::make_shared<Ranks>();
  if (launch.ranks > 1)
  {
    const EndAtInterruption guard;
    using JoinFunction = void (*)(const Launch *, std::shared_ptr<Ranks> *);
    reinterpret_cast<JoinFunction>(FindSymbol("GigapixelJoinCommand"))(&launch, &ranks);
  }
  return ranks;
}

std::string
GetDevices()
{
  using DevicesFunction = const char * (*)();
  return reinterpret_cast<DevicesFunction>(FindSymbol("GigapixelGetDevices"))();
}

std::string
GetTorchVersion()
{
  using VersionFunction = const char * (*)();
  return reinterpret_cast<VersionFunction>(FindSymbol("GigapixelGetTorchVersion"))();
}

} // namespace gigapixel::commandline
