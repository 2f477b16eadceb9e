/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentText.h"
#include "Module.h"
#include "ModuleResults.h"
#include "PictureFile.h"
#include "SliceVolume.h"
#include "SlideFile.h"

#include "itkImage.h"
#include "itkRGBPixel.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>

namespace gigapixel::slicer
{
namespace
{
using application::Picture;
using ImageType = itk::Image<itk::RGBPixel<unsigned char>, 3>;

/** Which pixels of which level are read, and how many of them along each axis become one. */
struct Reading
{
  unsigned                          level{ 0 };
  std::array<itk::SizeValueType, 2> first{};
  std::array<itk::SizeValueType, 2> size{};
  itk::SizeValueType                shrink{ 1 };

  itk::SizeValueType
  GetLongestSide() const
  {
    return std::max(size[0], size[1]);
  }
};

/** The pixels of a level that a rectangle of level 0 touches. */
Reading
PlaceOnLevel(const itk::WholeSlideImageIO & slide, unsigned level, const std::array<std::int64_t, 4> & rectangle)
{
  Reading    reading;
  const auto size = slide.GetLevelSize(level);
  reading.level = level;
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    const double downsample = slide.GetLevelDownsamples(level)[axis];
    const auto   first = static_cast<double>(rectangle[axis]);
    const auto   last = first + static_cast<double>(rectangle[axis + 2]);
    reading.first[axis] = std::min(static_cast<itk::SizeValueType>(first / downsample), size[axis] - 1);
    const auto end = std::min(static_cast<itk::SizeValueType>(std::ceil(last / downsample)), size[axis]);
    reading.size[axis] = std::max(end, reading.first[axis] + 1) - reading.first[axis];
  }
  return reading;
}

std::array<std::int64_t, 4>
GetRectangle(const itk::WholeSlideImageIO & slide, const ArgumentValues & values)
{
  const auto        size = slide.GetLevelSize(0);
  const std::string text = GetRegionInPixels(values);
  if (text.empty())
  {
    return { 0, 0, static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) };
  }
  const auto numbers = application::ReadIntegers(text, ",");
  if (numbers[0] + numbers[2] > static_cast<std::int64_t>(size[0]) ||
      numbers[1] + numbers[3] > static_cast<std::int64_t>(size[1]))
  {
    throw Refusal(Diagnostic("E-REGION",
                             "--region " + text + " reaches beyond its " + std::to_string(size[0]) + " x " +
                               std::to_string(size[1]) + " pixels",
                             "give a region inside it")
                    .OfFile(values.GetText("slide"))
                    .OfOption("--region", text));
  }
  return { numbers[0], numbers[1], numbers[2], numbers[3] };
}

/** The finest level of which no side is longer; where there is none, the coarsest, shrunk. */
Reading
FitReading(const itk::WholeSlideImageIO &      slide,
           const std::array<std::int64_t, 4> & rectangle,
           itk::SizeValueType                  longest)
{
  for (unsigned level = 0; level < slide.GetNumberOfLevels(); ++level)
  {
    const Reading reading = PlaceOnLevel(slide, level, rectangle);
    if (reading.GetLongestSide() <= longest)
    {
      return reading;
    }
  }
  Reading reading = PlaceOnLevel(slide, slide.GetNumberOfLevels() - 1, rectangle);
  reading.shrink = (reading.GetLongestSide() + longest - 1) / longest;
  return reading;
}

/** The number of the level or resolution that the user chose, which the slide is set to; nothing: none. */
std::optional<unsigned>
ChooseLevel(itk::WholeSlideImageIO & slide, const ArgumentValues & values)
{
  const std::int64_t level = values.GetInteger("level");
  const double       resolution = values.GetNumber("mpp");
  if (level >= 0 && resolution > 0)
  {
    throw application::UsageError(
      Diagnostic("E-OPTION-CONFLICT", "--level and --mpp cannot be given together", "choose one of them")
        .OfOption("--mpp", values.GetText("mpp")));
  }
  if (resolution > 0)
  {
    slide.SetMicronsPerPixel(resolution);
    slide.ReadImageInformation();
    return slide.GetLevel();
  }
  if (level < 0)
  {
    return {};
  }
  if (level >= static_cast<std::int64_t>(slide.GetNumberOfLevels()))
  {
    throw Refusal(Diagnostic("E-SLIDE-LEVEL",
                             values.GetText("slide") + " has the levels 0 to " +
                               std::to_string(slide.GetNumberOfLevels() - 1) + ", not " + std::to_string(level))
                    .OfFile(values.GetText("slide"))
                    .OfOption("--level", std::to_string(level)));
  }
  return static_cast<unsigned>(level);
}

Reading
ChooseReading(itk::WholeSlideImageIO & slide, const ArgumentValues & values)
{
  const auto rectangle = GetRectangle(slide, values);
  const auto longest = static_cast<itk::SizeValueType>(values.GetInteger("maxSide"));
  const auto level = ChooseLevel(slide, values);
  if (!level)
  {
    return FitReading(slide, rectangle, longest);
  }
  const Reading reading = PlaceOnLevel(slide, *level, rectangle);
  if (reading.GetLongestSide() > longest)
  {
    const std::string name = values.GetNumber("mpp") > 0 ? "mpp" : "level";
    throw Refusal(Diagnostic("E-OPTION-VALUE",
                             "--" + name + ' ' + values.GetText(name) + " has " + std::to_string(reading.size[0]) +
                               " x " + std::to_string(reading.size[1]) + " pixels there, more than the " +
                               std::to_string(longest) + " that one volume may have",
                             "choose a coarser one, or a smaller region")
                    .OfFile(values.GetText("slide"))
                    .OfOption("--" + name, values.GetText(name)));
  }
  return reading;
}

