/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFileRefusal.h"

#include "gigapixelDiagnostic.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

namespace gigapixel
{

std::string
GetFileRemedy(const std::error_code & error, const std::string & otherwise)
{
  if (error == std::errc::permission_denied || error == std::errc::operation_not_permitted)
  {
    return "get the right to use it (ls -ld tells who has it, of the file and of each folder above)";
  }
  if (error == std::errc::too_many_files_open)
  {
    return "allow this process more open files (ulimit -n)";
  }
  if (error == std::errc::too_many_files_open_in_system)
  {
    return "end other programs, as the whole system has no more files to open";
  }
  if (error == std::errc::file_too_large)
  {
    return "allow larger files (ulimit -f), or choose a disk whose file system holds them";
  }
  return otherwise;
}

const char *
GetWritingCode(const std::error_code & error)
{
  const bool isFull = error == std::errc::no_space_on_device || error == std::errc::file_too_large ||
                      error == std::error_code(EDQUOT, std::generic_category());
  return isFull ? "E-DISK-FULL" : "E-OUTPUT-WRITE";
}

std::string
DescribeFileRefusal(const std::error_code & error)
{
  const std::string remedy = GetFileRemedy(error);
  return error.message() + (remedy.empty() ? "" : "; " + remedy);
}

std::string
DescribeLastFileRefusal()
{
  return DescribeFileRefusal(std::error_code(errno, std::generic_category()));
}

Diagnostic
DescribeMissingFile(const std::string & file)
{
  return Diagnostic("E-FILE-MISSING", "there is no such file", "see whether its name is right").OfFile(file);
}

void
RequireReadable(const std::string & file)
{
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe would wait for a writer
  if (descriptor < 0)
  {
    const std::error_code error(errno, std::generic_category());
    throw Refusal(
      error == std::errc::no_such_file_or_directory
        ? DescribeMissingFile(file)
        : Diagnostic("E-FILE-ACCESS", "it cannot be read: " + error.message(), GetFileRemedy(error)).OfFile(file));
  }
  ::close(descriptor);
}

} // namespace gigapixel
