/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkFocalProjectionImageFilter_hxx
#define itkFocalProjectionImageFilter_hxx

#include "itkFocalProjectionImageFilter.h"

#include "itkGigapixelException.h"

#include <algorithm>
#include <string>
#include <vector>

namespace itk
{

template <typename TImage>
FocalProjectionImageFilter<TImage>::FocalProjectionImageFilter()
{
  this->DynamicMultiThreadingOn();
}

template <typename TImage>
void
FocalProjectionImageFilter<TImage>::VerifyInputInformation() ITKv5_CONST
{
  Superclass::VerifyInputInformation();
  const TImage * const first = this->GetInput();
  for (unsigned int i = 1; i < this->GetNumberOfIndexedInputs(); ++i)
  {
    const TImage * const plane = this->GetInput(i);
    if (plane == nullptr || plane->GetLargestPossibleRegion() != first->GetLargestPossibleRegion() ||
        plane->GetNumberOfComponentsPerPixel() != first->GetNumberOfComponentsPerPixel())
    {
      itkGigapixelExceptionMacro(
        gigapixel::Diagnostic("E-SLIDE-PLANES",
                              "input " + std::to_string(i) + " is missing, or has other pixels than input 0",
                              "give focal planes of one size and number of channels"));
    }
  }
}

template <typename TImage>
typename FocalProjectionImageFilter<TImage>::RegionType
FocalProjectionImageFilter<TImage>::GetGiven(RegionType region) const
{
  if (m_Method == Method::Focus)
  {
    region.PadByRadius(Projection::Margin);
    region.Crop(this->GetInput()->GetLargestPossibleRegion());
  }
  return region;
}

template <typename TImage>
void
FocalProjectionImageFilter<TImage>::GenerateInputRequestedRegion()
{
  Superclass::GenerateInputRequestedRegion();
  for (unsigned int i = 0; i < this->GetNumberOfIndexedInputs(); ++i)
  {
    const_cast<TImage *>(this->GetInput(i))->SetRequestedRegion(GetGiven(this->GetOutput()->GetRequestedRegion()));
  }
}

template <typename TImage>
void
FocalProjectionImageFilter<TImage>::DynamicThreadedGenerateData(const RegionType & region)
{
  const RegionType  given = GetGiven(region);
  const std::size_t channels = this->GetInput()->GetNumberOfComponentsPerPixel();
  const std::size_t width = given.GetSize(0);
  Projection        projection(m_Method,
                        { width,
                                 given.GetSize(1),
                                 static_cast<std::size_t>(region.GetIndex(0) - given.GetIndex(0)),
                                 static_cast<std::size_t>(region.GetIndex(1) - given.GetIndex(1)),
                                 region.GetSize(0),
                                 region.GetSize(1) },
                        channels);
  // The samples of a row, wherever an image holds them.
  const auto getRow = [channels](auto * image, const RegionType & of, std::size_t row) {
    auto index = of.GetIndex();
    index[1] += static_cast<IndexValueType>(row);
    return image->GetBufferPointer() +
           image->ComputeOffset(index) * (sizeof(*image->GetBufferPointer()) == sizeof(Sample) * channels
                                            ? 1
                                            : static_cast<OffsetValueType>(channels));
  };
  std::vector<Sample> pixels(width * given.GetSize(1) * channels);
  for (unsigned int i = 0; i < this->GetNumberOfIndexedInputs(); ++i)
  {
    for (std::size_t y = 0; y < given.GetSize(1); ++y)
    {
      const auto * const from = reinterpret_cast<const Sample *>(getRow(this->GetInput(i), given, y));
      std::copy_n(from, width * channels, pixels.data() + y * width * channels);
    }
    projection.Add(pixels.data());
  }
  const std::size_t rowSamples = region.GetSize(0) * channels;
  for (std::size_t y = 0; y < region.GetSize(1); ++y)
  {
    std::copy_n(projection.GetPixels().data() + y * rowSamples,
                rowSamples,
                reinterpret_cast<Sample *>(getRow(this->GetOutput(), region, y)));
  }
}

template <typename TImage>
void
FocalProjectionImageFilter<TImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Method: " << (m_Method == Method::Focus ? "Focus" : "Maximum") << '\n';
}

} // namespace itk

#endif
