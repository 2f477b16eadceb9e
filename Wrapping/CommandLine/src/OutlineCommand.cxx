/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "CommandFunctions.h"
#include "Doubt.h"
#include "MaskImage.h"
#include "OutlineOrigin.h"
#include "OutputCheck.h"
#include "SegmentationNRRD.h"
#include "SlideFile.h"
#include "SlideList.h"

#include "gigapixelAnnotation.h"
#include "gigapixelFormatCount.h"
#include "gigapixelMaskOutline.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace gigapixel::commandline
{
namespace
{
/** The rows of a mask as bytes, band by band. \param take gets the first row of a band, their number, and the bytes */
template <typename TRead, typename TTake>
void
VisitBands(const MaskImage & mask, const Session & session, const TRead & read, const TTake & take)
{
  constexpr std::int64_t     bandRows = 256;
  const Size                 size = mask.GetSize();
  std::vector<unsigned char> rows;
  Progress progress(session, "outline", static_cast<double>(size.width) * static_cast<double>(size.height));
  for (std::int64_t y = 0; y < size.height; y += bandRows)
  {
    ThrowIfInterrupted();
    const std::int64_t count = std::min(bandRows, size.height - y);
    read(y, count, rows);
    take(y, count, rows.data());
    progress.Update(static_cast<double>(y) / static_cast<double>(size.height));
  }
}

/** What is written of a mask. */
struct Written
{
  std::string  what; ///< a piece of it
  std::size_t  number{ 0 };
  std::int64_t objects{ 0 }; ///< pixels of the mask
};

Written
WriteOutlines(const MaskImage &             mask,
              const GridMatch &             match,
              const std::array<double, 2> & origin,
              const ArgumentValues &        values,
              const Session &               session)
{
  Written     written{ "outline" };
  const Size  size = mask.GetSize();
  MaskOutline outline(static_cast<std::size_t>(size.width));
  const auto  read = [&mask](std::int64_t y, std::int64_t count, std::vector<unsigned char> & rows) {
    mask.ReadRows(y, count, rows);
  };
  VisitBands(mask, session, read, [&](std::int64_t, std::int64_t count, const unsigned char * rows) {
    written.objects += count * size.width - std::count(rows, rows + count * size.width, 0);
    for (std::int64_t row = 0; row < count; ++row)
    {
      outline.AppendRow(rows + row * size.width, 1);
    }
  });
  auto pieces = outline.Trace(match.axes[0].ratio, match.axes[1].ratio);
  for (Annotation & piece : pieces)
  {
    piece.className = values.GetText("class");
    for (AnnotationRing & ring : piece.rings)
    {
      for (AnnotationPoint & point : ring)
      {
        point.x -= match.axes[0].shift + origin[0];
        point.y -= match.axes[1].shift + origin[1];
      }
    }
  }
  written.number = pieces.size();
  WriteAnnotations(pieces, values.GetText("output"), values.Has("overwrite"));
  return written;
}

/** Slicer holds a segmentation whole, and so do we. */
void
RefuseLargeSegmentation(const MaskImage & mask)
{
  constexpr std::int64_t most = std::int64_t(1) << 31;
  const Size             size = mask.GetSize();
  if (size.width > most / size.height)
  {
    throw Refusal(Diagnostic("E-FILE-LIMIT",
                             "the mask has " + std::to_string(size.width) + " x " + std::to_string(size.height) +
                               " pixels, and a segmentation has at most 2 billion, as it is held whole",
                             "make a coarser mask, such as with label --downsample")
                    .OfFile(mask.GetName()));
  }
}

/** The mask's labels where the mask lies on the slide, as the segmentations of our Slicer modules. */
Written
WriteSegmentation(const MaskImage &              mask,
                  const GridMatch &              match,
                  const itk::WholeSlideImageIO & slide,
                  const ArgumentValues &         values,
                  const Session &                session)
{
  Written    written{ "segment" };
  const Size size = mask.GetSize();
  if (!GetLevelZeroGrid(slide).IsSpacingKnown())
  {
    session.Warn(Diagnostic("W-MASK-RESOLUTION",
                            "the slide's resolution is not known, and a pixel of it is taken for 1 mm",
                            "state the resolution with --slide-mpp")
                   .OfFile(values.GetText("like")));
  }
  const auto image = SegmentationImage::New();
  image->SetRegions(SegmentationImage::SizeType{
    { static_cast<itk::SizeValueType>(size.width), static_cast<itk::SizeValueType>(size.height), 1 } });
  SegmentationImage::SpacingType spacing(1.0);
  SegmentationImage::PointType   origin(0.0);
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    const auto [ratio, shift] = std::pair(match.axes[axis].ratio, match.axes[axis].shift);
    spacing[axis] = slide.GetSpacing(axis) * ratio;
    origin[axis] = slide.GetOrigin(axis) + slide.GetSpacing(axis) * ((ratio - 1) / 2 - shift);
  }
  image->SetSpacing(spacing);
  image->SetOrigin(origin);
  image->Allocate();
  LabelCounts counts{};
  const auto  read = [&mask](std::int64_t y, std::int64_t count, std::vector<unsigned char> & rows) {
    mask.ReadLabels(y, count, rows);
  };
  VisitBands(mask, session, read, [&](std::int64_t y, std::int64_t count, const unsigned char * rows) {
    std::copy_n(rows, count * size.width, image->GetBufferPointer() + y * size.width);
    std::for_each(rows, rows + count * size.width, [&counts](unsigned char value) { ++counts[value]; });
  });
  const auto segments = FindSegments(counts, mask.GetClasses(), values.GetText("class"));
  if (values.IsGiven("class") && segments.front().value != 255)
  {
    throw Refusal(
      Diagnostic("E-OPTION-APPLIES", "the mask has classes, which are segments by their own names", "leave it out")
        .OfFile(mask.GetName())
        .OfOption("--class", values.GetText("class")));
  }
  std::array<unsigned char, 256> labels{};
  for (const Segment & segment : segments)
  {
    labels[segment.value] = segment.label;
    written.objects += counts[segment.value];
  }
  unsigned char * const pixels = image->GetBufferPointer();
  std::transform(
    pixels, pixels + size.width * size.height, pixels, [&labels](unsigned char value) { return labels[value]; });
  written.number = segments.size();
  WriteSegments(*image, segments, values.GetText("output"), values.Has("overwrite"));
  return written;
}
} // namespace

