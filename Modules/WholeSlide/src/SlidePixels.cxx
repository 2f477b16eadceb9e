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

void
LinkDamage(const itk::WholeSlideImageIO & slide, itk::Object & image)
{
  itk::MetaDataDictionary   ofSlide = slide.GetMetaDataDictionary();
  itk::MetaDataDictionary & ofImage = image.GetMetaDataDictionary();
  for (const char * const key : { "gigapixel.damaged-tiles", RecordedDamageKey })
  {
    if (ofSlide.HasKey(key))
    {
      ofImage.Set(key, ofSlide[key]); // the reader's own object
    }
  }
}

} // namespace gigapixel
