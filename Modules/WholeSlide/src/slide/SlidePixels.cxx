/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSlidePixels.h"

#include "gigapixelDiagnostic.h"

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

std::string
DescribePixels(const itk::WholeSlideImageIO & slide)
{
  const unsigned    channels = slide.GetNumberOfComponents();
  const auto        type = slide.GetComponentType();
  const bool        isFloat = type == itk::IOComponentEnum::FLOAT || type == itk::IOComponentEnum::DOUBLE;
  const std::string bits = std::to_string(8 * slide.GetComponentSize()) + " bit";
  return std::to_string(channels) + (channels == 1 ? " channel of " : " channels of ") + (isFloat ? "floats of " : "") +
         bits;
}

void
RequirePicture(const itk::WholeSlideImageIO & slide)
{
  if (!IsPicture(slide))
  {
    const bool isByte = slide.GetComponentType() == itk::IOComponentEnum::UCHAR;
    throw Refusal(Diagnostic("E-SLIDE-CHANNELS",
                             "it has " + DescribePixels(slide) + (isByte ? ", which are no colors" : ""),
                             "read it as a picture (--channel, --window, SetAsPicture())")
                    .OfFile(slide.GetFileName())
                    .OfValue(itk::ImageIOBase::GetComponentTypeAsString(slide.GetComponentType())));
  }
}

void
RequireChannels(const itk::WholeSlideImageIO & slide, unsigned channels, bool normalizes)
{
  using Type = itk::IOComponentEnum;
  const Type type = slide.GetComponentType();
  if (type != Type::UCHAR && type != Type::USHORT && type != Type::FLOAT)
  {
    throw Refusal(Diagnostic("E-SLIDE-CHANNELS",
                             "it has " + DescribePixels(slide) + " of the type " +
                               itk::ImageIOBase::GetComponentTypeAsString(type) +
                               ", and networks take unsigned ones of 8 or 16 bit, or floats of 32 bit",
                             "convert it to one of these")
                    .OfFile(slide.GetFileName())
                    .OfValue(itk::ImageIOBase::GetComponentTypeAsString(type)));
  }
  if (!normalizes && type != Type::UCHAR)
  {
    throw Refusal(Diagnostic("E-SLIDE-CHANNELS",
                             "it has " + DescribePixels(slide) + ", and the network takes 8 bit",
                             "choose channels and a window (--channel, --window, SetChannels(), SetWindow()), or train "
                             "a network with a normalization (unet:normalization=percentiles)")
                    .OfFile(slide.GetFileName())
                    .OfValue(itk::ImageIOBase::GetComponentTypeAsString(slide.GetComponentType())));
  }
  const unsigned given = slide.GetNumberOfComponents();
  const bool     isMade = IsPicture(slide) && (channels == 1 || (channels == 3 && !normalizes));
  if (given != channels && !isMade)
  {
    throw Refusal(Diagnostic("E-SLIDE-CHANNELS",
                             "it has " + std::to_string(given) + (given == 1 ? " channel where " : " channels where ") +
                               std::to_string(channels) + (channels == 1 ? " is" : " are") + " needed",
                             "choose channels (--channel, SetChannels()), or use a network of as many input channels")
                    .OfFile(slide.GetFileName())
                    .OfValue(std::to_string(given)));
  }
}

double
GetLevelZeroResolution(const itk::WholeSlideImageIO & slide)
{
  return slide.GetMicronsPerPixel() / slide.GetLevelDownsample(slide.GetLevel());
}

} // namespace gigapixel
