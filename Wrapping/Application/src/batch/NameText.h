/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef NameText_h
#define NameText_h

#include "GigapixelApplicationExport.h"

#include <string>

namespace gigapixel::application
{

/** The name of a file as text that JSON can hold and that gives the name back: as it is where it is UTF-8, else
 * "bytes:" and its bytes, with all but ASCII as %XX. Old shares have names in Latin-1. */
GigapixelApplication_EXPORT std::string ToNameText(const std::string & name);

/** The way back. */
GigapixelApplication_EXPORT std::string FromNameText(const std::string & text);

} // namespace gigapixel::application

#endif
