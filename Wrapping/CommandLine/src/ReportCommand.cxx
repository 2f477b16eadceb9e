/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportCommand.h"

#include "BatchLock.h"
#include "BatchManifest.h"
#include "BatchTimings.h"
#include "CommandFunctions.h"
#include "OutputCheck.h"
#include "ReportFigures.h"
#include "ReportPictures.h"
#include "ReportRuns.h"
#include "SlideFile.h"

#include "gigapixelFormatCount.h"
#include "gigapixelPrintable.h"
#include "gigapixelReportPage.h"
#include "gigapixelTableReader.h"
#include "gigapixelUsableCores.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include <sys/utsname.h>

namespace fs = std::filesystem;

namespace gigapixel::commandline
{
namespace
{
using Json = nlohmann::ordered_json;

/** All that a report shows, but its pictures. */
struct Content
{
  ReportRows rows;
  Json       runs = Json::array();
  Json       figures = Json::array();
  Json       missing = Json::array();
  Json       unfinished = Json::array(); // batches
};

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
TakeTable(const std::string & file, Content & content)
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

/** Takes how results were made, and what that took. */
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

/** Takes what a manifest has of each slide. \return how many of the results are shown */
int
AddEntries(const Json & entries, const std::string & folder, Content & content)
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
TakeResults(const std::string & file, Content & content)
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
TakeRun(const std::string & folder, Content & content)
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
TakeFile(const std::string & file, Content & content)
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
TakePart(const std::string & name, Content & content)
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
TakeBatch(const std::string & folder, Content & content)
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
TakeFolder(const std::string & folder, Content & content)
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

void
Take(const std::string & input, Content & content)
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

// Without names and paths.

void
AnonymizeMissing(Json & missing)
{
  for (Json & entry : missing)
  {
    entry.erase("file");
    entry.erase("why");
  }
}

/** Whether a column of a table says nothing of a person, by its name. */
bool
IsAnonymous(const std::string & column)
{
  return column == "label" || column == "split" || column == "fold" || column == "predicted" || column == "grade" ||
         column.rfind("label:", 0) == 0 || column.rfind("value:", 0) == 0;
}

/** What is said of how a mask was made, without what tells its slide, or any file. */
std::string
ForgetSlide(const std::string & madeBy, bool isAnonymous)
{
  std::istringstream words(madeBy);
  std::string        kept, word;
  bool               isOfFile = false; // a hash follows the size of the file that it is of
  while (words >> word)
  {
    const bool isSize = word.rfind("bytes=", 0) == 0;
    const bool isHash = word.rfind("hash=", 0) == 0;
    if (!isSize && !(isHash && (isOfFile || isAnonymous)) && word.find('/') == std::string::npos)
    {
      kept += (kept.empty() ? "" : " ") + word;
    }
    isOfFile = isSize;
  }
  return kept;
}

/** Options of a command without files, names and texts. */
Json
ForgetTexts(const std::string & command, const Json & options)
{
  const Command * const known = FindCommand(command);
  Json                  kept = Json::object();
  for (const auto & item : options.items())
  {
    const Argument * const option = known ? known->Find(item.key()) : nullptr;
    if (option && option->type != ArgumentType::Text && option->type != ArgumentType::File)
    {
      kept[item.key()] = item.value();
    }
  }
  return kept;
}

void
Anonymize(Json & slide, std::size_t number)
{
  for (Json & made : slide["made"])
  {
    const Json command = made["command"];
    made["options"] = ForgetTexts(command.is_string() ? command.get<std::string>() : "", made["options"]);
    made.erase("inputs");
  }
  slide["name"] = "Slide " + std::to_string(number);
  slide.erase("slide");
  slide.erase("mask");
  for (const char * const list : { "doubts", "warnings" })
  {
    for (Json & entry : slide[list])
    {
      entry = entry.contains("limit")
                ? Json{ { "code", entry["code"] }, { "value", entry["value"] }, { "limit", entry["limit"] } }
                : Json{ { "code", entry["code"] } };
    }
  }
  if (slide.contains("error"))
  {
    slide["error"] = { { "code", slide["error"].value("code", "E-OTHER") } };
  }
  AnonymizeMissing(slide["missing"]);
  Json columns = Json::object();
  for (const auto & item : slide["columns"].items())
  {
    if (IsAnonymous(item.key()))
    {
      columns[item.key()] = item.value();
    }
  }
  slide["columns"] = columns;
}

void
AnonymizeRun(Json & run, const std::string & name)
{
  run["folder"] = name;
  Json       settings = Json::object();
  const Json all = run.value("settings", Json::object());
  for (const auto & item : all.items())
  {
    if (item.value().is_number() || item.value().is_boolean())
    {
      settings[item.key()] = item.value();
    }
  }
  run["settings"] = settings;
  if (run.contains("model"))
  {
    run["model"].erase("network"); // which may be a file's name
    run["model"].erase("identity");
  }
  AnonymizeMissing(run["missing"]);
  if (run.contains("folds"))
  {
    for (std::size_t i = 0; i < run["folds"].size(); ++i)
    {
      AnonymizeRun(run["folds"][i], "fold-" + std::to_string(i + 1));
    }
  }
}

/** Every text as it may be shown, whatever bytes are in it. */
Json
MakePrintable(const Json & json)
{
  if (json.is_string())
  {
    return GetPrintable(json.get<std::string>());
  }
  Json printable = json;
  if (json.is_array())
  {
    std::transform(json.begin(), json.end(), printable.begin(), MakePrintable);
  }
  else if (json.is_object())
  {
    printable = Json::object();
    for (const auto & item : json.items())
    {
      printable[GetPrintable(item.key())] = MakePrintable(item.value());
    }
  }
  return printable;
}

/** The codes that the data name, with their meanings. */
Json
ExplainCodes(const Json & data)
{
  const std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  Json              codes = Json::object();
  for (const CodeEntry & entry : GetCodes())
  {
    const std::string code = entry.code;
    if (text.find('"' + code + '"') != std::string::npos)
    {
      codes[code] = { { "meaning", entry.meaning }, { "remedy", entry.remedy } };
    }
  }
  return codes;
}

/** Ways of making masks, and of how many. */
Json
DescribeMaking(const Json & slides, bool isAnonymous)
{
  std::map<std::string, int> counts;
  for (const Json & slide : slides)
  {
    if (const std::string madeBy = slide.value("madeBy", ""); !madeBy.empty())
    {
      ++counts[ForgetSlide(madeBy, isAnonymous)];
    }
  }
  Json making = Json::array();
  for (const auto & [madeBy, count] : counts)
  {
    making.push_back({ { "madeBy", madeBy }, { "masks", count } });
  }
  return making;
}

/** Versions, commands and options that made results, each with the number of slides, in whose rows "by" is the place in
 * the list. */
Json
GroupMaking(Json & slides)
{
  std::map<std::string, std::size_t> places;
  Json                               groups = Json::array();
  for (Json & slide : slides)
  {
    for (Json & made : slide["made"])
    {
      Json group{ { "version", made["version"] }, { "command", made["command"] }, { "options", made["options"] } };
      const auto [found, isNew] =
        places.emplace(group.dump(-1, ' ', false, Json::error_handler_t::replace), groups.size());
      if (isNew)
      {
        group["slides"] = 0;
        groups.push_back(group);
      }
      groups[found->second]["slides"] = groups[found->second]["slides"].get<int>() + 1;
      made = { { "by", found->second }, { "inputs", made.value("inputs", Json()) } };
    }
  }
  return groups;
}

/** The machine that writes the report. */
Json
DescribeMachine()
{
  utsname system{};
  uname(&system);
  return { { "system", system.sysname }, { "architecture", system.machine }, { "cores", CountUsableCores() } };
}

/** The rows as the page has them. */
Json
DescribeSlides(std::vector<ReportRow> & rows, bool isAnonymous)
{
  Json slides = Json::array();
  for (const ReportRow & row : rows)
  {
    Json slide{ { "number", slides.size() + 1 }, { "name", row.name } };
    slide["slide"] = row.slide.empty() ? Json() : Json(row.slide);
    slide["mask"] = row.mask.empty() ? Json() : Json(row.mask);
    slide.update(row.data);
    for (const char * const list : { "doubts", "warnings", "missing", "made" })
    {
      slide[list] = slide.value(list, Json()).is_array() ? slide[list] : Json::array();
    }
    slide["columns"] = slide.value("columns", Json::object());
    if (isAnonymous)
    {
      Anonymize(slide, slides.size() + 1);
    }
    slides.push_back(std::move(slide));
  }
  return slides;
}

Json
Describe(Content & content, const std::string & command, bool isAnonymous)
{
  Json data{ { "version", GIGAPIXEL_VERSION }, { "anonymous", isAnonymous } };
  data["command"] = isAnonymous ? Json() : Json(command);
  data["columns"] = Json::array();
  for (const std::string & column : content.rows.GetColumns())
  {
    if (!isAnonymous || IsAnonymous(column))
    {
      data["columns"].push_back(column);
    }
  }
  data["slides"] = DescribeSlides(content.rows.Get(), isAnonymous);
  data["making"] = DescribeMaking(data["slides"], isAnonymous);
  data["provenance"] = GroupMaking(data["slides"]);
  data["machine"] = DescribeMachine();
  for (const Json & other : content.rows.GetOthers())
  {
    content.figures.push_back(other);
  }
  data["runs"] = content.runs;
  data["figures"] = content.figures;
  data["missing"] = content.missing;
  data["unfinished"] = content.unfinished;
  if (isAnonymous)
  {
    for (Json & slide : data["slides"])
    {
      slide.erase("madeBy");
    }
    for (std::size_t i = 0; i < data["runs"].size(); ++i)
    {
      AnonymizeRun(data["runs"][i], "Run " + std::to_string(i + 1));
    }
    for (std::size_t i = 0; i < data["figures"].size(); ++i)
    {
      data["figures"][i]["predictions"] = "Table " + std::to_string(i + 1);
    }
    AnonymizeMissing(data["missing"]);
    for (Json & batch : data["unfinished"])
    {
      batch.erase("folder");
    }
  }
  data["codes"] = ExplainCodes(data);
  return MakePrintable(data);
}

/** What is missing in many rows is one warning. */
int
WarnOfMissing(const Json & data, const std::string & file, const Session & session)
{
  int         rows = 0;
  std::string first;
  for (const Json & slide : data["slides"])
  {
    rows += slide["missing"].empty() ? 0 : 1;
    first = first.empty() && !slide["missing"].empty() ? slide["missing"][0].value("what", "") : first;
  }
  if (rows > 0)
  {
    session.Warn(Diagnostic("W-REPORT-MISSING",
                            std::to_string(rows) + " of " + std::to_string(data["slides"].size()) +
                              " slides lack something in the report; of the first, " + first,
                            "see the slides that the page marks")
                   .OfFile(file)
                   .OfValue(std::to_string(rows)));
  }
  return rows;
}

/** \class ReportLock
 * \brief The right to write a page, whose folder of pictures no two processes may change at a time. */
class ReportLock
{
public:
  /** Waits where another process writes the page. \throw std::runtime_error nothing can be written beside the page */
  ReportLock(const std::string & file, const Session & session)
    : m_Folder(fs::absolute(file).parent_path() / ".gigapixel")
  {
    const std::string name = fs::path(file).filename().string();
    while (!m_Lock)
    {
      ThrowIfInterrupted();
      std::error_code error;
      fs::create_directory(m_Folder, error);
      try
      {
        m_Lock = BatchLock::Take(m_Folder.string(), name, { { "report", file } });
      }
      catch (const std::exception &)
      {
        if (error || fs::is_directory(m_Folder, error))
        {
          throw;
        }
        continue; // another process has removed it as empty
      }
      if (!m_Lock)
      {
        if (!std::exchange(m_HasWaited, true))
        {
          session.Say("Waiting for another process, which writes the report " + file + '.');
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
  }

  ~ReportLock()
  {
    m_Lock.reset();
    std::error_code ignored;
    fs::remove(BatchLock::GetClock(m_Folder.string()), ignored);
    fs::remove(m_Folder, ignored); // which fails where something is in it
  }
  ReportLock(const ReportLock &) = delete;
  ReportLock & operator=(const ReportLock &) = delete;

  /** Whether another process has written the page meanwhile. */
  bool
  HasWaited() const
  {
    return m_HasWaited;
  }

private:
  fs::path                   m_Folder;
  std::unique_ptr<BatchLock> m_Lock;
  bool                       m_HasWaited{ false };
};

/** \return what --json tells */
Json
WriteReport(Content &             content,
            const std::string &   file,
            bool                  mayReplace,
            const ReportDrawing & drawing,
            const std::string &   command,
            bool                  isAnonymous,
            const std::string &   title,
            const Session &       session)
{
  ReportPage page(file, mayReplace);
  DrawRows(content.rows.Get(), drawing, session, page);
  const Json data = Describe(content, command, isAnonymous);
  page.Commit(isAnonymous ? "Report" : title, data.dump(-1, ' ', false, Json::error_handler_t::replace));
  const int rows = WarnOfMissing(data, file, session);
  if (!page.GetUsedFolder().empty())
  {
    session.Warn(Diagnostic("W-REPORT-FOLDER",
                            "the pictures would make the page larger than 40 MB, and lie in " + page.GetUsedFolder(),
                            "keep both together, or use a smaller --size")
                   .OfFile(file));
  }
  const auto bytes = fs::file_size(file);
  return { { "report", file },
           { "slides", data["slides"].size() },
           { "runs", data["runs"].size() },
           { "missing", rows },
           { "bytes", bytes },
           { "folder", page.GetUsedFolder().empty() ? Json() : Json(page.GetUsedFolder()) } };
}

ReportDrawing
GetDrawing(const ArgumentValues & values)
{
  const auto has = [&](const char * name) { return values.GetCommand().Find(name) && values.Has(name); };
  return { has("size") ? values.GetInteger("size") : 0,
           has("image") ? values.GetText("image") : std::string(),
           has("slide-mpp") ? values.GetNumber("slide-mpp") : 0 };
}

/** Whether a file begins as the pages of this program do. */
bool
IsReport(const std::string & file)
{
  std::ifstream stream(file, std::ios::binary);
  std::string   start(400, '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  return start.find("<meta name=\"generator\" content=\"gigapixel report\">") != std::string::npos;
}

/** Whether a page says that a command has written it. */
bool
IsReportOf(const std::string & command, const std::string & file)
{
  std::ifstream     stream(file, std::ios::binary);
  const std::string page{ std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>() };
  return page.find("\"command\":" + Json(command).dump(-1, ' ', false, Json::error_handler_t::replace)) !=
         std::string::npos;
}

/** A word as a shell reads it back. */
std::string
Quote(const std::string & word)
{
  const char * const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:,@%+-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos)
  {
    return word;
  }
  std::string quoted = "'";
  for (const char c : word)
  {
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return quoted + '\'';
}

/** The command as a user may give it again. */
std::string
FormatCommand(const ArgumentValues & values)
{
  std::string text = "gigapixel " + values.GetCommand().name;
  for (const Argument & argument : values.GetCommand().arguments)
  {
    if (!values.IsGiven(argument.name))
    {
      continue;
    }
    if (argument.type == ArgumentType::Switch)
    {
      text += " --" + argument.name;
      continue;
    }
    for (const std::string & word : values.GetTexts(argument.name))
    {
      text += (argument.IsPositional() ? " " : " --" + argument.name + ' ') + Quote(word);
    }
  }
  return text;
}

std::string
GetTitle(const std::string & input)
{
  return fs::absolute(fs::path(input) / "").parent_path().filename().string();
}
} // namespace

void
CheckReportOfBatch(const ArgumentValues & values)
{
  if (!values.GetCommand().Find("report") || !values.Has("report"))
  {
    return;
  }
  const std::string file = values.GetText("report");
  CheckEnding("--report", file, "report");
  if (fs::exists(file) && !IsReport(file))
  {
    RefuseExisting(file, values.GetCommand().Find("overwrite") && values.Has("overwrite"));
  }
  CheckOutput(file, 0);
}

void
WriteReportOfBatch(const ArgumentValues & values, const Session & session, const std::vector<SlideOutcome> & outcomes)
{
  if (!values.GetCommand().Find("report") || !values.Has("report"))
  {
    return;
  }
  const std::string file = values.GetText("report");
  CheckOutput(file, 0);
  const std::string command = FormatCommand(values);
  const ReportLock  lock(file, session);
  if (lock.HasWaited() && IsReportOf(command, file))
  {
    return; // another process of this batch was faster
  }
  Content content;
  for (const SlideOutcome & outcome : outcomes)
  {
    content.rows.AddResults(outcome.result, fs::current_path().string());
  }
  const std::string folder = values.GetText("output");
  const std::string manifest = (fs::path(folder) / "manifest.json").string();
  AddMakings(ReadManifestEntries(manifest), folder, content.rows); // of what was made earlier, too
  WriteReport(content,
              file,
              true,
              GetDrawing(values),
              command,
              false,
              GetTitle(fs::absolute(file).parent_path().string()),
              session);
}

int
RunReport(const ArgumentValues & values, const Session & session)
{
  const std::string file = values.GetText("output");
  const auto &      inputs = values.GetTexts("RESULT");
  CheckEnding("--output", file, "report");
  RefuseInput(file, inputs);
  CheckOutput(file, 0);
  const ReportLock lock(file, session);
  RefuseExisting(file, values.Has("overwrite"));
  Content content;
  for (const std::string & input : inputs)
  {
    Take(input, content);
  }
  std::vector<std::string> places = values.Has("slides") ? values.GetTexts("slides") : std::vector<std::string>();
  places.insert(places.end(), inputs.begin(), inputs.end());
  content.rows.FindSlides(places);
  const Json result = WriteReport(content,
                                  file,
                                  values.Has("overwrite"),
                                  GetDrawing(values),
                                  FormatCommand(values),
                                  values.Has("anonymous"),
                                  GetTitle(inputs.front()),
                                  session);
  session.PrintResult(file + ": " + FormatCount(result["slides"].get<std::int64_t>(), "slide") + ", " +
                        FormatCount(result["runs"].get<std::int64_t>(), "run") + ", " +
                        FormatBytes(result["bytes"].get<double>()),
                      result.dump(2, ' ', false, Json::error_handler_t::replace));
  return Success;
}

} // namespace gigapixel::commandline
