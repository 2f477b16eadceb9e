/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkBinaryWindowImageFilter_hxx
#define itkBinaryWindowImageFilter_hxx

#include "itkTotalProgressReporter.h"

#include <algorithm>

namespace itk
{

template <typename TInputImage, typename TOutputImage>
BinaryWindowImageFilter<TInputImage, TOutputImage>::BinaryWindowImageFilter(gigapixel::BitWindow window)
  : m_Window(window)
{
  this->DynamicMultiThreadingOn();
  this->ThreaderUpdateProgressOff();
}

template <typename TInputImage, typename TOutputImage>
void
BinaryWindowImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  auto * input = const_cast<TInputImage *>(this->GetInput());
  auto   region = this->GetOutput()->GetRequestedRegion();
  region.PadByRadius(m_Radius);
  region.Crop(input->GetLargestPossibleRegion());
  input->SetRequestedRegion(region);
}

template <typename TInputImage, typename TOutputImage>
void
BinaryWindowImageFilter<TInputImage, TOutputImage>::DynamicThreadedGenerateData(const OutputImageRegionType & region)
{
  const TInputImage * input = this->GetInput();
  TOutputImage *      output = this->GetOutput();
  const auto          whole = input->GetLargestPossibleRegion();
  const std::size_t   inputStride = input->GetBufferedRegion().GetSize(0);
  const std::size_t   outputStride = output->GetBufferedRegion().GetSize(0);

  // ITK 5.2 adds the shares up in fixed point and wraps when rounding takes them past 1: stay below.
  TotalProgressReporter progress(this, output->GetRequestedRegion().GetNumberOfPixels(), 100, 0.99f);
  // A band at a time: its bits stay in the cache, and an abort is noticed between bands.
  constexpr SizeValueType rowsPerBand = 128;
  OutputImageRegionType   band = region;
  for (SizeValueType done = 0; done < region.GetSize(1); done += rowsPerBand)
  {
    progress.CheckAbortGenerateData();
    band.SetIndex(1, region.GetIndex(1) + static_cast<IndexValueType>(done));
    band.SetSize(1, std::min(rowsPerBand, region.GetSize(1) - done));

    auto needed = band;
    needed.PadByRadius(m_Radius);
    needed.Crop(whole);
    const gigapixel::PixelBlock  block{ input->GetBufferPointer() + input->ComputeOffset(needed.GetIndex()),
                                       inputStride,
                                       needed.GetSize(0),
                                       needed.GetSize(1) };
    const gigapixel::PixelWindow window{ static_cast<std::size_t>(band.GetIndex(0) - needed.GetIndex(0)),
                                         static_cast<std::size_t>(band.GetIndex(1) - needed.GetIndex(1)),
                                         band.GetSize(0),
                                         band.GetSize(1) };
    gigapixel::ApplyWindow(m_Window,
                           m_Radius,
                           block,
                           window,
                           output->GetBufferPointer() + output->ComputeOffset(band.GetIndex()),
                           outputStride);
    progress.Completed(band.GetNumberOfPixels());
  }
}

template <typename TInputImage, typename TOutputImage>
void
BinaryWindowImageFilter<TInputImage, TOutputImage>::AfterThreadedGenerateData()
{
  this->UpdateProgress(1.0f);
}

template <typename TInputImage, typename TOutputImage>
void
BinaryWindowImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Radius: " << m_Radius << std::endl;
}

} // namespace itk

#endif
