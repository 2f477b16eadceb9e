/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelHelperProgram_h
#define gigapixelHelperProgram_h

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#  include <cstdlib>
#  include <cstring>
#  include <fstream>
#  include <sanitizer/asan_interface.h>
#  include <string>
#endif

/** \file
 * How a program begins that Spawn() starts (gigapixelChildProcess.h), in which a library runs that may crash. */
namespace gigapixel
{

#ifdef __SANITIZE_ADDRESS__
/** Reports of what the library does to its memory are what the other process is told; those of the program's own code
 * are kept where Utilities/test-sanitizers counts them. */
template <const auto & Source, const auto & Library>
void
KeepReport(const char * report)
{
  // Environment variable GIGAPIXEL_REPORTS: The folder for reports of the address sanitizer, in builds with it.
  const char * const folder = std::getenv("GIGAPIXEL_REPORTS");
  const char * const ours = std::strstr(report, Source);
  const char * const theirs = std::strstr(report, Library);
  if (folder != nullptr && ours != nullptr && (theirs == nullptr || ours < theirs))
  {
    std::ofstream(std::string(folder) + '/' + Source + '.' + std::to_string(getpid())) << report;
  }
}
#endif

/** What the other process has open is not to stay open here, and crashes leave no files.
 * \tparam Source of the program, and \tparam Library whose crashes are expected, as stacks name them */
template <const auto & Source, const auto & Library>
void
BeginHelperProgram()
{
  syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
  const rlimit none{ 0, 0 };
  setrlimit(RLIMIT_CORE, &none);
#ifdef __SANITIZE_ADDRESS__
  // The other process tells by what is said what has ended this one.
  __sanitizer_set_report_path("stderr");
  __asan_set_error_report_callback(KeepReport<Source, Library>);
#endif
}

} // namespace gigapixel

#endif
