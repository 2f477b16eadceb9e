/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DICOMReader_h
#define DICOMReader_h

#include "itkGDCMImageIOFactory.h"
#ifdef GIGAPIXEL_HAS_GDCM_TRACE
#  include "gdcmTrace.h"
#endif

namespace gigapixel::commandline
{

/** Makes ITK's reader of DICOM known, whose library else writes lines of its own to the standard error, with what
 * stands in files, of those that are read as well. */
inline void
RegisterDICOMReader()
{
#ifdef GIGAPIXEL_HAS_GDCM_TRACE
  gdcm::Trace::DebugOff();
  gdcm::Trace::WarningOff();
  gdcm::Trace::ErrorOff();
#endif
  itk::GDCMImageIOFactory::RegisterOneFactory();
}

} // namespace gigapixel::commandline

#endif
