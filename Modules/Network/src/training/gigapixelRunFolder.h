/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRunFolder_h
#define gigapixelRunFolder_h

#include "gigapixelDiagnostic.h"

#include <stdexcept>
#include <string>

namespace gigapixel
{

/** \class RunFolder
 * \brief The files of one training run, locked as long as the object lives. */
class RunFolder
{
public:
  /** Makes the folder if it is missing; it goes with the object if nothing came into it.
   * \param resume else a folder that holds a run is refused
   * \throw std::runtime_error when another process trains there, the folder holds a run or a file that a run would
   * overwrite, or nothing can be written there */
  RunFolder(const std::string & path, bool resume);
  ~RunFolder();
  RunFolder(const RunFolder &) = delete;
  RunFolder & operator=(const RunFolder &) = delete;

  bool HoldsRun() const;

  /** Whether there is something to resume. */
  bool HoldsCheckpoint() const;

  const std::string &
  GetPath() const
  {
    return m_Path;
  }

  std::string
  GetBestFile() const
  {
    return m_Path + "/best.safetensors";
  }

  std::string
  GetLastFile() const
  {
    return m_Path + "/last.safetensors";
  }

  std::string
  GetHistoryFile() const
  {
    return m_Path + "/history.csv";
  }

private:
  Diagnostic FindObstacle(bool resume) const;
  void       Leave() const;

  std::string m_Path;
  bool        m_IsNew{ false };
  int         m_Descriptor{ -1 };
};

/** What is told of a run whose last.safetensors, or best.safetensors, cannot be used, with how to go on.
 * \param problem names the file and what is wrong with it */
Refusal MakeLastFileError(const std::string & folder, const Diagnostic & problem);
Refusal MakeBestFileError(const std::string & folder, const Diagnostic & problem);

} // namespace gigapixel

#endif
