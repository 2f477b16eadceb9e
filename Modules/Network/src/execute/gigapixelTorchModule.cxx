/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTorchModule.h"
#include "gigapixelModuleFile.h"
#include "gigapixelTorchVersion.h"

#include <atomic>
#include <stdexcept>

namespace gigapixel
{

const TorchModule &
TorchModule::Get()
{
  static const TorchModule & module = []() -> const TorchModule & {
    try
    {
      return *static_cast<const TorchModule *>(FindInModule("GigapixelTorchPasses", "GigapixelTorchModule"));
    }
    catch (const std::runtime_error & error)
    {
      throw std::runtime_error(std::string("LibTorch is needed for networks of any operations, and does not load (") +
                               error.what() +
                               "): install the one that the engine was built with (Debian: libtorch1.13; Python: pip "
                               "install 'itk-gigapixel[torch]')");
    }
  }();
  return module;
}

std::string
GetTorchVersion()
{
  return TorchModule::Get().version;
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
