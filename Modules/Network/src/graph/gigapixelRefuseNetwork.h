/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRefuseNetwork_h
#define gigapixelRefuseNetwork_h

#include "gigapixelDiagnostic.h"

#include <string>

namespace gigapixel
{

/** Refuses the description of a network. */
[[noreturn]] inline void
Refuse(const std::string & reason, const char * code = "E-NETWORK-FORMAT")
{
  throw InvalidArgument(Diagnostic(code, reason));
}

} // namespace gigapixel

#endif
