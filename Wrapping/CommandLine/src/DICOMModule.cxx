/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "DICOMReader.h"

/** The module's only function: makes ITK's reader of DICOM known. */
extern "C" __attribute__((visibility("default"))) void
GigapixelRegisterDICOM()
{
  gigapixel::commandline::RegisterDICOMReader();
}
