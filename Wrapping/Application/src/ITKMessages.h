/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ITKMessages_h
#define ITKMessages_h

#include "GigapixelApplicationExport.h"

#include "gigapixelDiagnostic.h"

#include <vector>

namespace gigapixel::application
{

/** The fields of what is being thrown: of ITK's exceptions without the source file and line that their what() begins
 * with. To be called where it is caught. */
GigapixelApplication_EXPORT Diagnostic DiagnoseThrown();

/** \class WarningCollector
 * \brief While it lives, keeps the warnings of ITK classes instead of showing them. */
class GigapixelApplication_EXPORT WarningCollector
{
public:
  WarningCollector();
  ~WarningCollector();
  WarningCollector(const WarningCollector &) = delete;
  WarningCollector & operator=(const WarningCollector &) = delete;

  std::vector<Diagnostic> GetWarnings() const;
};

} // namespace gigapixel::application

#endif
