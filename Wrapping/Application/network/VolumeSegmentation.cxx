/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "VolumeSegmentation.h"
#include "InputKind.h"
#include "Peaks.h"

#include "Doubt.h"
#include "OutputCheck.h"
#include "SlideBatch.h"
#include "VolumeFile.h"

#include "gigapixelFileIdentity.h"
#include "gigapixelHash.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelSegmentationOptions.h"
#include "gigapixelVolumePrediction.h"

#include "itkGigapixelNetworkSource.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <locale>
#include <sstream>

namespace gigapixel::application
{
namespace
{
using JSON = nlohmann::ordered_json;

/** The network's plan, with what the volume takes beside it. \throw std::runtime_error it does not fit */
MemoryPlan
PlanVolume(const itk::GigapixelVolume & volume,
           const Model &                model,
           const ArgumentValues &       values,
           const Tiling &               tiling,
           const Session &              session)
{
  const VolumeMemory memory = CountMemory(volume, model.network);
  const std::int64_t alone = GetResidentBytes() + memory.alone;
  const std::int64_t budget = GetBudget(values);
  if (budget > 0 && alone > budget)
  {
    const std::string & given = values.GetText("memory");
    const Diagnostic    diagnostic(given.empty() ? "E-MEMORY" : "E-MEMORY-BUDGET",
                                "the memory " + (given.empty() ? "that is free on this machine" : "limit of " + given) +
                                  " is too little: to read " + volume.name + " and to write its labels takes " +
                                  FormatBytes(static_cast<double>(alone)));
    throw Refusal(diagnostic.OfOption(given.empty() ? "" : "--memory", given).OfFile(volume.name));
  }
  MemoryPlan plan =
    MakePlan({ values, model.network, memory.shown, Purpose::Inference, tiling, {}, memory.inference, memory.alone },
             session.GetThreads(),
             true);
  session.Say(volume.name + ": " + FormatSize(volume.grid.size) + " voxels; " + FormatPlan(plan, tiling));
  CheckScratch(values, plan.keptBytes); // before a folder for the labels is made
  if (values.Has("scratch") && plan.keptBytes == 0)
  {
    session.Say(IdleScratch);
  }
  return plan;
}

constexpr const char * Maker = "segment ";

/** A hash of all that decides on the labels, in as few characters as NIfTI keeps. */
std::string
DescribeMaking(const std::string & volume, const Model & model, const ArgumentValues & values, const Tiling & tiling)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(17);
  text << model.GetIdentity() << ' ' << values.GetNumber("threshold") << ' ' << tiling.tileSize << ' '
       << values.GetText("precision") << ' ' << (tiling.volumePatches ? tiling.volumePatches->Describe() : "") << ' '
       << itk::GigapixelIdentifyVolume(itk::GigapixelSplitModalities(volume), HashedBytes::All)
       << DescribeOptions(GetOptions<SegmentationOptions>(values), { "threshold" });
  Hash hash;
  hash.Add(text.str().data(), text.str().size());
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%015llx", static_cast<unsigned long long>(hash.Get() >> 4));
  return Maker + std::string(digits.data());
}

/** Whether the labels are there, made as is asked for now. \throw std::runtime_error another file is there */
bool
HasLabels(const std::string & file, const std::string & madeBy)
{
  if (!std::filesystem::exists(file))
  {
    return false;
  }
  std::string found;
  try
  {
    found = itk::GigapixelGetMadeBy(file);
  }
  catch (const std::runtime_error &) // it is no volume, or damaged
  {}
  if (found == madeBy)
  {
    return true;
  }
  const bool isOurs = found.rfind(Maker, 0) == 0;
  throw Refusal(
    Diagnostic(
      "E-OUTPUT-EXISTS",
      isOurs ? "it exists, but was made of another volume, by another model or with other options than are asked for"
             : "it exists already, and was not made here",
      "replace it with --overwrite, or keep it and choose another output name")
      .OfFile(file));
}

/** \throw Interrupted */
VolumePrediction
Predict(const itk::GigapixelVolume & volume,
        const Model &                model,
        const MemoryPlan &           plan,
        const Tiling &               tiling,
        const ArgumentValues &       values,
        Progress &                   progress)
{
  std::vector<float> voxel(volume.voxels->GetNumberOfChannels());
  volume.voxels->Read({ 0, 0, 1, 1 }, reinterpret_cast<std::uint8_t *>(voxel.data())); // which reads all of it
  ThrowIfInterrupted();
  VolumeRun run;
  run.threshold = values.GetNumber("threshold");
  run.threads = plan.tilesInFlight;
  run.tileSize = plan.tileSize;
  run.segments = plan.segments;
  run.patches = tiling.volumePatches;
  const ComputingOptions computing = GetComputing(values, tiling);
  run.device = Device::Find(computing.device, computing.precision);
  run.scratch = computing.scratchFolder;
  auto prediction = PredictVolume(volume.voxels, volume.grid, model, run, [&progress](double done) {
    progress.Update(done);
    return !IsInterruptionRequested();
  });
  if (!prediction)
  {
    throw Interrupted();
  }
  return std::move(*prediction);
}

/** How many voxels each class has. */
std::vector<std::int64_t>
Count(const std::vector<std::uint8_t> & labels, int classes)
{
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes));
  for (const std::uint8_t label : labels)
  {
    ++counts.at(label);
  }
  return counts;
}

