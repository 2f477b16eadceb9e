/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkTissueClassImageFilter_hxx
#define itkTissueClassImageFilter_hxx

#include "gigapixelUsableCores.h"
#include "itkStreamedInput.h"
#include "itkGigapixelException.h"
#include "itkTissuePixel.h"

#include <algorithm>
#include <exception>

namespace itk
{

template <typename TInputImage, typename TOutputImage>
TissueClassImageFilter<TInputImage, TOutputImage>::TissueClassImageFilter()
{
  this->AddOptionalInputName("Evidence");
  this->AddOptionalInputName("Hints");
}

template <typename TInputImage, typename TOutputImage>
bool
TissueClassImageFilter<TInputImage, TOutputImage>::ClassesAreCurrent() const
{
  const auto time = m_ClassesTime.GetMTime();
  const auto isOlder = [time](const DataObject * input) { return input == nullptr || time > GetContentMTime(input); };
  return m_ClassesAreComplete && time > this->GetMTime() && isOlder(this->GetInput()) && isOlder(this->GetEvidence()) &&
         isOlder(this->GetHints());
}

template <typename TInputImage, typename TOutputImage>
void
TissueClassImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  auto *     input = const_cast<TInputImage *>(this->GetInput());
  const bool isCurrent = this->ClassesAreCurrent();
  input->SetRequestedRegion(GetFirstStrip(input, isCurrent));
  for (const TOutputImage * other : { this->GetEvidence(), this->GetHints() })
  {
    if (auto * const image = const_cast<TOutputImage *>(other))
    {
      image->SetRequestedRegion(GetFirstStrip(image, isCurrent));
    }
  }
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

/** Work units are more than threads, and each tile that is computed at a time has its memory. */
template <typename TInputImage, typename TOutputImage>
void
TissueClassImageFilter<TInputImage, TOutputImage>::ReadClasses()
{
  auto *             input = const_cast<TInputImage *>(this->GetInput());
  auto *             evidence = const_cast<TOutputImage *>(this->GetEvidence());
  auto *             hints = const_cast<TOutputImage *>(this->GetHints());
  const auto         whole = input->GetLargestPossibleRegion();
  constexpr unsigned channels = TissuePixel<typename TInputImage::PixelType>::Channels;
  const auto         visitRows = [input](const ImageRegion<2> & region, const auto & visit) {
    auto index = region.GetIndex();
    for (SizeValueType y = 0; y < region.GetSize(1); ++y, ++index[1])
    {
      visit(reinterpret_cast<const unsigned char *>(input->GetBufferPointer() + input->ComputeOffset(index)), index);
    }
  };
  const auto count = [&](const ImageRegion<2> & region, gigapixel::ColorCounts & counts) {
    visitRows(region, [&](const unsigned char * row, const Index<2> &) {
      gigapixel::CountColors(row, region.GetSize(0), channels, counts);
    });
  };
  if (evidence != nullptr)
  {
    // All that it takes to know the first strip of it comes first, with a progress of its own.
    evidence->UpdateOutputInformation();
    UpdateRegion(evidence, GetFirstStrip(evidence, false));
  }
  if (hints != nullptr)
  {
    hints->UpdateOutputInformation();
  }
  const auto               counts = CountWholeImage<gigapixel::ColorCounts>(input, this, 0.2f, count);
  gigapixel::TissueNetwork network(
    gigapixel::TissueGrid{ whole.GetSize(0), whole.GetSize(1), channels, m_ShrinkFactor },
    counts,
    m_Model,
    gigapixel::CountThreads(this->GetNumberOfWorkUnits(), this->GetMultiThreader()->GetMaximumNumberOfThreads()));
  const auto advance = [this](float progress) {
    this->UpdateProgress(progress);
    if (this->GetAbortGenerateData())
    {
      throw ProcessAborted(__FILE__, __LINE__);
    }
  };
  VisitStrips(input, whole, GetRowsPerStrip(whole.GetSize(0)), [&](const ImageRegion<2> & strip, float share) {
    for (TOutputImage * const other : { evidence, hints })
    {
      if (other != nullptr)
      {
        UpdateRegion(other, strip);
      }
    }
    if (evidence != nullptr)
    {
      UpdateRegion(input, strip); // which the evidence may be made of, too
    }
    visitRows(strip, [&](const unsigned char * row, const Index<2> & index) {
      const auto rowOf = [&index](const TOutputImage * image) {
        return image == nullptr ? nullptr : image->GetBufferPointer() + image->ComputeOffset(index);
      };
      network.AddRow(row, rowOf(evidence), rowOf(hints));
    });
    advance(0.2f + 0.7f * share);
  });
  network.Finish([&](double share) { advance(0.9f + 0.1f * static_cast<float>(share)); });
  m_Classes = network.TakeClasses();
  m_ExpectedOverlap = network.GetExpectedOverlap();
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
