/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ProbabilityOutput.h"

#include "itkImageRegionConstIterator.h"
#include "itkPyramidTIFFImageIO.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gigapixel::application
{
namespace
{
/** Rows that are computed at a time: a row of the writer's tiles. */
constexpr itk::SizeValueType BandRows = 256;

itk::PyramidTIFFImageIO::Pointer
MakeWriter(const itk::Image<float, 2> &     image,
           const itk::WholeSlideImageIO &   slide,
           DamageOverRanks &                damage,
           const PyramidTarget &            target,
           itk::PyramidTIFFImageIO::Content content)
{
  const auto writer = itk::PyramidTIFFImageIO::New();
  writer->SetFileName(target.file);
  writer->SetMadeBy(target.madeBy);
  writer->SetSlide(&slide);
  damage.RecordIn(writer);
  writer->SetContent(content);
  writer->SetNumberOfDimensions(2);
  writer->SetComponentType(itk::IOComponentEnum::UCHAR);
  writer->SetPixelType(itk::IOPixelEnum::SCALAR);
  writer->SetNumberOfComponents(1);
  writer->SetMetaDataDictionary(image.GetMetaDataDictionary());
  // The first pixel may have any index; a file has only the place of it.
  itk::Image<float, 2>::PointType first;
  image.TransformIndexToPhysicalPoint(image.GetLargestPossibleRegion().GetIndex(), first);
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    writer->SetDimensions(axis, image.GetLargestPossibleRegion().GetSize(axis));
    writer->SetSpacing(axis, image.GetSpacing()[axis]);
    writer->SetOrigin(axis, first[axis]);
  }
  // As a file writer asks first of all: what comes under the name while bands are computed is not replaced.
  itk::ImageIORegion all(2);
  all.SetSize(0, writer->GetDimensions(0));
  all.SetSize(1, writer->GetDimensions(1));
  writer->GetActualNumberOfSplitsForWriting(1, all, all);
  return writer;
}

void
WriteBand(itk::PyramidTIFFImageIO & writer, const itk::ImageRegion<2> & band, const std::vector<unsigned char> & rows)
{
  itk::ImageIORegion region(2);
  for (unsigned axis = 0; axis < 2; ++axis)
  {
    region.SetIndex(axis, axis == 0 ? 0 : band.GetIndex(axis));
    region.SetSize(axis, band.GetSize(axis));
  }
  writer.SetIORegion(region);
  writer.Write(rows.data());
}
} // namespace

void
WriteLabelAndProbability(itk::Image<float, 2> *         probabilities,
                         const itk::WholeSlideImageIO & slide,
                         DamageOverRanks &              damage,
                         double                         threshold,
                         const PyramidTarget &          label,
                         const PyramidTarget &          probability,
                         Progress &                     progress)
{
  probabilities->UpdateOutputInformation();
  const auto all = probabilities->GetLargestPossibleRegion();
  const auto labels = label.file.empty()
                        ? itk::PyramidTIFFImageIO::Pointer()
                        : MakeWriter(*probabilities, slide, damage, label, itk::PyramidTIFFImageIO::Content::Labels);
  const auto picture =
    MakeWriter(*probabilities, slide, damage, probability, itk::PyramidTIFFImageIO::Content::Picture);
  std::vector<unsigned char> labelRows;
  std::vector<unsigned char> probabilityRows;
  for (itk::SizeValueType y = 0; y < all.GetSize(1); y += BandRows)
  {
    itk::ImageRegion<2> band = all;
    band.SetIndex(1, all.GetIndex(1) + static_cast<itk::IndexValueType>(y));
    band.SetSize(1, std::min(BandRows, all.GetSize(1) - y));
    probabilities->SetRequestedRegion(band);
    probabilities->PropagateRequestedRegion();
    probabilities->UpdateOutputData();
    ThrowIfInterrupted();
    labelRows.clear();
    probabilityRows.clear();
    for (itk::ImageRegionConstIterator<itk::Image<float, 2>> it(probabilities, band); !it.IsAtEnd(); ++it)
    {
      labelRows.push_back(static_cast<double>(it.Get()) >= threshold ? 255 : 0);
      probabilityRows.push_back(static_cast<unsigned char>(std::lround(255.0 * static_cast<double>(it.Get()))));
    }
    band.SetIndex(1, static_cast<itk::IndexValueType>(y));
    if (labels)
    {
      WriteBand(*labels, band, labelRows);
    }
    WriteBand(*picture, band, probabilityRows);
    progress.Update(static_cast<double>(y + band.GetSize(1)) / static_cast<double>(all.GetSize(1)));
  }
}

} // namespace gigapixel::application
