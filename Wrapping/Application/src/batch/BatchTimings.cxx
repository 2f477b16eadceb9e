/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BatchTimings.h"

#include "BatchManifest.h"
#include "NameText.h"

#include "gigapixelSession.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
using Json = nlohmann::ordered_json;

std::string
GetFile(const std::string & folder)
{
  return (fs::path(folder) / "timings.jsonl").string();
}

double
GetSeconds()
{
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double
RoundToMilliseconds(double seconds)
{
  return std::round(1000 * seconds) / 1000;
}
} // namespace

Stopwatch::Stopwatch()
  : m_Seconds(GetSeconds())
  , m_CPUSeconds(GetCPUSeconds())
{}

Json
Stopwatch::Read() const
{
  return { { "seconds", RoundToMilliseconds(GetSeconds() - m_Seconds) },
           { "cpuSeconds", RoundToMilliseconds(GetCPUSeconds() - m_CPUSeconds) },
           { "peakBytes", GetPeakMemory() } };
}

void
AppendTiming(const std::string & folder, const std::string & output, const Json & timing)
{
  const std::string file = GetFile(folder);
  std::error_code   ignored;
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) // a pipe would wait for a reader for ever
  {
    return;
  }
  Json line{ { "output", ToNameText(GetName(output)) } };
  line.update(timing);
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  // In one piece at the end, whoever else writes.
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor >= 0)
  {
    [[maybe_unused]] const auto written = ::write(descriptor, text.data(), text.size());
    ::close(descriptor);
  }
}

std::map<std::string, Json>
ReadTimings(const std::string & folder)
{
  std::map<std::string, Json> timings;
  std::istringstream          lines(ReadAll(GetFile(folder)));
  for (std::string text; std::getline(lines, text);)
  {
    const Json line = text.size() < 10000 ? Json::parse(text, nullptr, false) : Json();
    if (!line.is_object() || !line.value("output", Json()).is_string())
    {
      continue;
    }
    Json timing = Json::object();
    for (const char * const key : { "seconds", "cpuSeconds", "peakBytes" })
    {
      if (const auto found = line.find(key); found != line.end() && found->is_number())
      {
        timing[key] = *found;
      }
    }
    timings[FromNameText(line["output"].get<std::string>())] = timing;
  }
  return timings;
}

} // namespace gigapixel::application
