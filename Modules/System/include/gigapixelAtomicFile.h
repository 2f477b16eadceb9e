/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelAtomicFile_h
#define gigapixelAtomicFile_h

#include "GigapixelSystemExport.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gigapixel
{

/** \class AtomicFile
 * \brief A file that grows under a hidden name beside its target and takes the target's name when it is complete.
 *
 * Destroyed before Commit(), it leaves nothing, and what stood under the target's name is untouched. What came there
 * while it was written, by another process, is not replaced: whoever began had not seen it. All errors are
 * std::runtime_error, one sentence that names the target.
 *
 * The hidden name is .TARGET.PID-NUMBER.part; the file is locked (flock) while it is written. What a killed process has
 * left is unlocked, and the next process that writes the same target removes it. */
class GigapixelSystem_EXPORT AtomicFile
{
public:
  /** Throws if the file cannot be created beside \a target. A target that is a symbolic link is replaced itself, as by
   * mv, and the file that it leads to stays as it is. \param mayReplace false: the caller looked earlier and saw no
   * file; one that has appeared since is kept, and the commit fails. */
  explicit AtomicFile(const std::string & target, bool mayReplace = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile & operator=(const AtomicFile &) = delete;

  /** Throws if a file with this name cannot come into being: no such folder, a folder of this name, no permission. */
  static void RequireWritable(const std::string & target);

  /** Removes the hidden files of killed writers of \a target; those that are still being written stay. */
  static void RemoveUnfinished(const std::string & target);

  /** Appends and returns the offset at which the bytes begin. */
  std::uint64_t Append(const void * bytes, std::size_t count);

  /** The same of a text. */
  void
  Append(std::string_view bytes)
  {
    Append(bytes.data(), bytes.size());
  }

  /** Fills up with zeros to a multiple of 8 and returns the offset: TIFF wants even ones. */
  std::uint64_t Align();

  /** Replaces bytes that have been written. */
  void Overwrite(std::uint64_t offset, const void * bytes, std::size_t count);

  /** Gives the file its name; both are on the disk then. \throw std::runtime_error also if there is a file of this name
   * that was not there before */
  void Commit();

private:
  [[noreturn]] void Fail(const char * what) const;
  int               CreateTemporary(const std::filesystem::path & target);
  bool              TakeName(const std::filesystem::path & target) const;

  std::string       m_Target;
  std::string       m_Temporary;
  std::vector<char> m_Buffer = std::vector<char>(1 << 18); // some fifty tiles of JPEG in one call of the system
  std::FILE *       m_File{ nullptr };
  std::uint64_t     m_Size{ 0 };
  bool              m_Replaces{ false };
};

} // namespace gigapixel

#endif
