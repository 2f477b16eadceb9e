/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelImages_h
#define itkGigapixelImages_h

#include "itkImage.h"
#include "itkRGBPixel.h"

// ITK's names in Python for what the trainer is fed with; its header has them as template parameters only.
using itkImageUC2 = itk::Image<unsigned char, 2>;
using itkImageRGBUC2 = itk::Image<itk::RGBPixel<unsigned char>, 2>;
using itkImageRegion2 = itk::ImageRegion<2>;

#endif
