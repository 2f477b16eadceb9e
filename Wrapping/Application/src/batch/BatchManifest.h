/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BatchManifest_h
#define BatchManifest_h

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gigapixel::application
{

// A folder of results has manifest.json and failed.csv; while a batch runs, its hidden folder has files besides.

const char * const RecordEnding = ".record.json"; ///< of a slide, in the hidden folder
const char * const BatchEnding = ".batch.json";   ///< names all outputs of a batch, in the hidden folder
const char * const FailedColumns = "slide,code,file,why,do\n";

std::string GetManifest(const std::string & folder);
std::string GetFailedTable(const std::string & folder);
std::string GetStateFolder(const std::string & folder);

/** The name of a file without its folder. */
std::string GetName(const std::string & file);

/** All of a regular file; else nothing: a pipe would wait for a writer for ever. */
std::string ReadAll(const std::string & file);

/** Files of the hidden folder, in the order of their names. */
std::vector<std::string> FindFiles(const std::string & state, const std::string & ending);

/** When a file was changed last, as the file system counts; 0: it is not there. */
std::int64_t GetTime(const std::string & file);

/** The path of a slide, or the paths of a volume's files, seen from a folder, so that both may be moved together. Links
 * keep their names, which outputs are called by. */
std::string SeeFrom(const std::string & slide, const std::string & folder);

/** The names of what a batch writes, by its file. */
std::vector<std::string> ReadOutputs(const std::string & file);

/** What is said of a slide; null: the text is something else, or has other types than we write. */
nlohmann::ordered_json ParseEntry(const std::string & text);

bool HasFailed(const nlohmann::ordered_json & entry);

/** Whether a batch tries the slide again without being asked: the machine was to blame, such as a full disk, and the
 * failure says nothing of the slide. */
bool IsToDo(const nlohmann::ordered_json & entry);

/** A result whose slide is at another place now, which its error, warnings and doubts name, too. */
nlohmann::ordered_json MoveSlide(nlohmann::ordered_json result, const std::string & slide);

/** By the names of outputs; none: there is no manifest.
 * \throw Refusal it is something else, or cannot be read */
std::map<std::string, nlohmann::ordered_json> ReadManifest(const std::string & folder);

std::string FormatManifest(const std::map<std::string, nlohmann::ordered_json> & entries);

/** As failed.csv. Empty: no slide failed. */
std::string FormatFailures(const std::map<std::string, nlohmann::ordered_json> & entries);

/** What a manifest has of each slide: "slide", its path, "output", the path of its output, and "result", as the command
 * has told it, but with these paths. Empty: the file is something else. */
nlohmann::ordered_json ReadManifestEntries(const std::string & file);

/** Entries of a BatchFolder in the same form. \param manifest of their folder; it need not be there yet */
nlohmann::ordered_json SeeEntriesFromHere(const nlohmann::ordered_json & found, const std::string & manifest);

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

} // namespace gigapixel::application

#endif
