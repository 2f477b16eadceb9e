/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkObjectFactoryBase.h"
#include "itkPyramidTIFFImageIOFactory.h"
#include "itkVersion.h"
#include "itkWholeSlideImageIOFactory.h"

// Environment variable ITK_AUTOLOAD_PATH: Set it to `lib/ITKGigapixel/autoload`, and any ITK program reads
// slides.
namespace
{

/** What ITK wants of a library in ITK_AUTOLOAD_PATH: a factory, which it registers at the back. There, ITK's own TIFF
 * reader would come first; so this one makes nothing, and itkLoad() registers ours in front. */
class AutoloadFactory : public itk::ObjectFactoryBase
{
public:
  using Self = AutoloadFactory;
  using Superclass = itk::ObjectFactoryBase;
  using Pointer = itk::SmartPointer<Self>;
  itkFactorylessNewMacro(Self);
  itkTypeMacro(AutoloadFactory, ObjectFactoryBase);

  const char *
  GetITKSourceVersion() const override
  {
    return ITK_SOURCE_VERSION;
  }
  const char *
  GetDescription() const override
  {
    return "Brings the readers and writers of ITKGigapixel";
  }
};

} // namespace

extern "C" GigapixelWholeSlide_EXPORT itk::ObjectFactoryBase * itkLoad();

itk::ObjectFactoryBase *
itkLoad()
{
  itk::PyramidTIFFImageIOFactory::RegisterOneFactory();
  itk::WholeSlideImageIOFactory::RegisterOneFactory();
  static const AutoloadFactory::Pointer factory = AutoloadFactory::New();
  return factory;
}
