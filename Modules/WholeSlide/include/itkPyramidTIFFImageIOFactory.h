/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkPyramidTIFFImageIOFactory_h
#define itkPyramidTIFFImageIOFactory_h

#include "GigapixelWholeSlideExport.h"
#include "itkObjectFactoryBase.h"

namespace itk
{
/** \class PyramidTIFFImageIOFactory
 * \brief Makes itk::ImageFileWriter write files named *.pyramid.tif with itk::PyramidTIFFImageIO.
 *
 * RegisterOneFactory() puts it in FRONT of the other factories: behind them, ITK's own TIFF writer would take the name
 * for its .tif. It is registered once, however often it is called.
 *
 * \ingroup IOFilters */
class GigapixelWholeSlide_EXPORT PyramidTIFFImageIOFactory : public ObjectFactoryBase
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(PyramidTIFFImageIOFactory);

  using Self = PyramidTIFFImageIOFactory;
  using Superclass = ObjectFactoryBase;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkFactorylessNewMacro(Self);
  itkTypeMacro(PyramidTIFFImageIOFactory, ObjectFactoryBase);

  const char * GetITKSourceVersion() const override;

  const char * GetDescription() const override;

  static void RegisterOneFactory(); ///< in front of the other factories; once, however often it is called

protected:
  PyramidTIFFImageIOFactory();
  ~PyramidTIFFImageIOFactory() override = default;
};
} // namespace itk

#endif
