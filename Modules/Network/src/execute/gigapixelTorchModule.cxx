/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchModule.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelModuleFile.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelTorchVersion.h"
#include "graph/gigapixelExecutors.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <dlfcn.h>

namespace gigapixel
{

namespace
{

std::atomic<void (*)()> torchFinder{ nullptr };

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

/** The minor versions that the engine was built with: where nothing is loaded, the first one is taken. */
std::vector<std::string>
GetVersions()
{
  std::istringstream words(GIGAPIXEL_TORCH_VERSIONS);
  return { std::istream_iterator<std::string>(words), {} };
}

/** Asks who knows where LibTorch is, unless it is loaded. */
void
FindTorch()
{
  if (const auto find = torchFinder.load(); find && !FindLoadedLibrary("libtorch_cpu"))
  {
    find();
  }
}

std::string
DescribeInstallation()
{
  return "install one that the engine was built with (Debian: libtorch1.13; Python: pip install "
         "'itk-gigapixel[torch]')";
}

} // namespace

std::string
ChooseTorchVersion()
{
  const std::vector<std::string> versions = GetVersions();
  if (versions.empty())
  {
    throw Refusal(Diagnostic("E-INSTALLATION",
                             "this build has no networks of any operations, as it was made without LibTorch",
                             "build with -DGigapixel_BUILD_TORCH=ON"));
  }
  FindTorch();
  if (versions.size() > 1 && !FindLoadedLibrary("libtorch_cpu"))
  {
    // The one that the module will be linked with. Where none loads, the module's own error says why.
    dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_LOCAL);
  }
  const std::string loaded = FindLoadedVersion();
  const std::string minor = loaded.empty() ? versions.front() : GetMinorVersion(loaded);
  if (std::find(versions.begin(), versions.end(), minor) == versions.end())
  {
    std::string listed;
    for (const auto & version : versions)
    {
      listed += (listed.empty() ? "" : ", ") + version;
    }
    throw Refusal(Diagnostic("E-INSTALLATION",
                             "LibTorch " + loaded + " is loaded, and the engine was built with LibTorch " + listed,
                             DescribeInstallation())
                    .OfValue(loaded));
  }
  return minor;
}

const TorchModule &
TorchModule::Get()
{
  // Before the static object is locked: Python may find it, and whoever has Python's lock may wait for the object.
  if (!GetVersions().empty())
  {
    FindTorch();
  }
  static const TorchModule & module = []() -> const TorchModule & {
    const std::string version = ChooseTorchVersion();
    try
    {
      const auto & found =
        *static_cast<const TorchModule *>(FindInModule("GigapixelTorchPasses-" + version, "GigapixelTorchModule"));
      if (const std::string loaded = FindLoadedVersion(); !loaded.empty() && GetMinorVersion(loaded) != version)
      {
        throw Refusal(Diagnostic("E-INSTALLATION",
                                 "the engine for LibTorch " + version + " was loaded with LibTorch " + loaded,
                                 DescribeInstallation())
                        .OfValue(loaded));
      }
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
                               DescribeInstallation()));
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

void
SetTorchFinder(void (*find)())
{
  torchFinder = find;
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

std::unique_ptr<TilePasses>
TorchExecutor::MakePasses(const NetworkDescription & network, const Device & device) const
{
  network.Validate();
  return MakeTorchGraphPasses(network, device);
}

} // namespace gigapixel
