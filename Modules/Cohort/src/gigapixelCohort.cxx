/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelCohort.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
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

/** In one line, and without what a terminal would obey: fields may hold any bytes. */
std::string
WithoutControls(std::string sentence)
{
  const auto isControl = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  std::replace_if(sentence.begin(), sentence.end(), isControl, '?');
  return sentence;
}

[[noreturn]] void
Fail(const std::string & file, int line, const std::string & reason)
{
  throw std::runtime_error(file + ", line " + std::to_string(line) + ": " + WithoutControls(reason));
}

struct Record
{
  std::vector<std::string> fields;
  int                      line{ 0 }; ///< on which it begins
};

/** Splits RFC 4180 text: quoted fields may hold commas, line breaks and doubled quotes. */
class Reader
{
public:
  Reader(std::string file, std::string text)
    : m_File(std::move(file))
    , m_Text(std::move(text))
  {
    if (m_Text.compare(0, 3, "\xEF\xBB\xBF") == 0)
    {
      m_At = 3; // spreadsheets begin their UTF-8 so
    }
  }

  bool
  Next(Record & record)
  {
    while (m_At < m_Text.size())
    {
      record = Record{};
      record.line = m_Line;
      do
      {
        record.fields.push_back(this->Field());
      } while (this->Take(','));
      this->EndLine();
      if (record.fields.size() > 1 || !record.fields[0].empty())
      {
        return true;
      }
    }
    return false;
  }

private:
  bool
  Take(char expected)
  {
    const bool there = m_At < m_Text.size() && m_Text[m_At] == expected;
    m_At += there ? 1 : 0;
    return there;
  }

  void
  EndLine()
  {
    this->Take('\r');
    this->Take('\n');
    ++m_Line;
  }

  std::string
  Field()
  {
    if (this->Take('"'))
    {
      return this->Quoted();
    }
    const std::size_t end = std::min(m_Text.find_first_of(",\r\n", m_At), m_Text.size());
    std::string       field = m_Text.substr(m_At, end - m_At);
    if (field.find('"') != std::string::npos)
    {
      Fail(m_File, m_Line, "a quote stands inside a field that is not quoted: quote the whole field");
    }
    m_At = end;
    const std::size_t first = field.find_first_not_of(" \t");
    return first == std::string::npos ? std::string() : field.substr(first, field.find_last_not_of(" \t") - first + 1);
  }

  std::string
  Quoted()
  {
    const int   line = m_Line;
    std::string field;
    while (m_At < m_Text.size())
    {
      const char c = m_Text[m_At++];
      if (c == '"' && !this->Take('"'))
      {
        if (m_At < m_Text.size() && m_Text.find_first_of(",\r\n", m_At) != m_At)
        {
          Fail(m_File, m_Line, "text follows a closing quote: double the quotes that belong to the field");
        }
        return field;
      }
      m_Line += c == '\n' ? 1 : 0;
      field += c;
    }
    Fail(m_File, line, "the quote that opens here is never closed");
  }

  std::string m_File;
  std::string m_Text;
  std::size_t m_At{ 0 };
  int         m_Line{ 1 };
};

/** Positions of the columns; -1: not there. */
struct Columns
{
  int slide{ -1 };
  int mask{ -1 };
  int label{ -1 };
  int split{ -1 };
  int region{ -1 };
};

