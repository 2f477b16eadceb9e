/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGlassValueImageFilter_hxx
#define itkGlassValueImageFilter_hxx

#include "itkImageScanlineIterator.h"
#include "itkGigapixelException.h"

#include <stdexcept>

namespace itk
{

template <typename TImage>
GlassValueImageFilter<TImage>::GlassValueImageFilter()
{
  this->DynamicMultiThreadingOn();
}

template <typename TImage>
void
GlassValueImageFilter<TImage>::SetTissue(std::shared_ptr<const gigapixel::TissueMask> tissue)
{
  m_Tissue = std::move(tissue);
  this->Modified();
}

template <typename TImage>
void
GlassValueImageFilter<TImage>::VerifyPreconditions() const
{
  Superclass::VerifyPreconditions();
  if (!m_Tissue)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-CALL-ORDER", "no tissue", "call SetTissue()"));
  }
}

template <typename TImage>
void
GlassValueImageFilter<TImage>::VerifyInputInformation() const
{
  Superclass::VerifyInputInformation();
  const auto &          size = this->GetInput()->GetLargestPossibleRegion().GetSize();
  const gigapixel::Size expected = m_Tissue->GetSize();
  if (static_cast<std::int64_t>(size[0]) != expected.width || static_cast<std::int64_t>(size[1]) != expected.height)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-MASK-GRID",
                                                     "the tissue mask is made for an image of " +
                                                       std::to_string(expected.width) + " x " +
                                                       std::to_string(expected.height) + " pixels, and the input has " +
                                                       std::to_string(size[0]) + " x " + std::to_string(size[1]),
                                                     "call SetTissue() with its own"));
  }
}

template <typename TImage>
gigapixel::Region
GlassValueImageFilter<TImage>::ToWhole(const RegionType & region) const
{
  const auto & first = this->GetInput()->GetLargestPossibleRegion().GetIndex();
  return { region.GetIndex(0) - first[0],
           region.GetIndex(1) - first[1],
           static_cast<std::int64_t>(region.GetSize(0)),
           static_cast<std::int64_t>(region.GetSize(1)) };
}

template <typename TImage>
typename GlassValueImageFilter<TImage>::RegionType
GlassValueImageFilter<TImage>::ReadTissue(const RegionType & region)
{
  try
  {
    const gigapixel::Region extent = m_Tissue->Read(this->ToWhole(region), m_IsTissue);
    const auto &            first = this->GetInput()->GetLargestPossibleRegion().GetIndex();
    return RegionType({ { extent.x + first[0], extent.y + first[1] } },
                      { { static_cast<SizeValueType>(extent.width), static_cast<SizeValueType>(extent.height) } });
  }
  catch (const std::runtime_error & unreadable)
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic::Of(unreadable));
  }
}

template <typename TImage>
void
GlassValueImageFilter<TImage>::GenerateInputRequestedRegion()
{
  Superclass::GenerateInputRequestedRegion();
  if (m_AskForGlass)
  {
    return;
  }
  auto *     input = const_cast<TImage *>(this->GetInput());
  RegionType asked = input->GetRequestedRegion();
  if (const RegionType extent = this->ReadTissue(asked); extent.GetNumberOfPixels() > 0)
  {
    asked = extent;
  }
  else
  {
    asked.SetSize({ { 1, 1 } }); // readers take no empty region
  }
  input->SetRequestedRegion(asked);
}

template <typename TImage>
void
GlassValueImageFilter<TImage>::BeforeThreadedGenerateData()
{
  m_Extent = this->ReadTissue(this->GetOutput()->GetRequestedRegion()); // here: ITK loses what its threads throw
}

template <typename TImage>
void
GlassValueImageFilter<TImage>::DynamicThreadedGenerateData(const RegionType & region)
{
  TImage * output = this->GetOutput();
  for (ImageScanlineIterator<TImage> to(output, region); !to.IsAtEnd(); to.NextLine())
  {
    for (; !to.IsAtEndOfLine(); ++to)
    {
      to.Set(m_GlassValue);
    }
  }
  RegionType inner = region;
  if (m_Extent.GetNumberOfPixels() == 0 || !inner.Crop(m_Extent))
  {
    return;
  }
  const RegionType &    whole = output->GetRequestedRegion();
  const auto            width = static_cast<OffsetValueType>(whole.GetSize(0));
  const unsigned char * row =
    m_IsTissue.data() + (inner.GetIndex(1) - whole.GetIndex(1)) * width + inner.GetIndex(0) - whole.GetIndex(0);
  ImageScanlineConstIterator<TImage> from(this->GetInput(), inner);
  ImageScanlineIterator<TImage>      to(output, inner);
  for (; !to.IsAtEnd(); to.NextLine(), from.NextLine(), row += width)
  {
    for (const unsigned char * isTissue = row; !to.IsAtEndOfLine(); ++to, ++from, ++isTissue)
    {
      if (*isTissue != 0)
      {
        to.Set(from.Get());
      }
    }
  }
}

template <typename TImage>
void
GlassValueImageFilter<TImage>::AfterThreadedGenerateData()
{
  std::vector<unsigned char>().swap(m_IsTissue);
}

template <typename TImage>
void
GlassValueImageFilter<TImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Tissue: " << (m_Tissue ? "(a mask)" : "(none)") << '\n';
  os << indent << "GlassValue: " << static_cast<typename NumericTraits<PixelType>::PrintType>(m_GlassValue) << '\n';
  os << indent << "AskForGlass: " << (m_AskForGlass ? "On" : "Off") << '\n';
}

} // namespace itk

#endif
