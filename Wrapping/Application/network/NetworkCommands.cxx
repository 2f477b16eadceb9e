/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"
#include "gigapixelFormatCount.h"

#include "ArgumentText.h"

#include "gigapixelChosenPatches.h"
#include "gigapixelFreeMemory.h"
#include "gigapixelImageKind.h"
#include "gigapixelJoinNames.h"
#include "gigapixelJoinRanks.h"
#include "gigapixelModel.h"
#include "gigapixelNetworkPresets.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelTorchVersion.h"
#include "gigapixelUsableCores.h"
#include "gigapixelWritableFolder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include <unistd.h>

namespace gigapixel::application
{

std::int64_t
GetBudget(const ArgumentValues & values)
{
  if (const std::int64_t given = values.GetMemory("memory"); given > 0)
  {
    return given;
  }
  std::int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  const auto free = static_cast<std::int64_t>(GetFreeMemory());
  return free == 0 ? 0 : free + resident * sysconf(_SC_PAGESIZE);
}

TileCacheBound
BoundMemory(const ArgumentValues & values, const Session & session)
{
  if (session.GetFrontEnd().OwnsProcess())
  {
    ReturnFreedMemory();
  }
  return TileCacheBound(GetBudget(values));
}

void
CheckScratch(const ArgumentValues & values, std::int64_t bytes)
{
  if (const std::string & folder = values.GetText("scratch"); !folder.empty())
  {
    CheckScratchFolder(folder, bytes);
  }
}

SlideMemory
ToSlideMemory(const ImageRun & run)
{
  const Command & command = run.values.GetCommand();
  const auto      asked = command.Find("threads") ? static_cast<int>(run.values.GetInteger("threads")) : 0;
  SlideMemory     memory{ run.network, run.image, run.purpose };
  memory.tileSize = run.tiling.tileSize;
  memory.sharedMemory = run.tiling.sharedMemory;
  memory.patches = run.tiling.patches;
  memory.part = run.part;
  memory.keptBytes = run.keptBytes;
  memory.images = run.images;
  memory.reading = run.reading;
  memory.isProbability = command.Find("probability") && run.values.Has("probability");
  memory.hasTissue = command.Find("tissue") && run.values.Has("tissue");
  memory.writingThreads = asked > 0 ? asked : CountUsableCores();
  return memory;
}

std::int64_t
GetSlideBytes(const ImageRun & run, std::int64_t budget)
{
  return ToSlideMemory(run).GetBytes(budget);
}

Device
FindDevice(const ArgumentValues & values)
{
  try
  {
    return Device::Find(values.GetText("device"), values.GetText("precision"));
  }
  catch (const std::invalid_argument & noSuchName)
  {
    Diagnostic diagnostic = Diagnostic::Of(noSuchName);
    diagnostic.code = diagnostic.code == "E-OTHER" ? "E-OPTION-VALUE" : diagnostic.code;
    diagnostic.why = "--device: " + diagnostic.why;
    throw UsageError(diagnostic.OfOption("--device", values.GetText("device")));
  }
}

ComputingOptions
GetComputing(const ArgumentValues & values, const Tiling & tiling)
{
  auto options = GetOptions<ComputingOptions>(values);
  options.tileSize = tiling.tileSize;
  options.sharedMemory = tiling.sharedMemory;
  return options;
}

namespace
{
/** \throw UsageError they do not suit each other, or the network */
template <typename TPatches, typename TMake>
std::optional<TPatches>
MakePatches(const ArgumentValues & values, const NetworkDescription & network, const TMake & make)
{
  if (!values.Has("sliding-window"))
  {
    return {};
  }
  std::optional<TPatches> patches;
  try
  {
    patches = make(GetOptions<PatchOptions>(values));
  }
  catch (const InvalidArgument & unsuitable)
  {
    throw UsageError(unsuitable.GetDiagnostic());
  }
  try
  {
    patches->Validate(network);
  }
  catch (const std::invalid_argument & unsuitable)
  {
    Diagnostic diagnostic = Diagnostic::Of(unsuitable);
    diagnostic.code = "E-OPTION-VALUE";
    diagnostic.why = "--patch: " + diagnostic.why;
    throw UsageError(diagnostic.OfOption("--patch", values.GetText("patch")));
  }
  return patches;
}
} // namespace

std::optional<Patches>
GetPatches(const ArgumentValues & values, const NetworkDescription & network)
{
  return MakePatches<Patches>(values, network, &ChoosePatches);
}

std::optional<VolumePatches>
GetVolumePatches(const ArgumentValues & values, const NetworkDescription & network)
{
  return MakePatches<VolumePatches>(
    values, network, [&](const PatchOptions & options) { return ChooseVolumePatches(options, network); });
}

Tiling
GetTiling(const ArgumentValues & values, const Session & session)
{
  static_assert(WholeImage == -1, "--tile-size image is so, see ArgumentValues::GetInteger()");
  const Device device = FindDevice(values);
  Tiling       tiling{ values.GetInteger("tile-size"), values.Has("shared-memory") };
  if (!tiling.sharedMemory)
  {
    return tiling;
  }
  const std::string problem = device.GetSharingProblem();
  if (!problem.empty())
  {
    session.Warn(Diagnostic("W-OPTION-NO-EFFECT", problem + ": it is done without shared memory, with the same result")
                   .OfOption("--shared-memory"));
    tiling.sharedMemory = false;
  }
  else if (device.cuda < 0)
  {
    session.Say("shared memory on a CPU: its memory is one anyway; pixels are read into it first, on the same path");
  }
  return tiling;
}

namespace
{
/** As --memory takes it, rounded up, so that it is enough when it is given. */
std::string
FormatLeastMemory(std::int64_t bytes)
{
  constexpr std::int64_t MiB = std::int64_t{ 1 } << 20, GiB = std::int64_t{ 1 } << 30, Most = 100 * GiB;
  return bytes < Most ? std::to_string((bytes + MiB - 1) / MiB) + 'M' : std::to_string((bytes + GiB - 1) / GiB) + 'G';
}

/** What of the machine or of --memory is too small. */
std::string
DescribeLimit(const ArgumentValues & values)
{
  const auto          format = [](std::int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); };
  const std::int64_t  budget = GetBudget(values);
  const std::string & given = values.GetText("memory");
  if (given.empty())
  {
    return budget > 0 ? "the memory that is free on this machine (" + format(budget) + ") is too little"
                      : "this machine has too little memory";
  }
  const bool hasUnit = given.find_first_not_of("0123456789.") != std::string::npos;
  return "the memory limit of " + (hasUnit ? given : format(budget)) + " is too small";
}
} // namespace