Columns
ReadHeader(const std::string & file, const Record & header, std::vector<std::string> & warnings)
{
  Columns                                             columns;
  const std::array<std::pair<const char *, int *>, 5> known{ { { "slide", &columns.slide },
                                                               { "mask", &columns.mask },
                                                               { "split", &columns.split },
                                                               { "label", &columns.label },
                                                               { "region", &columns.region } } };
  for (std::size_t i = 0; i < header.fields.size(); ++i)
  {
    const auto found =
      std::find_if(known.begin(), known.end(), [&](const auto & column) { return header.fields[i] == column.first; });
    if (found == known.end())
    {
      warnings.push_back(file + ": the column \"" + WithoutControls(header.fields[i]) + "\" is not read");
      continue;
    }
    if (*found->second >= 0)
    {
      Fail(file, header.line, "the column \"" + header.fields[i] + "\" is there twice");
    }
    *found->second = static_cast<int>(i);
  }
  for (std::size_t i = 0; i < 3; ++i)
  {
    const bool isNeeded = known[i].second != &columns.mask || columns.label < 0;
    if (isNeeded && *known[i].second < 0)
    {
      Fail(file,
           header.line,
           std::string("the column \"") + known[i].first +
             "\" is missing; the first line names the columns: slide,mask,split and optionally region, or label (the "
             "class of a whole slide) instead of, or beside, mask");
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
    Fail(file,
         line,
         "the region \"" + text + "\" is not x,y,width,height in level-0 pixels, with width and height above 0");
  }
  return Region{ numbers[0], numbers[1], numbers[2], numbers[3] };
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
  Fail(file, line, "the split \"" + text + "\" is none of train, validation, test");
}

/** A path of the table seen from the table's folder. It is put together, and no more: where a link and ".." lead, the
 * file system alone knows. A table that is a link itself has two folders, and its author may have meant either. */
std::string
ResolveFile(const std::string & file, int line, const char * column, const std::string & path)
{
  if (path.empty())
  {
    Fail(file, line, std::string("the ") + column + " is empty");
  }
  const fs::path  besideName = fs::path(file).parent_path() / path;
  std::error_code error;
  const fs::path  besideFile = fs::canonical(file, error).parent_path() / path;
  const bool      isBesideName = fs::exists(besideName, error);
  const bool      isBesideFile = fs::is_symlink(file, error) && fs::exists(besideFile, error);
  if (isBesideName && isBesideFile && !fs::equivalent(besideName, besideFile, error))
  {
    Fail(file,
         line,
         std::string("the ") + column + " " + path + " is there twice, beside this link (" + besideName.string() +
           ") and beside the table that it leads to (" + besideFile.string() +
           "): name the table itself, or one of them");
  }
  if (!isBesideName && !isBesideFile)
  {
    Fail(file, line, std::string("there is no ") + column + " " + besideName.string());
  }
  return (isBesideName ? besideName : besideFile).string();
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

/** The same for all paths and links that lead to one file. */
FileNumber
GetFileNumber(const std::string & file, const CohortEntry & entry)
{
  struct stat status
  {
  };
  if (stat(entry.slide.c_str(), &status) != 0)
  {
    Fail(file, entry.line, "the slide " + entry.slide + " cannot be read");
  }
  return { status.st_dev, status.st_ino };
}

/** What stands in two splits makes the validation worthless, so it is an error; neighbors on one slide are a choice.
 * \param rows of the cohort that name the same slide */
void
CheckAgainstEarlier(const std::string &              file,
                    const CohortEntry &              entry,
                    const std::vector<std::size_t> & rows,
                    Cohort &                         cohort)
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
      Fail(file, entry.line, "the slide " + entry.slide + " is there already, on line " + line);
    }
    if (earlier.split != entry.split && Overlap(a, b))
    {
      Fail(file, entry.line, "the slide " + entry.slide + " is in another split already, on line " + line);
    }
    if (earlier.split != entry.split)
    {
      cohort.warnings.push_back(file + ", line " + std::to_string(entry.line) + ": another region of the slide " +
                                WithoutControls(entry.slide) + " is in another split, on line " + line +
                                "; regions of one slide are alike");
    }
  }
}

std::string
ReadText(const std::string & fileName)
{
  // Before it is opened: a pipe would wait for a writer for ever.
  std::error_code error;
  if (fs::exists(fileName, error) && !fs::is_regular_file(fileName, error))
  {
    throw std::runtime_error(fileName + ": it is not a file; a table (CSV) is wanted here");
  }
  constexpr std::uintmax_t maximumBytes = 64 << 20; // half a million slides; a slide is not read to its end
  if (fs::file_size(fileName, error) > maximumBytes && !error)
  {
    throw std::runtime_error(fileName + ": it is larger than a cohort can be; a table (CSV) is wanted here");
  }
  std::ifstream stream(fileName, std::ios::binary);
  std::string   text{ std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>() };
  if (!stream)
  {
    throw std::runtime_error(fileName + ": there is no such file, or it cannot be read");
  }
  return text;
}

} // namespace

Cohort
Cohort::Load(const std::string & fileName)
{
  Reader reader(fileName, ReadText(fileName));
  Record record;
  Cohort cohort;
  if (!reader.Next(record))
  {
    Fail(fileName, 1, "the cohort is empty; its first line names the columns: slide,mask,split");
  }
  const Columns     columns = ReadHeader(fileName, record, cohort.warnings);
  const std::size_t width = record.fields.size();

  std::map<FileNumber, std::vector<std::size_t>> rowsOfSlide;
  while (reader.Next(record))
  {
    const auto & fields = record.fields;
    if (fields.size() != width)
    {
      Fail(fileName,
           record.line,
           "there are " + std::to_string(fields.size()) + " fields for " + std::to_string(width) +
             " columns; a field with commas in it has to be quoted");
    }
    const auto  field = [&](int column) { return fields[static_cast<std::size_t>(column)]; };
    CohortEntry entry;
    entry.line = record.line;
    entry.slide = ResolveFile(fileName, entry.line, "slide", field(columns.slide));
    entry.mask = columns.mask < 0 ? "" : ResolveFile(fileName, entry.line, "mask", field(columns.mask));
    entry.label = columns.label < 0 ? "" : field(columns.label);
    if (columns.label >= 0 && entry.label.empty())
    {
      Fail(fileName, entry.line, "the label is empty; name the slide's class, or leave out the row");
    }
    entry.split = ParseSplit(fileName, entry.line, field(columns.split));
    if (columns.region >= 0 && !field(columns.region).empty())
    {
      entry.region = ParseRegion(fileName, entry.line, field(columns.region));
    }
    std::vector<std::size_t> & rows = rowsOfSlide[GetFileNumber(fileName, entry)];
    CheckAgainstEarlier(fileName, entry, rows, cohort);
    rows.push_back(cohort.entries.size());
    cohort.entries.push_back(entry);
  }
  if (cohort.entries.empty())
  {
    Fail(fileName, 1, "the cohort names no slides below its header");
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

} // namespace gigapixel
