/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "NetworkCommands.h"

#include "ArgumentText.h"

#include "gigapixelDevice.h"
#include "gigapixelFreeMemory.h"
#include "gigapixelJoinNames.h"
#include "gigapixelJoinRanks.h"
#include "gigapixelModel.h"
#include "gigapixelNetworkPresets.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelTorchVersion.h"
#include "gigapixelWritableFolder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

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

namespace
{
/** Of a budget, for decoded tiles; 0: not known. */
std::int64_t
GetCacheBytes(std::int64_t budget)
{
  static const auto most = static_cast<std::int64_t>(itk::WholeSlideImageIO::GetTileCacheLimit());
  return budget > 0 ? std::min(most, budget / 16) : most;
}
} // namespace

void
BoundMemory(std::int64_t budget)
{
  itk::WholeSlideImageIO::SetTileCacheLimit(static_cast<std::size_t>(GetCacheBytes(budget)));
  ReturnFreedMemory();
}

void
CheckScratch(const ArgumentValues & values, std::int64_t bytes)
{
  if (values.Has("scratch"))
  {
    CheckScratchFolder(values.GetText("scratch"), bytes);
  }
}

namespace
{
constexpr std::int64_t SlideTile = 256;     ///< of most slides, and of the pyramids that are written
constexpr std::int64_t BandBytes = 8 << 20; ///< that a pyramid's writer asks for at a time: so many rows of tiles

/** Decoded tiles that the reader keeps: those of which a tile of the network, or a row of them, has only a part. Those
 * of the mask, too, in training. */
std::int64_t
GetDecodedBytes(const ImageRun & run, std::int64_t tileSize, std::int64_t budget)
{
  const Size         image = run.part.value_or(run.image);
  const std::int64_t rows = (image.height - 1) / tileSize, columns = (image.width - 1) / tileSize;
  const bool         training = run.purpose == Purpose::Training;
  const std::int64_t seams = rows * image.width + (training ? columns * image.height : 0);
  const std::int64_t decoded = std::min(2 * SlideTile * seams, image.width * image.height) * run.network.channels;
  const std::int64_t mask = training ? image.width * image.height / 64 : 0;
  const std::int64_t others = (run.images - 1) * image.width * image.height * (run.network.channels + 1);
  return std::min(GetCacheBytes(budget), (training && run.tiling.sharedMemory ? 0 : decoded) + mask + others);
}

/** On the way from a slide to the masks: rows of pixels and of results.
 * \param around rows of pixels that a row of tiles reads beside its own */
std::int64_t
GetStripBytes(const ImageRun & run, std::int64_t tileSize, std::int64_t around)
{
  const ArgumentValues &     values = run.values;
  const NetworkDescription & network = run.network;
  const Size                 image = run.part.value_or(run.image);
  const bool                 probability = values.GetCommand().Find("probability") && values.Has("probability");
  const std::int64_t         row = image.width * std::min(image.height, SlideTile);
  const std::int64_t         band =
    probability ? row : std::min(image.width * image.height, std::max(row, BandBytes / row * row));
  const std::int64_t tileRows = (band / image.width + tileSize - 1) / tileSize; // that a band needs
  const std::int64_t pixelRows = std::min(image.height, tileRows * tileSize + around);
  // Where each pixel depends on all, they are read at once, which the engine's plan counts; here they are counted once
  // more where what is no tissue is made white.
  const bool         seesAll = !run.tiling.patches && network.graph.SeesWholeImage();
  const bool         masked = values.GetCommand().Find("tissue") && values.Has("tissue");
  const std::int64_t whole = masked ? run.image.width * run.image.height : 0;
  const std::int64_t pixels = (seesAll ? whole : image.width * pixelRows) * network.channels;
  const std::int64_t results = image.width * std::min(image.height, tileSize);
  // The writer holds a row of tiles of each level, and each of its threads a tile: as it is, reduced, and compressed.
  const auto         asked = static_cast<unsigned>(values.GetInteger("threads"));
  const std::int64_t threads = asked > 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
  const std::int64_t writers = 4 * std::min(threads * SlideTile * SlideTile, image.width * image.height);
  return pixels + (probability
                     ? 4 * (network.GetNumberOfOutputChannels() * results + band + writers) + 2 * (band + 2 * row)
                     : results + band + writers + 2 * row);
}

} // namespace

