/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTableReader.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelFileRefusal.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gigapixel
{
namespace
{

namespace fs = std::filesystem;

std::string
ReadText(const std::string & fileName, const std::string & code)
{
  // Before it is opened: a pipe would wait for a writer for ever.
  std::error_code error;
  if (fs::exists(fileName, error) && !fs::is_regular_file(fileName, error))
  {
    throw Refusal(Diagnostic("E-FILE-KIND", "it is not a file", "name a table (CSV)").OfFile(fileName));
  }
  constexpr std::uintmax_t maximumBytes = 64 << 20; // half a million slides; a slide is not read to its end
  if (fs::file_size(fileName, error) > maximumBytes && !error)
  {
    throw Refusal(
      Diagnostic("E-FILE-LIMIT", "it is larger than a table of slides can be", "name a table (CSV)").OfFile(fileName));
  }
  RequireReadable(fileName);
  std::ifstream stream(fileName, std::ios::binary);
  std::string   text{ std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>() };
  if (!stream)
  {
    throw Refusal(Diagnostic("E-FILE-ACCESS", "it cannot be read").OfFile(fileName));
  }
  // As a part of a name it would end the name for the system, and the sentence for whoever prints it.
  if (const std::size_t zero = text.find('\0'); zero != std::string::npos)
  {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(zero), '\n');
    TableReader::Fail(
      fileName,
      static_cast<int>(line),
      Diagnostic(code, "there is a zero byte, which no text has", "save the table as CSV in UTF-8, and not in UTF-16"));
  }
  return text;
}

/** Without its middle, if it is longer than anybody reads: what is wrong stands before a field that is repeated, and
 * what to do behind it. */
std::string
Shorten(const std::string & sentence)
{
  constexpr std::size_t most = 1000, head = 600, tail = 300;
  if (sentence.size() <= most)
  {
    return sentence;
  }
  const auto  isInside = [&](std::size_t at) { return (static_cast<unsigned char>(sentence[at]) & 0xc0u) == 0x80u; };
  std::size_t begin = head, end = sentence.size() - tail;
  while (begin > 0 && isInside(begin)) // characters of UTF-8 stay whole
  {
    --begin;
  }
  while (end < sentence.size() && isInside(end))
  {
    ++end;
  }
  return sentence.substr(0, begin) + " ... (" + std::to_string(end - begin) + " bytes) ... " + sentence.substr(end);
}

} // namespace

std::string
ToMessage(const std::string & sentence)
{
  std::string message = Shorten(sentence);
  const auto  isControl = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  std::replace_if(message.begin(), message.end(), isControl, '?');
  return message;
}

std::string
ToField(const std::string & text)
{
  const bool isTrimmed =
    text.empty() || (text.find_first_of(" \t") != 0 && text.find_last_of(" \t") != text.size() - 1);
  if (text.find_first_of(",\"\r\n") == std::string::npos && isTrimmed)
  {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text)
  {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + '"';
}

TableReader::TableReader(const std::string & fileName, const std::string & code)
  : m_File(fileName)
  , m_Code(code)
  , m_Text(ReadText(fileName, code))
{
  if (m_Text.compare(0, 3, "\xEF\xBB\xBF") == 0)
  {
    m_At = 3; // spreadsheets begin their UTF-8 so
  }
  this->ReadRow(m_Header);
}

int
TableReader::FindColumn(const std::string & name) const
{
  const auto found = std::find(m_Header.fields.begin(), m_Header.fields.end(), name);
  return found == m_Header.fields.end() ? -1 : static_cast<int>(found - m_Header.fields.begin());
}

bool
TableReader::Next(Row & row)
{
  if (!this->ReadRow(row))
  {
    return false;
  }
  if (row.fields.size() != m_Header.fields.size())
  {
    this->Fail(row.line,
               "there are " + FormatCount(row.fields.size(), "field") + " for " +
                 FormatCount(m_Header.fields.size(), "column") + "; a field with commas in it has to be quoted");
  }
  return true;
}

void
TableReader::Fail(int line, const std::string & reason, const std::string & remedy) const
{
  Fail(m_File, line, Diagnostic(m_Code, reason, remedy));
}

void
TableReader::Fail(const std::string & file, int line, const Diagnostic & problem)
{
  const std::string number = std::to_string(line);
  const std::string remedy = problem.remedy.empty() ? "" : ToMessage(problem.remedy);
  throw Refusal(
    Diagnostic(problem.code, "line " + number + ": " + ToMessage(problem.why), remedy).OfFile(file).OfValue(number));
}

bool
TableReader::ReadRow(Row & row)
{
  while (m_At < m_Text.size())
  {
    row = Row{};
    row.line = m_Line;
    do
    {
      row.fields.push_back(this->ReadField());
    } while (this->Take(','));
    this->EndLine();
    if (row.fields.size() > 1 || !row.fields[0].empty())
    {
      return true;
    }
  }
  row = Row{};
  return false;
}

bool
TableReader::Take(char expected)
{
  const bool there = m_At < m_Text.size() && m_Text[m_At] == expected;
  m_At += there ? 1 : 0;
  return there;
}

void
TableReader::EndLine()
{
  this->Take('\r');
  this->Take('\n');
  ++m_Line;
}

std::string
TableReader::ReadField()
{
  if (this->Take('"'))
  {
    return this->ReadQuoted();
  }
  const std::size_t end = std::min(m_Text.find_first_of(",\r\n", m_At), m_Text.size());
  std::string       field = m_Text.substr(m_At, end - m_At);
  if (field.find('"') != std::string::npos)
  {
    this->Fail(m_Line, "a quote stands inside a field that is not quoted", "quote the whole field");
  }
  m_At = end;
  const std::size_t first = field.find_first_not_of(" \t");
  return first == std::string::npos ? std::string() : field.substr(first, field.find_last_not_of(" \t") - first + 1);
}

std::string
TableReader::ReadQuoted()
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
        this->Fail(m_Line, "text follows a closing quote", "double the quotes that belong to the field");
      }
      return field;
    }
    m_Line += c == '\n' ? 1 : 0;
    field += c;
  }
  this->Fail(line, "the quote that opens here is never closed");
}

} // namespace gigapixel
