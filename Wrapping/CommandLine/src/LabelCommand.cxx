/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "OutputCheck.h"
#include "PyramidOutput.h"
#include "SlideBatch.h"
#include "SlideFile.h"

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

/** The coarsest level whose pixels, taken in whole blocks, make the label grid exactly: the least to decode. Level 0
 * always does. */
LabelGrid
ChooseLabelGrid(const itk::WholeSlideImageIO & slide, std::int64_t downsample)
{
  LabelGrid grid;
  grid.downsample = downsample;
  const auto base = slide.GetLevelSize(0);
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    grid.size[axis] = DivideRoundingUp(static_cast<std::int64_t>(base[axis]), downsample);
  }
  for (unsigned level = slide.GetNumberOfLevels(); level-- > 0;)
  {
    const double factor = static_cast<double>(downsample) / slide.GetLevelDownsample(level);
    const auto   whole = static_cast<std::int64_t>(std::llround(factor));
    const auto   size = slide.GetLevelSize(level);
    if (whole >= 1 && std::abs(factor - static_cast<double>(whole)) < 1e-6 &&
        DivideRoundingUp(static_cast<std::int64_t>(size[0]), whole) == grid.size[0] &&
        DivideRoundingUp(static_cast<std::int64_t>(size[1]), whole) == grid.size[1])
    {
      grid.level = level;
      grid.shrinkFactor = static_cast<unsigned>(whole);
      return grid;
    }
  }
  return grid;
}

/** All that decides on the mask's pixels, as it is kept in the mask. */
std::string
DescribeMaking(const SlideTask &              task,
               const itk::WholeSlideImageIO & slide,
               const LabelGrid &              grid,
               const ArgumentValues &         values)
{
  return "label preset=" + values.GetText("preset") + " downsample=" + std::to_string(grid.downsample) +
         (values.Has("full-resolution") ? " full-resolution" : "") +
         " mpp=" + FormatNumber(GetLevelZeroResolution(slide), 6) + ' ' + DescribeSlideFile(task.slide);
}

/** Streams slide -> blocks -> label filters -> pyramid. */
template <typename TPixel>
void
LabelSlide(itk::WholeSlideImageIO * slide,
           const SlideTask &        task,
           const LabelGrid &        grid,
           const std::string &      madeBy,
           const ArgumentValues &   values,
           const Session &          session)
{
  using ImageType = itk::Image<TPixel, 2>;
  const auto base = slide->GetLevelSize(0);
  const auto size = slide->GetLevelSize(grid.level);
  Progress   progress(session, "label " + task.slide, static_cast<double>(size[0]) * static_cast<double>(size[1]));

  slide->SetLevel(grid.level);
  const auto reader = itk::ImageFileReader<ImageType>::New();
  reader->SetImageIO(slide);
  reader->SetFileName(task.slide);
  const auto label = itk::TissueLabelImageFilter<ImageType, MaskType>::New();
  label->SetInput(reader->GetOutput());
  label->SetPreset(values.GetText("preset"));
  label->SetShrinkFactor(grid.shrinkFactor);
  Observe(label, progress, 0, 0.9);
  const auto upsample = itk::NearestUpsampleImageFilter<MaskType>::New();
  upsample->SetInput(label->GetOutput());
  upsample->SetFactor(static_cast<unsigned>(grid.downsample));
  upsample->SetOutputSize({ { base[0], base[1] } });

  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetMadeBy(madeBy);
  const MaskType * mask = values.Has("full-resolution") ? upsample->GetOutput() : label->GetOutput();
  WritePyramid(mask, task.output, io, progress, 0.9, 1);
  progress.Finish();
}

/** Pixels of the mask that are not 0, counted in what was written. */
std::int64_t
CountObjectPixels(const itk::WholeSlideImageIO & mask)
{
  constexpr itk::SizeValueType rows = 256;
  const auto                   size = mask.GetLevelSize(0);
  std::vector<unsigned char>   pixels(size[0] * rows);
  std::int64_t                 count = 0;
  for (itk::SizeValueType y = 0; y < size[1]; y += rows)
  {
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
         const ArgumentValues &         values,
         bool                           wasThere)
{
  const auto mask = itk::WholeSlideImageIO::New();
  mask->SetFileName(task.output);
  mask->ReadImageInformation();
  const auto   size = mask->GetLevelSize(0);
  const double resolution =
    GetLevelZeroResolution(slide) * (values.Has("full-resolution") ? 1.0 : static_cast<double>(grid.downsample));
  const double           pixels = static_cast<double>(size[0]) * static_cast<double>(size[1]);
  const auto             tissue = static_cast<double>(CountObjectPixels(*mask));
  nlohmann::ordered_json json{ { "slide", task.slide }, { "mask", task.output }, { "skipped", wasThere } };
  json["preset"] = values.GetText("preset");
  json["downsample"] = grid.downsample;
  json["level"] = grid.level;
  json["width"] = size[0];
  json["height"] = size[1];
  json["mpp"] = resolution > 0 ? nlohmann::ordered_json(resolution) : nullptr;
  json["tissueFraction"] = tissue / pixels;
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
  return text + (json["skipped"].get<bool>() ? " (was there already)\n" : "\n");
}

nlohmann::ordered_json
RunTask(const SlideTask & task, const ArgumentValues & values, const Session & session, std::string & text)
{
  const auto                  slide = OpenSlide(task.slide, values);
  const LabelGrid             grid = ChooseLabelGrid(*slide, ChooseDownsample(*slide, task.slide, values));
  const auto                  base = slide->GetLevelSize(0);
  std::array<std::int64_t, 2> size = grid.size;
  if (values.Has("full-resolution"))
  {
    size = { static_cast<std::int64_t>(base[0]), static_cast<std::int64_t>(base[1]) };
  }
  const std::string madeBy = DescribeMaking(task, *slide, grid, values);
  const bool        wasThere = !values.Has("overwrite") && HasValidPyramid(task.output, size, 1, madeBy);
  if (!wasThere)
  {
    CheckOutput(task.output, static_cast<double>(size[0]) * static_cast<double>(size[1]));
    if (slide->GetNumberOfComponents() == 3)
    {
      LabelSlide<itk::RGBPixel<unsigned char>>(slide, task, grid, madeBy, values, session);
    }
    else
    {
      LabelSlide<unsigned char>(slide, task, grid, madeBy, values, session);
    }
  }
  auto json = Describe(task, *slide, grid, values, wasThere);
  text += Format(json);
  return json;
}
} // namespace

int
RunLabel(const ArgumentValues & values, const Session & session)
{
  const auto names = values.GetTexts("SLIDE");
  const auto tasks = AssignOutputs(FindSlides(names), values.GetText("output"), "--output");
  return RunBatch(session, tasks, IsList(names), [&](const SlideTask & task, std::string & text) {
    return RunTask(task, values, session, text);
  });
}

} // namespace gigapixel::commandline
