/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"
#include "RankBands.h"
#include "SlideBatch.h"
#include "SlideFile.h"

#include "gigapixelFileIdentity.h"
#include "itkBlockMeanImageFilter.h"
#include "itkImageFileReader.h"
#include "itkNearestUpsampleImageFilter.h"
#include "itkRGBPixel.h"
#include "itkTissueLabelImageFilter.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace gigapixel::commandline
{
namespace
{
using MaskType = itk::Image<unsigned char, 2>;

/** The preset that is chosen for each slide. */
const std::string AutomaticPreset = "auto";

/** The grid of the mask, and the level that it is made from. */
struct LabelGrid
{
  std::int64_t                downsample{ 8 };
  unsigned                    level{ 0 };
  unsigned                    shrinkFactor{ 8 }; ///< from the level to the label grid
  std::array<std::int64_t, 2> size{};
};

std::int64_t
DivideRoundingUp(std::int64_t dividend, std::int64_t divisor)
{
  return (dividend + divisor - 1) / divisor;
}

std::int64_t
ChooseDownsample(const itk::WholeSlideImageIO & slide, const std::string & file, const ArgumentValues & values)
{
  if (!values.IsGiven("mpp"))
  {
    return values.GetInteger("downsample");
  }
  const double resolution = GetLevelZeroResolution(slide);
  if (resolution <= 0)
  {
    throw std::runtime_error(
      file + " does not tell its resolution, so --mpp means nothing; state it with --slide-mpp, or use --downsample.");
  }
  const auto downsample = std::llround(values.GetNumber("mpp") / resolution);
  return std::clamp<std::int64_t>(downsample, 1, 256);
}

LabelGrid
ChooseLabelGrid(const itk::WholeSlideImageIO & slide, std::int64_t downsample)
{
  LabelGrid  grid;
  const auto base = slide.GetLevelSize(0);
  grid.downsample = downsample;
  grid.level = slide.GetLevelForBlocks(static_cast<itk::SizeValueType>(downsample));
  grid.shrinkFactor =
    static_cast<unsigned>(std::llround(static_cast<double>(downsample) / slide.GetLevelDownsample(grid.level)));
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    grid.size[axis] = DivideRoundingUp(static_cast<std::int64_t>(base[axis]), downsample);
  }
  return grid;
}

/** Pixels of small patches all over the slide: enough to tell what kind of slide it is. From the coarsest stored level
 * of a megapixel or more, so that few tiles are decoded, else from that which is labeled. */
std::vector<unsigned char>
SampleSlide(const itk::WholeSlideImageIO & slide, unsigned labeledLevel)
{
  unsigned level = labeledLevel;
  for (unsigned coarser = labeledLevel + 1; coarser < slide.GetNumberOfLevels(); ++coarser)
  {
    const auto size = slide.GetLevelSize(coarser);
    level = size[0] * size[1] >= 1000000 ? coarser : level;
  }
  constexpr itk::SizeValueType patches = 12;
  constexpr itk::SizeValueType side = 48;
  const unsigned               channels = slide.GetNumberOfComponents() == 3 ? 3 : 1;
  const auto                   size = slide.GetLevelSize(level);
  const itk::SizeValueType     width = std::min(side, size[0]);
  const itk::SizeValueType     height = std::min(side, size[1]);
  std::vector<unsigned char>   pixels(patches * patches * width * height * channels);
  unsigned char *              patch = pixels.data();
  for (itk::SizeValueType j = 0; j < patches; ++j)
  {
    for (itk::SizeValueType i = 0; i < patches; ++i, patch += width * height * channels)
    {
      const auto x = (size[0] - width) * i / (patches - 1);
      const auto y = (size[1] - height) * j / (patches - 1);
      slide.ReadRegion(level, x, y, width, height, channels, patch);
    }
  }
  return pixels;
}

/** The preset's name, chosen for the slide where the user leaves that to us; warns of a preset that does not suit it.
 */
std::string
ChoosePreset(const itk::WholeSlideImageIO & slide,
             const std::string &            file,
             unsigned                       level,
             const ArgumentValues &         values,
             const Session &                session)
{
  std::string    wanted = values.GetText("preset");
  const auto     pixels = SampleSlide(slide, level);
  const unsigned channels = slide.GetNumberOfComponents() == 3 ? 3 : 1;
  std::string    suggested = SuggestTissuePreset(pixels.data(), pixels.size() / channels, channels).name;
  if (wanted == AutomaticPreset)
  {
    return suggested;
  }
  const bool isDark = suggested == "fluorescence";
  if (isDark != (wanted == "fluorescence"))
  {
    session.Warn("gigapixel: " + file + " looks like a slide of " + (isDark ? "dark" : "bright") +
                 " ground, which the preset " + wanted + " is not made for; try --preset " + suggested + '.');
  }
  else if (wanted == "robust" && suggested == "ihc")
  {
    session.Warn(
      "gigapixel: much of " + file +
      " is brown, which the preset robust takes for debris; if it is immunohistochemistry, use --preset ihc.");
  }
  else if (wanted == "remedios2023")
  {
    TissueHistogram histogram;
    CountPixels(pixels.data(), pixels.size() / channels, channels, histogram);
    const TissueRule rule = MakeTissueRule(TissueMethod::Stain, histogram);
    const int        brightness = (rule.glass[0] + rule.glass[1] + rule.glass[2]) / 3;
    if (brightness <= 230)
    {
      session.Warn("gigapixel: the glass of " + file + " has a brightness of " + std::to_string(brightness) +
                   ", so the preset remedios2023 (threshold 230) takes it for tissue; try --preset " + suggested + '.');
    }
  }
  return wanted;
}

/** All that decides on the mask's pixels, as it is kept in the mask. */
std::string
DescribeMaking(const SlideTask &              task,
               const itk::WholeSlideImageIO & slide,
               const LabelGrid &              grid,
               const std::string &            preset,
               const ArgumentValues &         values)
{
  return "label preset=" + preset + " downsample=" + std::to_string(grid.downsample) +
         (values.Has("full-resolution") ? " full-resolution" : "") +
         " mpp=" + FormatNumber(GetLevelZeroResolution(slide), 6) + ' ' + IdentifyFile(task.slide);
}

/** Up to so many bytes of the label grid's pixels stay in memory, so that presets which count them all before the first
 * is judged read the slide once. */
constexpr std::int64_t LargestGridInMemory = std::int64_t{ 64 } << 20;

/** The same where ranks make the grid together: rank 0 holds all of it, at 1/8 that of a slide of 22 gigapixels. */
constexpr std::int64_t LargestSharedGrid = std::int64_t{ 1 } << 30;

/** Rows of a slide's level 0 that a rank decodes at a time: tiles of the usual sides are cut by few seams. */
constexpr std::int64_t BandRows = 2048;

/** Streams slide -> blocks -> label filters -> pyramid. */
template <typename TPixel>
void
LabelSlide(itk::WholeSlideImageIO *       slide,
           const SlideTask &              task,
           const LabelGrid &              grid,
           const std::string &            preset,
           const std::string &            madeBy,
           const ArgumentValues &         values,
           const Session &                session,
           const std::shared_ptr<Ranks> & ranks)
{
  using ImageType = itk::Image<TPixel, 2>;
  const auto base = slide->GetLevelSize(0);
  const auto size = slide->GetLevelSize(grid.level);
  Progress   progress(session, "label " + task.slide, static_cast<double>(size[0]) * static_cast<double>(size[1]));

  slide->SetLevel(grid.level);
  const auto reader = itk::ImageFileReader<ImageType>::New();
  reader->SetImageIO(slide);
  reader->SetFileName(task.slide);
  typename itk::ImageSource<ImageType>::Pointer pixels = reader.GetPointer();
  if (grid.shrinkFactor > 1)
  {
    const auto blocks = itk::BlockMeanImageFilter<ImageType>::New();
    blocks->SetInput(reader->GetOutput());
    blocks->SetShrinkFactor(grid.shrinkFactor);
    pixels = blocks.GetPointer();
  }
  pixels->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { ranks->ReportProgress(); });
  const std::int64_t               gridBytes = grid.size[0] * grid.size[1] * std::int64_t{ sizeof(TPixel) };
  const bool                       shares = ranks->GetNumberOfRanks() > 1 && gridBytes <= LargestSharedGrid;
  const bool                       counts = GetTissuePreset(preset).method != TissueMethod::MeanBelow;
  const bool                       keeps = !shares && counts && gridBytes <= LargestGridInMemory;
  const double                     gridShare = shares || keeps ? 0.6 : 0;
  typename ImageType::ConstPointer labeled = pixels->GetOutput();
  if (shares)
  {
    pixels->UpdateOutputInformation();
    labeled =
      GatherBands<ImageType>(pixels->GetOutput(),
                             static_cast<itk::SizeValueType>(std::max<std::int64_t>(1, BandRows / grid.downsample)),
                             *ranks,
                             [&](double share) {
                               ThrowIfInterrupted();
                               progress.Update(gridShare * share);
                             });
  }
  else if (keeps)
  {
    Observe(pixels, progress, 0, gridShare);
    pixels->Update();
  }
  if (ranks->GetRank() > 0)
  {
    return;
  }
  const auto label = itk::TissueLabelImageFilter<ImageType, MaskType>::New();
  label->SetInput(labeled);
  label->SetPreset(preset);
  label->SetShrinkFactor(1);
  Observe(label, progress, gridShare, 0.9);
  const auto upsample = itk::NearestUpsampleImageFilter<MaskType>::New();
  upsample->SetInput(label->GetOutput());
  upsample->SetFactor(static_cast<unsigned>(grid.downsample));
  upsample->SetOutputSize({ { base[0], base[1] } });

  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetMadeBy(madeBy);
  MaskType * mask = values.Has("full-resolution") ? upsample->GetOutput() : label->GetOutput();
  LinkDamage(*slide, *mask);
  WritePyramid(mask, task.output, io, progress, 0.9, 1);
  progress.Finish();
}

