/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportAnonymity.h"

#include "CommandFunctions.h"

#include "gigapixelObjective.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

void
AnonymizeMissing(Json & missing)
{
  for (Json & entry : missing)
  {
    entry.erase("file");
    entry.erase("why");
  }
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
} // namespace

bool
IsAnonymousColumn(const std::string & column)
{
  const auto & kinds = ObjectiveKind::GetAll();
  const bool   isTruth = std::any_of(kinds.begin(), kinds.end(), [&column](const ObjectiveKind * kind) {
    return std::any_of(kind->columns.begin(), kind->columns.end(), [&](const std::string & own) {
      return kind->HasNames() ? column.rfind(own, 0) == 0 : column == own;
    });
  });
  return isTruth || column == "split" || column == "fold" || column == "predicted";
}

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

void
AnonymizeSlide(Json & slide, std::size_t number)
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
    if (IsAnonymousColumn(item.key()))
    {
      columns[item.key()] = item.value();
    }
  }
  slide["columns"] = columns;
}

void
AnonymizeRest(Json & data)
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

} // namespace gigapixel::application
