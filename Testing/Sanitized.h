/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Sanitized_h
#define Sanitized_h

#include <cstdlib>

#include <gtest/gtest.h>

namespace gigapixel_test
{

inline bool
IsSanitized()
{
  return std::getenv("GIGAPIXEL_SANITIZED") != nullptr;
}

} // namespace gigapixel_test

/** For tests of plans and measured memory: under Utilities/test-sanitizers what the sanitizer keeps, freed pieces above
 * all, is counted as the process's own. */
#define SKIP_WHERE_MEMORY_IS_SANITIZED()                                                                               \
  do                                                                                                                   \
  {                                                                                                                    \
    if (gigapixel_test::IsSanitized())                                                                                 \
    {                                                                                                                  \
      GTEST_SKIP() << "what the sanitizer keeps would be in the plan";                                                 \
    }                                                                                                                  \
  } while (false)

#endif
