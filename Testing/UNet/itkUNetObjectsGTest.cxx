/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BasicObjectMethods.h"
#include "itkGigapixelClassifier.h"
#include "itkGigapixelNetworkImageFilter.h"
#include "itkGigapixelUNetImageFilter.h"
#include "itkGigapixelUNetTrainer.h"
#include "itkGlassValueImageFilter.h"
#include "itkSlideSegmentationImageSource.h"

namespace
{

using Gray = itk::Image<unsigned char, 2>;
using Volume = itk::Image<short, 3>;
using LabelVolume = itk::Image<unsigned char, 3>;

} // namespace

TEST(UNet, BasicObjectMethods)
{
  EXPECT_BASIC_OBJECT_METHODS(GigapixelClassifier, ProcessObject, itk::GigapixelClassifier);
  EXPECT_BASIC_OBJECT_METHODS(GigapixelUNetTrainer, ProcessObject, itk::GigapixelUNetTrainer);
  EXPECT_BASIC_OBJECT_METHODS(
    GigapixelNetworkImageFilter, ImageToImageFilter, itk::GigapixelNetworkImageFilter<Volume, LabelVolume>);
  EXPECT_BASIC_OBJECT_METHODS(GigapixelUNetImageFilter, ImageToImageFilter, itk::GigapixelUNetImageFilter<Gray>);
  EXPECT_BASIC_OBJECT_METHODS(GlassValueImageFilter, ImageToImageFilter, itk::GlassValueImageFilter<Gray>);
  EXPECT_BASIC_OBJECT_METHODS(SlideSegmentationImageSource, ImageSource, itk::SlideSegmentationImageSource<Gray>);
}
