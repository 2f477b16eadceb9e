/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFileRefusal_h
#define gigapixelFileRefusal_h

#include "GigapixelSystemExport.h"

#include <string>
#include <system_error>

namespace gigapixel
{

struct Diagnostic;

/** What to do where the system refuses a file for a reason that lies outside of it, e.g. "allow this process more open
 * files (ulimit -n)": rights that are missing, limits on the number and the size of files.
 * \param otherwise for all other reasons */
GigapixelSystem_EXPORT std::string GetFileRemedy(const std::error_code & error, const std::string & otherwise = {});

/** "Permission denied; get the right to use it (...)": the system's words, and GetFileRemedy() where there is one. */
GigapixelSystem_EXPORT std::string DescribeFileRefusal(const std::error_code & error);

/** The same of errno, right behind the call that failed. */
GigapixelSystem_EXPORT std::string DescribeLastFileRefusal();

/** The code of an output that the system refuses to make or to write: E-DISK-FULL, else E-OUTPUT-WRITE. */
GigapixelSystem_EXPORT const char * GetWritingCode(const std::error_code & error);

/** E-FILE-MISSING of a file that is not there. */
GigapixelSystem_EXPORT Diagnostic DescribeMissingFile(const std::string & file);

/** \throw Refusal E-FILE-MISSING, or E-FILE-ACCESS with the system's reason */
GigapixelSystem_EXPORT void RequireReadable(const std::string & file);

} // namespace gigapixel

#endif
