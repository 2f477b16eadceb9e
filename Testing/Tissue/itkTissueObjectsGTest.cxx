/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BasicObjectMethods.h"
#include "itkBinaryAreaOpeningImageFilter.h"
#include "itkBinaryDiscDilateImageFilter.h"
#include "itkBinaryDiscErodeImageFilter.h"
#include "itkBinaryHoleFillImageFilter.h"
#include "itkBinaryMajorityImageFilter.h"
#include "itkBlockMeanImageFilter.h"
#include "itkNearestUpsampleImageFilter.h"
#include "itkRGBPixel.h"
#include "itkTissueLabelImageFilter.h"
#include "itkTissueThresholdImageFilter.h"

namespace
{

using Mask = itk::Image<unsigned char, 2>;
using Color = itk::Image<itk::RGBPixel<unsigned char>, 2>;

} // namespace

TEST(Tissue, BasicObjectMethods)
{
  EXPECT_BASIC_OBJECT_METHODS(
    BinaryAreaOpeningImageFilter, RunLengthMaskImageFilter, itk::BinaryAreaOpeningImageFilter<Mask>);
  EXPECT_BASIC_OBJECT_METHODS(
    BinaryHoleFillImageFilter, RunLengthMaskImageFilter, itk::BinaryHoleFillImageFilter<Mask>);
  EXPECT_BASIC_OBJECT_METHODS(
    BinaryDiscDilateImageFilter, BinaryWindowImageFilter, itk::BinaryDiscDilateImageFilter<Mask>);
  EXPECT_BASIC_OBJECT_METHODS(
    BinaryDiscErodeImageFilter, BinaryWindowImageFilter, itk::BinaryDiscErodeImageFilter<Mask>);
  EXPECT_BASIC_OBJECT_METHODS(BinaryMajorityImageFilter, BinaryWindowImageFilter, itk::BinaryMajorityImageFilter<Mask>);
  EXPECT_BASIC_OBJECT_METHODS(BlockMeanImageFilter, ImageToImageFilter, itk::BlockMeanImageFilter<Color>);
  EXPECT_BASIC_OBJECT_METHODS(NearestUpsampleImageFilter, ImageToImageFilter, itk::NearestUpsampleImageFilter<Mask>);
  EXPECT_BASIC_OBJECT_METHODS(TissueLabelImageFilter, ImageToImageFilter, itk::TissueLabelImageFilter<Color>);
  EXPECT_BASIC_OBJECT_METHODS(TissueThresholdImageFilter, ImageToImageFilter, itk::TissueThresholdImageFilter<Color>);
}
