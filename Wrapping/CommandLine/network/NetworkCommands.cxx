/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

#include "gigapixelDevice.h"
#include "gigapixelFreeMemory.h"
#include "gigapixelJoinRanks.h"
#include "gigapixelTorchVersion.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>

#include <unistd.h>

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
  if (values.Has("memory"))
  {
    return values.GetMemory("memory");
  }
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  const auto free = static_cast<std::int64_t>(GetFreeMemory());
  return free == 0 ? 0 : free + resident * sysconf(_SC_PAGESIZE);
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

namespace
{
std::int64_t
GetSlideBytes(const ArgumentValues &     values,
              const NetworkDescription & network,
              const Size &               image,
              Purpose                    purpose,
              int                        threads)
{
  constexpr std::int64_t tileSize = 2048;
  constexpr std::int64_t bandRows = 1024; // of the pyramid's writer, all levels
  const auto             cache = static_cast<std::int64_t>(itk::WholeSlideImageIO::GetTileCacheLimit());
  const std::int64_t     held = std::min(cache, image.width * image.height * network.channels);
  const std::int64_t     halo = network.GetHalo();
  // With what lies unused between decoded tiles: measured, more where threads read in several places at once.
  const bool         kept = values.GetCommand().Find("cache") && values.GetText("cache") != "none";
  const std::int64_t decoded = held + (purpose == Purpose::Training && !kept ? held / 2 : held / 10);
  if (purpose == Purpose::Training)
  {
    const std::int64_t band = 256 * (tileSize + 2 * halo) * (network.channels + 1); // of a slide that is turned
    return decoded + threads * band;
  }
  const std::int64_t pixels = image.width * std::min(image.height, tileSize + 2 * halo) * network.channels;
  const std::int64_t computed = std::min(image.width, 2 * threads * tileSize) * std::min(image.height, tileSize);
  const std::int64_t results = image.width * std::min(image.height, tileSize);
  return decoded + pixels + computed + results + image.width * std::min(image.height, bandRows);
}
} // namespace

std::int64_t
GetEngineBudget(const ArgumentValues &     values,
                const NetworkDescription & network,
                const Size &               image,
                Purpose                    purpose,
                int                        threads)
{
  const std::int64_t budget = GetBudget(values);
  return budget == 0 ? 0 : std::max<std::int64_t>(1, budget - GetSlideBytes(values, network, image, purpose, threads));
}

Strategy
ChooseStrategy(const ArgumentValues & values, const Session & session)
{
  const Device      device = Device::Find(values.GetText("device"), values.GetText("precision"));
  const Strategy    strategy = FindStrategy(values.GetText("strategy"));
  const std::string problem = strategy == Strategy::Unified ? device.GetSharingProblem() : std::string();
  if (problem.empty())
  {
    if (strategy == Strategy::Unified && device.cuda < 0)
    {
      session.Say("unified on a CPU: its memory is one anyway; pixels are read into it first, on the same path");
    }
    return strategy;
  }
  session.Warn("gigapixel: " + problem + ": slides go through it in tiles (streamed), with the same result.");
  return Strategy::Streamed;
}

MemoryPlan
MakePlan(const NetworkDescription & network,
         const Size &               image,
         Purpose                    purpose,
         Strategy                   strategy,
         const ArgumentValues &     values,
         int                        threads,
         std::int64_t               tileSize)
{
  const std::int64_t slide = GetSlideBytes(values, network, image, purpose, threads);
  try
  {
    MemoryPlan plan = MemoryPlan::Make(network,
                                       image,
                                       purpose,
                                       strategy,
                                       GetEngineBudget(values, network, image, purpose, threads),
                                       threads,
                                       tileSize,
                                       FindPrecision(values.GetText("precision")));
    plan.peakBytes += slide;
    return plan;
  }
  catch (const std::runtime_error & refusal)
  {
    throw std::runtime_error(std::string(refusal.what()) + " for the network, beside " +
                             FormatBytes(static_cast<double>(slide)) + " for the slide on its way");
  }
}

std::string
FormatPlan(const MemoryPlan & plan)
{
  const std::string how = plan.tileSize == 0
                            ? std::string("whole image at once")
                            : GetName(plan.strategy) + ", " + std::to_string(plan.numberOfTiles) + " tiles of " +
                                std::to_string(plan.tileSize) + " x " + std::to_string(plan.tileSize) + ", " +
                                std::to_string(plan.tilesInFlight) + " at a time";
  return "estimated peak memory " + FormatBytes(static_cast<double>(plan.peakBytes)) + " (" + how + ')';
}

double
GetCPUSeconds()
{
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

nlohmann::ordered_json
DescribeSeconds(const StageSeconds & stages, double all)
{
  return { { "pixels", stages.pixels }, { "labels", stages.labels }, { "network", stages.network }, { "all", all } };
}

std::string
FormatSeconds(const StageSeconds & stages, double all)
{
  const std::string labels = stages.labels > 0 ? FormatNumber(stages.labels, 2) + " labels, " : std::string();
  return "CPU seconds: " + FormatNumber(stages.pixels, 2) + " pixels, " + labels + FormatNumber(stages.network, 2) +
         " network, " + FormatNumber(all, 2) + " in all";
}

} // namespace gigapixel::commandline

extern "C" __attribute__((visibility("default"))) gigapixel::commandline::CommandFunction
GigapixelFindNetworkCommand(const char * name)
{
  using namespace gigapixel::commandline;
  return std::strcmp(name, "train") == 0 ? RunTrain : std::strcmp(name, "segment") == 0 ? RunSegment : RunPlan;
}

extern "C" __attribute__((visibility("default"))) void
GigapixelJoinCommand(const gigapixel::Launch * launch, std::shared_ptr<gigapixel::Ranks> * ranks)
{
  *ranks = gigapixel::JoinRanks(*launch);
}

extern "C" __attribute__((visibility("default"))) const char *
GigapixelGetDevices()
{
  static const std::string text = [] {
    std::string lines;
    for (const std::string & device : gigapixel::Device::GetDescriptions())
    {
      lines += (lines.empty() ? "" : "; ") + device;
    }
    return lines.empty() ? "none: " + gigapixel::Device::GetProblem() : lines;
  }();
  return text.c_str();
}

extern "C" __attribute__((visibility("default"))) const char *
GigapixelGetTorchVersion()
{
  static const std::string version = gigapixel::GetTorchVersion();
  return version.c_str();
}
