/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelCohort.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelJoinNames.h"
#include "gigapixelTableReader.h"
#include "gigapixelPrintable.h"
#include "gigapixelTruthField.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include <sys/stat.h>

namespace gigapixel
{
namespace
{

namespace fs = std::filesystem;

constexpr std::size_t LongestLabel = 255; ///< bytes: classes are named in sentences, models and tables

/** Positions of the columns; -1: not there. */
struct Columns
{
  int slide{ -1 };
  int mask{ -1 };
  int label{ -1 };
  int split{ -1 };
  int region{ -1 };
  int patient{ -1 };
  /** Of truths that are no labels, in the order of the objective's names. */
  std::vector<int> truths;
};

/** The name in a column of this kind; empty: there is none. */
std::string
GetNameInColumn(const std::string & column, const ObjectiveKind & kind)
{
  const std::string & prefix = kind.columns.front();
  return kind.HasNames() && column.compare(0, prefix.size(), prefix) == 0 ? column.substr(prefix.size()) : "";
}

bool
IsColumnOf(const std::string & column, const ObjectiveKind & kind)
{
  return kind.HasNames() ? !GetNameInColumn(column, kind).empty()
                         : std::count(kind.columns.begin(), kind.columns.end(), column) > 0;
}

/** Whether there is a name, or all columns of a kind that has no names. */
bool
HasColumnsOf(const std::vector<std::string> & columns, const ObjectiveKind & kind)
{
  const auto isThere = [&](const std::string & wanted) {
    return std::any_of(columns.begin(), columns.end(), [&](const std::string & column) {
      return kind.HasNames() ? !GetNameInColumn(column, kind).empty() : column == wanted;
    });
  };
  return std::all_of(kind.columns.begin(), kind.columns.end(), isThere);
}

/** A name that a model keeps, and tables and pictures show. */
void
CheckText(const std::string & file, int line, const std::string & what, const std::string & text)
{
  if (const std::string shown = GetPrintable(text); shown != text)
  {
    TableReader::Fail(
      file,
      line,
      Diagnostic("E-COHORT-FORMAT",
                 what + " \"" + shown +
                   "\" has bytes (\\xNN) that are no text in UTF-8, or characters that cannot be printed",
                 "save the table as CSV in UTF-8"));
  }
}

/** The kind of truths that the table is read for.
 * \param wanted its name; empty: what the columns say */
const ObjectiveKind &
FindKind(const std::string & file, const TableReader::Row & header, const std::string & wanted)
{
  const auto &          columns = header.fields;
  const auto            has = [&](const char * name) { return std::count(columns.begin(), columns.end(), name) > 0; };
  const ObjectiveKind * found = ObjectiveKind::Find(wanted.empty() ? "classes" : wanted);
  if (!found)
  {
    throw Refusal(
      Diagnostic("E-OPTION-VALUE", "there is no objective \"" + wanted + "\": it is " + ObjectiveKind::NameAll())
        .OfValue(wanted));
  }
  if (!wanted.empty() && !HasColumnsOf(columns, *found))
  {
    TableReader::Fail(file,
                      header.line,
                      Diagnostic("E-COHORT-FORMAT",
                                 "there is no column of the " + found->Describe() + " of whole slides (--objective " +
                                   found->name + ")"));
  }
  if (!wanted.empty() || has("label") || has("mask"))
  {
    return *found;
  }
  const ObjectiveKind * first = nullptr;
  for (const ObjectiveKind * kind : ObjectiveKind::GetAll())
  {
    if (first && HasColumnsOf(columns, *kind))
    {
      TableReader::Fail(file,
                        header.line,
                        Diagnostic("E-COHORT-FORMAT",
                                   "there are " + first->Describe() + " and " + kind->Describe(),
                                   "say which are to be learnt (--objective " + first->name + ")"));
    }
    first = !first && HasColumnsOf(columns, *kind) ? kind : first;
  }
  return first ? *first : *found;
}

/** The columns of truths. */
std::string
NameTruthColumns()
{
  std::vector<std::string> kinds;
  for (const ObjectiveKind * const kind : ObjectiveKind::GetAll())
  {
    kinds.push_back(kind->Describe());
  }
  return JoinNames(kinds);
}

/** What spreadsheets of some languages call CSV. */
void
RefuseOtherSeparators(const std::string & file, const TableReader::Row & header)
{
  const std::size_t separator = header.fields.size() == 1 ? header.fields[0].find_first_of(";\t") : std::string::npos;
  if (separator != std::string::npos)
  {
    TableReader::Fail(file,
                      header.line,
                      Diagnostic("E-COHORT-FORMAT",
                                 std::string("its columns are to be separated by commas, not by ") +
                                   (header.fields[0][separator] == ';' ? "semicolons" : "tabs")));
  }
}

Columns
ReadHeader(const std::string &       file,
           const TableReader::Row &  header,
           bool                      needsSplit,
           Objective &               objective,
           std::vector<Diagnostic> & warnings)
{
  const ObjectiveKind &                               kind = objective.GetKind();
  Columns                                             columns;
  const std::array<std::pair<const char *, int *>, 6> known{ { { "slide", &columns.slide },
                                                               { "mask", &columns.mask },
                                                               { "split", &columns.split },
                                                               { "label", &columns.label },
                                                               { "region", &columns.region },
                                                               { "patient", &columns.patient } } };
  RefuseOtherSeparators(file, header);
  for (std::size_t i = 0; i < header.fields.size(); ++i)
  {
    const auto found =
      std::find_if(known.begin(), known.end(), [&](const auto & column) { return header.fields[i] == column.first; });
    const bool isTruth = found == known.end() && IsColumnOf(header.fields[i], kind);
    if ((isTruth || found != known.end()) &&
        std::count(header.fields.begin(), header.fields.end(), header.fields[i]) > 1)
    {
      TableReader::Fail(
        file, header.line, Diagnostic("E-COHORT-FORMAT", "the column \"" + header.fields[i] + "\" is there twice"));
    }
    if (isTruth)
    {
      if (kind.HasNames())
      {
        CheckText(file, header.line, "the column", header.fields[i]);
        objective.names.push_back(GetNameInColumn(header.fields[i], kind));
      }
      continue;
    }
    if (found == known.end())
    {
      const std::string column = ToMessage(header.fields[i]);
      warnings.push_back(
        Diagnostic("W-COHORT", "the column \"" + column + "\" is not read").OfFile(file).OfValue(column));
      continue;
    }
    *found->second = static_cast<int>(i);
  }
  for (const std::string & column : objective.GetTruthColumns())
  {
    const auto place = std::find(header.fields.begin(), header.fields.end(), column) - header.fields.begin();
    columns.truths.push_back(static_cast<int>(place));
  }
  for (std::size_t i = 0; i < 3; ++i)
  {
    const bool isNeeded = (known[i].second != &columns.mask || (columns.label < 0 && columns.truths.empty())) &&
                          (known[i].second != &columns.split || needsSplit);
    if (isNeeded && *known[i].second < 0)
    {
      TableReader::Fail(
        file,
        header.line,
        Diagnostic("E-COHORT-FORMAT",
                   std::string("the column \"") + known[i].first + "\" is missing",
                   "name the columns in the first line: slide,mask,split and optionally region; instead of, or beside, "
                   "mask what is known of whole slides: " +
                     NameTruthColumns()));
    }
  }
  return columns;
}

Region
ParseRegion(const std::string & file, int line, const std::string & text)
{
  std::array<std::int64_t, 4> numbers{};
  std::size_t                 count = 0;
  const char *                at = text.data();
  const char * const          end = at + text.size();
  const auto                  isSeparator = [](char c) { return c == ',' || c == ';' || c == ' ' || c == '\t'; };
  constexpr std::int64_t      largest = std::int64_t{ 1 } << 40; // sums of two stay numbers
  bool                        good = true;
  while (good && (at = std::find_if_not(at, end, isSeparator)) != end)
  {
    good = count < 4;
    if (good)
    {
      const auto parsed = std::from_chars(at, end, numbers[count++]);
      good = parsed.ec == std::errc() && (parsed.ptr == end || isSeparator(*parsed.ptr));
      at = parsed.ptr;
    }
  }
  if (!good || count != 4 || numbers[0] < 0 || numbers[1] < 0 || numbers[2] <= 0 || numbers[3] <= 0 ||
      *std::max_element(std::begin(numbers), std::end(numbers)) > largest)
  {
    TableReader::Fail(file,
                      line,
                      Diagnostic("E-COHORT-FORMAT",
                                 "the region \"" + text +
                                   "\" is not x,y,width,height in level-0 pixels, with width and height above 0"));
  }
  return Region{ numbers[0], numbers[1], numbers[2], numbers[3] };
}

std::string
GetName(CohortEntry::Split split)
{
  return split == CohortEntry::Split::Training ? "train" : split == CohortEntry::Split::Test ? "test" : "validation";
}

CohortEntry::Split
ParseSplit(const std::string & file, int line, const std::string & text)
{
  if (text == "train")
  {
    return CohortEntry::Split::Training;
  }
  if (text == "validation")
  {
    return CohortEntry::Split::Validation;
  }
  if (text == "test")
  {
    return CohortEntry::Split::Test;
  }
  TableReader::Fail(
    file, line, Diagnostic("E-COHORT-FORMAT", "the split \"" + text + "\" is none of train, validation, test"));
}

/** A path of the table seen from the table's folder. It is put together, and no more: where a link and ".." lead, the
 * file system alone knows. A table that is a link itself has two folders, and its author may have meant either.
 * \return the path in the first of them, where there is no such file */
fs::path
SeeFromTable(const std::string & file, int line, const std::string & column, const std::string & path)
{
  if (path.empty())
  {
    TableReader::Fail(file, line, Diagnostic("E-COHORT-FORMAT", "the " + column + " is empty"));
  }
  fs::path        besideName = fs::path(file).parent_path() / path;
  std::error_code error;
  fs::path        besideFile = fs::canonical(file, error).parent_path() / path;
  const bool      isBesideName = fs::exists(besideName, error);
  const bool      isBesideFile = fs::is_symlink(file, error) && fs::exists(besideFile, error);
  if (isBesideName && isBesideFile && !fs::equivalent(besideName, besideFile, error))
  {
    TableReader::Fail(file,
                      line,
                      Diagnostic("E-COHORT-FORMAT",
                                 "the " + column + " " + path + " is there twice, beside this link (" +
                                   besideName.string() + ") and beside the table that it leads to (" +
                                   besideFile.string() + ")",
                                 "name the table itself, or one of them"));
  }
  return isBesideFile && !isBesideName ? besideFile : besideName;
}

std::string
ResolveFile(const std::string & file, int line, const std::string & column, const std::string & path)
{
  const fs::path  seen = SeeFromTable(file, line, column, path);
  std::error_code error;
  if (!fs::exists(seen, error))
  {
    TableReader::Fail(file, line, Diagnostic("E-FILE-MISSING", "there is no " + column + " " + seen.string()));
  }
  return seen.string();
}

/** Of a volume a file for each modality, joined by commas. A file that is there under the whole name goes before.
 * \param path as it is seen from the folder */
std::vector<std::string>
SplitFiles(const fs::path & folder, const std::string & path)
{
  std::error_code          error;
  std::vector<std::string> files;
  if (path.find(',') == std::string::npos || fs::exists(folder / path, error))
  {
    return { path };
  }
  for (std::size_t begin = 0; begin <= path.size();)
  {
    const std::size_t end = std::min(path.find(',', begin), path.size());
    files.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

/** \param resolve makes a path of each of a volume's files */
template <typename TResolve>
std::string
ResolveEach(const std::string & file, const std::string & path, const TResolve & resolve)
{
  std::string resolved;
  for (const std::string & part : SplitFiles(fs::path(file).parent_path(), path))
  {
    resolved += (resolved.empty() ? "" : ",") + resolve(part);
  }
  return resolved;
}

/** Of a row that has some. */
ImageTruth
ReadTruth(const TableReader & reader, const TableReader::Row & row, const Columns & columns, const ObjectiveKind & kind)
{
  ImageTruth truth;
  for (std::size_t i = 0; i < columns.truths.size(); ++i)
  {
    const auto          column = static_cast<std::size_t>(columns.truths[i]);
    const std::string & field = row.fields[column];
    try
    {
      truth.push_back(IsNotKnown(field) && kind.HasNames() ? std::numeric_limits<double>::quiet_NaN()
                                                           : kind.readTruth(i, field));
    }
    catch (const std::invalid_argument & error)
    {
      reader.Fail(row.line,
                  "\"" + field + "\" in the column " + reader.GetHeader().fields[column] + ' ' +
                    Diagnostic::Of(error).why);
    }
  }
  if (!truth.empty() && std::all_of(truth.begin(), truth.end(), [](double value) { return std::isnan(value); }))
  {
    reader.Fail(row.line, std::string("none of the ") + kind.name + " is known", "leave out the row");
  }
  return truth;
}

bool
Overlap(const Region & a, const Region & b)
{
  if (a.width == 0 || b.width == 0)
  {
    return true; // one of them is the whole slide
  }
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

using FileNumber = std::pair<dev_t, ino_t>;

/** The same for all paths and links that lead to one file; of each modality. */
std::vector<FileNumber>
GetFileNumbers(const std::string & file, const CohortEntry & entry)
{
  std::vector<FileNumber> numbers;
  for (const std::string & part : SplitFiles({}, entry.slide))
  {
    struct stat status
    {
    };
    if (stat(part.c_str(), &status) != 0)
    {
      TableReader::Fail(file, entry.line, Diagnostic("E-FILE-ACCESS", "the slide " + entry.slide + " cannot be read"));
    }
    numbers.emplace_back(status.st_dev, status.st_ino);
  }
  return numbers;
}

/** What stands in two splits makes the validation worthless, so it is an error; neighbors on one slide are a choice.
 * \param rows of the cohort that name the same slide, or share a modality of a volume */
void
CheckAgainstEarlier(const std::string &           file,
                    const CohortEntry &           entry,
                    const std::set<std::size_t> & rows,
                    Cohort &                      cohort)
{
  for (const std::size_t row : rows)
  {
    const CohortEntry & earlier = cohort.entries[row];
    const Region &      a = earlier.region;
    const Region &      b = entry.region;
    const bool          same = a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
    const auto          line = std::to_string(earlier.line);
    if (same && earlier.split == entry.split)
    {
      TableReader::Fail(file,
                        entry.line,
                        Diagnostic("E-COHORT-CONFLICT",
                                   "the slide " + entry.slide + " is there already, on line " + line,
                                   "remove one of the lines"));
    }
    if (earlier.split != entry.split && Overlap(a, b))
    {
      TableReader::Fail(file,
                        entry.line,
                        Diagnostic("E-COHORT-CONFLICT",
                                   "the slide " + entry.slide + " is in another split already, on line " + line,
                                   "put it into one split, or name regions that do not overlap"));
    }
    if (earlier.split != entry.split)
    {
      const std::string own = std::to_string(entry.line);
      cohort.warnings.push_back(Diagnostic("W-COHORT",
                                           "line " + own + ": another region of the slide " + ToMessage(entry.slide) +
                                             " is in another split, on line " + line +
                                             "; regions of one slide are alike")
                                  .OfFile(file)
                                  .OfValue(own));
    }
  }
}

/** Slides of one patient are alike: a network that was trained on one of them knows the others.
 * \param rowOfPatient the first of each */
void
CheckPatient(const std::string &                  file,
             const CohortEntry &                  entry,
             std::map<std::string, std::size_t> & rowOfPatient,
             const Cohort &                       cohort)
{
  if (entry.patient.empty())
  {
    TableReader::Fail(
      file,
      entry.line,
      Diagnostic("E-COHORT-FORMAT", "the patient is empty", "name the slide's patient, or leave out the column"));
  }
  const auto          first = rowOfPatient.emplace(entry.patient, cohort.entries.size()).first->second;
  const CohortEntry * earlier = first < cohort.entries.size() ? &cohort.entries[first] : nullptr;
  if (earlier != nullptr && earlier->split != entry.split)
  {
    TableReader::Fail(file,
                      entry.line,
                      Diagnostic("E-COHORT-CONFLICT",
                                 "the patient " + entry.patient + " is in the split " + GetName(entry.split) +
                                   " here, and in " + GetName(earlier->split) + " on line " +
                                   std::to_string(earlier->line),
                                 "put all slides of a patient into one split"));
  }
}

void
CheckLabel(const std::string & fileName, int line, const std::string & label)
{
  const auto refuse = [&](const std::string & why, const std::string & remedy) {
    TableReader::Fail(fileName, line, Diagnostic("E-COHORT-FORMAT", why, remedy));
  };
  if (label.empty())
  {
    refuse("the label is empty", "name the slide's class, or leave out the row");
  }
  for (const char * const prefix : { "label:", "grade:" })
  {
    if (label.rfind(prefix, 0) == 0)
    {
      refuse("the label \"" + label + "\" begins as columns of findings and grades do",
             std::string("leave out \"") + prefix + '"');
    }
  }
  if (label.size() > LongestLabel)
  {
    refuse("the label \"" + label + "\" is longer than the " + std::to_string(LongestLabel) +
             " bytes that the name of a class may have",
           "");
  }
  CheckText(fileName, line, "the label", label);
}

} // namespace

Cohort
Cohort::Load(const std::string & fileName, bool needsSplit, const std::string & objective)
{
  TableReader reader(fileName);
  Cohort      cohort;
  if (reader.GetHeader().fields.empty())
  {
    reader.Fail(1, "the cohort is empty", "name the columns in its first line: slide,mask,split");
  }
  cohort.objective.kind = &FindKind(fileName, reader.GetHeader(), objective);
  const Columns columns = ReadHeader(fileName, reader.GetHeader(), needsSplit, cohort.objective, cohort.warnings);

  std::map<FileNumber, std::set<std::size_t>> rowsOfFile;
  std::map<std::string, std::size_t>          rowOfPatient;
  TableReader::Row                            row;
  while (reader.Next(row))
  {
    const auto & fields = row.fields;
    const auto   field = [&](int column) { return fields[static_cast<std::size_t>(column)]; };
    CohortEntry  entry;
    entry.line = row.line;
    entry.slide = ResolveEach(fileName, field(columns.slide), [&](const std::string & part) {
      return ResolveFile(fileName, entry.line, "slide", part);
    });
    entry.mask = columns.mask < 0 ? "" : ResolveFile(fileName, entry.line, "mask", field(columns.mask));
    if (columns.label >= 0)
    {
      entry.label = field(columns.label);
      CheckLabel(fileName, entry.line, entry.label);
    }
    entry.truth = ReadTruth(reader, row, columns, cohort.objective.GetKind());
    entry.split =
      columns.split < 0 ? CohortEntry::Split::Training : ParseSplit(fileName, entry.line, field(columns.split));
    if (columns.patient >= 0)
    {
      entry.patient = field(columns.patient);
      CheckPatient(fileName, entry, rowOfPatient, cohort);
    }
    if (columns.region >= 0 && !field(columns.region).empty())
    {
      entry.region = ParseRegion(fileName, entry.line, field(columns.region));
    }
    const auto            numbers = GetFileNumbers(fileName, entry);
    std::set<std::size_t> earlier;
    for (const FileNumber & number : numbers)
    {
      earlier.insert(rowsOfFile[number].begin(), rowsOfFile[number].end());
    }
    CheckAgainstEarlier(fileName, entry, earlier, cohort);
    for (const FileNumber & number : numbers)
    {
      rowsOfFile[number].insert(cohort.entries.size());
    }
    cohort.entries.push_back(entry);
  }
  if (cohort.entries.empty())
  {
    TableReader::Fail(fileName, 1, Diagnostic("E-COHORT-FORMAT", "the cohort names no slides below its header"));
  }
  std::set<std::string> classes;
  for (const CohortEntry & entry : cohort.entries)
  {
    classes.insert(entry.label);
  }
  classes.erase("");
  cohort.classes.assign(classes.begin(), classes.end());
  return cohort;
}

std::vector<std::string>
ReadFileColumn(const std::string & fileName, const std::string & column)
{
  TableReader reader(fileName);
  const int   found = reader.FindColumn(column);
  RefuseOtherSeparators(fileName, reader.GetHeader());
  if (found < 0)
  {
    reader.Fail(1, "the column \"" + column + "\" is missing", "name the columns in the first line");
  }
  const auto & columns = reader.GetHeader().fields;
  if (std::count(columns.begin(), columns.end(), column) > 1)
  {
    reader.Fail(1, "the column \"" + column + "\" is there twice", "leave one of them");
  }
  std::vector<std::string> files;
  for (TableReader::Row row; reader.Next(row);)
  {
    files.push_back(ResolveEach(fileName, row.fields[static_cast<std::size_t>(found)], [&](const std::string & part) {
      return SeeFromTable(fileName, row.line, column, part).string();
    }));
  }
  if (files.empty())
  {
    reader.Fail(1, "it names no file below its header");
  }
  return files;
}

} // namespace gigapixel