int
RunOutline(const ArgumentValues & values, const Session & session)
{
  const std::string output = values.GetText("output");
  CheckEnding("--output", output, "outlines");
  RefuseInput(output, { values.GetText("MASK"), values.GetText("like") });
  const bool isSegmentation = EndsWith(output, ".nrrd");
  if (isSegmentation && values.IsGiven("origin"))
  {
    throw UsageError(
      Diagnostic("E-OPTION-APPLIES", "--origin is of outlines; a segmentation lies in mm", "leave it out")
        .OfOption("--origin", values.GetText("origin")));
  }
  const MaskImage mask(values.GetText("MASK"),
                       isSegmentation ? itk::HighSamples::RefusedAsLabels : itk::HighSamples::Are255);
  const auto      slide = OpenSlide(values.GetText("like"), values, session);
  const GridMatch match = GridMatch::Make(mask.GetImage(), GetLevelZeroGrid(*slide), values.GetText("like"));
  RefuseExisting(output, values.Has("overwrite"));
  CheckOutput(output, 0);

  nlohmann::ordered_json json{ { "outlines", output }, { "mask", mask.GetName() } };
  Written                written;
  if (isSegmentation)
  {
    RefuseLargeSegmentation(mask);
    written = WriteSegmentation(mask, match, *slide, values, session);
    json["segments"] = written.number;
  }
  else
  {
    const auto origin = GetOutlineOrigin(*slide, values, session);
    written = WriteOutlines(mask, match, origin, values, session);
    json["pieces"] = written.number;
    json["origin"] = origin;
  }
  const Size size = mask.GetSize();
  DoubtMask(session,
            mask.GetName(),
            "the mask",
            static_cast<double>(written.objects) /
              (static_cast<double>(size.width) * static_cast<double>(size.height)));
  session.PrintResult(output + ": " + FormatCount(written.number, written.what),
                      json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
