/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BatchRecords_h
#define BatchRecords_h

#include "BatchLock.h"
#include "BatchManifest.h"

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

namespace gigapixel::application
{

struct SlideTask;

/** \class BatchRecords
 * \brief The records of a batch whose results go into a folder: manifest.json, which says what was made of what and
 * decides what is done, and failed.csv.
 *
 * While the batch runs, each slide has a record of its own in the hidden folder .gigapixel, so that nothing is lost
 * when the program is killed, and several processes may share the folder; they are gathered when all slides are done.
 * Commands with the option retry have records; others, and those of a single file, have none. */
class GigapixelApplication_EXPORT BatchRecords
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
  std::string                        m_Batch;  ///< the file in there that says what is to be made
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

} // namespace gigapixel::application

#endif
