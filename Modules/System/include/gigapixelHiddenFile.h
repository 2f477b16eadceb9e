/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelHiddenFile_h
#define gigapixelHiddenFile_h

#include "GigapixelSystemExport.h"
#include "gigapixelAtomicFile.h"

#include <string>

namespace gigapixel
{

/** \class HiddenFile
 * \brief A file beside its target, with the target's ending, by which ImageIOs know what to write; it goes with its
 * owner. What a killed process has left goes when the same target is written again. */
class GigapixelSystem_EXPORT HiddenFile
{
public:
  explicit HiddenFile(const std::string & target);
  ~HiddenFile();
  HiddenFile(const HiddenFile &) = delete;
  HiddenFile & operator=(const HiddenFile &) = delete;

  /** Where others write; nothing is there before. */
  const std::string &
  GetName() const
  {
    return m_Name;
  }

  /** Appends what is in the file. \throw std::runtime_error as AtomicFile::Append() */
  void CopyInto(AtomicFile & output) const;

private:
  std::string m_Name;
};

} // namespace gigapixel

#endif
