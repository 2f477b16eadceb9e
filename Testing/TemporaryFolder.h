/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TemporaryFolder_h
#define TemporaryFolder_h

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace gigapixel
{
namespace test
{

/** A folder that no other test and no other run of the same test has, for they may run at the same time; gone at the
 * end. */
struct TemporaryFolder
{
  explicit TemporaryFolder(const std::string & name)
    : path((std::filesystem::temp_directory_path() / ("gigapixel-" + name + "-XXXXXX")).string())
  {
    if (!mkdtemp(path.data()))
    {
      throw std::runtime_error("no temporary folder");
    }
  }
  ~TemporaryFolder()
  {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  TemporaryFolder(const TemporaryFolder &) = delete;
  TemporaryFolder & operator=(const TemporaryFolder &) = delete;

  std::string
  File(const std::string & name) const
  {
    return path + '/' + name;
  }

  std::string path;
};

/** Empty where there is no such file. */
inline std::string
ReadAll(const std::string & path)
{
  std::ifstream     file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

} // namespace test
} // namespace gigapixel

#endif
