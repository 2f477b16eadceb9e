/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkTissueClassImageFilter_hxx
#define itkTissueClassImageFilter_hxx

#include "itkStreamedInput.h"
#include "itkGigapixelException.h"
#include "itkTissueSample.h"

#include <algorithm>
#include <exception>

namespace itk
{

template <typename TInputImage, typename TOutputImage>
TissueClassImageFilter<TInputImage, TOutputImage>::TissueClassImageFilter()
  : m_Rule(RuleFilterType::New())
{
  m_Rule->SetMethod(gigapixel::TissueMethod::Stain);
  // Half of the work of the rule's filter is its count, and the count is half of this filter's.
  m_Rule->AddObserver(ProgressEvent(), [this](const EventObject &) {
    if (!m_ClassesAreComplete && m_Rule->GetProgress() > this->GetProgress())
    {
      this->UpdateProgress(std::min(0.5f, m_Rule->GetProgress()));
    }
    m_Rule->SetAbortGenerateData(this->GetAbortGenerateData());
  });
}

template <typename TInputImage, typename TOutputImage>
bool
TissueClassImageFilter<TInputImage, TOutputImage>::ClassesAreCurrent() const
{
  return m_ClassesAreComplete &&
         m_ClassesTime.GetMTime() > std::max(this->GetMTime(), GetContentMTime(this->GetInput()));
}

template <typename TInputImage, typename TOutputImage>
void
TissueClassImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  auto * input = const_cast<TInputImage *>(this->GetInput());
  input->SetRequestedRegion(GetFirstStrip(input, this->ClassesAreCurrent()));
}

template <typename TInputImage, typename TOutputImage>
bool
TissueClassImageFilter<TInputImage, TOutputImage>::UpdateClasses()
{
  if (this->ClassesAreCurrent())
  {
    return false;
  }
  m_ClassesAreComplete = false;
  try
  {
    this->ReadClasses();
  }
  catch (const ExceptionObject &)
  {
    throw;
  }
  catch (const std::exception & failure)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(failure));
  }
  m_ClassesTime.Modified();
  m_ClassesAreComplete = true;
  return true;
}

template <typename TInputImage, typename TOutputImage>
void
TissueClassImageFilter<TInputImage, TOutputImage>::ChooseRule()
{
  const auto sample = SampleTissue(const_cast<TInputImage *>(this->GetInput()));
  m_Rule->SetInput(this->GetInput());
  m_Rule->SetNumberOfWorkUnits(this->GetNumberOfWorkUnits());
  m_Rule->SetMethod(gigapixel::IsBrown(sample) ? gigapixel::TissueMethod::BrownStain : gigapixel::TissueMethod::Stain);
  m_Rule->UpdateOutputInformation();
  m_Rule->UpdateRule();
}

template <typename TInputImage, typename TOutputImage>
void
TissueClassImageFilter<TInputImage, TOutputImage>::ReadClasses()
{
  this->ChooseRule();
  const auto *             input = this->GetInput();
  TOutputImage *           mask = m_Rule->GetOutput();
  const auto               whole = input->GetLargestPossibleRegion();
  constexpr unsigned       channels = TissuePixel<typename TInputImage::PixelType>::Channels;
  gigapixel::TissueNetwork network(whole.GetSize(0),
                                   whole.GetSize(1),
                                   channels,
                                   m_ShrinkFactor,
                                   m_Rule->GetRule(),
                                   m_Model,
                                   static_cast<int>(this->GetNumberOfWorkUnits()));
  VisitStrips(mask, whole, GetRowsPerStrip(whole.GetSize(0)), [&](const ImageRegion<2> & strip, float share) {
    auto index = strip.GetIndex();
    for (SizeValueType y = 0; y < strip.GetSize(1); ++y, ++index[1])
    {
      network.AddRow(reinterpret_cast<const unsigned char *>(input->GetBufferPointer() + input->ComputeOffset(index)),
                     mask->GetBufferPointer() + mask->ComputeOffset(index));
    }
    this->UpdateProgress(0.5f + 0.4f * share);
    if (this->GetAbortGenerateData())
    {
      throw ProcessAborted(__FILE__, __LINE__);
    }
  });
  mask->ReleaseData();
  m_Classes = network.TakeClasses();
}

template <typename TInputImage, typename TOutputImage>
void
TissueClassImageFilter<TInputImage, TOutputImage>::GenerateData()
{
  this->UpdateClasses();
  this->AllocateOutputs();
  TOutputImage * output = this->GetOutput();
  const auto     start = this->GetInput()->GetLargestPossibleRegion().GetIndex();
  const auto     region = output->GetRequestedRegion();
  auto           index = region.GetIndex();
  for (SizeValueType y = 0; y < region.GetSize(1); ++y, ++index[1])
  {
    m_Classes.PaintRow(static_cast<std::size_t>(index[1] - start[1]),
                       static_cast<std::size_t>(index[0] - start[0]),
                       region.GetSize(0),
                       { { 0, 255, 0, 0 } },
                       output->GetBufferPointer() + output->ComputeOffset(index));
  }
  this->UpdateProgress(1.0f);
}

template <typename TInputImage, typename TOutputImage>
void
TissueClassImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Model: " << m_Model << std::endl;
  os << indent << "ShrinkFactor: " << m_ShrinkFactor << std::endl;
}

} // namespace itk

#endif
