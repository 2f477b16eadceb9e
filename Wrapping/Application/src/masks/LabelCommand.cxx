/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "Doubt.h"
#include "OutlineOrigin.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"
#include "RankBands.h"
#include "ResolutionJSON.h"
#include "SlideBatch.h"
#include "SlideFile.h"
#include "TissueShares.h"

#include "gigapixelFileIdentity.h"
#include "gigapixelMaskName.h"
#include "gigapixelSlideFiles.h"
#include "gigapixelTissuePresets.h"

#include "itkRGBPixel.h"
#include "itkSlideTissueImageSource.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

namespace gigapixel::application
{
namespace
{
namespace fs = std::filesystem;

using MaskType = itk::Image<unsigned char, 2>;

/** Blocks of level 0, or a resolution. */
void
SetGrid(itk::SlideTissueImageSource & source,
        const std::string &           file,
        const ArgumentValues &        values,
        const Session &               session)
{
  if (!values.IsGiven("mpp"))
  {
    source.SetDownsample(static_cast<unsigned>(values.GetInteger("downsample")));
    return;
  }
  SelectPixels(*OpenPicture(file, values, session), values); // which refuses what cannot be
  source.SetMicronsPerPixel(values.GetNumber("mpp"));
}

/** Whoever names a model, or hints at what it does not see, wants it used, and most presets have none. */
void
RefuseUnused(const ArgumentValues & values)
{
  const std::string & preset = values.GetText("preset");
  if (!MayUseTissueNetwork(preset))
  {
    RefuseOptions(values,
                  { "model", "hints" },
                  "the preset " + preset + " does not use a model",
                  "say --preset model, or leave it out");
  }
}

/** The outlines that tell of a slide: the file that is named, or the one of the slide's name in a folder. Empty: there
 * are none. */
std::string
FindHints(const ArgumentValues & values, const std::string & slide)
{
  const std::string & named = values.GetText("hints");
  if (named.empty() || !fs::is_directory(named))
  {
    return named;
  }
  const std::string ofSlide = named + '/' + GetSlideName(slide) + ".geojson";
  return fs::exists(ofSlide) ? ofSlide : std::string();
}

/** One file cannot tell of several slides, and a folder that tells of none is another one. */
void
CheckHints(const ArgumentValues & values, const std::vector<SlideTask> & tasks)
{
  const std::string & named = values.GetText("hints");
  if (named.empty())
  {
    return;
  }
  if (!fs::is_directory(named))
  {
    CheckInputFile(named);
    if (tasks.size() > 1)
    {
      throw UsageError(Diagnostic("E-OPTION-CONFLICT",
                                  "one file of hints is of one slide, and there are " + std::to_string(tasks.size()),
                                  "give a folder with SLIDE-NAME.geojson for each slide that needs hints")
                         .OfOption("--hints", named));
    }
    return;
  }
  const auto has = [&values](const SlideTask & task) { return !FindHints(values, task.slide).empty(); };
  if (!tasks.empty() && std::none_of(tasks.begin(), tasks.end(), has))
  {
    throw Refusal(Diagnostic("E-ANNOTATION-EMPTY",
                             "the folder has no hints for any of the slides, such as " +
                               GetSlideName(tasks.front().slide) + ".geojson",
                             "name the files after the slides, or leave --hints out")
                    .OfFile(named)
                    .OfOption("--hints", named));
  }
}

/** Up to so many bytes of the pixels that are judged ranks make together: rank 0 holds all of them, at 1/8 those of a
 * slide of 22 gigapixels. */
constexpr itk::SizeValueType LargestSharedGrid = itk::SizeValueType{ 1 } << 30;

/** Rows of a slide's level 0 that a rank decodes at a time: tiles of the usual sides are cut by few seams. */
constexpr itk::SizeValueType BandRows = 2048;

/** How much of the progress is labeling; the rest is writing. */
constexpr double ShareOfLabel = 0.9;

using SourceType = itk::SlideTissueImageSource;

/** Ranks make the pixels that are judged together. \param slideRows of level 0 */
itk::ImageBase<2>::Pointer
GatherGrid(itk::ImageBase<2> * streamed, itk::SizeValueType slideRows, Ranks & ranks, Progress & progress)
{
  const auto rows = streamed->GetLargestPossibleRegion().GetSize(1);
  const auto bandRows = std::max<itk::SizeValueType>(1, BandRows * rows / slideRows);
  const auto report = [&](double share) {
    ThrowIfInterrupted();
    progress.Update(0.6 * ShareOfLabel * share);
  };
  using ColorType = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  if (auto * const colors = dynamic_cast<ColorType *>(streamed))
  {
    return GatherBands(colors, bandRows, ranks, report).GetPointer();
  }
  return GatherBands(dynamic_cast<MaskType *>(streamed), bandRows, ranks, report).GetPointer();
}

/** Streams slide -> mask -> pyramid. */
void
LabelSlide(SourceType *                   source,
           const itk::WholeSlideImageIO * slide,
           const SlideTask &              task,
           const Session &                session,
           double                         pixels,
           const std::shared_ptr<Ranks> & ranks,
           DamageOverRanks &              damage)
{
  Progress progress(session, "label " + task.slide, pixels);
  if (ranks->GetNumberOfRanks() > 1 && source->GetGridBytes() <= LargestSharedGrid)
  {
    source->SetGridMaker(
      [&](itk::ImageBase<2> * streamed) { return GatherGrid(streamed, slide->GetLevelSize(0)[1], *ranks, progress); });
    source->MakeGrid();
  }
  if (ranks->GetRank() > 0)
  {
    return;
  }
  source->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { ranks->ReportProgress(); });
  Observe(source, progress, 0, ShareOfLabel);
  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetMadeBy(source->GetMadeBy());
  io->SetSlide(slide);
  damage.RecordIn(io);
  io->SetLastProperties([source] { return DescribeTissueShares(*source); });
  WritePyramid(source->GetOutput(), task.output, io, progress, ShareOfLabel, 1);
  progress.Finish();
}

/** Pixels of the mask that are tissue, counted in what was written. */
std::int64_t
CountTissuePixels(const itk::WholeSlideImageIO & mask, unsigned char tissue, Ranks & ranks)
{
  constexpr itk::SizeValueType rows = 256;
  const auto                   size = mask.GetLevelSize(0);
  std::vector<unsigned char>   pixels(size[0] * rows);
  std::int64_t                 count = 0;
  for (itk::SizeValueType y = 0; y < size[1]; y += rows)
  {
    ThrowIfInterrupted();
    ranks.ReportProgress();
    const itk::SizeValueType band = std::min(rows, size[1] - y);
    mask.ReadRegion(0, 0, y, size[0], band, 1, pixels.data());
    const auto end = pixels.begin() + static_cast<std::ptrdiff_t>(size[0] * band);
    count += std::count(pixels.begin(), end, tissue);
  }
  return count;
}

nlohmann::ordered_json
Describe(const SlideTask &              task,
         const itk::WholeSlideImageIO & slide,
         const SourceType &             source,
         bool                           wasThere,
         std::int64_t                   damagedTiles,
         Ranks &                        ranks)
{
  const auto mask = itk::WholeSlideImageIO::New();
  mask->SetFileName(task.output);
  mask->ReadImageInformation();
  const auto             size = mask->GetLevelSize(0);
  const auto             grid = source.GetGridDownsamples();
  const bool             isFull = source.GetFullResolution();
  const double           mppX = slide.GetLevelZeroResolution()[0] * (isFull ? 1.0 : grid[0]);
  const double           mppY = slide.GetLevelZeroResolution()[1] * (isFull ? 1.0 : grid[1]);
  const double           pixels = static_cast<double>(size[0]) * static_cast<double>(size[1]);
  const unsigned char    value = source.GetOutputClasses() ? 1 : 255;
  const auto             tissue = static_cast<double>(CountTissuePixels(*mask, value, ranks));
  nlohmann::ordered_json json{ { "slide", task.slide }, { "mask", task.output }, { "skipped", wasThere } };
  json["preset"] = source.GetChosenPreset();
  const std::string hints = source.GetHints();
  json["hints"] = hints.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(hints);
  const bool isResampled = source.GetReadSlide()->IsResampled();
  json["downsample"] = isResampled ? nlohmann::ordered_json((grid[0] + grid[1]) / 2)
                                   : nlohmann::ordered_json(static_cast<unsigned>(grid[0]));
  json["downsamples"] = grid;
  AddLevel(json, *source.GetReadSlide());
  AddChannels(json, slide);
  json["width"] = size[0];
  json["height"] = size[1];
  AddResolution(json, std::array<double, 2>{ mppX, mppY });
  json["tissueFraction"] = tissue / pixels;
  json["damagedTiles"] = wasThere ? GetRecordedDamage(*mask) : damagedTiles;
  json.update(GetRecordedTissueShares(*mask));
  json["tissueMm2"] = mppX > 0 ? nlohmann::ordered_json(tissue * mppX * mppY / 1e6) : nullptr;
  return json;
}

/** What a person would look at in the picture. */
void
DoubtLabel(const nlohmann::ordered_json & json, const Session & session)
{
  const auto   slide = json["slide"].get<std::string>();
  const double tissue = json["tissueFraction"].get<double>();
  DoubtTissue(session, slide, tissue);
  for (const Doubt & doubt : FindShareDoubts(json))
  {
    const std::string why = doubt.code == "W-DOUBT-TISSUE-UNSURE"
                              ? "the network is not sure of the tissue: with a chance of " +
                                  FormatNumber(100 * doubt.value, 0) + " % the mask overlaps with it by less than 80 %"
                              : "pen and artifacts cover " + FormatNumber(100 * doubt.value, 2) + " %, and tissue " +
                                  FormatNumber(100 * tissue, 2) + " % of the slide";
    RaiseDoubt(session, doubt, why, slide);
  }
}

std::string
Format(const nlohmann::ordered_json & json)
{
  std::string text = json["mask"].get<std::string>() + ": " + json["width"].dump() + " x " + json["height"].dump() +
                     ", " + FormatNumber(100 * json["tissueFraction"].get<double>(), 2) + " % tissue";
  if (json["tissueMm2"].is_number())
  {
    text += ", " + FormatNumber(json["tissueMm2"].get<double>(), 2) + " mm2";
  }
  for (const auto & [key, word] : { std::pair("penFraction", "pen"), std::pair("artifactFraction", "artifacts") })
  {
    if (json[key].is_number())
    {
      text += ", " + FormatNumber(100 * json[key].get<double>(), 2) + " % " + word;
    }
  }
  text += ", preset " + json["preset"].get<std::string>();
  text += FormatDamage(json["damagedTiles"].get<std::int64_t>());
  return text + (json["skipped"].get<bool>() ? " (was there already)\n" : "\n");
}

nlohmann::ordered_json
RunTask(const SlideTask &              task,
        const ArgumentValues &         values,
        const Session &                session,
        const std::shared_ptr<Ranks> & ranks,
        std::string &                  text)
{
  const auto  slide = OpenPicture(task.slide, values, session);
  const bool  isFull = values.Has("full-resolution"), hasClasses = values.Has("classes");
  const auto  hints = FindHints(values, task.slide);
  std::string preset = values.GetText("preset");
  if (ranks->GetNumberOfRanks() > 1) // one alone would read the slide's bytes for nothing
  {
    ranks->CheckSame("label preset=" + preset +
                     " grid=" + values.GetText(values.IsGiven("mpp") ? "mpp" : "downsample") +
                     (isFull ? " full-resolution" : "") + (hasClasses ? " classes" : "") +
                     (hints.empty() ? std::string() : " hints=" + IdentifyFile(hints, HashedBytes::All)) +
                     " mpp=" + FormatNumber(GetLevelZeroResolution(*slide), 6) + ' ' + IdentifySlide(*slide));
  }
  const auto source = SourceType::New();
  source->SetSlide(slide);
  SetGrid(*source, task.slide, values, session);
  source->SetFullResolution(isFull);
  source->SetOutputClasses(hasClasses);
  source->SetModel(values.GetText("model"));
  if (!hints.empty())
  {
    source->SetHints(hints);
    source->SetHintsOrigin(GetOutlineOrigin(*slide, values, session).data());
  }
  if (ranks->GetRank() == 0) // which alone reads the sample that a preset is chosen by
  {
    source->SetPreset(preset);
    source->UpdateOutputInformation();
    preset = source->GetChosenPreset();
  }
  ranks->Broadcast(preset);
  if (ranks->GetRank() > 0)
  {
    source->SetPreset(preset);
    source->UpdateOutputInformation();
  }
  const auto                        extent = source->GetOutput()->GetLargestPossibleRegion().GetSize();
  const std::array<std::int64_t, 2> size{ { static_cast<std::int64_t>(extent[0]),
                                            static_cast<std::int64_t>(extent[1]) } };
  bool                              wasThere = false;
  if (ranks->GetRank() == 0)
  {
    if (const std::string advice = source->GetAdvice(); !advice.empty())
    {
      session.Warn(Diagnostic("W-TISSUE-PRESET", advice).OfFile(task.slide));
    }
    wasThere = !values.Has("overwrite") && HasValidPyramid(task.output, size, 1, source->GetMadeBy());
  }
  ranks->Broadcast(0, &wasThere, sizeof(wasThere));
  DamageOverRanks damage(slide, *ranks);
  if (!wasThere)
  {
    if (ranks->GetRank() == 0)
    {
      CheckOutput(task.output, static_cast<double>(size[0]) * static_cast<double>(size[1]));
    }
    const auto level = source->GetReadSlide()->GetLevelSize(source->GetLevel());
    LabelSlide(
      source, slide, task, session, static_cast<double>(level[0]) * static_cast<double>(level[1]), ranks, damage);
  }
  const auto damagedTiles = damage.Get();
  if (ranks->GetRank() > 0)
  {
    return {};
  }
  auto json = Describe(task, *slide, *source, wasThere, damagedTiles, *ranks);
  DoubtLabel(json, session);
  text += Format(json);
  return json;
}
} // namespace

int
RunLabel(const ArgumentValues & values, const Session & session)
{
  RefuseUnused(values);
  const auto list = FindSlides(values.GetTexts("SLIDE"), session);
  const auto tasks = AssignOutputs(list, values.GetText("output"), "--output");
  CheckHints(values, tasks);
  return RunSharedBatch(values,
                        session,
                        tasks,
                        list,
                        [&](const SlideTask & task, const std::shared_ptr<Ranks> & ranks, std::string & text) {
                          return RunTask(task, values, session, ranks, text);
                        });
}

} // namespace gigapixel::application
