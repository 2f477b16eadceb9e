/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkTissueThresholdImageFilter_hxx
#define itkTissueThresholdImageFilter_hxx

#include "gigapixelSpreadColor.h"
#include "itkGigapixelException.h"
#include "itkStreamedInput.h"
#include "itkTotalProgressReporter.h"

#include <algorithm>
#include <mutex>

namespace itk
{

template <typename TInputImage, typename TOutputImage>
TissueThresholdImageFilter<TInputImage, TOutputImage>::TissueThresholdImageFilter()
{
  this->DynamicMultiThreadingOn();
  this->ThreaderUpdateProgressOff();
}

template <typename TInputImage, typename TOutputImage>
void
TissueThresholdImageFilter<TInputImage, TOutputImage>::SetMethod(MethodType method)
{
  const int number = static_cast<int>(method);
  const int last = static_cast<int>(MethodType::BrightOnDark);
  if (number < 0 || number > last)
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-OPTION-VALUE",
                            "There is no method " + std::to_string(number) + "; there are 0 to " + std::to_string(last))
        .OfValue(std::to_string(number)));
  }
  if (m_Method != method)
  {
    m_Method = method;
    this->Modified();
  }
}

template <typename TInputImage, typename TOutputImage>
bool
TissueThresholdImageFilter<TInputImage, TOutputImage>::UpdateRule()
{
  if (m_RuleIsComplete && m_RuleTime.GetMTime() > std::max(this->GetMTime(), GetContentMTime(this->GetInput())))
  {
    return false;
  }
  m_RuleIsComplete = false;
  const bool counts = m_Method != MethodType::MeanBelow;
  m_Rule = gigapixel::MakeTissueRule(m_Method, counts ? this->CountWholeInput() : gigapixel::TissueHistogram());
  m_RuleTime.Modified();
  m_RuleIsComplete = true;
  return counts;
}

template <typename TInputImage, typename TOutputImage>
bool
TissueThresholdImageFilter<TInputImage, TOutputImage>::LooksAround() const
{
  return Channels == 3 && (m_Method == MethodType::Stain || m_Method == MethodType::BrownStain);
}

template <typename TInputImage, typename TOutputImage>
auto
TissueThresholdImageFilter<TInputImage, TOutputImage>::GetNeededRegion(OutputImageRegionType region) const
  -> OutputImageRegionType
{
  if (this->LooksAround())
  {
    region.PadByRadius(gigapixel::SpreadReach);
    region.Crop(this->GetInput()->GetLargestPossibleRegion());
  }
  return region;
}

template <typename TInputImage, typename TOutputImage>
void
TissueThresholdImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  auto * input = const_cast<TInputImage *>(this->GetInput());
  input->SetRequestedRegion(this->GetNeededRegion(this->GetOutput()->GetRequestedRegion()));
}

template <typename TInputImage, typename TOutputImage>
void
TissueThresholdImageFilter<TInputImage, TOutputImage>::BeforeThreadedGenerateData()
{
  m_ProgressOfRule = this->UpdateRule() ? 0.5f : 0.0f;
  if (m_ProgressOfRule > 0.0f)
  {
    // The pipeline brought the requested region before the count; bring it again.
    UpdateRegion(const_cast<TInputImage *>(this->GetInput()),
                 this->GetNeededRegion(this->GetOutput()->GetRequestedRegion()));
  }
}

template <typename TInputImage, typename TOutputImage>
gigapixel::TissueHistogram
TissueThresholdImageFilter<TInputImage, TOutputImage>::CountWholeInput()
{
  auto *     input = const_cast<TInputImage *>(this->GetInput());
  const auto count = [input](const ImageRegion<2> & region, gigapixel::TissueHistogram & histogram) {
    auto index = region.GetIndex();
    for (SizeValueType y = 0; y < region.GetSize(1); ++y, ++index[1])
    {
      const auto * row =
        reinterpret_cast<const unsigned char *>(input->GetBufferPointer() + input->ComputeOffset(index));
      gigapixel::CountPixels(row, region.GetSize(0), Channels, histogram);
    }
  };
  return CountWholeImage<gigapixel::TissueHistogram>(input, this, 0.5f, count);
}

template <typename TInputImage, typename TOutputImage>
void
TissueThresholdImageFilter<TInputImage, TOutputImage>::DynamicThreadedGenerateData(const OutputImageRegionType & region)
{
  const TInputImage * input = this->GetInput();
  TOutputImage *      output = this->GetOutput();
  const auto          getPixels = [input](const typename TInputImage::IndexType & index) {
    return reinterpret_cast<const unsigned char *>(input->GetBufferPointer() + input->ComputeOffset(index));
  };
  TotalProgressReporter progress(this, output->GetRequestedRegion().GetNumberOfPixels(), 100, 0.99f - m_ProgressOfRule);
  auto                  index = region.GetIndex();
  for (SizeValueType y = 0; y < region.GetSize(1); ++y, ++index[1])
  {
    gigapixel::ApplyTissueRule(
      m_Rule, getPixels(index), region.GetSize(0), Channels, output->GetBufferPointer() + output->ComputeOffset(index));
    progress.Completed(region.GetSize(0));
  }
  if (this->LooksAround())
  {
    const auto                   needed = this->GetNeededRegion(region);
    const gigapixel::PixelBlock  block{ getPixels(needed.GetIndex()),
                                       input->GetBufferedRegion().GetSize(0) * Channels,
                                       needed.GetSize(0),
                                       needed.GetSize(1) };
    const gigapixel::PixelWindow window{ static_cast<std::size_t>(region.GetIndex(0) - needed.GetIndex(0)),
                                         static_cast<std::size_t>(region.GetIndex(1) - needed.GetIndex(1)),
                                         region.GetSize(0),
                                         region.GetSize(1) };
    gigapixel::ClearSpreadColor(m_Rule,
                                block,
                                window,
                                output->GetBufferPointer() + output->ComputeOffset(region.GetIndex()),
                                output->GetBufferedRegion().GetSize(0));
  }
}

template <typename TInputImage, typename TOutputImage>
void
TissueThresholdImageFilter<TInputImage, TOutputImage>::AfterThreadedGenerateData()
{
  this->UpdateProgress(1.0f);
}

template <typename TInputImage, typename TOutputImage>
void
TissueThresholdImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Method: " << static_cast<int>(m_Method) << std::endl;
  os << indent << "Rule: glass " << m_Rule.glass[0] << " " << m_Rule.glass[1] << " " << m_Rule.glass[2] << ", stain "
     << m_Rule.stain << ", shade " << m_Rule.shade << ", brightest " << m_Rule.brightest << std::endl;
}

} // namespace itk

#endif
