/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TestData_h
#define TestData_h

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace gigapixel_test
{

/** Path of a real slide below GIGAPIXEL_TEST_DATA (an error if the file is not there); empty where that is not set. */
inline std::string
RealSlide(const std::string & relativePath)
{
  // Environment variable GIGAPIXEL_TEST_DATA: The folder of real slides for the tests. Tests that need them are skipped
  // without it.
  const char * const folder = std::getenv("GIGAPIXEL_TEST_DATA");
  if (folder == nullptr)
  {
    return {};
  }
  const std::filesystem::path file = std::filesystem::path(folder) / relativePath;
  if (!std::filesystem::exists(file))
  {
    throw std::runtime_error("GIGAPIXEL_TEST_DATA is set, but there is no " + file.string());
  }
  return file.string();
}

} // namespace gigapixel_test

/** Skips the test, saying which slide it wanted, where there are no real slides. */
#define GIGAPIXEL_REAL_SLIDE(variable, relativePath)                                                                   \
  const std::string variable = gigapixel_test::RealSlide(relativePath);                                                \
  if (variable.empty())                                                                                                \
  GTEST_SKIP() << "no real slides here: " << (relativePath) << " (set GIGAPIXEL_TEST_DATA)"

#endif
