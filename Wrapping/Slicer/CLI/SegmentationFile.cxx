/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SegmentationFile.h"

#include "SegmentationNRRD.h"

#include "gigapixelDiagnostic.h"
#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkNrrdImageIO.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace gigapixel::slicer
{
namespace
{
using application::Segment;
using Histogram = application::LabelCounts;
using ImageType = application::SegmentationImage;

/** A side that Slicer shows and edits without delay. */
constexpr itk::SizeValueType ComfortableSide = 4096;

/** How often each value stands in the finest level, read in bands. */
Histogram
CountValues(const itk::WholeSlideImageIO & mask)
{
  constexpr itk::SizeValueType rows = 256;
  const auto                   size = mask.GetLevelSize(0);
  std::vector<unsigned char>   pixels(size[0] * rows);
  Histogram                    histogram{};
  for (itk::SizeValueType y = 0; y < size[1]; y += rows)
  {
    const itk::SizeValueType band = std::min(rows, size[1] - y);
    mask.ReadRegion(0, 0, y, size[0], band, 1, pixels.data());
    std::for_each(pixels.begin(),
                  pixels.begin() + static_cast<std::ptrdiff_t>(size[0] * band),
                  [&histogram](unsigned char value) { ++histogram[value]; });
  }
  return histogram;
}

unsigned
ChooseLevel(const itk::WholeSlideImageIO & mask, std::int64_t wanted)
{
  const unsigned levels = mask.GetNumberOfLevels();
  if (wanted >= static_cast<std::int64_t>(levels))
  {
    throw Refusal(Diagnostic("E-SLIDE-LEVEL",
                             "the mask has the levels 0 to " + std::to_string(levels - 1) +
                               ", there is no segmentation level " + std::to_string(wanted))
                    .OfOption("--segmentationLevel", std::to_string(wanted)));
  }
  if (wanted >= 0)
  {
    return static_cast<unsigned>(wanted);
  }
  unsigned level = 0;
  while (level + 1 < levels && std::max(mask.GetLevelSize(level)[0], mask.GetLevelSize(level)[1]) > ComfortableSide)
  {
    ++level;
  }
  return level;
}

/** A level with the mask's values made labels, where it lies on the slide. */
ImageType::Pointer
ReadLevel(const itk::WholeSlideImageIO & mask,
          unsigned                       level,
          const MaskPlace &              place,
          const std::array<double, 2> &  downsamples,
          const std::vector<Segment> &   segments)
{
  const auto size = mask.GetLevelSize(level);
  const auto image = ImageType::New();
  image->SetRegions(ImageType::SizeType{ { size[0], size[1], 1 } });
  ImageType::SpacingType spacing;
  ImageType::PointType   origin;
  spacing.Fill(1);
  origin.Fill(0);
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    spacing[axis] = place.spacing[axis] * downsamples[axis];
    origin[axis] = place.origin[axis] + (place.corner[axis] + (downsamples[axis] - 1) / 2) * place.spacing[axis];
  }
  image->SetSpacing(spacing);
  image->SetOrigin(origin);
  image->Allocate();
  unsigned char * const pixels = image->GetBufferPointer();
  mask.ReadRegion(level, 0, 0, size[0], size[1], 1, pixels);
  const auto labels = application::MakeLabelMap(segments);
  std::transform(pixels, pixels + size[0] * size[1], pixels, [&labels](unsigned char value) { return labels[value]; });
  return image;
}
} // namespace

SegmentationResult
WriteSegmentation(itk::WholeSlideImageIO & mask,
                  const MaskPlace &        place,
                  std::int64_t             level,
                  const std::string &      objectName,
                  const std::string &      file)
{
  const unsigned  chosen = ChooseLevel(mask, level);
  const Histogram histogram = CountValues(mask);
  const auto      segments = application::FindSegments(histogram, {}, objectName);
  // Level k of a mask holds pixel (2^k x, 2^k y) of its level 0.
  const auto                  reduction = static_cast<double>(std::int64_t(1) << chosen);
  const std::array<double, 2> downsamples{ { place.downsamples[0] * reduction, place.downsamples[1] * reduction } };
  const auto                  image = ReadLevel(mask, chosen, place, downsamples, segments);
  application::WriteSegments(*image, segments, file);

  const auto all = static_cast<double>(std::accumulate(histogram.begin(), histogram.end(), std::int64_t(0)));
  const auto labels = application::MakeLabelMap(segments);
  double     object = 0;
  for (std::size_t value = 1; value < labels.size(); ++value)
  {
    object += labels[value] > 0 ? static_cast<double>(histogram[value]) : 0;
  }
  const double pixelMm2 = place.spacing[0] * place.spacing[1] * place.downsamples[0] * place.downsamples[1];
  return { object / all, object * pixelMm2, (downsamples[0] + downsamples[1]) / 2 };
}

std::vector<std::pair<std::string, double>>
WriteVolumeSegmentation(const std::string &              labels,
                        const std::vector<std::string> & classNames,
                        const std::string &              file)
{
  const auto reader = itk::ImageFileReader<ImageType>::New();
  reader->SetImageIO(itk::NrrdImageIO::New());
  reader->SetFileName(labels);
  reader->Update();
  ImageType &                 image = *reader->GetOutput();
  const unsigned char * const voxels = image.GetBufferPointer();
  const auto                  number = image.GetBufferedRegion().GetNumberOfPixels();
  Histogram                   histogram{};
  std::for_each(voxels, voxels + number, [&histogram](unsigned char value) { ++histogram[value]; });
  const ImageType::SpacingType spacing = image.GetSpacing();
  const double                 milliliters = spacing[0] * spacing[1] * spacing[2] / 1000;

  std::vector<Segment>                        segments;
  std::vector<std::pair<std::string, double>> found;
  for (std::size_t value = 1; value < histogram.size(); ++value)
  {
    // One segment at least, so that there is something to draw in.
    if (histogram[value] > 0 || (value == 1 && histogram[0] == static_cast<std::int64_t>(number)))
    {
      const auto label = static_cast<unsigned char>(value);
      segments.push_back(
        { value < classNames.size() ? classNames[value] : "Class " + std::to_string(value), label, label });
      found.emplace_back(segments.back().name, milliliters * static_cast<double>(histogram[value]));
    }
  }
  application::WriteSegments(image, segments, file);
  return found;
}

} // namespace gigapixel::slicer
