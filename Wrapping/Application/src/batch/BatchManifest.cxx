/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BatchManifest.h"

#include "ArgumentText.h"
#include "BatchLock.h"
#include "NameText.h"
#include "SlideList.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelTableReader.h"
#include "itkGigapixelVolumeSource.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

const char * const Format = "gigapixel manifest 1";

/** A file of ours; discarded: it is something else, such as one that is nested beyond what a stack holds. */
Json
Parse(const std::string & text)
{
  constexpr int deepest = 100;
  bool          isTooDeep = false;
  Json          json = Json::parse(
    text,
    [&isTooDeep](int depth, Json::parse_event_t, Json &) {
      isTooDeep = isTooDeep || depth > deepest;
      return depth <= deepest;
    },
    false);
  return isTooDeep ? Json(Json::value_t::discarded) : json;
}

/** The way back. \param folder canonical */
std::string
SeeFromHere(const std::string & slide, const fs::path & folder)
{
  std::error_code ignored;
  const fs::path  here = fs::canonical(fs::current_path(ignored), ignored);
  const bool      isOne = fs::exists(folder / slide, ignored); // its name may have commas
  std::string     seen;
  for (std::size_t begin = 0; begin <= slide.size();)
  {
    const std::size_t end = isOne ? slide.size() : std::min(slide.find(',', begin), slide.size());
    const fs::path    file = (folder / slide.substr(begin, end - begin)).lexically_normal();
    seen += (begin == 0 ? "" : ",") + file.lexically_proximate(here).string();
    begin = end + 1;
  }
  return seen;
}

/** Whether what we read of an entry has the types that we write; others may have edited the file. */
bool
IsEntry(const Json & entry)
{
  const auto hasText = [](const Json & of, const char * key) { return of.value(key, Json("")).is_string(); };
  if (!entry.is_object() || !entry.contains("output") || !entry.value("result", Json()).is_object())
  {
    return false;
  }
  const Json outputs = entry.value("outputs", Json::array());
  const Json error = entry["result"].value("error", Json::object());
  return hasText(entry, "output") && hasText(entry, "slide") && hasText(entry, "command") && outputs.is_array() &&
         std::all_of(outputs.begin(),
                     outputs.end(),
                     [&](const Json & each) { return each.is_object() && hasText(each, "field"); }) &&
         error.is_object() && hasText(error, "code");
}

} // namespace

std::string
GetManifest(const std::string & folder)
{
  return (fs::path(folder) / "manifest.json").string();
}

std::string
GetFailedTable(const std::string & folder)
{
  return (fs::path(folder) / "failed.csv").string();
}

std::string
GetStateFolder(const std::string & folder)
{
  return (fs::path(folder) / ".gigapixel").string();
}

std::string
GetName(const std::string & output)
{
  return fs::path(output).filename().string();
}

std::string
SeeFrom(const std::string & slide, const std::string & folder)
{
  std::string seen;
  for (const std::string & file : itk::GigapixelSplitModalities(slide))
  {
    std::error_code ignored;
    const fs::path  absolute = fs::absolute(file, ignored);
    const fs::path  canonical = fs::weakly_canonical(absolute.parent_path(), ignored) / absolute.filename();
    const fs::path  place = fs::weakly_canonical(fs::absolute(folder, ignored), ignored);
    seen += (seen.empty() ? "" : ",") + canonical.lexically_relative(place).string();
  }
  return seen;
}

std::string
ReadAll(const std::string & file)
{
  std::error_code error;
  if (!fs::is_regular_file(file, error))
  {
    return {};
  }
  std::ifstream stream(file, std::ios::binary);
  return { std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>() };
}