/** Pixels of the mask that are not 0, counted in what was written. */
std::int64_t
CountObjectPixels(const itk::WholeSlideImageIO & mask, Ranks & ranks)
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
    count += (end - pixels.begin()) - std::count(pixels.begin(), end, 0);
  }
  return count;
}

nlohmann::ordered_json
Describe(const SlideTask &              task,
         const itk::WholeSlideImageIO & slide,
         const LabelGrid &              grid,
         const std::string &            preset,
         const ArgumentValues &         values,
         bool                           wasThere,
         std::int64_t                   damagedTiles,
         Ranks &                        ranks)
{
  const auto mask = itk::WholeSlideImageIO::New();
  mask->SetFileName(task.output);
  mask->ReadImageInformation();
  const auto   size = mask->GetLevelSize(0);
  const double resolution =
    GetLevelZeroResolution(slide) * (values.Has("full-resolution") ? 1.0 : static_cast<double>(grid.downsample));
  const double           pixels = static_cast<double>(size[0]) * static_cast<double>(size[1]);
  const auto             tissue = static_cast<double>(CountObjectPixels(*mask, ranks));
  nlohmann::ordered_json json{ { "slide", task.slide }, { "mask", task.output }, { "skipped", wasThere } };
  json["preset"] = preset;
  json["downsample"] = grid.downsample;
  json["level"] = grid.level;
  json["width"] = size[0];
  json["height"] = size[1];
  json["mpp"] = resolution > 0 ? nlohmann::ordered_json(resolution) : nullptr;
  json["tissueFraction"] = tissue / pixels;
  json["damagedTiles"] = wasThere ? GetRecordedDamage(*mask) : damagedTiles;
  json["tissueMm2"] = resolution > 0 ? nlohmann::ordered_json(tissue * resolution * resolution / 1e6) : nullptr;
  return json;
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
  const auto                  slide = OpenPicture(task.slide, values);
  const LabelGrid             grid = ChooseLabelGrid(*slide, ChooseDownsample(*slide, task.slide, values));
  const auto                  base = slide->GetLevelSize(0);
  std::array<std::int64_t, 2> size = grid.size;
  if (values.Has("full-resolution"))
  {
    size = { static_cast<std::int64_t>(base[0]), static_cast<std::int64_t>(base[1]) };
  }
  ranks->CheckSame(DescribeMaking(task, *slide, grid, values.GetText("preset"), values));
  std::string preset = values.GetText("preset");
  std::string madeBy;
  bool        wasThere = false;
  if (ranks->GetRank() == 0)
  {
    preset = ChoosePreset(*slide, task.slide, grid.level, values, session);
    madeBy = DescribeMaking(task, *slide, grid, preset, values);
    wasThere = !values.Has("overwrite") && HasValidPyramid(task.output, size, 1, madeBy);
  }
  ranks->Broadcast(0, &wasThere, sizeof(wasThere));
  ranks->Broadcast(preset);
  if (!wasThere)
  {
    if (ranks->GetRank() == 0)
    {
      CheckOutput(task.output, static_cast<double>(size[0]) * static_cast<double>(size[1]));
    }
    slide->GetNumberOfComponents() == 3
      ? LabelSlide<itk::RGBPixel<unsigned char>>(slide, task, grid, preset, madeBy, values, session, ranks)
      : LabelSlide<unsigned char>(slide, task, grid, preset, madeBy, values, session, ranks);
  }
  const auto damagedTiles = SumOverRanks(static_cast<std::int64_t>(slide->GetNumberOfDamagedTiles()), *ranks);
  if (ranks->GetRank() > 0)
  {
    return {};
  }
  auto json = Describe(task, *slide, grid, preset, values, wasThere, damagedTiles, *ranks);
  text += Format(json);
  return json;
}
} // namespace

int
RunLabel(const ArgumentValues & values, const Session & session)
{
  const auto names = values.GetTexts("SLIDE");
  const auto tasks = AssignOutputs(FindSlides(names), values.GetText("output"), "--output");
  return RunSharedBatch(values,
                        session,
                        tasks,
                        IsList(names),
                        [&](const SlideTask & task, const std::shared_ptr<Ranks> & ranks, std::string & text) {
                          return RunTask(task, values, session, ranks, text);
                        });
}

} // namespace gigapixel::commandline
