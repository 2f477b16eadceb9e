/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ArgumentText.h"
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
#include "gigapixelMaskComponents.h"
#include "gigapixelMaskOutline.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <utility>

namespace gigapixel::application
{
namespace
{
/** The labels of a mask, band by band. \param take gets the first row of a band, their number, and the labels */
template <typename TTake>
void
VisitBands(const MaskImage & mask, const std::string & what, const Session & session, const TTake & take)
{
  constexpr std::int64_t     bandRows = 256;
  const Size                 size = mask.GetSize();
  std::vector<unsigned char> rows;
  Progress progress(session, what, static_cast<double>(size.width) * static_cast<double>(size.height));
  for (std::int64_t y = 0; y < size.height; y += bandRows)
  {
    ThrowIfInterrupted();
    const std::int64_t count = std::min(bandRows, size.height - y);
    mask.ReadLabels(y, count, rows);
    take(y, count, rows.data());
    progress.Update(static_cast<double>(y) / static_cast<double>(size.height));
  }
}

/** What a mask shows. */
struct Shown
{
  LabelCounts          counts{};
  std::vector<Segment> segments;
  LabelMap             labels{};
  bool                 hasClasses{ false };
};

Shown
LookAt(const MaskImage & mask, const ArgumentValues & values, const Session & session)
{
  Shown shown;
  VisitBands(mask, "read", session, [&](std::int64_t, std::int64_t count, const unsigned char * rows) {
    std::for_each(rows, rows + count * mask.GetSize().width, [&shown](unsigned char value) { ++shown.counts[value]; });
  });
  const auto others = std::accumulate(shown.counts.begin() + 2, shown.counts.end(), std::int64_t(0));
  if (others == 0 && FindMadeBy(mask.GetName()).empty()) // 0 and 1 of another program say as much as 0 and 255
  {
    std::swap(shown.counts[1], shown.counts[Segment::Anything]);
  }
  shown.segments = FindSegments(shown.counts, mask.GetClasses(), values.GetText("class-name"));
  shown.labels = MakeLabelMap(shown.segments);
  shown.hasClasses = shown.segments.front().value != Segment::Anything;
  if (shown.hasClasses && values.IsGiven("class-name"))
  {
    throw Refusal(
      Diagnostic("E-OPTION-APPLIES", "the mask has classes, which are written by their own names", "leave it out")
        .OfFile(mask.GetName())
        .OfOption("--class-name", values.GetText("class-name")));
  }
  return shown;
}

/** Brings an outline in pixels of the mask's size to level-0 pixels from the origin of outlines. */
void
Place(Annotation & outline, const GridMatch & match, const std::array<double, 2> & origin)
{
  for (AnnotationRing & ring : outline.rings)
  {
    for (AnnotationPoint & point : ring)
    {
      point.x -= match.axes[0].shift + origin[0];
      point.y -= match.axes[1].shift + origin[1];
    }
  }
}

/** \class MaskWindow
 * \brief Labels of some rows of a mask, which objects are looked up in, so that rows are not read for each anew. */
class MaskWindow
{
public:
  explicit MaskWindow(const MaskImage & mask)
    : m_Mask(mask)
  {}

  /** The labels of a row of an object's box. Objects are to be asked for in the order of their first rows, and each row
   * by row: then rows are read twice at most, but for objects that are taller than the window. */
  const std::uint32_t *
  GetRow(const ComponentFigures & object, std::int64_t y)
  {
    const Size         size = m_Mask.GetSize();
    const std::int64_t end = m_First + m_Count;
    if (y < m_First || y >= end || (y == object.top && object.bottom > end))
    {
      m_First = y;
      m_Count = std::min(std::clamp<std::int64_t>(labelsHeld / size.width, 1, 1024), size.height - y);
      m_Mask.ReadLabels({ 0, m_First, size.width, m_Count }, m_Labels);
    }
    return m_Labels.data() + (y - m_First) * size.width + object.left;
  }

private:
  static constexpr std::int64_t labelsHeld = std::int64_t{ 1 } << 24; // 64 MiB