/** Labels that say nothing may be right, but seldom are what was wanted. */
void
WarnOfOneClass(const std::string & file, const std::vector<std::int64_t> & counts, const Session & session)
{
  const auto isThere = [](std::int64_t voxels) { return voxels > 0; };
  if (std::count_if(counts.begin(), counts.end(), isThere) == 1)
  {
    const auto only = std::find_if(counts.begin(), counts.end(), isThere) - counts.begin();
    RaiseDoubt(session,
               only == 0 ? Doubt{ "W-DOUBT-MASK-EMPTY", 0, 0 } : Doubt{ "W-DOUBT-MASK-FULL", 1, 1 },
               "it is class " + std::to_string(only) + " everywhere",
               file,
               "look whether the model suits this volume, and whether its weights are sound");
  }
}

/** A network sees voxels as they are stored. */
void
WarnOfShear(const itk::GigapixelVolume & volume, const Session & session)
{
  constexpr double Rounding = 2e-3; // of headers that have three digits
  if (volume.grid.GetShear() > Rounding)
  {
    session.Warn(Diagnostic("W-VOLUME-GEOMETRY",
                            "its axes are not perpendicular, and the network is shown its voxels as they are stored",
                            "resample it where the network was trained on perpendicular axes")
                   .OfFile(volume.name));
  }
}

JSON
SegmentVolume(const SlideTask &      task,
              const Model &          model,
              const ArgumentValues & values,
              const Session &        session,
              const Tiling &         tiling,
              bool &                 isDoubted,
              std::string &          text)
{
  const double               begin = GetCPUSeconds();
  const std::int64_t         peakBefore = GetPeakMemory();
  const NetworkDescription & network = model.network;
  itk::GigapixelVolume       volume = OpenVolume(task.slide, session);
  const Size                 size = volume.grid.size;
  const double               number = static_cast<double>(size.width * size.height * size.depth);
  RequireVolumeChannels(volume, network);
  network.CheckImage(FindAxisOrder(volume.grid, network).Apply(volume.grid).size);
  const std::string madeBy = DescribeMaking(task.slide, model, values, tiling);
  const bool        wasThere = !values.Has("overwrite") && HasLabels(task.output, madeBy);
  itk::GigapixelRequireLabelPlace(task.output, volume.grid);
  WarnOfShear(volume, session);
  if (const auto doubt = DoubtOrientation(volume.grid, network); doubt && !isDoubted)
  {
    session.Warn(doubt->OfFile(volume.name));
    isDoubted = true; // once a run
  }
  const MemoryPlan          plan = PlanVolume(volume, model, values, tiling, session);
  std::string               steps;
  std::vector<std::int64_t> counts;
  if (wasThere)
  {
    counts = Count(itk::GigapixelReadLabelVolume(task.output, volume.grid), network.GetNumberOfClasses());
  }
  else
  {
    CheckOutput(task.output, number); // which makes its folder: a volume that is refused before leaves none
    Progress progress(session, "segment " + task.slide, number);
    auto     prediction = Predict(volume, model, plan, tiling, values, progress);
    if (!prediction.steps.empty())
    {
      session.Say(volume.name + ": " + prediction.steps);
    }
    volume.voxels.reset(); // which makes room for what is written and read again
    steps = prediction.steps;
    counts = Count(prediction.labels, network.GetNumberOfClasses());
    const bool mayReplace = values.Has("overwrite");
    itk::GigapixelWriteLabelVolume(task.output, std::move(prediction.labels), volume.grid, mayReplace, madeBy);
    progress.Finish();
    WarnOfOneClass(task.output, counts, session);
    session.Say(Peaks(plan, network, values, peakBefore).Format());
  }
  JSON json{ { "volume", task.slide }, { "labels", task.output }, { "skipped", wasThere } };
  json["width"] = size.width;
  json["height"] = size.height;
  json["depth"] = size.depth;
  json["spacingMm"] = volume.grid.spacing;
  json["normalization"] = gigapixel::Describe(network.normalization);
  json["steps"] = wasThere ? JSON() : JSON(steps); // which the file does not tell
  json["voxelsOfClasses"] = counts;
  json["classNames"] = network.classNames;
  json["plan"] = DescribePlan(plan, network, Purpose::Inference);
  Peaks(plan, network, values).AddTo(json);
  json["cpuSeconds"] = { { "all", GetCPUSeconds() - begin } };
  text += task.output + ": " + FormatSize(size) + (wasThere ? " (was there already)\n" : "\n");
  return json;
}

} // namespace

