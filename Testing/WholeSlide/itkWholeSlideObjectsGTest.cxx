/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BasicObjectMethods.h"
#include "itkPyramidTIFFConverter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkPyramidTIFFImageIOFactory.h"
#include "itkWholeSlideImageIO.h"
#include "itkWholeSlideImageIOFactory.h"

TEST(WholeSlide, BasicObjectMethods)
{
  EXPECT_BASIC_OBJECT_METHODS(PyramidTIFFConverter, ProcessObject, itk::PyramidTIFFConverter);
  EXPECT_BASIC_OBJECT_METHODS(PyramidTIFFImageIO, ImageIOBase, itk::PyramidTIFFImageIO);
  EXPECT_BASIC_OBJECT_METHODS(PyramidTIFFImageIOFactory, ObjectFactoryBase, itk::PyramidTIFFImageIOFactory);
  EXPECT_BASIC_OBJECT_METHODS(WholeSlideImageIO, ImageIOBase, itk::WholeSlideImageIO);
  EXPECT_BASIC_OBJECT_METHODS(WholeSlideImageIOFactory, ObjectFactoryBase, itk::WholeSlideImageIOFactory);
}