std::int64_t
GetSlideBytes(const ImageRun & run, std::int64_t budget)
{
  if (run.network.TakesVolumes()) // a volume is in memory as a whole, which its caller counts
  {
    return run.keptBytes;
  }
  const Tiling &     tiling = run.tiling;
  const std::int64_t side = tiling.patches                  ? tiling.patches->GetTileSize()
                            : tiling.tileSize == WholeImage ? std::max(run.image.width, run.image.height)
                            : tiling.tileSize > 0           ? tiling.tileSize
                                                            : 2048;
  const std::int64_t around = tiling.patches ? tiling.patches->side : 2 * run.network.GetHalo();
  return run.keptBytes + run.reading.GetBytes(budget) + GetDecodedBytes(run, side, budget) +
         (run.purpose == Purpose::Inference && !run.network.LabelsImage() ? GetStripBytes(run, side, around) : 0);
}

std::int64_t
GetEngineBudget(const ImageRun & run)
{
  const std::int64_t budget = GetBudget(run.values);
  return budget == 0 ? 0 : std::max<std::int64_t>(1, budget - GetSlideBytes(run, budget));
}

namespace
{
Device
FindDevice(const ArgumentValues & values)
{
  try
  {
    return Device::Find(values.GetText("device"), values.GetText("precision"));
  }
  catch (const std::invalid_argument & noSuchName)
  {
    throw UsageError("--device: " + std::string(noSuchName.what()));
  }
}
} // namespace

std::int64_t
GetTileSize(const ArgumentValues & values)
{
  return !values.Has("tile-size")                 ? 0
         : values.GetText("tile-size") == "image" ? WholeImage
                                                  : values.GetInteger("tile-size");
}

namespace
{
/** Whether patches are asked for. \throw UsageError what is given besides does not suit that */
bool
TakesPatches(const ArgumentValues & values)
{
  const bool isPatch = values.GetText("semantics") == "patch";
  for (const char * option : { "patch", "overlap", "blending", "mirror" })
  {
    if (!isPatch && values.GetCommand().Find(option) && values.IsGiven(option))
    {
      throw UsageError(std::string("--") + option + " is of --semantics patch.");
    }
  }
  if (isPatch &&
      (values.Has("tile-size") || (values.GetCommand().Find("shared-memory") && values.Has("shared-memory"))))
  {
    throw UsageError("--semantics patch takes each patch in one piece: leave out --tile-size and --shared-memory.");
  }
  return isPatch;
}

template <typename TPatches>
TPatches
Validated(const TPatches & patches, const NetworkDescription & network)
{
  try
  {
    patches.Validate(network);
  }
  catch (const std::invalid_argument & unsuitable)
  {
    throw UsageError("--patch: " + std::string(unsuitable.what()) + '.');
  }
  return patches;
}
} // namespace

std::optional<Patches>
GetPatches(const ArgumentValues & values, const NetworkDescription & network)
{
  if (!TakesPatches(values))
  {
    return {};
  }
  Patches patches;
  patches.side = values.GetInteger("patch");
  patches.overlap = values.GetNumber("overlap");
  const bool constant = values.GetCommand().Find("blending") && values.GetText("blending") == "constant";
  patches.blending = constant ? Patches::Blending::Constant : Patches::Blending::Gaussian;
  patches.mirror = values.Has("mirror");
  return Validated(patches, network);
}

std::optional<VolumePatches>
GetVolumePatches(const ArgumentValues & values, const NetworkDescription & network)
{
  if (!TakesPatches(values))
  {
    return {};
  }
  VolumePatches patches = network.patches;
  if (values.IsGiven("patch"))
  {
    const std::int64_t side = values.GetInteger("patch");
    patches.size = { side, side, side };
  }
  else if (!patches.IsKnown())
  {
    throw UsageError("--semantics patch needs --patch: the network " + network.name +
                     " does not say what patches it was trained on.");
  }
  patches.overlap = values.IsGiven("overlap") ? values.GetNumber("overlap") : patches.overlap;
  if (values.GetCommand().Find("blending") && values.IsGiven("blending"))
  {
    patches.gaussian = values.GetText("blending") == "gaussian";
  }
  constexpr std::array<bool, 3> None{}, All{ true, true, true };
  if (values.Has("mirror") && network.patches.IsKnown() && network.patches.mirror == None)
  {
    throw UsageError("--mirror: the network " + network.name + " was not trained on mirrored patches.");
  }
  patches.mirror = !values.Has("mirror") ? None : network.patches.IsKnown() ? network.patches.mirror : All;
  return Validated(patches, network);
}