VolumeMemory
CountMemory(const itk::GigapixelVolume & volume,
            const NetworkDescription &   network,
            const itk::GigapixelVolume * labels)
{
  const Size &       size = volume.grid.size;
  const std::int64_t voxels = size.width * size.height * size.depth;
  const std::int64_t labelsHeld = labels == nullptr ? voxels : labels->heldBytes;
  const std::int64_t labelsReading = labels == nullptr ? 2 * voxels : labels->readingBytes;
  VolumeMemory       memory;
  memory.training = std::max(volume.readingBytes, volume.heldBytes + labelsReading) + labelsHeld;
  memory.inference = volume.heldBytes + voxels;
  // Labels that are written are compared with what the reader gives, which has a copy itself.
  memory.alone = std::max(volume.readingBytes, 2 * voxels);
  if (!FindAxisOrder(volume.grid, network).ChangesNothing()) // labels are there twice while they are brought back
  {
    memory.alone = std::max(memory.alone, volume.heldBytes + 2 * voxels);
  }
  memory.shown = GetShownSize(volume.grid, network);
  if (const std::int64_t resampling = GetResamplingBytes(volume.grid, network))
  {
    // One of the channels is there twice while it is brought to the other spacing.
    const Size & shown = memory.shown;
    memory.inference += resampling;
    memory.alone =
      std::max(memory.alone,
               memory.inference + shown.width * shown.height * shown.depth * static_cast<std::int64_t>(sizeof(float)));
  }
  return memory;
}

void
RequireVolumeChannels(const itk::GigapixelVolume & volume, const NetworkDescription & network)
{
  const unsigned channels = volume.voxels->GetNumberOfChannels();
  if (static_cast<int>(channels) != network.channels)
  {
    throw Refusal(Diagnostic("E-MODEL-INPUT",
                             "it has " + std::to_string(channels) + (channels == 1 ? " channel" : " channels") +
                               ", and the network \"" + network.name + "\" takes " + std::to_string(network.channels),
                             static_cast<int>(channels) < network.channels
                               ? "join the files of all modalities by commas, in the network's order"
                               : "give it those that it was trained on")
                    .OfFile(volume.name)
                    .OfValue(std::to_string(channels)));
  }
}

int
VolumeInput::Segment(const ArgumentValues &               values,
                     const Session &                      session,
                     const std::shared_ptr<const Model> & model,
                     const SlideList &                    list,
                     const Tiling &                       tiling) const
{
  const auto tasks = AssignOutputs(list, values.GetText("output"), "--output", "label volume");
  bool       isDoubted = false;
  return RunBatch(values, session, tasks, list, [&](const SlideTask & task, std::string & text) {
    return SegmentVolume(task, *model, values, session, tiling, isDoubted, text);
  });
}

} // namespace gigapixel::application
