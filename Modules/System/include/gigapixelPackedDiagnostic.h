/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPackedDiagnostic_h
#define gigapixelPackedDiagnostic_h

#include "gigapixelDiagnostic.h"

namespace gigapixel
{

/** All fields in one text, for another process. \return empty: it is empty */
GigapixelSystem_EXPORT std::string PackDiagnostic(const Diagnostic & diagnostic);

/** \param text of PackDiagnostic(), else of anything: Diagnostic::OfText() */
GigapixelSystem_EXPORT Diagnostic UnpackDiagnostic(const std::string & text, const std::string & otherwise);

} // namespace gigapixel

#endif
