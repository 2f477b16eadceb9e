/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkWholeSlideImageIOFactory.h"

#include "itkCreateObjectFunction.h"
#include "itkVersion.h"
#include "itkWholeSlideImageIO.h"

#include <mutex>

namespace itk
{

WholeSlideImageIOFactory::WholeSlideImageIOFactory()
{
  this->RegisterOverride("itkImageIOBase",
                         "itkWholeSlideImageIO",
                         "Whole-slide images",
                         true,
                         CreateObjectFunction<WholeSlideImageIO>::New());
}

const char *
WholeSlideImageIOFactory::GetITKSourceVersion() const
{
  return ITK_SOURCE_VERSION;
}

const char *
WholeSlideImageIOFactory::GetDescription() const
{
  return "Reads whole-slide images (itk::WholeSlideImageIO)";
}

void
WholeSlideImageIOFactory::RegisterOneFactory()
{
  static std::mutex                 mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  for (ObjectFactoryBase * const factory : ObjectFactoryBase::GetRegisteredFactories())
  {
    if (dynamic_cast<WholeSlideImageIOFactory *>(factory) != nullptr)
    {
      return;
    }
  }
  const auto factory = WholeSlideImageIOFactory::New();
  ObjectFactoryBase::RegisterFactory(factory, ObjectFactoryBase::InsertionPositionEnum::INSERT_AT_FRONT);
}

/** What ITK's build calls where this project is one of its modules. */
void GigapixelWholeSlide_EXPORT
WholeSlideImageIOFactoryRegister__Private()
{
  WholeSlideImageIOFactory::RegisterOneFactory();
}

} // namespace itk