Diagnostic
Diagnose(const MemoryLimitError & refusal, const ImageRun & run)
{
  const auto         format = [](std::int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); };
  const std::int64_t least =
    FindLeastLimit(refusal.least, [&run](std::int64_t limit) { return GetSlideBytes(run, limit); });
  const std::int64_t slide = GetSlideBytes(run, least);
  const Tiling &     tiling = run.tiling;
  const std::string  why = DescribeLimit(run.values) + ": at least " + FormatLeastMemory(least) + " are needed" +
                          (slide == 0 ? ""
                                      : ", " + format(refusal.least) + " for the network and " + format(slide) +
                                          " for " + ImageKind::Of(tiling.axes).inMemory);
  const std::string remedy =
    tiling.tileSize == WholeImage ? "without --tile-size image it is computed in tiles, which mostly need less"
    : refusal.scratch > 0
      ? "less is needed with a scratch folder (--scratch) that has room for " + format(refusal.scratch)
    : tiling.patches || tiling.volumePatches ? "smaller patches (--patch) need less"
    : tiling.sharedMemory                    ? "without --shared-memory less may be needed"
                                             : "";
  const std::string & given = run.values.GetText("memory");
  return Diagnostic("E-MEMORY-BUDGET", why, remedy).OfOption(given.empty() ? "" : "--memory", given);
}

namespace
{
void
SayIfFileIsThere(const std::string & name, const std::string & kind, const Session & session)
{
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored))
  {
    session.Say(name + " is taken for the " + kind + " of this name; the file or folder is meant by ./" + name);
  }
}
} // namespace

void
SayIfModelHidesFile(const std::string & name, const Session & session)
{
  if (!name.empty() && Model::IsReady(name)) // which unpacks all ready models: 2 MB
  {
    SayIfFileIsThere(name, "ready model", session);
  }
}

void
SayIfNetworkHidesFile(const std::string & name, const Session & session)
{
  if (NetworkPreset::Find(name))
  {
    SayIfFileIsThere(name, "preset", session);
  }
  else
  {
    SayIfModelHidesFile(name, session);
  }
}

