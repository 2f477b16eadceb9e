/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ImageFormats.h"

#include "DicomProcess.h"
#include "itkGigapixelVolumeSource.h"
#include "itkJPEGImageIOFactory.h"
#include "itkMetaImageIOFactory.h"
#include "itkNiftiImageIOFactory.h"
#include "itkNrrdImageIOFactory.h"
#include "itkPNGImageIOFactory.h"
#include "itkTIFFImageIOFactory.h"

#include <mutex>

namespace gigapixel::application
{
namespace
{
void
RegisterFactories()
{
  itk::PNGImageIOFactory::RegisterOneFactory();
  itk::TIFFImageIOFactory::RegisterOneFactory();
  itk::NiftiImageIOFactory::RegisterOneFactory();
  itk::NrrdImageIOFactory::RegisterOneFactory();
  itk::MetaImageIOFactory::RegisterOneFactory();
  itk::JPEGImageIOFactory::RegisterOneFactory();
}
} // namespace

void
RegisterImageFormats()
{
  // ITK's list would have them once more for each command of a process, and ask all of them for each image.
  static std::once_flag registered;
  std::call_once(registered, RegisterFactories);
}

DicomReading::DicomReading()
{
  itk::GigapixelSetDicomLoader(&RegisterDicomProcess);
}

DicomReading::~DicomReading()
{
  itk::GigapixelSetDicomLoader([] {});
  ReleaseDicomProcess();
}

} // namespace gigapixel::application
