/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlidePixels.h"

#include "itkWholeSlideImageIO.h"

#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Gray or RGB, which each can be had as the other; three channels that are no colors are not. */
bool
IsPicture(const itk::WholeSlideImageIO & slide)
{
  return slide.GetPixelType() != itk::IOPixelEnum::VECTOR && slide.GetComponentType() == itk::IOComponentEnum::UCHAR;
}

} // namespace

void
RequirePicture(const itk::WholeSlideImageIO & slide)
{
  const unsigned channels = slide.GetNumberOfComponents();
  if (!IsPicture(slide))
  {
    throw std::runtime_error(std::string(slide.GetFileName()) + " has " + std::to_string(channels) +
                             (channels == 1 ? " channel of " : " channels of ") +
                             itk::ImageIOBase::GetComponentTypeAsString(slide.GetComponentType()) +
                             "; convert it to 8-bit gray or RGB first.");
  }
}

void
RequireChannels(const itk::WholeSlideImageIO & slide, unsigned channels)
{
  const unsigned given = slide.GetNumberOfComponents();
  const bool     isMade = IsPicture(slide) && (channels == 1 || channels == 3);
  if (given != channels && !isMade)
  {
    throw std::runtime_error(std::string(slide.GetFileName()) + " has " + std::to_string(given) +
                             (given == 1 ? " channel where " : " channels where ") + std::to_string(channels) +
                             (channels == 1 ? " is" : " are") +
                             " needed: convert it, or take a network of as many input channels.");
  }
  if (slide.GetComponentType() != itk::IOComponentEnum::UCHAR)
  {
    throw std::runtime_error(std::string(slide.GetFileName()) + " has samples of " +
                             itk::ImageIOBase::GetComponentTypeAsString(slide.GetComponentType()) +
                             ", and networks take those of 8 bits; convert it first.");
  }
}

double
GetLevelZeroResolution(const itk::WholeSlideImageIO & slide)
{
  return slide.GetMicronsPerPixel() / slide.GetLevelDownsample(slide.GetLevel());
}

} // namespace gigapixel
