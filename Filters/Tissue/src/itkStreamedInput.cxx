/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkStreamedInput.h"

#include "itkProcessObject.h"

#include <algorithm>
#include <set>

namespace itk
{
namespace
{

ModifiedTimeType
GetContentMTime(const DataObject * data, std::set<const ProcessObject *> & visited)
{
  const ProcessObject * source = data->GetSource();
  if (source == nullptr)
  {
    return data->GetMTime();
  }
  if (!visited.insert(source).second)
  {
    return 0;
  }
  ModifiedTimeType latest = source->GetMTime();
  for (const auto & input : const_cast<ProcessObject *>(source)->GetInputs())
  {
    if (input)
    {
      latest = std::max(latest, GetContentMTime(input, visited));
    }
  }
  return latest;
}

} // namespace

ModifiedTimeType
GetContentMTime(const DataObject * data)
{
  std::set<const ProcessObject *> visited;
  return GetContentMTime(data, visited);
}

void
UpdateRegion(ImageBase<2> * image, const ImageRegion<2> & region)
{
  image->SetRequestedRegion(region);
  image->PropagateRequestedRegion();
  image->UpdateOutputData();
}

void
VisitStrips(ImageBase<2> *                                                   image,
            const ImageRegion<2> &                                           region,
            SizeValueType                                                    rowsPerStrip,
            const std::function<void(const ImageRegion<2> & strip, float)> & visitor)
{
  const SizeValueType height = region.GetSize(1);
  auto                strip = region;
  for (SizeValueType done = 0; done < height; done += strip.GetSize(1))
  {
    strip.SetIndex(1, region.GetIndex(1) + static_cast<IndexValueType>(done));
    strip.SetSize(1, std::min(rowsPerStrip, height - done));
    UpdateRegion(image, strip);
    visitor(strip, static_cast<float>(done + strip.GetSize(1)) / static_cast<float>(height));
  }
}

SizeValueType
GetRowsPerStrip(SizeValueType width)
{
  constexpr SizeValueType pixels = SizeValueType(1) << 20;
  constexpr SizeValueType fewest = 256;
  return std::max(fewest, pixels / std::max<SizeValueType>(1, width));
}

ImageRegion<2>
GetFirstStrip(const ImageBase<2> * image, bool isCurrent)
{
  const auto & whole = image->GetLargestPossibleRegion();
  auto         region = whole;
  if (!isCurrent)
  {
    region.SetSize(1, std::min(whole.GetSize(1), GetRowsPerStrip(whole.GetSize(0))));
    return region;
  }
  const auto & buffered = image->GetBufferedRegion();
  if (buffered.GetNumberOfPixels() > 0 && whole.IsInside(buffered.GetIndex()))
  {
    region.SetIndex(buffered.GetIndex());
  }
  region.SetSize({ { 1, 1 } });
  return region;
}

} // namespace itk