NetworkDescription
LoadNetwork(const ArgumentValues & values, const std::string & argument, const Session & session)
{
  const std::string & name = values.GetText(argument);
  if (values.IsGiven(argument))
  {
    SayIfNetworkHidesFile(name, session);
  }
  return NetworkDescription::Load(name);
}

std::string
FormatParameters(std::int64_t trained, std::int64_t kept)
{
  return FormatCount(trained, "parameter") +
         (kept == 0 ? "" : " that are trained and " + std::to_string(kept) + " that are not (frozen)");
}

MemoryPlan
MakePlan(const ImageRun & image, int threads, bool holdsWeights)
{
  const ArgumentValues & values = image.values;
  Device                 device{ -1, FindPrecision(values.GetText("precision")), image.tiling.sharedMemory };
  if (values.GetCommand().Find("device"))
  {
    device.cuda = FindDevice(values).cuda;
  }
  PlannedRun run(image.network, image.image, image.purpose, device);
  if (holdsWeights)
  {
    run.LeaveOutWeights();
  }
  run.SetLimit(GetBudget(values), [&image](std::int64_t limit) { return GetSlideBytes(image, limit); });
  run.threads = threads;
  run.tileSize = image.tiling.tileSize;
  run.handedOnBytes = image.handedOnBytes;
  run.inPlace = true; // slides are decoded to the network's channels
  run.patches = image.tiling.patches;
  run.volumePatches = image.tiling.volumePatches;
  run.segmentation.inFiles = values.GetCommand().Find("scratch") && values.Has("scratch");
  try
  {
    MemoryPlan plan = MemoryPlan::Make(run);
    plan.peakBytes += GetSlideBytes(image, GetBudget(values)) - image.reading.GetSpareBytes(threads, GetBudget(values));
    if (image.aloneBytes > 0)
    {
      plan.peakBytes = std::max(plan.peakBytes, GetResidentBytes() + image.aloneBytes);
    }
    return plan;
  }
  catch (const MemoryLimitError & refusal)
  {
    throw Refusal(Diagnose(refusal, image));
  }
}

nlohmann::ordered_json
DescribePlan(const MemoryPlan & plan, const NetworkDescription & network, Purpose purpose)
{
  nlohmann::ordered_json json;
  json["tileSize"] = plan.tileSize;
  json["tiles"] = plan.numberOfTiles;
  json["tilesInFlight"] = plan.tilesInFlight;
  json["peakBytes"] = plan.peakBytes;
  json["deviceBytes"] = plan.deviceBytes;
  json["deviceWorkspaceBytes"] = plan.deviceWorkspaceBytes;
  json["passes"] = plan.passes;
  json["remark"] = plan.remark;
  json["segments"] = nlohmann::ordered_json::array();
  for (const SegmentPlan & segment : plan.segments)
  {
    const int forward = segment.operation == network.graph.output && !network.TakesSumsFirst() ? 1 : 2;
    const int passes = purpose == Purpose::Training ? forward + 1 : 1;
    json["segments"].push_back(
      { { "map", segment.operation }, { "tileSize", segment.tileSize }, { "passes", passes } });
  }
  json["keptBytes"] = plan.keptBytes;
  return json;
}

namespace
{
std::string
FormatSegments(const MemoryPlan & plan)
{
  return plan.segments.empty() ? std::string()
                               : " in " + FormatCount(plan.segments.size(), "segment") + " with " +
                                   FormatBytes(static_cast<double>(plan.keptBytes)) + " of maps between them";
}
} // namespace

std::string
FormatPlan(const MemoryPlan & plan, const Tiling & tiling)
{
  const std::string side = std::to_string(plan.tileSize);
  const std::string how =
    tiling.volumePatches ? std::to_string(plan.numberOfTiles) + ' ' + tiling.volumePatches->Describe() + "; " +
                             std::to_string(plan.tilesInFlight) + " at a time"
    : plan.numberOfTiles == 1
      ? std::string("in one piece")
      : std::to_string(plan.numberOfTiles) + (tiling.patches ? " patches" : " tiles") +
          (plan.segments.empty() ? " of " + side + " x " + side + (tiling.axes > 2 ? " x " + side : "") : "") + ", " +
          std::to_string(plan.tilesInFlight) + " at a time" + FormatSegments(plan);
  return "estimated peak memory " + FormatBytes(static_cast<double>(plan.peakBytes)) + " (" + how +
         (tiling.sharedMemory ? ", from shared memory)" : ")");
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

} // namespace gigapixel::application
