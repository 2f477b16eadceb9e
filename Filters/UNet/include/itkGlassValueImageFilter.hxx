/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGlassValueImageFilter_hxx
#define itkGlassValueImageFilter_hxx

#include "itkImageScanlineIterator.h"

#include <vector>

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
    itkExceptionMacro("no tissue: call SetTissue()");
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
void
GlassValueImageFilter<TImage>::GenerateInputRequestedRegion()
{
  Superclass::GenerateInputRequestedRegion();
  if (m_AskForGlass)
  {
    return;
  }
  auto *                     input = const_cast<TImage *>(this->GetInput());
  const auto &               first = input->GetLargestPossibleRegion().GetIndex();
  RegionType                 asked = input->GetRequestedRegion();
  std::vector<unsigned char> tissue;
  const gigapixel::Region    extent = m_Tissue->Read(this->ToWhole(asked), tissue);
  if (extent.width > 0)
  {
    asked.SetIndex({ { extent.x + first[0], extent.y + first[1] } });
    asked.SetSize({ { static_cast<SizeValueType>(extent.width), static_cast<SizeValueType>(extent.height) } });
  }
  else if (input->GetBufferedRegion().GetNumberOfPixels() > 0)
  {
    asked = input->GetBufferedRegion(); // is there, so that nothing is computed
  }
  else
  {
    asked.SetSize({ { 1, 1 } }); // readers take no empty region
  }
  input->SetRequestedRegion(asked);
}

template <typename TImage>
void
GlassValueImageFilter<TImage>::DynamicThreadedGenerateData(const RegionType & region)
{
  TImage *                   output = this->GetOutput();
  std::vector<unsigned char> tissue;
  const gigapixel::Region    extent = m_Tissue->Read(this->ToWhole(region), tissue);
  for (ImageScanlineIterator<TImage> to(output, region); !to.IsAtEnd(); to.NextLine())
  {
    for (; !to.IsAtEndOfLine(); ++to)
    {
      to.Set(m_GlassValue);
    }
  }
  if (extent.width == 0)
  {
    return;
  }
  const gigapixel::Region            whole = this->ToWhole(region);
  const auto &                       first = this->GetInput()->GetLargestPossibleRegion().GetIndex();
  const RegionType                   inner({ { extent.x + first[0], extent.y + first[1] } },
                         { { static_cast<SizeValueType>(extent.width), static_cast<SizeValueType>(extent.height) } });
  ImageScanlineConstIterator<TImage> from(this->GetInput(), inner);
  ImageScanlineIterator<TImage>      to(output, inner);
  for (std::int64_t y = extent.y - whole.y; !to.IsAtEnd(); to.NextLine(), from.NextLine(), ++y)
  {
    const unsigned char * isTissue = tissue.data() + y * whole.width + extent.x - whole.x;
    for (; !to.IsAtEndOfLine(); ++to, ++from, ++isTissue)
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
GlassValueImageFilter<TImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Tissue: " << (m_Tissue ? "(a mask)" : "(none)") << '\n';
  os << indent << "GlassValue: " << static_cast<typename NumericTraits<PixelType>::PrintType>(m_GlassValue) << '\n';
  os << indent << "AskForGlass: " << (m_AskForGlass ? "On" : "Off") << '\n';
}

} // namespace itk

#endif
