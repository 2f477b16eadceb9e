/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSession.h"
#include "gigapixelUsableCores.h"

#include "DiagnosticJSON.h"
#include "Doubt.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <future>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace gigapixel::application
{
namespace
{
std::mutex              warningsMutex;
std::vector<Diagnostic> keptWarnings;

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

FrontEnd::~FrontEnd() = default;

bool
FrontEnd::IsProgressDue(double done, double seconds) const
{
  return done >= 0.01 || seconds >= 1;
}

void
FrontEnd::EndProgress(const std::string & line)
{
  if (!line.empty())
  {
    this->ShowProgress(1, line);
    this->ShowMessage(line);
  }
}

bool
FrontEnd::OwnsProcess() const
{
  return false;
}

Session::Session(FrontEnd & frontEnd, int threads)
  : m_FrontEnd(frontEnd)
  , m_Threads(CountStartableThreads(threads > 0 ? threads : CountUsableCores()))
{}

void
Session::Say(const std::string & sentence) const
{
  m_FrontEnd.ShowMessage(sentence);
}

void
Session::Warn(const Diagnostic & warning) const
{
  m_FrontEnd.ShowDiagnostic(warning);
  KeepWarning(warning);
}

void
Session::ShowResult(const std::string & text, nlohmann::ordered_json json) const
{
  const std::vector<Diagnostic> warnings = TakeWarnings();
  std::string                   forPeople = text;
  if (json.is_object()) // with the warnings and the doubts that nobody has taken
  {
    AddDoubts(warnings, json, forPeople);
    if (!warnings.empty())
    {
      json.emplace("warnings", ToJSON(warnings));
    }
  }
  m_FrontEnd.ShowResult(forPeople, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
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

} // namespace gigapixel::application
