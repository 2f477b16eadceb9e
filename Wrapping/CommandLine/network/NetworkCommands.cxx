/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

#include <algorithm>
#include <cstring>

// torch/version.h, whose folder no include path of the engine has.
#include <torch/csrc/api/include/torch/version.h>

namespace gigapixel::commandline
{

void
SelectLevel(itk::WholeSlideImageIO & slide, const ArgumentValues & values)
{
  if (values.Has("level"))
  {
    slide.SetLevel(static_cast<unsigned>(values.GetInteger("level")));
  }
  else if (values.GetCommand().Find("mpp") && values.Has("mpp"))
  {
    slide.SetMicronsPerPixel(values.GetNumber("mpp"));
  }
  slide.ReadImageInformation();
}

std::int64_t
GetBudget(const ArgumentValues & values)
{
  return values.Has("memory") ? values.GetMemory("memory") : 0;
}

void
LimitTileCache(std::int64_t budget)
{
  if (budget > 0)
  {
    const auto part = static_cast<std::size_t>(budget / 16);
    itk::WholeSlideImageIO::SetTileCacheLimit(std::min(itk::WholeSlideImageIO::GetTileCacheLimit(), part));
  }
}

std::string
FormatPlan(const MemoryPlan & plan)
{
  const std::string how = plan.tileSize == 0 ? std::string("whole image at once")
                                             : "streamed, " + std::to_string(plan.numberOfTiles) + " tiles of " +
                                                 std::to_string(plan.tileSize) + " x " + std::to_string(plan.tileSize) +
                                                 ", " + std::to_string(plan.tilesInFlight) + " at a time";
  return "estimated peak memory " + FormatBytes(static_cast<double>(plan.peakBytes)) + " (" + how + ')';
}

} // namespace gigapixel::commandline

extern "C" __attribute__((visibility("default"))) gigapixel::commandline::CommandFunction
GigapixelFindNetworkCommand(const char * name)
{
  using namespace gigapixel::commandline;
  return std::strcmp(name, "train") == 0 ? RunTrain : std::strcmp(name, "segment") == 0 ? RunSegment : RunPlan;
}

extern "C" __attribute__((visibility("default"))) const char *
GigapixelGetTorchVersion()
{
  return TORCH_VERSION;
}
