/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReportRows.h"

#include "ArgumentText.h"
#include "BatchManifest.h"
#include "OutputCheck.h"
#include "SlideList.h"

#include "gigapixelFileIdentity.h"
#include "gigapixelMaskName.h"
#include "gigapixelTableReader.h"

#include "itkWholeSlideImageIO.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <system_error>
#include <utility>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

/** Fields of results that a row keeps under the same name. */
constexpr const char * KeptFields[] = {
  "preset",        "tissueFraction", "tissueMm2",    "penFraction", "artifactFraction", "expectedIou", "predicted",
  "probabilities", "values",         "dice",         "iou",         "sensitivity",      "specificity", "precision",
  "peakBytes",     "seconds",        "damagedTiles",
};

/** A path that a file names, which may count from where the command ran, or from where the file lies. */
std::string
Resolve(const std::string & path, const std::string & folder)
{
  std::error_code ignored;
  for (const fs::path & place : { fs::path(path),
                                  fs::path(folder) / path,
                                  fs::path(folder).parent_path() / path,
                                  fs::path(folder) / fs::path(path).filename() })
  {
    if (!path.empty() && fs::is_regular_file(place, ignored))
    {
      return place.string();
    }
  }
  return path;
}

/** A path without the steps upwards that it begins with: from where they lead is not known. */
std::string
SkipSteps(const std::string & path)
{
  fs::path end;
  for (const fs::path & part : fs::path(path).lexically_normal())
  {
    end = part == ".." ? end : end / part;
  }
  return end.string();
}

/** Whether two paths are of one file. Where a file is not there, its path has to end as the other does. */
bool
MayBeSame(const std::string & a, const std::string & b)
{
  std::error_code ignored;
  if (a == b || (fs::exists(a, ignored) && fs::exists(b, ignored)))
  {
    return a == b || fs::equivalent(a, b, ignored);
  }
  const std::string endOfA = SkipSteps(a);
  const std::string endOfB = SkipSteps(b);
  return endOfA == endOfB || EndsWith(endOfA, '/' + endOfB) || EndsWith(endOfB, '/' + endOfA);
}

/** Whether a file says that a command of ours has written it as a mask. */
bool
IsMask(const std::string & file)
{
  const std::string madeBy = FindMadeBy(file);
  const std::string command = madeBy.substr(0, madeBy.find(' '));
  return command == "label" || command == "segment" || command == "rasterize";
}

/** Adds what is not there yet. */
void
Merge(const Json & more, Json & list)
{
  for (const Json & entry : more)
  {
    if (entry.is_object() && std::find(list.begin(), list.end(), entry) == list.end())
    {
      list.push_back(entry);
    }
  }
}

/** CPU seconds are a number, or those of parts with their sum. */
Json
FindSeconds(const Json & result)
{
  const Json found = result.value("cpuSeconds", Json());
  return found.is_object() ? found.value("all", Json()) : found;
}

std::string
GetText(const Json & result, const char * key)
{
  const auto found = result.find(key);
  return found != result.end() && found->is_string() ? found->get<std::string>() : std::string();
}
} // namespace

nlohmann::ordered_json
DescribeMissing(const std::string & what, const Diagnostic & reason)
{
  return { { "what", what }, { "file", reason.file }, { "why", reason.why }, { "code", reason.code } };
}

void
ReportRow::Miss(const std::string & what, const std::exception & error)
{
  data["missing"].push_back(DescribeMissing(what, Diagnostic::Of(error)));
}

