/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BatchRecords_h
#define BatchRecords_h

#include "BatchLock.h"

#include "gigapixelArgumentValues.h"
#include "gigapixelSession.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gigapixel::commandline
{

struct SlideTask;

/** What a folder of results says of them. Entries are by the names of their outputs, each with "slide" (as seen from
 * the folder), "output", "version", "command", "options", "inputs" and "outputs" (IdentifyFile() of each), and
 * "result", which has an "error" where the slide failed. */
struct BatchFolder
{
  std::map<std::string, nlohmann::ordered_json> entries;
  std::vector<nlohmann::ordered_json>           holders;        ///< as BatchLock::FindHolders() has them
  std::set<std::string>                         outputs;        ///< of batches that are not complete
  std::optional<double>                         secondsForEach; ///< of a batch that runs

  /** \throw std::runtime_error its manifest is not one */
  static BatchFolder Read(const std::string & folder);
};

/** What a manifest has of each slide: "slide", its path, "output", the path of its output, and "result", as the command
 * has told it, but with these paths. Empty: the file is something else. */
nlohmann::ordered_json ReadManifestEntries(const std::string & file);

/** Entries of a BatchFolder in the same form. \param manifest of their folder; it need not be there yet */
nlohmann::ordered_json SeeEntriesFromHere(const nlohmann::ordered_json & found, const std::string & manifest);

/** \class BatchRecords
 * \brief The records of a batch whose results go into a folder: manifest.json, which says what was made of what and
 * decides what is done, and failed.csv.
 *
 * While the batch runs, each slide has a record of its own in the hidden folder .gigapixel, so that nothing is lost
 * when the program is killed, and several processes may share the folder; they are gathered when all slides are done.
 * Commands with the option retry have records; others, and those of a single file, have none. */
class GigapixelCommandLine_EXPORT BatchRecords
{
public:
  using Json = nlohmann::ordered_json;

  /** Writes nothing. \throw std::runtime_error the folder has a file of that name that is not ours */
  BatchRecords(const ArgumentValues & values, const std::vector<SlideTask> & tasks);
  ~BatchRecords();
  BatchRecords(const BatchRecords &) = delete;
  BatchRecords & operator=(const BatchRecords &) = delete;

  bool
  AreKept() const
  {
    return !m_Folder.empty();
  }

  /** The result of the slide, if it was made of the same files in the same way, and is as it was then; or its failure,
   * unless it is to be tried again. \throw std::runtime_error its output is not as it was */
  std::optional<Json> Find(const SlideTask & task);

  /** \param lock the right to work on the slide; none, where the folder cannot be written into
   * \return false: another process works on it */
  bool Lock(const SlideTask & task, std::unique_ptr<BatchLock> & lock);

  /** Keeps what became of the slide. */
  void Add(const SlideTask & task, const Json & result);

  /** Gathers all records, and warns where some cannot be written. */
  void Finish(const Session & session);

private:
  void        Write(const SlideTask & task, const Json & result);
  void        Gather();
  Json        DescribeInputs(const SlideTask & task);
  Json        Describe(const SlideTask & task);
  Json        FindEntry(const std::string & output);
  std::string IdentifyInput(const std::string & name, const std::string & value, const std::string & slide);
  void        MakeStateFolder();
  void        RemoveEmptyFolders() const;

  const ArgumentValues &             m_Values;
  const std::vector<SlideTask> &     m_Tasks;
  std::string                        m_Folder; ///< empty: nothing is kept
  std::string                        m_State;  ///< the hidden folder in it
  Json                               m_Options;
  bool                               m_IsOverwriting{ false };
  bool                               m_IsRetrying{ false };
  bool                               m_HasBegun{ false };
  bool                               m_CannotWrite{ false };
  std::string                        m_Unrecorded;  ///< the first output
  std::vector<std::string>           m_MadeFolders; ///< the innermost one last
  std::map<std::string, std::string> m_Identities;  ///< of inputs that all slides share
  std::map<std::string, Json>        m_Described;   ///< by outputs
  std::map<std::string, Json>        m_Manifest;
  std::int64_t                       m_ManifestTime{ 0 };
};

} // namespace gigapixel::commandline

#endif
