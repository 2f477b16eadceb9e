/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlidePixels.h"

#include "itkWholeSlideImageIO.h"

#include <stdexcept>

namespace gigapixel
{

void
RequirePicture(const itk::WholeSlideImageIO & slide)
{
  const unsigned channels = slide.GetNumberOfComponents();
  if (slide.GetComponentType() != itk::IOComponentEnum::UCHAR || (channels != 1 && channels != 3))
  {
    throw std::runtime_error(std::string(slide.GetFileName()) + " has " + std::to_string(channels) +
                             (channels == 1 ? " channel of " : " channels of ") +
                             itk::ImageIOBase::GetComponentTypeAsString(slide.GetComponentType()) +
                             "; convert it to 8-bit gray or RGB first.");
  }
}

double
GetLevelZeroResolution(const itk::WholeSlideImageIO & slide)
{
  return slide.GetMicronsPerPixel() / slide.GetLevelDownsample(slide.GetLevel());
}

} // namespace gigapixel
