/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelModel_h
#define itkGigapixelModel_h

#include "gigapixelModel.h"

namespace itk
{
/** The name of the engine's models in Python: itk.GigapixelModel. */
using GigapixelModel = gigapixel::Model;
} // namespace itk

#endif
