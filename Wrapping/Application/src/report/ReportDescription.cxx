/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportDescription.h"

#include "ReportAnonymity.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelPrintable.h"
#include "gigapixelUsableCores.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <vector>

#include <sys/utsname.h>

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

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
      AnonymizeSlide(slide, slides.size() + 1);
    }
    slides.push_back(std::move(slide));
  }
  return slides;
}
} // namespace

Json
DescribeReport(ReportContent & content, const std::string & command, bool isAnonymous)
{
  Json data{ { "version", GIGAPIXEL_VERSION }, { "anonymous", isAnonymous } };
  data["command"] = isAnonymous ? Json() : Json(command);
  data["columns"] = Json::array();
  for (const std::string & column : content.rows.GetColumns())
  {
    if (!isAnonymous || IsAnonymousColumn(column))
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
    AnonymizeRest(data);
  }
  data["codes"] = ExplainCodes(data);
  return MakePrintable(data);
}

} // namespace gigapixel::application