Tiling
GetTiling(const ArgumentValues & values, const Session & session)
{
  const Device device = FindDevice(values);
  Tiling       tiling{ GetTileSize(values), values.Has("shared-memory") };
  if (!tiling.sharedMemory)
  {
    return tiling;
  }
  const std::string problem = device.GetSharingProblem();
  if (!problem.empty())
  {
    session.Warn("gigapixel: " + problem + ": it is done without shared memory, with the same result.");
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
  const auto         format = [](std::int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); };
  const std::int64_t budget = GetBudget(values);
  if (!values.Has("memory"))
  {
    return budget > 0 ? "the memory that is free on this machine (" + format(budget) + ") is too little"
                      : "this machine has too little memory";
  }
  const std::string & given = values.GetText("memory");
  const bool          hasUnit = given.find_first_not_of("0123456789.") != std::string::npos;
  return "the memory limit of " + (hasUnit ? given : format(budget)) + " is too small";
}

/** With a larger budget the slide may take more of it. */
std::int64_t
FindLeastBudget(const ImageRun & run, std::int64_t engineBytes)
{
  std::int64_t least = 0;
  for (std::int64_t next = engineBytes + GetSlideBytes(run, engineBytes); next > least;)
  {
    least = next;
    next = engineBytes + GetSlideBytes(run, least);
  }
  return least;
}
} // namespace

std::string
DescribeRefusal(const MemoryLimitError & refusal, const ImageRun & run)
{
  const auto         format = [](std::int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); };
  const std::int64_t least = FindLeastBudget(run, refusal.least);
  const std::int64_t slide = least - refusal.least;
  const Tiling &     tiling = run.tiling;
  return DescribeLimit(run.values) + ": at least " + FormatLeastMemory(least) + " are needed" +
         (slide == 0 ? ""
                     : ", " + format(refusal.least) + " for the network and " + format(slide) +
                         (tiling.axes > 2 ? " for the volume and its labels" : " for pixels of the slide")) +
         (tiling.tileSize == WholeImage ? "; without --tile-size image it is computed in tiles, which mostly need less"
          : refusal.scratch > 0
            ? "; less is needed with a scratch folder (--scratch) that has room for " + format(refusal.scratch)
          : tiling.patches || tiling.volumePatches ? "; smaller patches (--patch) need less"
          : tiling.sharedMemory                    ? "; without --shared-memory less may be needed"
                                                   : "");
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
  if (Model::IsReady(name))
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
  SayIfNetworkHidesFile(values.GetText(argument), session);
  return NetworkDescription::Load(values.GetText(argument));
}

std::vector<std::string>
GetFreeze(const ArgumentValues & values)
{
  return values.IsGiven("freeze") ? values.GetTexts("freeze") : std::vector<std::string>();
}

void
TakeLoss(const ArgumentValues & values, NetworkDescription & network)
{
  if (values.GetText("loss") != "network")
  {
    network.SetLoss(values.GetText("loss"));
  }
}

std::string
FormatParameters(std::int64_t trained, std::int64_t kept)
{
  return std::to_string(trained) + " parameters" +
         (kept == 0 ? "" : " that are trained and " + std::to_string(kept) + " that are not (frozen)");
}

std::vector<double>
GetNumbers(const ArgumentValues & values, const std::string & argument)
{
  std::vector<double> numbers;
  if (!values.Has(argument))
  {
    return numbers;
  }
  std::istringstream fields(values.GetText(argument));
  for (std::string field; std::getline(fields, field, ',');)
  {
    const auto number = ReadNumber(field);
    if (!number)
    {
      throw UsageError("--" + argument + " must be numbers separated by commas, not " + values.GetText(argument) + '.');
    }
    numbers.push_back(*number);
  }
  return numbers;
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
  run.budget = GetEngineBudget(image);
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
    throw std::runtime_error(DescribeRefusal(refusal, image));
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
                               : " in " + std::to_string(plan.segments.size()) + " segments with " +
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
  static const std::map<std::string, CommandFunction> functions{
    { "train", RunTrain },   { "segment", RunSegment }, { "plan", RunPlan },         { "networks", RunNetworks },
    { "import", RunImport }, { "info", RunModelInfo },  { "classify", RunClassify }, { "features", RunFeatures },
  };
  return functions.at(name);
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
    const std::string lines = gigapixel::JoinNames(gigapixel::Device::GetDescriptions(), "; ");
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
