/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTissueNetwork.h"

#include "gigapixelDiagnostic.h"

#include <cmath>

/** In place of gigapixelTissueNetwork.cxx where the engine is not built. */
namespace gigapixel
{

struct TissueNetwork::Implementation
{
};

bool
TissueNetwork::IsBuilt()
{
  return false;
}

std::string
TissueNetwork::Identify(const std::string & readyModel)
{
  return readyModel;
}

unsigned
TissueNetwork::GetFactor(std::size_t, std::size_t, double)
{
  return 1;
}

TissueNetwork::TissueNetwork(const TissueGrid &, const ColorCounts &, const std::string &, int)
{
  throw Refusal(Diagnostic(
    "E-INSTALLATION", "This build has no networks (Gigapixel_BUILD_NETWORK is off)", "use another tissue preset"));
}

TissueNetwork::~TissueNetwork() = default;

void
TissueNetwork::AddRow(const unsigned char *, const unsigned char *, const unsigned char *)
{}

void
TissueNetwork::Finish(const std::function<void(double)> &)
{}

ClassMap
TissueNetwork::TakeClasses()
{
  return {};
}

double
TissueNetwork::GetExpectedOverlap() const
{
  return std::nan("");
}

double
TissueNetwork::GetChanceOfPoorMask(double)
{
  return std::nan("");
}

} // namespace gigapixel
