/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkRunLengthMaskImageFilter_hxx
#define itkRunLengthMaskImageFilter_hxx

#include "itkStreamedInput.h"

#include <algorithm>

namespace itk
{

template <typename TInputImage, typename TOutputImage>
bool
RunLengthMaskImageFilter<TInputImage, TOutputImage>::MaskIsCurrent() const
{
  return m_MaskIsComplete && m_MaskTime.GetMTime() > std::max(this->GetMTime(), GetContentMTime(this->GetInput()));
}

template <typename TInputImage, typename TOutputImage>
void
RunLengthMaskImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  auto * input = const_cast<TInputImage *>(this->GetInput());
  input->SetRequestedRegion(GetFirstStrip(input, this->MaskIsCurrent()));
}

template <typename TInputImage, typename TOutputImage>
void
RunLengthMaskImageFilter<TInputImage, TOutputImage>::ReadMask()
{
  auto *     input = const_cast<TInputImage *>(this->GetInput());
  const auto whole = input->GetLargestPossibleRegion();

  m_MaskIsComplete = false;
  m_Mask.Reset(whole.GetSize(0));
  VisitStrips(input, whole, GetRowsPerStrip(whole.GetSize(0)), [&](const ImageRegion<2> & strip, float share) {
    const unsigned char * row = input->GetBufferPointer() + input->ComputeOffset(strip.GetIndex());
    for (SizeValueType y = 0; y < strip.GetSize(1); ++y)
    {
      m_Mask.AppendRow(row);
      row += input->GetBufferedRegion().GetSize(0);
    }
    this->UpdateProgress(0.9f * share);
    if (this->GetAbortGenerateData())
    {
      throw ProcessAborted(__FILE__, __LINE__);
    }
  });
  this->ChangeMask(m_Mask);
  m_MaskTime.Modified();
  m_MaskIsComplete = true;
}

template <typename TInputImage, typename TOutputImage>
void
RunLengthMaskImageFilter<TInputImage, TOutputImage>::GenerateData()
{
  if (!this->MaskIsCurrent())
  {
    this->ReadMask();
  }
  this->AllocateOutputs();
  TOutputImage *    output = this->GetOutput();
  const auto        start = this->GetInput()->GetLargestPossibleRegion().GetIndex();
  const std::size_t stride = output->GetBufferedRegion().GetSize(0);
  this->GetMultiThreader()->SetNumberOfWorkUnits(this->GetNumberOfWorkUnits());
  this->GetMultiThreader()->template ParallelizeImageRegion<2>(
    output->GetRequestedRegion(),
    [&](const OutputImageRegionType & region) {
      unsigned char * row = output->GetBufferPointer() + output->ComputeOffset(region.GetIndex());
      for (SizeValueType y = 0; y < region.GetSize(1); ++y, row += stride)
      {
        m_Mask.PaintRow(static_cast<std::size_t>(region.GetIndex(1) - start[1]) + y,
                        static_cast<std::size_t>(region.GetIndex(0) - start[0]),
                        region.GetSize(0),
                        row);
      }
    },
    nullptr);
  this->UpdateProgress(1.0f);
}

template <typename TInputImage, typename TOutputImage>
void
RunLengthMaskImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Bytes of runs kept: " << (m_MaskIsComplete ? m_Mask.GetMemory() : 0) << std::endl;
}

} // namespace itk

#endif