  const MaskImage &          m_Mask;
  std::vector<std::uint32_t> m_Labels;
  std::int64_t               m_First{ 0 };
  std::int64_t               m_Count{ 0 };
};

/** The part of a mask that has a label, traced in the box around it alone: masks have thousands of labels. */
Annotation
TraceObject(MaskWindow & window, const ComponentFigures & object, const GridMatch & match)
{
  const auto                 width = static_cast<std::size_t>(object.right - object.left);
  MaskOutline                outline(width);
  std::vector<unsigned char> row(width);
  for (std::int64_t y = object.top; y < object.bottom; ++y)
  {
    const std::uint32_t * const labels = window.GetRow(object, y);
    std::transform(
      labels, labels + width, row.begin(), [&object](std::uint32_t label) { return label == object.label ? 1 : 0; });
    outline.AppendRow(row.data(), 1);
  }
  Annotation traced;
  for (Annotation & piece : outline.Trace(match.axes[0].ratio, match.axes[1].ratio))
  {
    if (!traced.rings.empty())
    {
      traced.laterParts.push_back(traced.rings.size());
    }
    std::move(piece.rings.begin(), piece.rings.end(), std::back_inserter(traced.rings));
  }
  for (AnnotationRing & ring : traced.rings)
  {
    for (AnnotationPoint & point : ring)
    {
      point.x += static_cast<double>(object.left) * match.axes[0].ratio;
      point.y += static_cast<double>(object.top) * match.axes[1].ratio;
    }
  }
  return traced;
}

/** Writes an outline for each label, in the order of the labels, by which it is named. \return the number of outlines
 */
std::size_t
WriteObjects(const MaskImage &             mask,
             const GridMatch &             match,
             const std::array<double, 2> & origin,
             const ArgumentValues &        values,
             const Session &               session)
{
  constexpr std::int64_t     bandRows = 256;
  const Size                 size = mask.GetSize();
  MaskComponents             components(static_cast<std::size_t>(size.width), Connectivity::Eight);
  std::vector<std::uint32_t> labels;
  Progress progress(session, "outline", static_cast<double>(size.width) * static_cast<double>(size.height));
  for (std::int64_t y = 0; y < size.height; y += bandRows)
  {
    ThrowIfInterrupted();
    const std::int64_t count = std::min(bandRows, size.height - y);
    mask.ReadLabels({ 0, y, size.width, count }, labels);
    for (std::int64_t row = 0; row < count; ++row)
    {
      components.AppendRow(labels.data() + row * size.width);
    }
    components.EndRows();
    progress.Update(static_cast<double>(y) / static_cast<double>(size.height));
  }
  components.Finish();
  std::vector<const ComponentFigures *> objects; // in the order of their labels
  double                                pixels = 0;
  for (const auto & [label, object] : components.GetClasses())
  {
    objects.push_back(&object);
    pixels += static_cast<double>(object.area);
  }
  DoubtMask(
    session, mask.GetName(), "the mask", pixels / (static_cast<double>(size.width) * static_cast<double>(size.height)));
  std::vector<std::size_t> order(objects.size()); // from the top
  std::iota(order.begin(), order.end(), std::size_t{ 0 });
  std::stable_sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    return objects[one]->top < objects[other]->top;
  });
  std::vector<Annotation> all(objects.size());
  MaskWindow              window(mask);
  for (const std::size_t i : order)
  {
    ThrowIfInterrupted();
    all[i] = TraceObject(window, *objects[i], match);
    all[i].className = values.GetText("class-name");
    all[i].name = std::to_string(objects[i]->label);
    Place(all[i], match, origin);
  }
  WriteAnnotations(all, values.GetText("output"), values.Has("overwrite"));
  return all.size();
}

