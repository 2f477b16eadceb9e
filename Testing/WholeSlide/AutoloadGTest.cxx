/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// ITK_AUTOLOAD_PATH gives our readers to a program that was built without us.
#include "TIFFFixture.h"

#include <array>
#include <cstdio>
#include <stdexcept>

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

std::string
RunProgram(const std::string & command)
{
  FILE * const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr)
  {
    throw std::runtime_error("cannot run " + command);
  }
  std::string            output;
  std::array<char, 4096> buffer{};
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
  {
    output.append(buffer.data(), count);
  }
  EXPECT_EQ(pclose(pipe), 0) << command << '\n' << output;
  return output;
}

TEST(Autoload, ReadersComeInFrontOfITKs)
{
  PyramidOptions options;
  options.levels = 1; // ITK's reader reads this as well, but with another spacing
  const std::string path = TemporaryFile("autoload.tif");
  WritePyramid(path, options);
  const std::string program = READ_BY_FACTORY;
  const std::string file = " '" + path + "'";
  EXPECT_EQ(RunProgram("env -u ITK_AUTOLOAD_PATH " + program + file).find("TIFFImageIO"), 0u);
  EXPECT_EQ(RunProgram("env ITK_AUTOLOAD_PATH='" AUTOLOAD_FOLDER "' " + program + file),
            "WholeSlideImageIO [700, 500] 0.0005\n");
}

} // namespace
