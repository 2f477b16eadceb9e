/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef NetworkCommands_h
#define NetworkCommands_h

#include "TableValues.h"
#include "gigapixelComputingOptions.h"
#include "gigapixelSlideMemory.h"

#include "gigapixelRunCommand.h"

#include "gigapixelDevice.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelStageSeconds.h"

#include "itkWholeSlideImageIO.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gigapixel::application
{
int RunTrain(const ArgumentValues & values, const Session & session);
int RunSegment(const ArgumentValues & values, const Session & session);
int RunClassify(const ArgumentValues & values, const Session & session);
int RunFeatures(const ArgumentValues & values, const Session & session);
int RunPlan(const ArgumentValues & values, const Session & session);
int RunNetworks(const ArgumentValues & values, const Session & session);
int RunImport(const ArgumentValues & values, const Session & session);

/** info of models, runs and presets. */
int RunModelInfo(const ArgumentValues & values, const Session & session);

/** --memory in bytes; without it what this process holds and what is free. 0: not known. */
std::int64_t GetBudget(const ArgumentValues & values);

/** Leaves decoded tiles at most a part of the budget while the result lives. In a process of the front end, from now on
 * freed memory goes back to the system. Before anything large is loaded. */
TileCacheBound BoundMemory(const ArgumentValues & values, const Session & session);

/** Refuses a folder for --scratch that cannot be written into, whether it will be needed or not.
 * \param bytes of room that it has to have \throw std::runtime_error */
void CheckScratch(const ArgumentValues & values, std::int64_t bytes = 0);

/** How slides are cut into tiles. */
struct Tiling
{
  std::int64_t tileSize{ 0 }; ///< 0: the plan's; or WholeImage
  bool         sharedMemory{ false };
  /** The network sees each of them by itself; then there are no tile size and no shared memory. */
  std::optional<Patches> patches{};
  int                    axes{ 2 }; ///< that tiles are cut along
  /** Likewise of volumes. */
  std::optional<VolumePatches> volumePatches{};
};

/** --tile-size and --shared-memory as asked for; the latter not where --device cannot do it, which is said. What is
 * wrong with the device is said before slides are opened.
 * \throw UsageError no such device; what Device::Find() throws */
Tiling GetTiling(const ArgumentValues & values, const Session & session);

/** --sliding-window and what is of it; none for whole slides.
 * \throw UsageError they do not suit each other, or the network */
std::optional<Patches> GetPatches(const ArgumentValues & values, const NetworkDescription & network);

/** The same of a network for volumes: what is not given is as the network was trained, if it says so.
 * \throw UsageError */
std::optional<VolumePatches> GetVolumePatches(const ArgumentValues & values, const NetworkDescription & network);

/** Options of computing that the command has, with a tiling in place of --tile-size and --shared-memory. */
ComputingOptions GetComputing(const ArgumentValues & values, const Tiling & tiling);

/** --device and --precision. \throw UsageError there is none of this name */
Device FindDevice(const ArgumentValues & values);

/** Said where --scratch is given and no plan keeps maps: the option was meant to change something. */
constexpr const char * IdleScratch =
  "--scratch changes nothing here: no maps are kept while the network goes over the image, "
  "and its folder is not used";

/** An image that a command computes, or plans to: all that its plan depends on. */
struct ImageRun
{
  const ArgumentValues &     values;
  const NetworkDescription & network; ///< with its loss and what is frozen
  Size                       image;
  Purpose                    purpose;
  Tiling                     tiling;
  /** Of an image of which only a part is computed, whole tiles: the network's plan is that of the image, whose tiles
   * are as large as any, but a slide takes only what is read of it. */
  std::optional<Size> part{};
  /** What the command keeps of the image until its end. */
  std::int64_t keptBytes{ 0 };
  /** What it takes before there are maps of the network, or when they are gone. */
  std::int64_t aloneBytes{ 0 };
  /** Of a training: what is decoded of one stays while the next ones are read, as far as the reader keeps tiles. */
  int images{ 1 };
  /** What the files of a slide, or of all slides and masks of a training, take while they are read. */
  ReadingMemory reading{};
  /** See PlannedRun. */
  std::int64_t handedOnBytes{ 0 };
};

/** The same as filters see it. */
SlideMemory ToSlideMemory(const ImageRun & run);

/** What a slide takes of a budget on its way beside the network: decoded tiles, for inference rows of tiles of
 * pixels and of results, and what is kept of it. */
std::int64_t GetSlideBytes(const ImageRun & run, std::int64_t budget);

/** One sentence for a budget that is too small, with what would do. */
Diagnostic Diagnose(const MemoryLimitError & refusal, const ImageRun & run);

/** The network that an argument names. A name of a preset means that, also where a file has the same one, which is
 * said. \throw std::invalid_argument as NetworkDescription::Load() does */
NetworkDescription LoadNetwork(const ArgumentValues & values, const std::string & argument, const Session & session);

/** Says so where a name is taken for a ready model, and there is a file or folder of the same name. */
void SayIfModelHidesFile(const std::string & name, const Session & session);

/** Likewise of a name that is taken for a preset or a ready model. */
void SayIfNetworkHidesFile(const std::string & name, const Session & session);

/** "4492 parameters", and how many more are not trained. */
std::string FormatParameters(std::int64_t trained, std::int64_t kept);

/** What the engine plans, with what the slide takes beside it in its peak. Training makes its plan itself, of the same.
 * \param holdsWeights whether a model of the network is loaded
 * \throw std::runtime_error when it does not fit */
MemoryPlan MakePlan(const ImageRun & run, int threads, bool holdsWeights);

/** The numbers of a plan. */
nlohmann::ordered_json DescribePlan(const MemoryPlan & plan, const NetworkDescription & network, Purpose purpose);

/** "estimated peak memory 1.2 GiB (124 tiles (or patches) of 2048 x 2048, 2 at a time)" */
std::string FormatPlan(const MemoryPlan & plan, const Tiling & tiling);

/** \param all what all took; what no stage did is starting, writing and the like */
nlohmann::ordered_json DescribeSeconds(const StageSeconds & stages, double all);

/** "CPU seconds: 1.20 pixels, 0.35 labels, 3.40 network, 5.10 in all" */
std::string FormatSeconds(const StageSeconds & stages, double all);

} // namespace gigapixel::application

#endif
