/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPlainMessage_h
#define gigapixelPlainMessage_h

#include "GigapixelSystemExport.h"

#include <string>

namespace gigapixel
{

/** The sentence of an ITK message, in one line: without the place in the sources, class and address that ITK puts
 * before it, and of the functions of its NRRD library that report each other's trouble only what the innermost says. */
GigapixelSystem_EXPORT std::string CleanMessage(const std::string & message);

/** The message for std::bad_alloc. */
constexpr const char * TooLittleMemory =
  "There is not enough memory for this; end other programs, or take less at once (--help tells by which options).";

} // namespace gigapixel

#endif
