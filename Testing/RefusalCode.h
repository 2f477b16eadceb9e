/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef RefusalCode_h
#define RefusalCode_h

#include "gigapixelDiagnostic.h"

#include <gtest/gtest.h>

namespace gigapixel_test
{

/** The fields of what a call refuses. \return an empty diagnostic: the call refuses nothing */
template <typename TCall>
gigapixel::Diagnostic
FindRefusal(const TCall & call)
{
  try
  {
    call();
  }
  catch (const std::exception & error)
  {
    return gigapixel::Diagnostic::Of(error);
  }
  return {};
}

} // namespace gigapixel_test

/** Expects that a statement is refused with a code, such as "E-FILE-MISSING". */
#define EXPECT_REFUSAL(statement, expectedCode)                                                                        \
  EXPECT_EQ(gigapixel_test::FindRefusal([&] { statement; }).code, expectedCode)

#endif
