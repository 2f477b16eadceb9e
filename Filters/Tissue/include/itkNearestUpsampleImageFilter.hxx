/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkNearestUpsampleImageFilter_hxx
#define itkNearestUpsampleImageFilter_hxx

#include "gigapixelPixelRows.h"
#include "itkGigapixelException.h"
#include "itkTotalProgressReporter.h"

#include <algorithm>

namespace itk
{

template <typename TInputImage, typename TOutputImage>
NearestUpsampleImageFilter<TInputImage, TOutputImage>::NearestUpsampleImageFilter()
{
  this->DynamicMultiThreadingOn();
  this->ThreaderUpdateProgressOff();
}

template <typename TInputImage, typename TOutputImage>
void
NearestUpsampleImageFilter<TInputImage, TOutputImage>::GenerateOutputInformation()
{
  Superclass::GenerateOutputInformation();
  const TInputImage * input = this->GetInput();
  TOutputImage *      output = this->GetOutput();
  const auto          whole = input->GetLargestPossibleRegion();

  OutputImageRegionType                  pixels;
  typename TOutputImage::SpacingType     spacing;
  ContinuousIndex<SpacePrecisionType, 2> first;
  for (unsigned int d = 0; d < 2; ++d)
  {
    const SizeValueType size = m_OutputSize[d] == 0 ? whole.GetSize(d) * m_Factor : m_OutputSize[d];
    if ((size + m_Factor - 1) / m_Factor != whole.GetSize(d))
    {
      std::ostringstream why;
      why << "An output of " << m_OutputSize << " pixels needs an input of ceil(size / " << m_Factor
          << ") pixels, but the input has " << whole.GetSize();
      itkGigapixelExceptionMacro(
        gigapixel::Diagnostic("E-OPTION-VALUE", why.str(), "set OutputSize to the size of the image that was shrunk"));
    }
    pixels.SetIndex(d, 0);
    pixels.SetSize(d, size);
    spacing[d] = input->GetSpacing()[d] / m_Factor;
    first[d] = whole.GetIndex(d) - 0.5 * (m_Factor - 1) / m_Factor;
  }
  typename TOutputImage::PointType origin;
  input->TransformContinuousIndexToPhysicalPoint(first, origin);
  output->SetLargestPossibleRegion(pixels);
  output->SetSpacing(spacing);
  output->SetOrigin(origin);
}

template <typename TInputImage, typename TOutputImage>
void
NearestUpsampleImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  auto *               input = const_cast<TInputImage *>(this->GetInput());
  const auto           start = input->GetLargestPossibleRegion().GetIndex();
  const auto           region = this->GetOutput()->GetRequestedRegion();
  InputImageRegionType needed;
  for (unsigned int d = 0; d < 2; ++d)
  {
    const auto factor = static_cast<IndexValueType>(m_Factor);
    const auto first = region.GetIndex(d) / factor;
    const auto last = region.GetUpperIndex()[d] / factor;
    needed.SetIndex(d, start[d] + first);
    needed.SetSize(d, static_cast<SizeValueType>(last - first + 1));
  }
  input->SetRequestedRegion(needed);
}

template <typename TInputImage, typename TOutputImage>
void
NearestUpsampleImageFilter<TInputImage, TOutputImage>::DynamicThreadedGenerateData(const OutputImageRegionType & region)
{
  const TInputImage * input = this->GetInput();
  TOutputImage *      output = this->GetOutput();
  const auto          start = input->GetLargestPossibleRegion().GetIndex();
  const auto          factor = static_cast<IndexValueType>(m_Factor);
  const auto          width = region.GetSize(0);
  // ITK 5.2 adds the shares up in fixed point and wraps when rounding takes them past 1: stay below.
  TotalProgressReporter progress(this, output->GetRequestedRegion().GetNumberOfPixels(), 100, 0.99f);

  auto                  index = region.GetIndex();
  const unsigned char * previous = nullptr;
  for (SizeValueType y = 0; y < region.GetSize(1); ++y, ++index[1])
  {
    unsigned char * row = output->GetBufferPointer() + output->ComputeOffset(index);
    if (previous && index[1] % factor != 0)
    {
      std::copy_n(previous, width, row);
    }
    else
    {
      const typename TInputImage::IndexType block{ { start[0] + index[0] / factor, start[1] + index[1] / factor } };
      gigapixel::RepeatPixels(input->GetBufferPointer() + input->ComputeOffset(block),
                              static_cast<std::size_t>(index[0] % factor),
                              width,
                              m_Factor,
                              row);
    }
    previous = row;
    progress.Completed(width);
  }
}

template <typename TInputImage, typename TOutputImage>
void
NearestUpsampleImageFilter<TInputImage, TOutputImage>::AfterThreadedGenerateData()
{
  this->UpdateProgress(1.0f);
}

template <typename TInputImage, typename TOutputImage>
void
NearestUpsampleImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Factor: " << m_Factor << std::endl;
  os << indent << "OutputSize: " << m_OutputSize << std::endl;
}

} // namespace itk

#endif
