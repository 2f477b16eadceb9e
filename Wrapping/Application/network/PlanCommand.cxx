/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DiagnosticJSON.h"
#include "gigapixelFormatCount.h"
#include "InputKind.h"
#include "NetworkCommands.h"
#include "gigapixelReadingMemory.h"

#include "SlideFile.h"
#include "TableValues.h"
#include "VolumeFile.h"
#include "VolumeSegmentation.h"

#include "gigapixelFreeMemory.h"
#include "gigapixelFrozenParameters.h"
#include "gigapixelLearningOptions.h"
#include "gigapixelLossOptions.h"
#include "gigapixelMachinePace.h"
#include "gigapixelModel.h"
#include "gigapixelPrintable.h"
#include "gigapixelUsableCores.h"

#include "itkGigapixelNetworkSource.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace gigapixel::application
{
using JSON = nlohmann::ordered_json;

/** What is planned for. */
struct PlannedImage
{
  std::string  name;
  Size         size;
  Size         shown;                   ///< in inference: of a volume at the spacing of its model
  JSON         description;             ///< its name and sizes
  double       sampleSeconds;           ///< to read a sample
  bool         takesModelTiles{ true }; ///< in inference; volumes are segmented in tiles of the plan
  VolumeMemory memory{};                ///< of a volume
  // Training reads a slide and its mask; inference the slide alone, by the readers that segment has.
  ReadingMemory training{};
  ReadingMemory inference{};
};

namespace
{

/** For a sample of a JPEG slide, in memory as the network takes it, on one core of the machine that is described in
 * Documentation/evidence/index.md. */
constexpr double DecodingSeconds = 2.3e-9;
/** For a voxel of a volume that is compressed by gzip, checked, read and normalized. */
constexpr double VolumeSeconds = 4e-8;

/** What train and segment are given for it. */
std::string
FormatOptions(const Tiling & tiling)
{
  if (tiling.patches)
  {
    return "--sliding-window --patch " + std::to_string(tiling.patches->side) + " --overlap " +
           FormatShortest(tiling.patches->overlap) + (tiling.patches->mirror ? " --mirror" : "");
  }
  if (const auto & patches = tiling.volumePatches)
  {
    const bool isMirrored = patches->GetNumberOfViews() > 1;
    return "--sliding-window --overlap " + FormatShortest(patches->overlap) + (isMirrored ? " --mirror" : "");
  }
  const std::string size = tiling.tileSize == WholeImage ? "image" : std::to_string(tiling.tileSize);
  const std::string tiles = tiling.tileSize == 0 ? "" : "--tile-size " + size;
  return tiles + (tiles.empty() || !tiling.sharedMemory ? "" : " ") + (tiling.sharedMemory ? "--shared-memory" : "");
}

/** Those that are compared. */
std::vector<Tiling>
GetTilings(Purpose purpose, std::int64_t tileSize, const Tiling & patchwise, const NetworkDescription & network)
{
  if (purpose == Purpose::Inference && (patchwise.patches || patchwise.volumePatches))
  {
    return { patchwise };
  }
  std::vector<Tiling> tilings{ { tileSize, false } };
  if (!network.TakesFloats()) // which do not lie in shared memory
  {
    tilings.push_back({ tileSize, true });
  }
  if (tileSize == 0)
  {
    tilings.push_back({ WholeImage, false });
  }
  for (Tiling & tiling : tilings)
  {
    tiling.axes = patchwise.axes;
  }
  return tilings;
}

/** One row of the table: a purpose, and how images are cut. What does not fit the budget is a row, too. Times, where
 * they are measured, are without the network's, whose seconds are those of the plan's machine.
 * \param asked what users give for it */
JSON
DescribeRun(const ImageRun & run, const Tiling & asked, double sampleSeconds, int threads)
{
  JSON               row{ { "purpose", run.purpose == Purpose::Training ? "training" : "inference" },
            { "options", FormatOptions(asked) } };
  const std::int64_t budget = GetBudget(run.values);
  try
  {
    const MemoryPlan plan = MakePlan(run, threads, false);
    row["fits"] = budget == 0 || plan.peakBytes <= budget;
    row["semantics"] = asked.patches || asked.volumePatches ? "patch" : "whole";
    row.update(DescribePlan(plan, run.network, run.purpose));
    row["keptInFiles"] = plan.keptBytes > 0 && run.values.Has("scratch");
    if (!run.values.Has("measure"))
    {
      return row;
    }
    const double pixels = static_cast<double>(run.image.width) * static_cast<double>(run.image.height) *
                          static_cast<double>(run.image.depth);
    const int together = std::clamp(plan.tilesInFlight, 1, std::min(threads, CountUsableCores()));
    row["seconds"] = sampleSeconds * pixels * run.network.channels / together;
    row["networkSeconds"] = plan.coreSeconds / together;
  }
  catch (const std::runtime_error & refusal)
  {
    row["fits"] = false;
    const Diagnostic diagnostic = Diagnostic::Of(refusal);
    row["reason"] = diagnostic.GetSentence();
    row["error"] = ToJSON(diagnostic);
  }
  return row;
}

/** Side of the tiles that segment takes if it is not given one: that of the model, or of the one that training makes.
 * 0: not known. */
std::int64_t
FindModelTileSize(const ArgumentValues & values, const JSON & training)
{
  const std::string & name = values.GetText("network");
  return NetworkDescription::IsModel(name) ? Model::Load(name).tileSize : training.value("tileSize", std::int64_t{ 0 });
}

JSON
DescribeRuns(const ArgumentValues &     values,
             const NetworkDescription & network,
             const Tiling &             patchwise,
             const PlannedImage &       planned,
             const Session &            session,
             Progress &                 progress)
{
  constexpr double MostRows = 7; // the last part is to measure the pace, where that is asked for
  JSON             rows = JSON::array();
  std::int64_t     modelTileSize = 0;
  for (const Purpose purpose : { Purpose::Training, Purpose::Inference })
  {
    for (const Tiling & asked : GetTilings(purpose, values.GetInteger("tile-size"), patchwise, network))
    {
      Tiling tiling = asked;
      tiling.tileSize = asked.tileSize != 0 || asked.patches || asked.volumePatches ? asked.tileSize : modelTileSize;
      const bool            training = purpose == Purpose::Training;
      const VolumeMemory &  volume = planned.memory;
      const ReadingMemory & reading = training ? planned.training : planned.inference;
      const int             threads = std::max(1, session.GetThreads());
      const auto            kept = training ? volume.training : volume.inference;
      const auto            alone = training ? 0 : volume.alone;
      const Size &          size = training ? planned.size : planned.shown;
      const ImageRun        run{ values, network, size, purpose, tiling, {}, kept, alone, 1, reading };
      rows.push_back(DescribeRun(run, asked, planned.sampleSeconds, reading.LimitThreads(threads, GetBudget(values))));
      progress.Update(static_cast<double>(rows.size()) / MostRows);
    }
    modelTileSize =
      purpose == Purpose::Training && planned.takesModelTiles ? FindModelTileSize(values, rows.front()) : 0;
  }
  return rows;
}

/** After all plans are made, which count what the process has in memory. */
void
AddNetworkSeconds(const NetworkDescription & network,
                  const ArgumentValues &     values,
                  JSON &                     rows,
                  const Session &            session)
{
  MachinePace pace;
  if (std::none_of(rows.begin(), rows.end(), [](const JSON & row) { return row.contains("networkSeconds"); }))
  {
    return;
  }
  try
  {
    pace = MachinePace::Measure(network, FindPrecision(values.GetText("precision")), GetBudget(values));
  }
  catch (const std::exception & error)
  {
    const Diagnostic problem = Diagnostic::Of(error);
    session.Warn(Diagnostic("W-PLAN-PACE",
                            "the times are those of the machine in Documentation/evidence/index.md, since the network "
                            "cannot be computed on this one: " +
                              problem.why,
                            problem.remedy)
                   .OfFile(problem.file));
  }
  for (JSON & row : rows)
  {
    if (row.contains("networkSeconds"))
    {
      row["networkSeconds"] =
        (row["purpose"] == "training" ? pace.training : pace.inference) * row["networkSeconds"].get<double>();
      row["seconds"] = row["seconds"].get<double>() + row["networkSeconds"].get<double>();
    }
  }
}

void
SayIfScratchIsIdle(const ArgumentValues & values, const JSON & rows, const Session & session)
{
  const auto keepsMaps = [](const JSON & row) { return row.contains("reason") || row["keptBytes"] > 0; };
  if (values.Has("scratch") && std::none_of(rows.begin(), rows.end(), keepsMaps))
  {
    session.Say(IdleScratch);
  }
}

std::string
Pad(const std::string & text, std::size_t width)
{
  return text.size() < width ? text + std::string(width - text.size(), ' ') : text + ' ';
}

std::string
FormatSeconds(double seconds)
{
  return seconds < 0.05 ? "less than 0.1 s" : "about " + FormatDuration(seconds);
}

std::string
FormatSegments(const JSON & row, const char * unit)
{
  constexpr std::size_t MostLines = 8; // of norms there are many
  constexpr double      LeastBytes = 1 << 20;
  const JSON &          segments = row["segments"];
  std::string           text;
  for (const JSON & segment : segments)
  {
    text += "    segment up to " + segment["map"].get<std::string>() + ": " + segment["passes"].dump() +
            (segment["passes"] == 1 ? " pass" : " passes") + ", tiles of " + segment["tileSize"].dump() + unit +
            " of that map\n";
  }
  if (segments.size() > MostLines)
  {
    int passes = 0;
    for (const JSON & segment : segments)
    {
      passes += segment["passes"].get<int>();
    }
    text = "    " + FormatCount(segments.size(), "segment") + " with " + std::to_string(passes) + " passes\n";
  }
  const double kept = row["keptBytes"].get<double>();
  return segments.empty() && kept < LeastBytes
           ? text
           : text + "    maps between segments: " + FormatBytes(kept) +
               (row["keptInFiles"].get<bool>() ? " in the scratch folder\n" : " in memory\n");
}

std::string
Format(const JSON & json)
{
  const char * const unit = json.contains("depth") ? " voxels" : " px";
  std::string        text =
    json["image"].get<std::string>() + ": " + json["width"].dump() + " x " + json["height"].dump() +
    (json.contains("depth") ? " x " + json["depth"].dump() + " voxels" : " pixels") + ", network " +
    json["network"].get<std::string>() + " (" +
    FormatParameters(json["parameters"].get<std::int64_t>(), json["keptParameters"].get<std::int64_t>()) + ", stride " +
    json["stride"].dump() + ", halo " + json["halo"].dump() + ")\n";
  if (json.contains("shown") && json["shown"] != JSON{ json["width"], json["height"], json["depth"] })
  {
    const JSON & shown = json["shown"];
    text += "  inference at the spacing of the model: " + shown[0].dump() + " x " + shown[1].dump() + " x " +
            shown[2].dump() + " voxels\n";
  }
  for (const JSON & row : json["plans"])
  {
    const auto options = row["options"].get<std::string>();
    text += "  " + Pad(row["purpose"].get<std::string>(), 11) + Pad(options.empty() ? "(default)" : options, 19);
    if (row.contains("reason"))
    {
      text += row["reason"].get<std::string>() + '\n';
      continue;
    }
    text += Pad(FormatBytes(row["peakBytes"].get<double>()), 12);
    text += row.contains("seconds") ? Pad(FormatSeconds(row["seconds"].get<double>()), 19) : "";
    text += row["tiles"] == 1 ? "in one piece"
                              : row["tiles"].dump() + (row["semantics"] == "patch" ? " patches" : " tiles") +
                                  (row["segments"].empty() ? " of " + row["tileSize"].dump() + unit + ", " : ", ") +
                                  row["tilesInFlight"].dump() + " at a time";
    text += row["passes"] == 1 || !row["segments"].empty() ? "" : ", in " + row["passes"].dump() + " passes";
    const double ofDevice = row["deviceBytes"].get<double>();
    const double workspace = row["deviceWorkspaceBytes"].get<double>();
    text += ofDevice > 0 ? "; of a GPU " + FormatBytes(ofDevice) : "";
    text += workspace > 0 ? ", and up to " + FormatBytes(workspace) + " for cuDNN" : "";
    text += row["fits"].get<bool>() ? "\n" : "  (does not fit)\n";
    text += FormatSegments(row, unit);
    const auto remark = row["remark"].get<std::string>();
    text += remark.empty() ? "" : "    " + remark + '\n';
  }
  return text;
}

PlannedImage
MakeSlide(const std::string & name, const Size & size)
{
  return {
    name, size, size, { { "image", name }, { "width", size.width }, { "height", size.height } }, DecodingSeconds
  };
}

PlannedImage
MakeVolume(const std::string & name, const itk::GigapixelVolume & volume, const NetworkDescription & network)
{
  const Size &       size = volume.grid.size;
  const VolumeMemory memory = CountMemory(volume, network);
  JSON description{ { "image", name }, { "width", size.width }, { "height", size.height }, { "depth", size.depth } };
  description["shown"] = { memory.shown.width, memory.shown.height, memory.shown.depth };
  return { name, size, memory.shown, description, VolumeSeconds, false, memory };
}

/** \param kind that the network takes \param bytes of the image */
void
CheckSize(const ArgumentValues & values, bool isOfKind, const Diagnostic & other, const char * kind, double bytes)
{
  const std::string & text = values.GetText("size");
  if (!isOfKind)
  {
    throw UsageError(Diagnostic(other).OfOption("--size", text));
  }
  constexpr double MostBytes = 5e18;
  if (bytes > MostBytes)
  {
    throw UsageError(Diagnostic("E-OPTION-VALUE", "--size " + text + " is " + kind + " that no machine holds")
                       .OfOption("--size", text));
  }
}

/** A model finds the channels that it was trained on, as it does in segment. */
SlideContent
FindContent(const ArgumentValues & values)
{
  const std::string & network = values.GetText("network");
  SlideContent        asked = GetSlideOptions(values);
  if (!NetworkDescription::IsModel(network))
  {
    return asked;
  }
  const Model model = Model::Load(network);
  return itk::GigapixelContentForModel(values.GetText("SLIDE"), asked, model);
}

} // namespace

PlannedImage
SlideInput::FindSize(const ArgumentValues & values, const NetworkDescription & network) const
{
  const auto size = values.GetBox("size");
  CheckSize(
    values,
    size[2] == 0,
    { "E-OPTION-VALUE", "the network " + network.name + " takes slides", "give --size WxH, or a network for volumes" },
    "an image",
    (network.channels + 1.0) * static_cast<double>(size[0]) * static_cast<double>(size[1]));
  return MakeSlide("image", { size[0], size[1] });
}

PlannedImage
VolumeInput::FindSize(const ArgumentValues & values, const NetworkDescription & network) const
{
  const auto   size = values.GetBox("size");
  const double bytes = (static_cast<double>(sizeof(float)) * network.channels + 1) * static_cast<double>(size[0]) *
                       static_cast<double>(size[1]) * static_cast<double>(size[2]);
  CheckSize(values,
            size[2] > 0,
            { "E-OPTION-VALUE", "the network " + network.name + " takes volumes", "give --size WxHxD" },
            "a volume",
            2 * bytes);        // its reader has a copy
  itk::GigapixelVolume volume; // of floats, a file for each channel
  volume.grid.size = { size[0], size[1], size[2] };
  const auto channel = static_cast<std::int64_t>(sizeof(float)) * size[0] * size[1] * size[2];
  volume.heldBytes = channel * network.channels;
  volume.readingBytes = channel * (network.channels + 1);
  std::reverse_copy(network.spacing.begin(), network.spacing.end(), volume.grid.spacing.begin()); // here x is first
  return MakeVolume("volume", volume, network);
}

PlannedImage
SlideInput::FindImage(const ArgumentValues & values, const NetworkDescription & network, const Session & session) const
{
  const std::string & name = values.GetText("SLIDE");
  const auto          content = FindContent(values);
  itk::GigapixelRefuseWindow(content.window, network);
  const auto slide = OpenSlide(name, content, session);
  RequireChannels(*slide, static_cast<unsigned>(network.channels), network.IsNormalized());
  SelectPixels(*slide, values);
  const auto   size = slide->GetLevelSize(slide->GetLevel());
  PlannedImage planned = MakeSlide(name, { static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) });
  planned.training.AddFile(name, network.channels, content, network.IsNormalized());
  planned.training.AddResampling(*slide);
  planned.inference.AddTiles(*slide, network.channels);
  planned.inference.AddResampling(*slide);
  return planned;
}

