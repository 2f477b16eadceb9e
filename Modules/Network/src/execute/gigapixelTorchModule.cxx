/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchModule.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelModuleFile.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelTorchVersion.h"

#include <atomic>
#include <stdexcept>

#include <dlfcn.h>

namespace gigapixel
{

namespace
{

/** \return empty: none is loaded, or it does not say its version */
std::string
FindLoadedVersion()
{
  void * const library = FindLoadedLibrary("libtorch_cpu");
  // std::string at::show_config(), as the C++ libraries of today name it.
  const auto show =
    library ? reinterpret_cast<std::string (*)()>(dlsym(library, "_ZN2at11show_configB5cxx11Ev")) : nullptr;
  const std::string config = show ? show() : std::string();
  const std::string key = "TORCH_VERSION=";
  const std::size_t found = config.find(key);
  const std::size_t begin = found == std::string::npos ? config.size() : found + key.size();
  return config.substr(begin, config.find_first_not_of("0123456789.", begin) - begin);
}

std::string
GetMinorVersion(const std::string & version)
{
  return version.substr(0, version.find('.', version.find('.') + 1));
}

constexpr const char * Install = "install the one that the engine was built with (Debian: libtorch1.13; Python: pip "
                                 "install 'itk-gigapixel[torch]')";

} // namespace

void
CheckTorchVersion()
{
  const std::string loaded = FindLoadedVersion();
  if (!loaded.empty() && GetMinorVersion(loaded) != GIGAPIXEL_TORCH_VERSION)
  {
    throw Refusal(
      Diagnostic("E-INSTALLATION",
                 "LibTorch " + loaded + " is loaded, and the engine was built with LibTorch " GIGAPIXEL_TORCH_VERSION,
                 Install)
        .OfValue(loaded));
  }
}

const TorchModule &
TorchModule::Get()
{
  static const TorchModule & module = []() -> const TorchModule & {
    CheckTorchVersion(); // of one that others have loaded, with which the module might not load
    try
    {
      const auto & found =
        *static_cast<const TorchModule *>(FindInModule("GigapixelTorchPasses", "GigapixelTorchModule"));
      CheckTorchVersion();
      return found;
    }
    catch (const std::runtime_error & error)
    {
      if (!Diagnostic::Of(error).value.empty())
      {
        throw;
      }
      throw Refusal(Diagnostic("E-INSTALLATION",
                               std::string("LibTorch is needed for networks of any operations, and does not load (") +
                                 Diagnostic::Of(error).why + ")",
                               Install));
    }
  }();
  return module;
}

std::string
GetTorchVersion()
{
  const std::string builtWith = TorchModule::Get().version, loaded = FindLoadedVersion();
  return loaded.empty() ? builtWith : loaded;
}

namespace
{

std::atomic<GraphOperators> operatorsOfTests{ GraphOperators::OfDevice };

} // namespace

GraphOperatorsForTests::GraphOperatorsForTests(GraphOperators operators)
  : m_Before(operatorsOfTests.exchange(operators))
{}

GraphOperatorsForTests::~GraphOperatorsForTests()
{
  operatorsOfTests = m_Before;
}

std::unique_ptr<GraphPasses>
MakeTorchGraphPasses(const NetworkDescription & network, const Device & device)
{
  return std::unique_ptr<GraphPasses>(TorchModule::Get().makeGraphPasses(network, device, operatorsOfTests));
}

} // namespace gigapixel
