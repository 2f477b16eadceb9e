/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkPyramidTIFFImageIOFactory.h"
#include "itkPyramidTIFFImageIO.h"

#include "itkCreateObjectFunction.h"
#include "itkVersion.h"

namespace itk
{
PyramidTIFFImageIOFactory::PyramidTIFFImageIOFactory()
{
  this->RegisterOverride("itkImageIOBase",
                         "itkPyramidTIFFImageIO",
                         "Writes tiled BigTIFF pyramids",
                         true,
                         CreateObjectFunction<PyramidTIFFImageIO>::New());
}

const char *
PyramidTIFFImageIOFactory::GetITKSourceVersion() const
{
  return ITK_SOURCE_VERSION;
}

const char *
PyramidTIFFImageIOFactory::GetDescription() const
{
  return "Writes *.pyramid.tif as tiled BigTIFF pyramids that slide viewers open";
}

void
PyramidTIFFImageIOFactory::RegisterOneFactory()
{
  for (ObjectFactoryBase * factory : ObjectFactoryBase::GetRegisteredFactories())
  {
    if (dynamic_cast<Self *>(factory))
    {
      return;
    }
  }
  ObjectFactoryBase::RegisterFactory(Self::New(), InsertionPositionEnum::INSERT_AT_FRONT);
}

/** What ITK's build calls where this project is one of its modules. */
void GigapixelWholeSlide_EXPORT
PyramidTIFFImageIOFactoryRegister__Private()
{
  PyramidTIFFImageIOFactory::RegisterOneFactory();
}
} // namespace itk
