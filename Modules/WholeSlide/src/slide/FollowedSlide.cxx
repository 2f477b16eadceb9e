/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFollowedSlide.h"

namespace gigapixel
{

void
FollowedSlide::Set(itk::WholeSlideImageIO * slide)
{
  m_Slide = slide;
  m_ReadTime = 0;
}

void
FollowedSlide::Read()
{
  if (m_Slide->GetMTime() == m_ReadTime)
  {
    return;
  }
  m_Slide->ReadImageInformation();
  m_ReadTime = m_Slide->GetMTime();
  m_Settings = Settings(m_Slide->GetFileName(),
                        m_Slide->GetContent(),
                        m_Slide->GetAssociatedImage(),
                        m_Slide->GetLevel(),
                        m_Slide->GetMicronsPerPixel(),
                        m_Slide->GetAsPicture(),
                        m_Slide->GetGray(),
                        m_Slide->GetGrayFromRGB(),
                        m_Slide->GetConvertToSRGB(),
                        m_Slide->GetStoredValues(),
                        m_Slide->GetPickPixels(),
                        m_Slide->GetUnscannedAsBackground(),
                        m_Slide->GetStrict());
}

bool
FollowedSlide::HasChanged()
{
  if (!this->IsSet())
  {
    return false;
  }
  this->Read();
  return m_Settings != m_Copied;
}

itk::WholeSlideImageIO::Pointer
FollowedSlide::Copy()
{
  this->Read();
  m_Copied = m_Settings;
  const auto copy = itk::WholeSlideImageIO::New();
  copy->CopySettings(*m_Slide);
  return copy;
}

} // namespace gigapixel
