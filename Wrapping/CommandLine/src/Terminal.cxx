/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Terminal.h"

#include "DiagnosticJSON.h"

#include "gigapixelPrintable.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include <unistd.h>

namespace gigapixel::commandline
{
namespace
{
bool
IsTerminal()
{
  const char * kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && kind && std::string(kind) != "dumb";
}

/** Lines that a terminal shows, whatever a file's names in them hold. */
std::string
GetPrintableLines(const std::string & text)
{
  std::istringstream lines(text);
  std::string        printable;
  for (std::string line; std::getline(lines, line);)
  {
    printable += GetPrintable(line) + '\n';
  }
  return printable;
}

/** JSON in UTF-8 with \u.... for characters that a terminal must not get and that JSON may hold as they are: control
 * characters beyond ASCII's first ones, and those that turn the direction of the text. */
std::string
GetPrintableJSON(const std::string & json)
{
  std::string printable;
  for (std::size_t at = 0; at < json.size();)
  {
    const auto        byte = static_cast<unsigned char>(json[at]);
    const std::size_t size = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    const std::string character = json.substr(at, size);
    at += size;
    if (byte < 0x7f || GetPrintable(character) == character)
    {
      printable += character;
      continue;
    }
    unsigned number = byte & (size == 1 ? 0x7fu : 0x7fu >> size);
    for (std::size_t i = 1; i < character.size(); ++i)
    {
      number = number << 6 | (static_cast<unsigned char>(character[i]) & 0x3fu);
    }
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x", number & 0xffffu); // none of them is beyond
    printable += escape.data();
  }
  return printable;
}

} // namespace

void
Print(const std::string & text)
{
  errno = 0;
  std::fputs(text.c_str(), stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
  {
    Diagnostic refusal = Diagnostic::Of(std::system_error(errno, std::generic_category()));
    refusal.why = "the result could not be written to the standard output" +
                  (errno != 0 ? " (" + refusal.why + ')' : std::string());
    refusal.code = refusal.code == "E-DISK-FULL" ? refusal.code : "E-OUTPUT-WRITE";
    refusal.remedy = "where the command has written files, these are complete";
    throw Refusal(refusal);
  }
}

void
PrintDiagnostic(const Diagnostic & diagnostic, bool isJSON)
{
  const std::string line =
    isJSON ? application::ToJSON(diagnostic).dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)
           : "gigapixel: " + GetPrintable(diagnostic.GetText());
  std::fprintf(stderr, "%s\n", line.c_str());
}

Terminal::Terminal(const Style & style)
  : m_Style(style)
  , m_Rewrites(IsTerminal())
{}

void
Terminal::ClearLine()
{
  if (m_LineIsOpen)
  {
    std::fputs("\r\x1b[K", stderr);
    m_LineIsOpen = false;
  }
}

void
Terminal::ShowProgress(double, const std::string & line)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_Style.isQuiet)
  {
    return;
  }
  std::fprintf(stderr, m_Rewrites ? "\r%s\x1b[K" : "%s\n", GetPrintable(line).c_str());
  std::fflush(stderr);
  m_LineIsOpen = m_Rewrites;
}

bool
Terminal::IsProgressDue(double done, double seconds) const
{
  return m_Rewrites ? seconds >= 0.1 : (done >= 0.1 && seconds >= 2) || seconds >= 60;
}

bool
Terminal::OwnsProcess() const
{
  return true;
}

void
Terminal::EndProgress(const std::string & line)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  ClearLine();
  if (!m_Style.isQuiet && !line.empty())
  {
    std::fprintf(stderr, "%s\n", GetPrintable(line).c_str());
  }
}

void
Terminal::ShowMessage(const std::string & sentence)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (!m_Style.isQuiet)
  {
    ClearLine();
    std::fprintf(stderr, "%s\n", GetPrintable(sentence).c_str());
  }
}

void
Terminal::ShowDiagnostic(const Diagnostic & diagnostic)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  ClearLine();
  PrintDiagnostic(diagnostic, m_Style.areDiagnosticsJSON);
}

void
Terminal::ShowFailures(const std::string & sentence)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  ClearLine();
  std::fprintf(stderr, "gigapixel: %s\n", GetPrintable(sentence).c_str());
}

void
Terminal::ShowResult(const std::string & text, const std::string & json)
{
  const std::string result = m_Style.isJSON ? GetPrintableJSON(json) : GetPrintableLines(text);
  if (!result.empty())
  {
    Print(result.back() == '\n' ? result : result + '\n');
  }
}

} // namespace gigapixel::commandline
