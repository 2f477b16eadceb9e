/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// MeasureStep train|whole|predict|label|label-copies WIDTH HEIGHT BUDGET_IN_MIB THREADS [NETWORK [SCRATCH [SEGMENTS
// [PRECISION [EPOCHS [DEVICE]]]]]] SCRATCH: folder for maps between segments; - : in memory. SEGMENTS:
// MAP=TILE,...,OUTPUT=TILE instead of the plan's; - : the plan's. PRECISION: fp32, bf16. One training step, or so many
// epochs with slides of smaller sizes, each turned in some way, or one inference, on a slide without a file, in a
// process of its own: its peak resident memory beside the plan's estimate, and its CPU time. Printed as "peak <bytes>
// plan <bytes> ...", at the end the peak until half of the epochs.
#include "SyntheticSources.h"
#include "model/gigapixelInitialWeights.h"
#include "graph/gigapixelParameterLayout.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelPredictor.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include <sys/resource.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

double
GetCPUSeconds()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

std::int64_t
GetPeakBytes()
{
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
  {
    if (word == "VmHWM:")
    {
      std::int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
  }
  return 0;
}

/** Threads of this process, LibTorch's own included. */
int
CountThreads()
{
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<int>(std::distance(begin(tasks), end(tasks)));
}

constexpr int SizesOfEpochs = 6;

struct Observed
{
  int          threads{ 0 };      ///< the most at the same time
  std::int64_t halfwayBytes{ 0 }; ///< peak when half of the epochs were done
};

Observed
Train(const NetworkDescription & network,
      Size                       size,
      std::int64_t               tileSize,
      std::int64_t               budget,
      int                        threads,
      const std::string &        scratch,
      const Segmentation &       segmentation,
      const Device &             device,
      int                        epochs)
{
  TrainingOptions options;
  options.scratch = scratch;
  options.segments = segmentation.segments;
  options.device = device;
  options.epochs = epochs;
  options.tileSize = tileSize;
  options.memory = budget;
  options.threads = threads;
  options.augment = epochs > 1;
  Trainer    trainer(network, options, "");
  const auto pixels = network.channels == 1
                        ? std::shared_ptr<PixelSource>(std::make_shared<Repeated<ProceduralPixels>>(size))
                        : std::make_shared<ProceduralPixels>(size, 1, network.channels);
  trainer.AddTrainingSample({ "giga", pixels, std::make_shared<Repeated<ProceduralLabels>>(size) });
  for (int i = 1; i < (epochs > 1 ? SizesOfEpochs : 1); ++i)
  {
    const Size smaller{ size.width - 37 * i, size.height - 23 * i };
    trainer.AddTrainingSample({ "giga" + std::to_string(i),
                                std::make_shared<ProceduralPixels>(smaller, 1, network.channels),
                                std::make_shared<ProceduralLabels>(smaller, 1) });
  }
  Observed observed;
  trainer.Run([&](const TrainingProgress & progress) {
    observed.threads = std::max(observed.threads, CountThreads());
    if (progress.epochDone && progress.epoch == (epochs + 1) / 2)
    {
      observed.halfwayBytes = GetPeakBytes();
    }
    return true;
  });
  return observed;
}

struct Callers
{
  std::int64_t bytes{ 0 };      ///< the strip of pixels and what is found there
  double       cpuSeconds{ 0 }; ///< to get the pixels
};

/** By rows of tiles, as a streaming filter asks.
 * \param inPlace else from a source that has to be read
 * \return what was not the engine's */
Callers
Predict(const NetworkDescription & network,
        Size                       size,
        std::int64_t               tileSize,
        int                        threads,
        const Device &             device,
        bool                       labels,
        bool                       inPlace)
{
  Model model;
  model.network = network;
  model.tileSize = tileSize;
  model.parameters = ToParameters(model.network, MakeInitialWeights(model.network, 1, { 0.5, 0.5 }));
  Predictor                  predictor(model, threads, device);
  Repeated<ProceduralPixels> slide(size);
  RowsInMemoryOf             strips(slide);
  PixelSource &              pixels = inPlace ? static_cast<PixelSource &>(strips) : slide;
  const std::int64_t         rows = std::min(model.tileSize, size.height);
  std::vector<float>         probabilities(labels ? 0 : size.width * rows);
  std::vector<std::uint8_t>  found(labels ? size.width * rows : 0);
  std::int64_t               stripRows = 0;
  Callers                    callers;
  for (std::int64_t y = 0; y < size.height; y += rows)
  {
    const Region region{ 0, y, size.width, std::min(rows, size.height - y) };
    if (inPlace)
    {
      const Region strip = predictor.GetInputRegion(region, size);
      const double begin = GetCPUSeconds();
      strips.Fill(strip);
      callers.cpuSeconds += GetCPUSeconds() - begin;
      stripRows = std::max(stripRows, strip.height);
    }
    if (labels)
    {
      predictor.PredictLabels(pixels, region, 0.5, found.data());
    }
    else
    {
      predictor.Predict(pixels, region, probabilities.data());
    }
  }
  callers.bytes = size.width * stripRows + 4 * probabilities.size() + found.size();
  return callers;
}

std::vector<SegmentPlan>
ParseSegments(const std::string & text)
{
  std::vector<SegmentPlan> segments;
  std::istringstream       items(text);
  for (std::string item; std::getline(items, item, ',');)
  {
    segments.push_back({ item.substr(0, item.find('=')), std::stoll(item.substr(item.find('=') + 1)) });
  }
  return segments;
}

} // namespace