/** Row by row of the result, each the mean of the level's pixels below, rounded half up; a block at the edge takes
 * those that are there. */
Picture
Read(const itk::WholeSlideImageIO & slide, const Reading & reading)
{
  const itk::SizeValueType factor = reading.shrink;
  const auto               width = reading.size[0];
  const auto               columns = (width + factor - 1) / factor;
  const auto               lines = (reading.size[1] + factor - 1) / factor;
  Picture                  picture{ static_cast<unsigned>(columns), static_cast<unsigned>(lines), {} };
  picture.pixels.resize(columns * lines * 3);
  std::vector<unsigned char> rows(width * factor * 3);
  std::vector<unsigned>      sums(columns * 3);
  for (itk::SizeValueType y = 0; y < lines; ++y)
  {
    const auto band = std::min(factor, reading.size[1] - y * factor);
    slide.ReadRegion(reading.level, reading.first[0], reading.first[1] + y * factor, width, band, 3, rows.data());
    std::fill(sums.begin(), sums.end(), 0);
    for (itk::SizeValueType i = 0; i < width * band * 3; ++i)
    {
      sums[i / 3 % width / factor * 3 + i % 3] += rows[i];
    }
    for (itk::SizeValueType i = 0; i < sums.size(); ++i)
    {
      const auto count = static_cast<unsigned>(band * std::min(factor, width - i / 3 * factor));
      picture.pixels[y * sums.size() + i] = static_cast<unsigned char>((sums[i] + count / 2) / count);
    }
    if (y % 64 == 0)
    {
      application::ThrowIfInterrupted();
      std::printf("<filter-progress>%.4f</filter-progress>\n", static_cast<double>(y) / static_cast<double>(lines));
      std::fflush(stdout);
    }
  }
  return picture;
}

/** In Slicer's world: LPS, mm, the first pixel's center where it lies on the slide. \param levelZero its grid */
void
WriteVolume(const Picture &                picture,
            const itk::WholeSlideImageIO & slide,
            const Grid &                   levelZero,
            const Reading &                reading,
            const WorkFolder &             folder)
{
  const auto             image = ImageType::New();
  ImageType::SpacingType spacing;
  ImageType::PointType   origin;
  spacing.Fill(1);
  origin.Fill(0);
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    const double levelDownsample = slide.GetLevelDownsamples(reading.level)[axis];
    const double downsample = levelDownsample * static_cast<double>(reading.shrink);
    const double corner = static_cast<double>(reading.first[axis]) * levelDownsample;
    spacing[axis] = levelZero.spacing[axis] * downsample;
    origin[axis] = levelZero.origin[axis] + (corner + (downsample - 1) / 2) * levelZero.spacing[axis];
  }
  image->SetRegions(ImageType::SizeType{ { picture.width, picture.height, 1 } });
  image->SetSpacing(spacing);
  image->SetOrigin(origin);
  image->Allocate();
  std::copy(picture.pixels.begin(), picture.pixels.end(), image->GetBufferPointer()->GetDataPointer());
  WriteSliceVolume(image.GetPointer(), folder);
}
} // namespace

void
WriteThumbnail(const ArgumentValues & values, const std::string & file)
{
  constexpr itk::SizeValueType longest = 512;
  const auto                   slide = OpenSlide(values);
  const auto                   size = slide->GetLevelSize(0);
  const auto                   rectangle =
    std::array<std::int64_t, 4>{ 0, 0, static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) };
  application::WritePNG(Read(*slide, FitReading(*slide, rectangle, longest)), file);
}

int
RunSlideRegion(const ArgumentValues & values, const Session &)
{
  const Module & module = *FindModule("SlideRegion");
  if (!values.Has("volume") && !values.Has("picture"))
  {
    throw application::UsageError(
      Diagnostic("E-OPTION-MISSING", "SlideRegion needs --volume or --picture").OfOption("--volume"));
  }
  CheckOutputs(module, values);
  const auto folder =
    values.Has("volume") ? std::make_unique<WorkFolder>(values.GetText("volume")) : std::unique_ptr<WorkFolder>();
  const auto    slide = OpenSlide(values);
  const Grid    levelZero = application::GetLevelZeroGrid(*slide);
  const Reading reading = ChooseReading(*slide, values);
  const Picture picture = Read(*slide, reading);
  const double  downsample = slide->GetLevelDownsample(reading.level) * static_cast<double>(reading.shrink);
  if (folder)
  {
    WriteVolume(picture, *slide, levelZero, reading, *folder);
    folder->Publish(".nrrd");
  }
  if (values.Has("picture"))
  {
    application::WritePNG(picture, values.GetText("picture"));
  }
  WriteResults(module,
               values,
               { { "readLevel", reading.level },
                 { "downsample", downsample },
                 { "width", picture.width },
                 { "height", picture.height } });
  return application::Success;
}

} // namespace gigapixel::slicer
