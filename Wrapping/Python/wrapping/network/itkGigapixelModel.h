/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelModel_h
#define itkGigapixelModel_h

#include "gigapixelClassifier.h"
#include "gigapixelModel.h"
#include "itkGigapixelImageSource.h"
#include "itkGigapixelImages.h"

namespace itk
{
/** The name of the engine's models in Python: itk.GigapixelModel. */
using GigapixelModel = gigapixel::Model;
} // namespace itk

#endif
