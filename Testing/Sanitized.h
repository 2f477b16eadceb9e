/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Sanitized_h
#define Sanitized_h

#include <cstdlib>

namespace gigapixel_test
{

/** Whether Utilities/test-sanitizers runs the tests: what sanitizers keep in memory, freed pieces above all, is counted
 * as the process's own then, so that a plan beside it needs more than ours. */
inline bool
IsSanitized()
{
  return std::getenv("GIGAPIXEL_SANITIZED") != nullptr;
}

} // namespace gigapixel_test

#endif
