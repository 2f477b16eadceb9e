/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportCommand.h"

#include "BatchManifest.h"
#include "CommandFunctions.h"
#include "OutputCheck.h"
#include "ReportDescription.h"
#include "ReportInputs.h"
#include "ReportLock.h"
#include "ReportPictures.h"
#include "SlideFile.h"
#include "TableValues.h"

#include "gigapixelFormatCount.h"
#include "gigapixelReportPage.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

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

/** Where a report goes, and what it says of itself. */
struct ReportTask
{
  std::string file;
  bool        mayReplace;
  std::string command;
  std::string title;
  bool        isAnonymous{ false };
};

/** \return what --json tells */
Json
WriteReport(ReportContent & content, const ReportTask & task, const ReportDrawing & drawing, const Session & session)
{
  const std::string & file = task.file;
  ReportPage          page(file, task.mayReplace);
  DrawRows(content.rows.Get(), drawing, session, page);
  const Json data = DescribeReport(content, task.command, task.isAnonymous);
  page.Commit(task.isAnonymous ? "Report" : task.title, data.dump(-1, ' ', false, Json::error_handler_t::replace));
  const int rows = WarnOfMissing(data, file, session);
  if (!page.GetUsedFolder().empty())
  {
    session.Warn(Diagnostic("W-REPORT-FOLDER",
                            "the pictures would make the page larger than 40 MB, and lie in " + page.GetUsedFolder(),
                            "keep both together, or use a smaller --picture-size")
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
  return { has("picture-size") ? values.GetInteger("picture-size") : 0, GetSlideOptions(values) };
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
  CheckOutputName(values, "report");
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
  ReportContent content;
  for (const SlideOutcome & outcome : outcomes)
  {
    content.rows.AddResults(outcome.result, fs::current_path().string());
  }
  const std::string folder = values.GetText("output");
  const std::string manifest = (fs::path(folder) / "manifest.json").string();
  AddMakings(ReadManifestEntries(manifest), folder, content.rows); // of what was made earlier, too
  const std::string title = GetTitle(fs::absolute(file).parent_path().string());
  WriteReport(content, { file, true, command, title }, GetDrawing(values), session);
}

int
RunReport(const ArgumentValues & values, const Session & session)
{
  const std::string file = values.GetText("output");
  const auto &      inputs = values.GetTexts("RESULT");
  CheckOutputName(values, "output");
  CheckOutput(file, 0);
  const ReportLock lock(file, session);
  RefuseExisting(file, values.Has("overwrite"));
  ReportContent content;
  for (const std::string & input : inputs)
  {
    TakeInput(input, content);
  }
  std::vector<std::string> places = values.GetTexts("slides");
  places.insert(places.end(), inputs.begin(), inputs.end());
  content.rows.FindSlides(places);
  const ReportTask task{
    file, values.Has("overwrite"), FormatCommand(values), GetTitle(inputs.front()), values.Has("anonymous")
  };
  const Json result = WriteReport(content, task, GetDrawing(values), session);
  session.ShowResult(file + ": " + FormatCount(result["slides"].get<std::int64_t>(), "slide") + ", " +
                       FormatCount(result["runs"].get<std::int64_t>(), "run") + ", " +
                       FormatBytes(result["bytes"].get<double>()),
                     result);
  return Success;
}

} // namespace gigapixel::application
