/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelRunFolder.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelAtomicFile.h"
#include "gigapixelFileRefusal.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace gigapixel
{

namespace
{

Refusal
MakeError(Diagnostic problem, const std::string & remedy, const std::string & weights)
{
  std::error_code ignored;
  const bool      isThere = std::filesystem::is_regular_file(weights, ignored);
  problem.why += "; the run cannot go on without this file";
  problem.remedy = "put a sound copy in its place" + remedy + ", or begin anew in another folder" +
                   (isThere ? ", from the weights of \"" + weights + "\" if you like (--weights)" : "");
  return Refusal(problem);
}

} // namespace

Refusal
MakeLastFileError(const std::string & folder, const Diagnostic & problem)
{
  return MakeError(problem, "", folder + "/best.safetensors");
}

Refusal
MakeBestFileError(const std::string & folder, const Diagnostic & problem)
{
  return MakeError(problem,
                   ", or a copy of last.safetensors, whose weights then stand for the best ones",
                   folder + "/last.safetensors");
}

RunFolder::RunFolder(const std::string & path, bool resume)
  : m_Path(path)
{
  std::error_code error;
  m_IsNew = !std::filesystem::exists(path, error);
  if (m_IsNew)
  {
    std::filesystem::create_directories(path, error);
    if (error)
    {
      throw Refusal(
        Diagnostic(GetWritingCode(error), "the run folder cannot be made: " + error.message()).OfFile(path));
    }
  }
  m_Descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (m_Descriptor < 0)
  {
    throw Refusal(Diagnostic("E-OUTPUT-WRITE", std::string("the run folder cannot be opened: ") + std::strerror(errno))
                    .OfFile(path));
  }
  const Diagnostic obstacle = FindObstacle(resume);
  if (!obstacle.IsEmpty())
  {
    Leave();
    throw Refusal(obstacle.OfFile(path));
  }
  for (const std::string & file : { GetLastFile(), GetBestFile(), GetHistoryFile() })
  {
    AtomicFile::RemoveUnfinished(file);
  }
}

RunFolder::~RunFolder()
{
  Leave();
}

/** Why no run can be kept here: said before a first step, or a first epoch, is computed in vain. Else empty. */
Diagnostic
RunFolder::FindObstacle(bool resume) const
{
  // The lock is on the folder itself and ends with the process, however that ends.
  if (flock(m_Descriptor, LOCK_EX | LOCK_NB) != 0)
  {
    return errno == EWOULDBLOCK
             ? Diagnostic("E-RUN-CONFLICT", "the run folder is in use by another training run that is still going on")
             : Diagnostic("E-OUTPUT-WRITE", std::string("the run folder cannot be locked: ") + std::strerror(errno));
  }
  try
  {
    const AtomicFile probe(GetLastFile());
  }
  catch (const std::runtime_error & error)
  {
    Diagnostic problem = Diagnostic::Of(error);
    problem.why = "the run folder cannot be written: " + problem.why;
    return problem;
  }
  for (const std::filesystem::path path : { GetLastFile(), GetBestFile(), GetHistoryFile() })
  {
    if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
    {
      return { "E-RUN-CONFLICT",
               "the run folder holds " + path.filename().string() + ", which is no regular file",
               "choose another folder" };
    }
  }
  if (!resume && HoldsRun())
  {
    return { "E-OUTPUT-EXISTS",
             "the run folder already holds a training run",
             "resume it (--resume), or choose another folder" };
  }
  if (resume && HoldsRun() && !HoldsCheckpoint())
  {
    return {
      "E-RUN-FORMAT",
      "the run folder holds best.safetensors but no last.safetensors to go on from",
      "put a copy of it there, or begin anew in another folder, from its best weights if you like (--weights \"" +
        m_Path + "\")"
    };
  }
  // A run keeps its checkpoint before its history: this one is somebody else's.
  if (!HoldsRun() && std::filesystem::exists(GetHistoryFile()))
  {
    return { "E-OUTPUT-EXISTS",
             "the run folder already holds a history.csv but no training run, which would overwrite it",
             "choose another folder" };
  }
  return {};
}

void
RunFolder::Leave() const
{
  // A run that ends before its first step leaves nothing: rmdir() takes an empty folder only, and another run that was
  // quicker to lock it keeps it.
  if (m_IsNew && flock(m_Descriptor, LOCK_EX | LOCK_NB) == 0)
  {
    rmdir(m_Path.c_str());
  }
  close(m_Descriptor);
}

bool
RunFolder::HoldsRun() const
{
  return HoldsCheckpoint() || std::filesystem::exists(GetBestFile());
}

bool
RunFolder::HoldsCheckpoint() const
{
  return std::filesystem::exists(GetLastFile());
}

} // namespace gigapixel