void
ReportRow::AddProbability(const std::string & name, double probability)
{
  Json & all = data["perTable"][name];
  all.push_back(probability);
  const auto values = all.get<std::vector<double>>();
  data["probabilities"][name] = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

ReportRow &
ReportRows::FindRow(const std::string & slide, const std::string & mask)
{
  const std::string name = GetSlideName(slide);
  for (const std::size_t place : m_ByName[name])
  {
    ReportRow & row = m_Rows[place];
    const bool  isMask = mask.empty() || row.mask.empty() || MayBeSame(row.mask, mask);
    if (isMask && (row.slide.empty() || MayBeSame(row.slide, slide)))
    {
      std::error_code ignored;
      row.slide = row.slide.empty() || !fs::exists(row.slide, ignored) ? slide : row.slide;
      return row;
    }
  }
  m_ByName[name].push_back(m_Rows.size());
  m_Rows.push_back({ name, slide, {}, Json::object() });
  return m_Rows.back();
}

ReportRow &
ReportRows::FindRowOfMask(const std::string & mask)
{
  const std::string name = GetSlideName(mask);
  for (const std::size_t place : m_ByName[name])
  {
    if (m_Rows[place].mask.empty() || MayBeSame(m_Rows[place].mask, mask))
    {
      m_Rows[place].mask = mask;
      return m_Rows[place];
    }
  }
  m_ByName[name].push_back(m_Rows.size());
  m_Rows.push_back({ name, {}, mask, Json::object() });
  return m_Rows.back();
}

bool
ReportRows::AddMask(const std::string & file)
{
  if (!IsMask(file))
  {
    return false;
  }
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(file);
  io->GiveWarningsOff();
  io->ReadImageInformation();
  if (io->GetComponentType() == itk::CommonEnums::IOComponent::FLOAT) // a map of probabilities
  {
    return false;
  }
  this->FindRowOfMask(file);
  return true;
}

bool
ReportRows::AddResult(Json result, const std::string & folder)
{
  const std::string slide = GetText(result, "slide");
  const std::string mask = Resolve(GetText(result, slide.empty() ? "prediction" : "mask"), folder);
  if (slide.empty() && (mask.empty() || !result.contains("dice")))
  {
    if (result.contains("rocAUC") || result.contains("objective"))
    {
      m_Others.push_back(result);
      return true;
    }
    return false;
  }
  ReportRow & row = slide.empty() ? this->FindRowOfMask(mask) : this->FindRow(Resolve(slide, folder), mask);
  row.mask = row.mask.empty() ? mask : row.mask;
  row.read = GetText(result, "content").empty() ? row.read : GetText(result, "content");
  result = MoveSlide(std::move(result), row.slide); // a warning that two inputs tell names one file
  if (!result.contains("error"))
  {
    row.data.erase("error"); // of an earlier try
  }
  for (const char * const field : KeptFields)
  {
    const bool isOfTables = row.data.contains("perTable") && std::string(field) == "probabilities";
    if (const auto found = result.find(field); found != result.end() && !found->is_null() && !isOfTables)
    {
      row.data[field] = *found;
    }
  }
  if (const Json seconds = FindSeconds(result); seconds.is_number())
  {
    row.data["cpuSeconds"] = seconds;
  }
  if (const auto error = result.find("error"); error != result.end())
  {
    row.data["error"] = error->is_object() && error->value("code", Json()).is_string()
                          ? *error
                          : Json{ { "code", "E-OTHER" }, { "why", error->dump() } };
  }
  for (const char * const list : { "doubts", "warnings" })
  {
    Json ours = Json::array();
    for (const Json & entry : result.value(list, Json::array()))
    {
      if (entry.is_object() && entry.value("code", Json()).is_string())
      {
        ours.push_back(entry);
      }
    }
    Merge(ours, row.data[list]);
  }
  return true;
}

int
ReportRows::AddResults(const Json & results, const std::string & folder)
{
  if (results.is_object())
  {
    return this->AddResult(results, folder) ? 1 : 0;
  }
  int shown = 0;
  for (const Json & result : results.is_array() ? results : Json::array())
  {
    shown += result.is_object() && this->AddResult(result, folder) ? 1 : 0;
  }
  return shown;
}

void
ReportRows::AddMaking(const Json & entry, const std::string & folder)
{
  Json made;
  for (const char * const key : { "version", "command", "options", "inputs" })
  {
    made[key] = entry.value(key, Json());
  }
  for (ReportRow * const row : this->FindRowsThere(Resolve(GetText(entry, "slide"), folder)))
  {
    Merge(Json::array({ made }), row->data["made"]);
  }
}

void
ReportRows::AddTiming(const std::string & slide, const Json & timing, const std::string & folder)
{
  for (ReportRow * const row : this->FindRowsThere(Resolve(slide, folder)))
  {
    for (const auto & item : timing.items())
    {
      if (!row->data.contains(item.key()))
      {
        row->data[item.key()] = item.value();
      }
    }
  }
}

std::vector<ReportRow *>
ReportRows::FindRowsThere(const std::string & slide)
{
  std::vector<ReportRow *> rows;
  for (const std::size_t place : m_ByName[GetSlideName(slide)])
  {
    if (MayBeSame(m_Rows[place].slide, slide))
    {
      rows.push_back(&m_Rows[place]);
    }
  }
  return rows;
}

void
ReportRows::AddTable(const std::string & file)
{
  TableReader                    table(file, "E-REPORT-INPUT");
  const std::vector<std::string> columns = table.GetHeader().fields;
  const int                      slide = table.FindColumn("slide");
  const int                      mask = table.FindColumn("mask");
  if (slide < 0)
  {
    table.Fail(1, "it has no column slide", "name a table with a row for each slide");
  }
  if (table.FindColumn("component") >= 0)
  {
    table.Fail(1, "it has a row for each component of a mask", "name a table with a row for each slide");
  }
  const std::string             folder = fs::absolute(file).parent_path().string();
  std::vector<TableReader::Row> lines; // all, before one of them is shown
  for (TableReader::Row line; table.Next(line);)
  {
    lines.push_back(line);
  }
  std::map<std::size_t, std::map<std::string, double>> probabilities; // of this table, by rows and classes
  for (const TableReader::Row & line : lines)
  {
    ReportRow & row = this->FindRow(Resolve(line.fields[static_cast<std::size_t>(slide)], folder));
    auto &      ofRow = probabilities[static_cast<std::size_t>(&row - m_Rows.data())];
    if (mask >= 0 && !line.fields[static_cast<std::size_t>(mask)].empty())
    {
      row.mask = Resolve(line.fields[static_cast<std::size_t>(mask)], folder);
    }
    for (std::size_t i = 0; i < columns.size(); ++i)
    {
      const std::string & column = columns[i];
      const std::string & field = line.fields[i];
      if (static_cast<int>(i) == slide || static_cast<int>(i) == mask || field.empty())
      {
        continue;
      }
      if (const auto probability = ReadNumber(field); probability && column.rfind("p_", 0) == 0)
      {
        ofRow[column.substr(2)] = *probability;
        continue;
      }
      row.data["columns"][column] = field; // as it is written: 007 is the name of a patient
      if (std::find(m_Columns.begin(), m_Columns.end(), column) == m_Columns.end())
      {
        m_Columns.push_back(column);
      }
    }
  }
  if (!m_Tables.insert(IdentifyFile(file, HashedBytes::All)).second)
  {
    return; // the same table again is not one of another model
  }
  for (const auto & [place, ofRow] : probabilities)
  {
    for (const auto & [name, probability] : ofRow)
    {
      m_Rows[place].AddProbability(name, probability);
    }
  }
}

void
ReportRows::FindSlides(const std::vector<std::string> & places)
{
  std::map<std::string, std::vector<std::string>> files;
  for (const std::string & place : places)
  {
    std::error_code ignored;
    if (!fs::is_directory(place, ignored))
    {
      const auto listed = ExpandName(place, "slide");
      for (const std::string & file : listed.empty() ? std::vector<std::string>{ place } : listed)
      {
        files[GetSlideName(file)].push_back(file);
      }
      continue;
    }
    for (fs::directory_iterator entry(place, ignored), end; !ignored && entry != end; entry.increment(ignored))
    {
      files[GetSlideName(entry->path().string())].push_back(entry->path().string());
    }
  }
  for (ReportRow & row : m_Rows)
  {
    std::error_code ignored;
    if (fs::is_regular_file(row.slide, ignored))
    {
      continue;
    }
    std::map<std::string, std::string> named; // by where they are: several inputs may name one slide
    for (const std::string & file : files[row.name])
    {
      if (fs::is_regular_file(file, ignored) && itk::WholeSlideImageIO::New()->CanReadFile(file.c_str()) &&
          !IsMask(file))
      {
        named.emplace(GetPlace(file), file);
      }
    }
    if (named.size() == 1)
    {
      row.slide = named.begin()->second;
    }
    else if (!named.empty())
    {
      const std::string & other = std::next(named.begin())->second;
      row.data["missing"].push_back(DescribeMissing(
        "the slide is one of several of its name",
        Diagnostic("E-FILE-NAME", named.begin()->second + " and " + other + " may be meant").OfFile(other)));
    }
  }
}

} // namespace gigapixel::application
