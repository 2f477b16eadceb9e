/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef itkGigapixelException_h
#define itkGigapixelException_h

#include "gigapixelDiagnostic.h"

#include "itkMacro.h"

#include <string>

namespace itk
{

/** \class GigapixelException
 * \brief An exception of ITK with the code, file, option, value, reason and remedy of a gigapixel::Diagnostic.
 *
 * The description is Diagnostic::GetText(). Modules with ITK throw it; the others throw gigapixel::Refusal.
 * \ingroup Gigapixel */
class GigapixelException
  : public ExceptionObject
  , public gigapixel::Diagnosed
{
public:
  /** \param file,line,location of the source, as ITK's macros know them \param diagnostic its text becomes the
   * description */
  GigapixelException(const char *                  file,
                     unsigned int                  line,
                     const gigapixel::Diagnostic & diagnostic,
                     const char *                  location)
    : ExceptionObject(std::string(file), line, gigapixel::Remember(diagnostic), std::string(location))
    , Diagnosed(diagnostic)
  {}
};

} // namespace itk

/** Throws a GigapixelException of the class that it stands in. */
#define itkGigapixelExceptionMacro(diagnostic)                                                                         \
  throw ::itk::GigapixelException(__FILE__, __LINE__, diagnostic, ITK_LOCATION)

#endif
