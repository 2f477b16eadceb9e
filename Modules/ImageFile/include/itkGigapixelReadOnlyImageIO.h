/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelReadOnlyImageIO_h
#define itkGigapixelReadOnlyImageIO_h

#include "itkImageIOBase.h"

namespace itk
{

/** \class GigapixelReadOnlyImageIO
 * \brief A reader of a format that is written in another way, or not at all. */
class GigapixelReadOnlyImageIO : public ImageIOBase
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(GigapixelReadOnlyImageIO);

  bool
  CanWriteFile(const char *) override
  {
    return false;
  }

  void
  WriteImageInformation() override
  {}

  void
  Write(const void *) override
  {}

protected:
  GigapixelReadOnlyImageIO() = default;
  ~GigapixelReadOnlyImageIO() override = default;
};

} // namespace itk

#endif
