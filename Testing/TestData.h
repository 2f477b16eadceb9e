/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TestData_h
#define TestData_h

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace gigapixel_test
{

/** Path of a real slide: below GIGAPIXEL_TEST_DATA if that is set (an error if the file is not there), else below
 * ../shared/data beside the checkout; empty where there are no real slides. */
inline std::string
RealSlide(const std::string & relativePath)
{
  namespace fs = std::filesystem;
  if (const char * folder = std::getenv("GIGAPIXEL_TEST_DATA"))
  {
    const fs::path file = fs::path(folder) / relativePath;
    if (!fs::exists(file))
    {
      throw std::runtime_error("GIGAPIXEL_TEST_DATA is set, but there is no " + file.string());
    }
    return file.string();
  }
  const fs::path file = fs::path(GIGAPIXEL_SOURCE_DIR) / ".." / "shared" / "data" / relativePath;
  return fs::exists(file) ? file.string() : std::string();
}

} // namespace gigapixel_test

/** Skips the test, saying which slide it wanted, where there are no real slides. */
#define GIGAPIXEL_REAL_SLIDE(variable, relativePath)                                                                   \
  const std::string variable = gigapixel_test::RealSlide(relativePath);                                                \
  if (variable.empty())                                                                                                \
  GTEST_SKIP() << "no real slides here: " << (relativePath) << " (set GIGAPIXEL_TEST_DATA)"

#endif