std::vector<std::string>
FindFiles(const std::string & state, const std::string & ending)
{
  std::vector<std::string> files;
  std::error_code          error;
  for (fs::directory_iterator entry(state, error), end; !error && entry != end; entry.increment(error))
  {
    if (const std::string file = entry->path().string(); EndsWith(file, ending) && GetName(file).front() != '.')
    {
      files.push_back(file);
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

Json
ParseEntry(const std::string & text)
{
  const Json entry = Parse(text);
  return IsEntry(entry) ? entry : Json();
}

std::vector<std::string>
ReadOutputs(const std::string & file)
{
  std::vector<std::string> outputs;
  const Json               batch = Parse(ReadAll(file));
  for (const Json & output : batch.is_object() ? batch.value("outputs", Json::array()) : Json::array())
  {
    outputs.push_back(output.is_string() ? output.get<std::string>() : std::string());
  }
  return outputs;
}

bool
HasFailed(const Json & entry)
{
  return entry.at("result").contains("error");
}

bool
IsToDo(const Json & entry)
{
  const Json        error = entry.at("result").value("error", Json::object());
  const std::string code = error.value("code", "");
  const auto        kinds = { "OUTPUT", "DISK", "MEMORY", "DEVICE", "THREADS", "READER", "RANK" };
  return std::any_of(kinds.begin(), kinds.end(), [&code](const char * kind) { return code.rfind(kind, 2) == 2; });
}

Json
MoveSlide(Json result, const std::string & slide)
{
  std::string before;
  for (const char * const kind : { "slide", "volume" })
  {
    if (const auto found = result.find(kind); found != result.end() && found->is_string())
    {
      before = found->get<std::string>();
      *found = slide;
    }
  }
  const auto move = [&](Json & entry) {
    if (entry.is_object() && entry.value("file", Json()) == before)
    {
      entry["file"] = slide;
    }
  };
  for (const char * const list : { "warnings", "doubts" })
  {
    if (result.contains(list))
    {
      std::for_each(result[list].begin(), result[list].end(), move);
    }
  }
  if (result.contains("error"))
  {
    move(result["error"]);
  }
  return result;
}

std::map<std::string, Json>
ReadManifest(const std::string & folder)
{
  std::map<std::string, Json> entries;
  const std::string           file = GetManifest(folder);
  std::error_code             ignored;
  if (!fs::exists(file, ignored))
  {
    return entries;
  }
  RequireReadable(file);
  const Json manifest = Parse(ReadAll(file));
  if (!manifest.is_object() || manifest.value("format", Json()) != Format)
  {
    throw Refusal(Diagnostic("E-OUTPUT-EXISTS",
                             "it is no manifest of results of ours, which a batch would replace",
                             "name another folder")
                    .OfFile(file));
  }
  for (const Json & entry : manifest.value("slides", Json::array()))
  {
    if (IsEntry(entry))
    {
      entries[entry["output"].get<std::string>()] = entry;
    }
  }
  return entries;
}

std::string
FormatManifest(const std::map<std::string, Json> & entries)
{
  Json slides = Json::array();
  for (const auto & [output, entry] : entries)
  {
    slides.push_back(entry);
  }
  return Json({ { "format", Format }, { "slides", slides } }).dump(1, ' ', false, Json::error_handler_t::replace) +
         '\n';
}

std::string
FormatFailures(const std::map<std::string, Json> & entries)
{
  std::string text;
  for (const auto & [output, entry] : entries)
  {
    if (!HasFailed(entry))
    {
      continue;
    }
    const std::string slide = FromNameText(entry.value("slide", ""));
    const Json        error = MoveSlide(entry.at("result"), slide).at("error");
    text += ToField(slide);
    for (const char * const field : { "code", "file", "why", "do" })
    {
      const Json value = error.value(field, Json());
      text += ',' + ToField(value.is_string() ? value.get<std::string>() : std::string());
    }
    text += '\n';
  }
  return text.empty() ? text : FailedColumns + text;
}

std::int64_t
GetTime(const std::string & file)
{
  std::error_code error;
  const auto      time = fs::last_write_time(file, error);
  return error ? 0 : static_cast<std::int64_t>(time.time_since_epoch().count());
}

Json
ReadManifestEntries(const std::string & file)
{
  const Json manifest = Parse(ReadAll(file));
  const bool isOurs = manifest.is_object() && manifest.value("format", Json()) == Format;
  return SeeEntriesFromHere(isOurs ? manifest.value("slides", Json()) : Json(), file);
}

Json
SeeEntriesFromHere(const Json & found, const std::string & manifest)
{
  Json entries = Json::array();
  // A link to a manifest leads to where its slides are seen from.
  std::error_code ignored;
  const fs::path  folder = fs::weakly_canonical(fs::absolute(manifest, ignored), ignored).parent_path();
  for (Json entry : found)
  {
    if (IsEntry(entry) && entry.value("slide", Json()).is_string())
    {
      entry["slide"] = SeeFromHere(FromNameText(entry["slide"]), folder);
      entry["output"] = SeeFromHere(GetName(FromNameText(entry["output"])), folder);
      entry["result"] = MoveSlide(entry["result"], entry["slide"]);
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

BatchFolder
BatchFolder::Read(const std::string & folder)
{
  BatchFolder               found;
  const std::string         state = GetStateFolder(folder);
  std::vector<std::int64_t> times;
  for (const std::string & file : FindFiles(state, RecordEnding))
  {
    const Json entry = ParseEntry(ReadAll(file));
    if (!entry.is_null())
    {
      found.entries[entry["output"].get<std::string>()] = entry;
      times.push_back(GetTime(file));
    }
  }
  // Afterwards, as another process may gather the records into it at this moment.
  found.entries.merge(ReadManifest(folder));
  std::optional<std::int64_t> begin; // times may be negative
  for (const std::string & file : FindFiles(state, BatchEnding))
  {
    const auto outputs = ReadOutputs(file);
    found.outputs.insert(outputs.begin(), outputs.end());
    begin = std::max(begin.value_or(GetTime(file)), GetTime(file));
  }
  found.holders = BatchLock::FindHolders(state);
  const auto made =
    std::count_if(times.begin(), times.end(), [begin](std::int64_t time) { return begin && time >= *begin; });
  if (made > 0 && begin)
  {
    const fs::file_time_type::duration each((*std::max_element(times.begin(), times.end()) - *begin) / made);
    found.secondsForEach = std::chrono::duration<double>(each).count();
  }
  return found;
}

} // namespace gigapixel::application
