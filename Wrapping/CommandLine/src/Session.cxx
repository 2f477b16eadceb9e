/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelProgram.h"
#include "gigapixelSession.h"
#include "gigapixelUsableCores.h"

#include "DiagnosticJSON.h"
#include "Doubt.h"

#include "gigapixelPrintable.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <future>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace gigapixel::commandline
{
namespace
{
std::mutex              warningsMutex;
std::vector<Diagnostic> keptWarnings;
std::atomic<bool>       diagnosticsAreJSON{ false };

volatile std::sig_atomic_t interruptionRequested = 0;
volatile std::sig_atomic_t endsAtOnce = 0;

extern "C" void
RequestInterruption(int signal)
{
  if (endsAtOnce)
  {
    static const char sentence[] = "gigapixel: Interrupted.\n";
    _exit(write(STDERR_FILENO, sentence, sizeof(sentence) - 1) < 0 ? Failure : WasInterrupted);
  }
  interruptionRequested = 1;
  if (signal != SIGXCPU) // which comes again each second
  {
    std::signal(signal, SIG_DFL); // whoever asks twice means it
  }
}

/** A line such as "VmHWM:   1234 kB" of a file of /proc, in bytes. */
std::int64_t
ReadProcValue(const char * file, const std::string & key)
{
  std::ifstream stream(file);
  std::string   word;
  while (stream >> word)
  {
    std::int64_t kilobytes = 0;
    if (word == key && stream >> kilobytes)
    {
      return kilobytes * 1024;
    }
    stream.ignore(4096, '\n');
  }
  return 0;
}

/** How many threads of so many the system starts: ITK's pool ends the program where it gets fewer than it was told of.
 */
int
CountStartableThreads(int wanted)
{
  std::promise<void>             end;
  const std::shared_future<void> ended = end.get_future().share();
  std::vector<std::thread>       threads;
  try
  {
    while (static_cast<int>(threads.size()) < wanted)
    {
      threads.emplace_back([ended] { ended.wait(); });
    }
  }
  catch (const std::exception &)
  {} // too many for this user, or no memory for one more
  end.set_value();
  for (std::thread & thread : threads)
  {
    thread.join();
  }
  if (threads.empty())
  {
    throw Refusal(Diagnostic(
      "E-THREADS", "no thread can be started", "allow this user more processes (ulimit -u), or more memory"));
  }
  return static_cast<int>(threads.size());
}

} // namespace

Interrupted::Interrupted(const std::string & advice)
  : m_Message("Interrupted." + (advice.empty() ? std::string() : ' ' + advice))
{}

Interrupted::~Interrupted() = default;

const char *
Interrupted::what() const noexcept
{
  return m_Message.c_str();
}

void
InstallInterruptionHandlers()
{
  std::signal(SIGXCPU, RequestInterruption); // ulimit -t
  for (const int number : { SIGINT, SIGTERM, SIGHUP })
  {
    if (std::signal(number, RequestInterruption) == SIG_IGN)
    {
      std::signal(number, SIG_IGN); // so started is what a script runs in the background, or nohup
    }
  }
}

bool
IsInterruptionRequested()
{
  return interruptionRequested != 0;
}

EndAtInterruption::EndAtInterruption()
{
  endsAtOnce = 1;
}

EndAtInterruption::~EndAtInterruption()
{
  endsAtOnce = 0;
}

void
ThrowIfInterrupted()
{
  if (IsInterruptionRequested())
  {
    throw Interrupted();
  }
}

Listener::~Listener() = default;

void
ShowDiagnosticsAsJSON()
{
  diagnosticsAreJSON = true;
}

void
ShowDiagnostic(const Diagnostic & diagnostic)
{
  const std::string line = diagnosticsAreJSON
                             ? ToJSON(diagnostic).dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace)
                             : "gigapixel: " + GetPrintable(diagnostic.GetText());
  std::fprintf(stderr, "%s\n", line.c_str());
}

