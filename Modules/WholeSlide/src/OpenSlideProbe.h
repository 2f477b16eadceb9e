/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideProbe_h
#define OpenSlideProbe_h

#include <cstdint>
#include <string>

namespace gigapixel
{

/** Whether OpenSlide gets over a file, found out in another process: on some damaged files it ends the program, takes
 * gigabytes or comes to no end.
 *
 * The program (probe/OpenSlideProbe.cxx) opens the file with the OpenSlide that is loaded here, and reads one pixel of
 * each level. It lies in the folder ITKGigapixel beside this library; of a program that this library is part of, beside
 * the libraries that are built or installed with it. Where it is missing, or cannot be started, files are opened
 * without.
 */
struct OpenSlideProbe
{
  /** Bytes of address space for the file, beyond what OpenSlide takes before it opens one: sound slides take some tens
   * of MB. */
  static constexpr std::uint64_t memoryLimit = std::uint64_t{ 1 } << 30;

  /** Seconds on a core. Sound slides take some hundredths of one. */
  static constexpr unsigned processorLimit = 10;

  /** Seconds that pass: much more than computing takes, since disks and networks may be slow. */
  static constexpr unsigned timeLimit = 60;

  /** Why OpenSlide is not to open the file, in a few words; empty where nothing speaks against it. Of a file that has
   * not changed since it was asked for, what was found then. Throws SlideError where there is no such file. */
  static std::string FindProblem(const std::string & path);

  /** Where the program has to be. */
  static std::string GetProgram();
};

} // namespace gigapixel

#endif
