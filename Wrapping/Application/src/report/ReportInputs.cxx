/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportInputs.h"

#include "BatchManifest.h"
#include "BatchTimings.h"
#include "ReportFigures.h"
#include "ReportRuns.h"
#include "SlideFile.h"

#include "gigapixelTableReader.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

[[noreturn]] void
RefuseResult(const std::string & file, const std::string & why)
{
  throw Refusal(
    Diagnostic("E-REPORT-INPUT", why, "name a folder of masks, a run, a table, or a result of --json").OfFile(file));
}

bool
HasColumn(const std::vector<std::string> & columns, const std::string & start)
{
  return std::any_of(
    columns.begin(), columns.end(), [&](const std::string & column) { return column.rfind(start, 0) == 0; });
}

/** A table of slides, with the figures of its predictions, or the curves of a run. */
void
TakeTable(const std::string & file, ReportContent & content)
{
  const std::vector<std::string> columns = TableReader(file, "E-REPORT-INPUT").GetHeader().fields;
  if (!columns.empty() && columns.front() == "epoch")
  {
    content.runs.push_back({ { "folder", file }, { "missing", Json::array() }, { "history", ReadHistory(file) } });
    return;
  }
  content.rows.AddTable(file);
  if (!HasColumn(columns, "p_"))
  {
    return;
  }
  try
  {
    Json figures = DescribePredictions(file);
    if (figures.is_null())
    {
      content.missing.push_back(DescribeMissing("a table of predictions has no truth, and so no ROC",
                                                Diagnostic("W-REPORT-MISSING", "it has no column label").OfFile(file)));
      return;
    }
    figures["predictions"] = file;
    content.figures.push_back(std::move(figures));
  }
  catch (const std::exception & error)
  {
    content.missing.push_back(
      DescribeMissing("a table of predictions has no figures", Diagnostic::Of(error).OfFile(file)));
  }
}

/** Takes what a manifest has of each slide. \return how many of the results are shown */
int
AddEntries(const Json & entries, const std::string & folder, ReportContent & content)
{
  int shown = 0;
  for (const Json & entry : entries)
  {
    shown += content.rows.AddResults(entry.at("result"), folder);
  }
  AddMakings(entries, folder, content.rows);
  return shown;
}

/** \return whether the file holds a result that is shown */
bool
TakeResults(const std::string & file, ReportContent & content)
{
  std::ifstream stream(file, std::ios::binary);
  const Json    results = Json::parse(stream, nullptr, false);
  if (results.is_discarded())
  {
    RefuseResult(file, "it cannot be read as JSON");
  }
  const std::string folder = fs::absolute(file).parent_path().string();
  const Json        entries = ReadManifestEntries(file);
  return (entries.empty() ? content.rows.AddResults(results, folder) : AddEntries(entries, folder, content)) > 0;
}

void
TakeRun(const std::string & folder, ReportContent & content)
{
  content.runs.push_back(DescribeRun(folder));
  const std::string predictions = (fs::path(folder) / "predictions.csv").string();
  if (std::error_code ignored; fs::exists(predictions, ignored))
  {
    TakeTable(predictions, content);
  }
}

std::string
GetEnding(const std::string & file)
{
  return fs::path(file).extension().string();
}

bool
TakeFile(const std::string & file, ReportContent & content)
{
  const std::string ending = GetEnding(file);
  if (ending == ".json")
  {
    return TakeResults(file, content);
  }
  return (ending == ".tif" || ending == ".tiff") && content.rows.AddMask(file);
}

/** Whether a table has a row for each slide; one of measure has a row for each component. */
bool
IsOfSlides(const TableReader & table)
{
  return table.FindColumn("slide") >= 0 && table.FindColumn("component") < 0;
}