PlannedImage
VolumeInput::FindImage(const ArgumentValues & values, const NetworkDescription & network, const Session & session) const
{
  const std::string &        name = values.GetText("SLIDE");
  const itk::GigapixelVolume volume = OpenVolume(name, session);
  RequireVolumeChannels(volume, network);
  return MakeVolume(name, volume, network);
}

namespace
{

/** \throw std::runtime_error the network cannot take it */
PlannedImage
FindImage(const ArgumentValues & values, const NetworkDescription & network, const Session & session)
{
  const InputKind & kind = InputKind::Of(network);
  if (values.Has("size"))
  {
    RefuseOptions(values, "--size is an image without a file", OptionScope::SlideFiles);
    return kind.FindSize(values, network);
  }
  const std::string what = "the network " + network.name;
  kind.RequireFile(values.GetText("SLIDE"), what);
  kind.CheckOptions(values, what);
  return kind.FindImage(values, network, session);
}

} // namespace

int
RunPlan(const ArgumentValues & values, const Session & session)
{
  if (!values.Has("size") && !values.Has("SLIDE"))
  {
    throw UsageError(
      Diagnostic("E-OPTION-MISSING", "plan needs a SLIDE (or a volume), or --size WxH (of a volume WxHxD)")
        .OfOption("SLIDE"));
  }
  const TileCacheBound bound = BoundMemory(values, session);
  auto                 network = LoadNetwork(values, "network", session);
  network.SetLoss(GetOptions<LossOptions>(values));
  network.graph.frozen.clear(); // of a model: what its training left as it was
  network.graph.frozen = FindFrozen(network, GetOptions<LearningOptions>(values).freeze);
  const PlannedImage planned = FindImage(values, network, session);
  Tiling             patchwise; // of inference
  patchwise.axes = network.graph.GetNumberOfAxes();
  InputKind::Of(network).TakePatches(values, network, patchwise);
  JSON json = planned.description;
  CheckScratch(values);
  json["network"] = network.name;
  json["parameters"] = network.GetNumberOfTrainedParameters();
  json["keptParameters"] = network.GetNumberOfParameters() - network.GetNumberOfTrainedParameters();
  json["stride"] = network.GetStride();
  json["halo"] = network.GetHalo();
  json["budgetBytes"] = values.Has("memory") ? JSON(GetBudget(values)) : JSON();
  json["freeMemoryBytes"] = GetFreeMemory();
  json["threads"] = session.GetThreads();
  Progress progress(session, "plan " + network.name); // of large networks it takes a minute
  progress.Update(0);
  json["plans"] = DescribeRuns(values, network, patchwise, planned, session, progress);
  AddNetworkSeconds(network, values, json["plans"], session);
  SayIfScratchIsIdle(values, json["plans"], session);
  const std::string more = values.Has("measure") ? "" : "  --measure adds the time that each takes on this machine\n";
  session.ShowResult(Format(json) + more, json);
  return Success;
}

} // namespace gigapixel::application
