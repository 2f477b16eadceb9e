/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkAnnotationImageSource.h"

#include "itkGigapixelException.h"

#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

namespace itk
{
namespace
{
/** First index whose center (i + 1/2) * step is at or beyond a coordinate. */
IndexValueType
GetFirstAtOrBeyond(double coordinate, double step)
{
  return static_cast<IndexValueType>(std::ceil(coordinate / step - 0.5));
}

/** Adds, for each row in [begin, end) whose center line an edge crosses, the column where the inside changes. */
void
AddCrossings(const gigapixel::AnnotationPoint &         from,
             const gigapixel::AnnotationPoint &         to,
             double                                     step,
             IndexValueType                             begin,
             IndexValueType                             end,
             std::vector<std::vector<IndexValueType>> & crossings)
{
  // From the upper point to the lower one, whatever the ring's direction: neighbors then share the same bits.
  const auto &         upper = from.y < to.y ? from : to;
  const auto &         lower = from.y < to.y ? to : from;
  const double         slope = (lower.x - upper.x) / (lower.y - upper.y);
  const IndexValueType last = std::min(end, GetFirstAtOrBeyond(lower.y, step));
  for (auto row = std::max(begin, GetFirstAtOrBeyond(upper.y, step)); row < last; ++row)
  {
    const double y = (static_cast<double>(row) + 0.5) * step;
    crossings[static_cast<std::size_t>(row - begin)].push_back(
      GetFirstAtOrBeyond(upper.x + (y - upper.y) * slope, step));
  }
}
} // namespace

AnnotationImageSource::AnnotationImageSource()
{
  this->DynamicMultiThreadingOn();
  m_OutlineOrigin.Fill(0.0);
  m_MaskOrigin.Fill(0.0);
}

void
AnnotationImageSource::Move(LabeledAnnotation & labeled, double x, double y)
{
  constexpr double most = std::numeric_limits<double>::max();
  labeled.left = labeled.top = most;
  labeled.right = labeled.bottom = -most;
  for (gigapixel::AnnotationRing & ring : labeled.annotation.rings)
  {
    for (gigapixel::AnnotationPoint & point : ring)
    {
      point.x += x;
      point.y += y;
      labeled.left = std::min(labeled.left, point.x);
      labeled.right = std::max(labeled.right, point.x);
      labeled.top = std::min(labeled.top, point.y);
      labeled.bottom = std::max(labeled.bottom, point.y);
    }
  }
}

void
AnnotationImageSource::AddAnnotation(const gigapixel::Annotation & annotation, unsigned int label)
{
  m_Annotations.push_back({ annotation, label, 0, 0, 0, 0 });
  Move(m_Annotations.back(), m_OutlineOrigin[0], m_OutlineOrigin[1]);
  this->Modified();
}

void
AnnotationImageSource::SetOutlineOrigin(const Point2 & origin)
{
  if (origin == m_OutlineOrigin)
  {
    return;
  }
  for (LabeledAnnotation & labeled : m_Annotations)
  {
    Move(labeled, origin[0] - m_OutlineOrigin[0], origin[1] - m_OutlineOrigin[1]);
  }
  m_OutlineOrigin = origin;
  this->Modified();
}

void
AnnotationImageSource::SetSize(SizeValueType width, SizeValueType height)
{
  m_Size = { { width, height } };
  this->Modified();
}

void
AnnotationImageSource::GenerateOutputInformation()
{
  if (!(m_Downsample > 0.0) || m_Size[0] == 0 || m_Size[1] == 0)
  {
    std::ostringstream why;
    why << "a mask of " << m_Size[0] << " x " << m_Size[1] << " pixels at downsample " << m_Downsample
        << " is not possible";
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-OPTION-VALUE", why.str(), "give a size and a downsample above 0"));
  }
  CheckPlaces();
  OutputImageType::SpacingType spacing;
  spacing[0] = m_Spacing;
  spacing[1] = m_RowSpacing > 0.0 ? m_RowSpacing : m_Spacing;
  this->GetOutput()->SetLargestPossibleRegion(OutputImageType::RegionType(m_Size));
  this->GetOutput()->SetSpacing(spacing);
  this->GetOutput()->SetOrigin(m_MaskOrigin);
}

void
AnnotationImageSource::VisitSpans(const LabeledAnnotation & labeled,
                                  IndexValueType            top,
                                  IndexValueType            bottom,
                                  CrossingsType &           crossings,
                                  const SpanVisitor &       visit) const
{
  const IndexValueType     begin = std::max(top, GetFirstAtOrBeyond(labeled.top, m_Downsample));
  const IndexValueType     end = std::min(bottom, GetFirstAtOrBeyond(labeled.bottom, m_Downsample));
  std::vector<std::size_t> parts = labeled.annotation.laterParts;
  parts.push_back(labeled.annotation.rings.size());
  std::size_t first = 0;
  for (const std::size_t last : parts)
  {
    VisitPart(labeled, first, last, begin, end, crossings, visit);
    first = last;
  }
}

void
AnnotationImageSource::VisitPart(const LabeledAnnotation & labeled,
                                 std::size_t               first,
                                 std::size_t               last,
                                 IndexValueType            begin,
                                 IndexValueType            end,
                                 CrossingsType &           crossings,
                                 const SpanVisitor &       visit) const
{
  for (std::size_t r = first; r < last; ++r)
  {
    const gigapixel::AnnotationRing & ring = labeled.annotation.rings[r];
    for (std::size_t i = 0; i < ring.size(); ++i)
    {
      AddCrossings(ring[i], ring[(i + 1) % ring.size()], m_Downsample, begin, end, crossings);
    }
  }
  for (IndexValueType y = begin; y < end; ++y)
  {
    auto & columns = crossings[static_cast<std::size_t>(y - begin)];
    std::sort(columns.begin(), columns.end());
    for (std::size_t i = 0; i + 1 < columns.size(); i += 2)
    {
      visit(y, columns[i], columns[i + 1]);
    }
    columns.clear();
  }
}

bool
AnnotationImageSource::DrawsPixels(const LabeledAnnotation & labeled) const
{
  constexpr IndexValueType bandRows = 256; // most outlines show in their first band
  const auto               width = static_cast<IndexValueType>(m_Size[0]);
  const auto               height = static_cast<IndexValueType>(m_Size[1]);
  const IndexValueType     begin = std::max<IndexValueType>(0, GetFirstAtOrBeyond(labeled.top, m_Downsample));
  const IndexValueType     end = std::min(height, GetFirstAtOrBeyond(labeled.bottom, m_Downsample));
  bool                     draws = false;
  CrossingsType            crossings(bandRows);
  for (IndexValueType top = begin; top < end && !draws; top += bandRows)
  {
    VisitSpans(labeled,
               top,
               std::min(top + bandRows, end),
               crossings,
               [&draws, width](IndexValueType, IndexValueType first, IndexValueType last) {
                 draws = draws || std::max<IndexValueType>(first, 0) < std::min(last, width);
               });
  }
  return draws;
}

void
AnnotationImageSource::CheckPlaces()
{
  const double width = static_cast<double>(m_Size[0]) * m_Downsample;
  const double height = static_cast<double>(m_Size[1]) * m_Downsample;
  const auto   isBetweenCenters = [this](double from, double to) {
    return GetFirstAtOrBeyond(from, m_Downsample) >= GetFirstAtOrBeyond(to, m_Downsample);
  };
  m_Outside.clear();
  std::size_t       small = 0;
  LabeledAnnotation all{};
  for (const LabeledAnnotation & one : m_Annotations)
  {
    const bool isAway = one.right <= 0 || one.left >= width || one.bottom <= 0 || one.top >= height;
    const bool isWithin = one.left >= 0 && one.right <= width && one.top >= 0 && one.bottom <= height;
    const bool isThin = isBetweenCenters(one.left, one.right) || isBetweenCenters(one.top, one.bottom);
    const bool leavesNothing = isAway || isThin || !DrawsPixels(one); // its area may be where its corners' box is not
    const bool isOutside = isAway || (leavesNothing && !isThin && !isWithin);
    if (isOutside)
    {
      m_Outside.push_back(static_cast<std::size_t>(&one - m_Annotations.data()));
    }
    small += leavesNothing && !isOutside ? 1 : 0;
    const bool isFirst = &one == &m_Annotations.front();
    all.left = isFirst ? one.left : std::min(all.left, one.left);
    all.right = isFirst ? one.right : std::max(all.right, one.right);
    all.top = isFirst ? one.top : std::min(all.top, one.top);
    all.bottom = isFirst ? one.bottom : std::max(all.bottom, one.bottom);
  }
  const std::size_t  outside = m_Outside.size();
  const std::string  ofAll = " of " + gigapixel::FormatCount(m_Annotations.size(), "outline") + ' ';
  std::ostringstream why;
  if (outside > 0 && outside == m_Annotations.size())
  {
    why << "all outlines (" << outside << ") lie outside the slide: they reach from (" << all.left << ", " << all.top
        << ") to (" << all.right << ", " << all.bottom << "), the slide's mask from (0, 0) to (" << width << ", "
        << height << ") in level-0 pixels";
    itkGigapixelExceptionMacro(gigapixel::Diagnostic(
      "E-ANNOTATION-EMPTY", why.str(), "give outlines of this slide, in its pixels, and check their origin"));
  }
  if (outside > 0)
  {
    why << outside << ofAll << (outside == 1 ? "lies" : "lie") << " outside the slide (" << width << " x " << height
        << " pixels) and " << (outside == 1 ? "is" : "are") << " left out";
    itkWarningMacro(<< gigapixel::Remember(gigapixel::Diagnostic("W-ANNOTATION-OUTSIDE",
                                                                 why.str(),
                                                                 "check that they were drawn on this slide")
                                             .OfValue(std::to_string(outside))));
  }
  if (small > 0)
  {
    why.str({});
    why << small << ofAll << (small == 1 ? "leaves" : "leave") << " nothing in the mask, whose pixels are "
        << m_Downsample << " level-0 pixels wide";
    itkWarningMacro(<< gigapixel::Remember(
                      gigapixel::Diagnostic("W-ANNOTATION-SMALL", why.str(), "use a smaller downsample to see them")
                        .OfValue(std::to_string(small))));
  }
}

void
AnnotationImageSource::BeforeThreadedGenerateData()
{
  for (const LabeledAnnotation & labeled : m_Annotations)
  {
    if (labeled.label > std::numeric_limits<OutputImageType::PixelType>::max())
    {
      itkGigapixelExceptionMacro(
        gigapixel::Diagnostic("E-LABEL-VALUE",
                              "the label " + std::to_string(labeled.label) + " does not fit in 8 bits",
                              "draw it with DrawLabels()")
          .OfValue(std::to_string(labeled.label)));
    }
  }
}

void
AnnotationImageSource::DynamicThreadedGenerateData(const OutputImageRegionType & region)
{
  std::vector<OutputImageType::PixelType> labels(region.GetNumberOfPixels());
  DrawLabels(region, labels.data());
  const std::size_t width = region.GetSize(0);
  for (std::size_t row = 0; row < region.GetSize(1); ++row)
  {
    const OutputImageType::IndexType index{ { region.GetIndex(0),
                                              region.GetIndex(1) + static_cast<IndexValueType>(row) } };
    std::copy_n(labels.data() + row * width, width, &this->GetOutput()->GetPixel(index));
  }
}

template <typename TLabel>
void
AnnotationImageSource::DrawLabels(const OutputImageRegionType & region, TLabel * labels) const
{
  const IndexValueType left = region.GetIndex(0);
  const IndexValueType right = left + static_cast<IndexValueType>(region.GetSize(0));
  const IndexValueType top = region.GetIndex(1);
  const IndexValueType bottom = top + static_cast<IndexValueType>(region.GetSize(1));
  std::fill_n(labels, region.GetNumberOfPixels(), TLabel{ 0 });
  CrossingsType crossings(region.GetSize(1));
  for (const LabeledAnnotation & labeled : m_Annotations)
  {
    VisitSpans(labeled, top, bottom, crossings, [&](IndexValueType y, IndexValueType first, IndexValueType last) {
      TLabel * const row = labels + (y - top) * (right - left);
      std::fill(row + (std::clamp(first, left, right) - left),
                row + (std::clamp(last, left, right) - left),
                static_cast<TLabel>(labeled.label));
    });
  }
}

template void AnnotationImageSource::DrawLabels(const OutputImageRegionType &, unsigned char *) const;
template void AnnotationImageSource::DrawLabels(const OutputImageRegionType &, unsigned short *) const;
template void AnnotationImageSource::DrawLabels(const OutputImageRegionType &, unsigned int *) const;

void
AnnotationImageSource::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Annotations: " << m_Annotations.size() << '\n';
  os << indent << "Size: " << m_Size << '\n';
  os << indent << "Downsample: " << m_Downsample << '\n';
  os << indent << "OutlineOrigin: " << m_OutlineOrigin << '\n';
  os << indent << "Spacing: " << m_Spacing << '\n';
  os << indent << "RowSpacing: " << m_RowSpacing << '\n';
  os << indent << "MaskOrigin: " << m_MaskOrigin << '\n';
}

} // namespace itk