/** What lies in a folder of results. \return whether it is shown */
bool
TakePart(const std::string & name, ReportContent & content)
{
  std::error_code ignored;
  if (fs::is_directory(name, ignored))
  {
    const bool isRun = IsRun(name);
    if (isRun)
    {
      TakeRun(name, content);
    }
    return isRun;
  }
  // A pipe would wait for a writer for ever. The failures are those of manifest.json.
  if (!fs::is_regular_file(name, ignored) || fs::path(name).filename() == "failed.csv")
  {
    return false;
  }
  if (GetEnding(name) == ".csv")
  {
    const bool isOfSlides = IsOfSlides(TableReader(name, "E-REPORT-INPUT"));
    if (isOfSlides)
    {
      TakeTable(name, content);
    }
    return isOfSlides;
  }
  return TakeFile(name, content);
}

/** The records of a batch, which may run or have been killed. \return whether there are any */
bool
TakeBatch(const std::string & folder, ReportContent & content)
{
  BatchFolder batch;
  try
  {
    batch = BatchFolder::Read(folder);
  }
  catch (const std::exception &)
  {
    return false; // its manifest.json is something else
  }
  Json        entries = Json::array();
  std::size_t failed = 0, toDo = 0;
  for (const auto & [output, entry] : batch.entries)
  {
    entries.push_back(entry);
    failed += HasFailed(entry) && !IsToDo(entry) ? 1 : 0;
    toDo += IsToDo(entry) ? 1 : 0;
    batch.outputs.insert(output);
  }
  AddEntries(SeeEntriesFromHere(entries, (fs::path(folder) / "manifest.json").string()), folder, content);
  if (batch.outputs.size() + toDo > entries.size())
  {
    content.unfinished.push_back({ { "folder", folder },
                                   { "slides", batch.outputs.size() },
                                   { "done", entries.size() - failed - toDo },
                                   { "failed", failed } });
  }
  return !batch.outputs.empty();
}

/** A folder that commands have written into. Tables of other things are left out. */
void
TakeFolder(const std::string & folder, ReportContent & content)
{
  std::vector<std::string> names;
  std::error_code          error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
  {
    if (entry->path().filename().string().front() != '.')
    {
      names.push_back(entry->path().string());
    }
  }
  if (error)
  {
    throw Refusal(Diagnostic::Of(std::system_error(error)).OfFile(folder));
  }
  std::sort(names.begin(), names.end());
  const bool         isBatch = TakeBatch(folder, content);
  bool               found = isBatch;
  std::exception_ptr first;
  for (const std::string & name : names)
  {
    ThrowIfInterrupted();
    if (isBatch && fs::path(name).filename() == "manifest.json")
    {
      continue; // records may be newer
    }
    try
    {
      found = TakePart(name, content) || found;
    }
    catch (const std::exception & thrown)
    {
      ThrowIfInterrupted();
      first = first ? first : std::current_exception();
      const Diagnostic why = Diagnostic::Of(thrown);
      content.missing.push_back(
        DescribeMissing("a file of the folder is not shown", why.file.empty() ? why.OfFile(name) : why));
    }
  }
  if (!found && first)
  {
    std::rethrow_exception(first);
  }
  if (!found)
  {
    RefuseResult(folder, "the folder holds no mask, table, run or result of a command");
  }
}
} // namespace

void
AddMakings(const Json & entries, const std::string & folder, ReportRows & rows)
{
  const auto timings = ReadTimings(folder);
  for (const Json & entry : entries)
  {
    rows.AddMaking(entry, folder);
    if (const auto timing = timings.find(GetName(entry.at("output"))); timing != timings.end())
    {
      rows.AddTiming(entry.at("slide"), timing->second, folder);
    }
  }
}

void
TakeInput(const std::string & input, ReportContent & content)
{
  std::error_code ignored;
  if (fs::is_directory(input, ignored))
  {
    IsRun(input) ? TakeRun(input, content) : TakeFolder(input, content);
    return;
  }
  CheckInputFile(input);
  if (GetEnding(input) == ".csv")
  {
    TakeTable(input, content);
  }
  else if (!TakeFile(input, content))
  {
    RefuseResult(input, "the file is no mask, table or result of a command");
  }
}

} // namespace gigapixel::application