void
KeepWarning(const Diagnostic & warning)
{
  const std::lock_guard<std::mutex> lock(warningsMutex);
  const auto isSame = [&warning](const Diagnostic & other) { return other.GetText() == warning.GetText(); };
  if (std::none_of(keptWarnings.begin(), keptWarnings.end(), isSame)) // a command may open a file twice
  {
    keptWarnings.push_back(warning);
  }
}

std::vector<Diagnostic>
TakeWarnings()
{
  const std::lock_guard<std::mutex> lock(warningsMutex);
  return std::exchange(keptWarnings, {});
}

Session::Session(bool quiet, bool json, int threads, Listener * listener)
  : m_Quiet(quiet)
  , m_JSON(json)
  , m_Threads(CountStartableThreads(threads > 0 ? threads : CountUsableCores()))
  , m_Listener(listener)
{
  TakeWarnings(); // of an earlier run that failed
}

void
Session::Say(const std::string & sentence) const
{
  if (m_Listener)
  {
    m_Listener->HearMessage(sentence);
  }
  else if (!m_Quiet)
  {
    std::fprintf(stderr, "%s\n", GetPrintable(sentence).c_str());
  }
}

void
Session::Warn(const Diagnostic & warning) const
{
  ShowDiagnostic(warning);
  KeepWarning(warning);
}

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

namespace
{

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
Session::PrintResult(const std::string & text, const std::string & json) const
{
  std::string                   forPeople = text;
  std::string                   forPrograms = json;
  const std::vector<Diagnostic> warnings = TakeWarnings();
  if (!json.empty() && json.front() == '{')
  {
    // The result of a command that is one object: with the warnings and the doubts that nobody has taken.
    auto object = nlohmann::ordered_json::parse(json);
    AddDoubts(warnings, object, forPeople);
    if (!warnings.empty())
    {
      object.emplace("warnings", ToJSON(warnings));
    }
    forPrograms = object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  if (m_Listener)
  {
    m_Listener->HearResult(forPrograms);
    return;
  }
  const std::string result = m_JSON ? GetPrintableJSON(forPrograms) : GetPrintableLines(forPeople);
  if (!result.empty())
  {
    Print(result.back() == '\n' ? result : result + '\n');
  }
}

std::string
FormatNumber(double value, int digits)
{
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

std::string
FormatBytes(double bytes)
{
  static constexpr const char * units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
  int                           unit = 0;
  while (bytes >= (unit == 0 ? 1024 : 1023.95) && unit < 4) // as it is rounded below
  {
    bytes /= 1024;
    ++unit;
  }
  return bytes == 1 && unit == 0 ? "1 byte" : FormatNumber(bytes, unit == 0 ? 0 : 1) + ' ' + units[unit];
}

std::string
FormatRate(double pixels, double seconds)
{
  const double rate = pixels / seconds / 1e6;
  const double leading = rate > 0 ? std::floor(std::log10(rate)) : 0;
  return FormatNumber(rate, static_cast<int>(std::clamp(1 - leading, 0.0, 9.0))) + " Mpx/s";
}

std::string
FormatDuration(double seconds)
{
  if (seconds < 59.95)
  {
    return FormatNumber(seconds, 1) + " s";
  }
  const auto         whole = static_cast<std::int64_t>(seconds + 0.5);
  std::ostringstream text;
  text << std::setfill('0');
  if (whole < 3600)
  {
    text << whole / 60 << " min " << std::setw(2) << whole % 60 << " s";
  }
  else if (whole < 48 * 3600)
  {
    text << whole / 3600 << " h " << std::setw(2) << whole % 3600 / 60 << " min";
  }
  else
  {
    text << whole / 86400 << " days " << std::setw(2) << whole % 86400 / 3600 << " h";
  }
  return text.str();
}

std::int64_t
GetPeakMemory()
{
  return ReadProcValue("/proc/self/status", "VmHWM:");
}

double
GetCPUSeconds()
{
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

} // namespace gigapixel::commandline