int
main(int argc, char ** argv)
{
  if (argc < 6 || argc > 12)
  {
    std::cerr << "MeasureStep train|whole|predict|label|label-copies WIDTH HEIGHT BUDGET_IN_MIB THREADS [NETWORK "
                 "[SCRATCH [SEGMENTS [PRECISION [EPOCHS [DEVICE]]]]]]\n";
    return 2;
  }
  ReturnFreedMemory();
  const std::string        what = argv[1];
  const Size               size{ std::atoll(argv[2]), std::atoll(argv[3]) };
  const std::int64_t       budget = std::atoll(argv[4]) << 20;
  const int                threads = std::atoi(argv[5]);
  const bool               inPlace = what == "predict" || what == "label";
  const bool               inference = inPlace || what == "label-copies";
  const NetworkDescription network = NetworkDescription::Load(argc > 6 ? argv[6] : "remedios2023");
  const std::string        scratch = argc > 7 && std::string(argv[7]) != "-" ? argv[7] : "";
  const bool               given = argc > 8 && std::string(argv[8]) != "-";
  const Segmentation segmentation{ given ? ParseSegments(argv[8]) : std::vector<SegmentPlan>(), !scratch.empty() };
  const int          epochs = argc > 10 ? std::atoi(argv[10]) : 1;
  const Device       device = Device::Find(argc > 11 ? argv[11] : "cpu", argc > 9 ? argv[9] : "fp32");
  PlannedRun         run(network, size, inference ? Purpose::Inference : Purpose::Training, device);
  run.sizes = epochs > 1 ? SizesOfEpochs : 1;
  run.budget = budget;
  run.threads = threads;
  run.tileSize = what == "whole" ? WholeImage : 0;
  run.inPlace = inPlace;
  run.segmentation = segmentation;
  run.processBytes = GetResidentBytes(); // a program of little more than the step
  const MemoryPlan plan = MemoryPlan::Make(run);
  const auto       begin = std::chrono::steady_clock::now();
  const double     beginCPU = GetCPUSeconds();
  Observed         observed;
  Callers          callers;
  if (inference)
  {
    callers = Predict(network, size, plan.tileSize, plan.tilesInFlight, device, what != "predict", inPlace);
  }
  else
  {
    observed =
      Train(network, size, what == "whole" ? WholeImage : 0, budget, threads, scratch, segmentation, device, epochs);
  }
  const double pixels = static_cast<double>(size.width) * static_cast<double>(size.height);
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::cout << "peak " << GetPeakBytes() << " plan " << plan.peakBytes + callers.bytes << " tile " << plan.tileSize
            << " in_flight " << plan.tilesInFlight << " threads " << observed.threads << " cpu_ns_per_pixel "
            << (GetCPUSeconds() - beginCPU - callers.cpuSeconds) / pixels * 1e9 << " wall_seconds " << wall
            << " halfway " << observed.halfwayBytes << std::endl;
  return 0;
}
