/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ImageFormats.h"

#include "itkGigapixelVolumeSource.h"
#ifdef GIGAPIXEL_HAS_GDCM
#  include "DICOMReader.h"
#endif
#include "itkJPEGImageIOFactory.h"
#include "itkMetaImageIOFactory.h"
#include "itkNiftiImageIOFactory.h"
#include "itkNrrdImageIOFactory.h"
#include "itkPNGImageIOFactory.h"
#include "itkTIFFImageIOFactory.h"

#include <dlfcn.h>
#include <filesystem>
#include <stdexcept>

namespace gigapixel::commandline
{
namespace
{

/** A module of its own, since GDCM's libraries would take a third of the time that a command takes to begin, and double
 * its memory. Without the module series are refused as files of unknown formats are. */
[[maybe_unused]] void
LoadDICOM()
{
  Dl_info library{};
  dladdr(reinterpret_cast<const void *>(&RegisterImageFormats), &library);
  const auto folder = std::filesystem::weakly_canonical(library.dli_fname).parent_path();
  const auto path = folder / "ITKGigapixel" / "libGigapixelDICOM.so";
  if (!std::filesystem::exists(path))
  {
    return;
  }
  void * const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void * const address = module != nullptr ? dlsym(module, "GigapixelRegisterDICOM") : nullptr;
  if (address == nullptr)
  {
    const char * const reason = dlerror();
    throw std::runtime_error(
      "The module for DICOM series does not load: " + std::string(reason != nullptr ? reason : "unknown reason") +
      "; install the libraries that it was built with, or build again.");
  }
  reinterpret_cast<void (*)()>(address)();
}

} // namespace

void
RegisterImageFormats()
{
  itk::PNGImageIOFactory::RegisterOneFactory();
  itk::TIFFImageIOFactory::RegisterOneFactory();
  itk::NiftiImageIOFactory::RegisterOneFactory();
  itk::NrrdImageIOFactory::RegisterOneFactory();
  itk::MetaImageIOFactory::RegisterOneFactory();
  itk::JPEGImageIOFactory::RegisterOneFactory();
#ifdef GIGAPIXEL_HAS_GDCM // a static ITK, which a module would have another one of
  RegisterDICOMReader();
#else
  itk::GigapixelSetDicomLoader(&LoadDICOM);
#endif
}

} // namespace gigapixel::commandline
