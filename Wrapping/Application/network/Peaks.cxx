/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Peaks.h"

#include "NetworkCommands.h"
#include "gigapixelDevice.h"
#include "gigapixelExecutor.h"
#include "gigapixelNetworkDescription.h"
#include "gigapixelSession.h"

#include <nlohmann/json.hpp>

namespace gigapixel::application
{

Peaks::Peaks(const MemoryPlan &         plan,
             const NetworkDescription & network,
             const ArgumentValues &     values,
             std::int64_t               peakBefore)
  : planned(plan.peakBytes)
  , measured(GetPeakMemory())
  , before(peakBefore)
{
  if (const Device device = FindDevice(values); device.cuda >= 0)
  {
    plannedOfGpu = plan.deviceBytes + plan.deviceWorkspaceBytes;
    measuredOfGpu = Executor::Of(network).GetPeakBytes(device);
  }
}

std::string
Peaks::Format() const
{
  const auto format = [](std::int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); };
  return "peak memory: estimated " + format(planned) + (measured > before ? ", measured " : ", measured at most ") +
         format(measured) + (measured > before ? "" : ", which work before this took") +
         (plannedOfGpu ? "; of the GPU estimated at most " + format(*plannedOfGpu) : "") +
         (measuredOfGpu ? ", measured " + format(*measuredOfGpu) : "");
}

void
Peaks::AddTo(nlohmann::ordered_json & json) const
{
  json["estimatedPeakBytes"] = planned;
  json["peakBytes"] = measured;
  if (plannedOfGpu)
  {
    json["estimatedGpuBytes"] = *plannedOfGpu;
    json["gpuBytes"] = measuredOfGpu ? nlohmann::ordered_json(*measuredOfGpu) : nullptr;
  }
}

} // namespace gigapixel::application
