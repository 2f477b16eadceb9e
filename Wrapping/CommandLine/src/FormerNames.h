/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef FormerNames_h
#define FormerNames_h

#include "gigapixelArgument.h"
#include "gigapixelDiagnostic.h"

#include <string>
#include <vector>

namespace gigapixel::commandline
{

/** The words of a command line with the present names of options in place of those that they had in the version before.
 * \param warnings gets one for each \throw UsageError a value that the former option did not have */
std::vector<std::string> ReplaceFormerNames(const application::Command &     command,
                                            const std::vector<std::string> & words,
                                            std::vector<Diagnostic> &        warnings);

} // namespace gigapixel::commandline

#endif