/** \return the number of outlines */
std::size_t
WriteOutlines(const MaskImage &             mask,
              const Shown &                 shown,
              const GridMatch &             match,
              const std::array<double, 2> & origin,
              const ArgumentValues &        values,
              const Session &               session)
{
  const auto                 width = static_cast<std::size_t>(mask.GetSize().width);
  std::vector<MaskOutline>   outlines(shown.segments.size(), MaskOutline(width));
  std::vector<unsigned char> row(width);
  VisitBands(mask, "outline", session, [&](std::int64_t, std::int64_t count, const unsigned char * rows) {
    for (std::int64_t y = 0; y < count; ++y, rows += width)
    {
      std::transform(rows, rows + width, row.begin(), [&shown](unsigned char value) { return shown.labels[value]; });
      for (std::size_t i = 0; i < outlines.size(); ++i)
      {
        outlines[i].AppendRow(row.data(), shown.segments[i].label);
      }
    }
  });
  std::vector<Annotation> all;
  for (std::size_t i = 0; i < outlines.size(); ++i)
  {
    for (Annotation & piece : outlines[i].Trace(match.axes[0].ratio, match.axes[1].ratio))
    {
      piece.className = shown.segments[i].name;
      Place(piece, match, origin);
      all.push_back(std::move(piece));
    }
  }
  WriteAnnotations(all, values.GetText("output"), values.Has("overwrite"));
  return all.size();
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
void
WriteSegmentation(const MaskImage &              mask,
                  const Shown &                  shown,
                  const GridMatch &              match,
                  const itk::WholeSlideImageIO & slide,
                  const ArgumentValues &         values,
                  const Session &                session)
{
  RefuseLargeSegmentation(mask);
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
  VisitBands(mask, "outline", session, [&](std::int64_t y, std::int64_t count, const unsigned char * rows) {
    std::transform(rows,
                   rows + count * size.width,
                   image->GetBufferPointer() + y * size.width,
                   [&shown](unsigned char value) { return shown.labels[value]; });
  });
  WriteSegments(*image, shown.segments, values.GetText("output"), values.Has("overwrite"));
}
/** Labels above 255 are one object in a mask that shows one: those of nuclei that touch are joined. */
void
WarnOfObjects(const MaskImage & mask, const Shown & shown, const Session & session)
{
  const bool hasOthers =
    std::any_of(shown.counts.begin() + 1, shown.counts.begin() + 255, [](std::int64_t count) { return count > 0; });
  if (!shown.hasClasses && hasOthers && MaskImage(mask.GetName(), itk::HighSamples::Kept).AreLabelsWide())
  {
    session.Warn(Diagnostic("W-LABEL-MERGED",
                            "its labels have more than 8 bit, and all of them are outlined as one object",
                            "give --instances for an outline of each")
                   .OfFile(mask.GetName()));
  }
}
} // namespace

int
RunOutline(const ArgumentValues & values, const Session & session)
{
  const std::string output = values.GetText("output");
  CheckOutputName(values, "output");
  const bool isSegmentation = EndsWith(output, ".nrrd");
  if (isSegmentation)
  {
    RefuseOptions(values, { "origin", "instances" }, "a segmentation lies in mm, and has classes");
  }
  const MaskImage mask(values.GetText("MASK"), itk::HighSamples::Are255);
  const auto      slide = OpenSlide(values.GetText("like"), values, session);
  const GridMatch match = GridMatch::Make(mask.GetImage(), GetLevelZeroGrid(*slide), values.GetText("like"));
  RefuseExisting(output, values.Has("overwrite"));
  CheckOutput(output, 0);

  if (values.Has("instances"))
  {
    const MaskImage              objects(mask.GetName(), itk::HighSamples::Kept);
    const auto                   origin = GetOutlineOrigin(*slide, values, session);
    const auto                   written = WriteObjects(objects, match, origin, values, session);
    const nlohmann::ordered_json json{
      { "outlines", output }, { "mask", mask.GetName() }, { "pieces", written }, { "origin", origin }
    };
    session.ShowResult(output + ": " + FormatCount(written, "outline"), json);
    return Success;
  }
  const Shown shown = LookAt(mask, values, session);
  WarnOfObjects(mask, shown, session);
  std::size_t            number = shown.segments.size();
  const MaskImage        written(mask.GetName(),
                          shown.hasClasses ? itk::HighSamples::RefusedAsLabels : itk::HighSamples::Are255);
  nlohmann::ordered_json json{ { "outlines", output }, { "mask", mask.GetName() } };
  if (isSegmentation)
  {
    WriteSegmentation(written, shown, match, *slide, values, session);
    json["segments"] = number;
  }
  else
  {
    const auto origin = GetOutlineOrigin(*slide, values, session);
    number = WriteOutlines(written, shown, match, origin, values, session);
    json["pieces"] = number;
    json["origin"] = origin;
  }
  std::int64_t objects = 0;
  for (std::size_t value = 1; value < shown.counts.size(); ++value)
  {
    objects += shown.labels[value] > 0 ? shown.counts[value] : 0;
  }
  const Size size = mask.GetSize();
  DoubtMask(session,
            mask.GetName(),
            "the mask",
            static_cast<double>(objects) / (static_cast<double>(size.width) * static_cast<double>(size.height)));
  session.ShowResult(output + ": " + FormatCount(number, isSegmentation ? "segment" : "outline"), json);
  return Success;
}

} // namespace gigapixel::application
