/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "StatusCommand.h"

#include "BatchManifest.h"

#include "gigapixelDiagnostic.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

BatchFolder
ReadFolder(const std::string & folder)
{
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored))
  {
    throw Refusal(
      Diagnostic("E-FILE-MISSING", "there is no folder " + folder, "see whether its name is right").OfFile(folder));
  }
  BatchFolder found = BatchFolder::Read(folder);
  if (found.entries.empty() && found.outputs.empty())
  {
    throw Refusal(Diagnostic("E-FOLDER-EMPTY",
                             "the folder has no records of a batch",
                             "name the folder that label, segment, features or convert writes into")
                    .OfFile(folder));
  }
  return found;
}

Json
DescribeRunning(const BatchFolder & found)
{
  Json running = Json::array();
  for (const Json & holder : found.holders)
  {
    const Json slide = holder.value("about", Json::object()).value("slide", Json());
    if (slide.is_string())
    {
      running.push_back(
        { { "slide", slide }, { "host", holder.value("host", "") }, { "pid", holder.value("pid", 0) } });
    }
  }
  return running;
}

Json
Describe(const std::string & folder)
{
  BatchFolder                found = ReadFolder(folder);
  std::map<std::string, int> codes, versions;
  int                        done = 0, failed = 0;
  for (const auto & [output, entry] : found.entries)
  {
    found.outputs.insert(output);
    if (HasFailed(entry))
    {
      ++codes[entry.at("result").at("error").value("code", "")];
      failed += IsToDo(entry) ? 0 : 1;
      continue;
    }
    ++done;
    const Json version = entry.value("version", Json());
    ++versions[version.is_string() ? version.get<std::string>() : std::string()];
  }
  versions.erase("");
  const int left = static_cast<int>(found.outputs.size()) - done - failed;
  Json      json{ { "folder", folder }, { "slides", found.outputs.size() }, { "done", done }, { "failed", failed } };
  json["codes"] = codes;
  json["versions"] = versions;
  json["running"] = DescribeRunning(found);
  json["left"] = left;
  json["secondsLeft"] = found.secondsForEach && !found.holders.empty() ? Json(*found.secondsForEach * left)
                        : left == 0                                    ? Json(0)
                                                                       : Json();
  return json;
}

std::string
Format(const Json & json)
{
  std::string text = json["folder"].get<std::string>() + ": " + json["done"].dump() + " of " + json["slides"].dump() +
                     " done, " + json["failed"].dump() + " failed";
  std::string codes;
  for (const auto & item : json["codes"].items())
  {
    codes += (codes.empty() ? " (" : ", ") + item.key() + ' ' + item.value().dump();
  }
  text += ", " + std::to_string(json["running"].size()) + " running, " + json["left"].dump() + " left" +
          (codes.empty() ? "" : codes + ")");
  text += json["secondsLeft"].is_number() && json["left"] != 0
            ? ", " + FormatDuration(json["secondsLeft"].get<double>()) + " left\n"
            : "\n";
  for (const auto & item : json["versions"].items())
  {
    if (json["versions"].size() > 1 || item.key() != GIGAPIXEL_VERSION)
    {
      text += "made by version " + item.key() + ": " + item.value().dump() + '\n';
    }
  }
  for (const Json & each : json["running"])
  {
    text += "running: " + each["slide"].get<std::string>() + ", process " + each["pid"].dump() + " on " +
            each["host"].get<std::string>() + '\n';
  }
  return text;
}
} // namespace

int
RunStatus(const ArgumentValues & values, const Session & session)
{
  const Json json = Describe(values.GetText("FOLDER"));
  session.ShowResult(Format(json), json);
  return Success;
}

} // namespace gigapixel::application
