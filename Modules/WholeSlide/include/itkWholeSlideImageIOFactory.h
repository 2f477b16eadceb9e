/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkWholeSlideImageIOFactory_h
#define itkWholeSlideImageIOFactory_h

#include "GigapixelWholeSlideExport.h"
#include "itkObjectFactoryBase.h"

namespace itk
{
/** \class WholeSlideImageIOFactory
 * \brief Makes itk::ImageFileReader read slides with itk::WholeSlideImageIO.
 *
 * RegisterOneFactory() puts it in FRONT of the other factories: behind them, ITK's own TIFF reader would take every
 * slide that is a TIFF. It is registered once, however often it is called.
 *
 * \ingroup IOFilters */
class GigapixelWholeSlide_EXPORT WholeSlideImageIOFactory : public ObjectFactoryBase
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(WholeSlideImageIOFactory);

  using Self = WholeSlideImageIOFactory;
  using Superclass = ObjectFactoryBase;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkFactorylessNewMacro(Self);
  itkTypeMacro(WholeSlideImageIOFactory, ObjectFactoryBase);

  const char * GetITKSourceVersion() const override;

  const char * GetDescription() const override;

  static void RegisterOneFactory(); ///< once, however often it is called

protected:
  WholeSlideImageIOFactory();
  ~WholeSlideImageIOFactory() override = default;
};
} // namespace itk

#endif
