/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BatchTimings_h
#define BatchTimings_h

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>

namespace gigapixel::application
{

// timings.jsonl of a folder of results: a line of JSON for each time that an output was made, the last one below. It is
// apart from the manifest, which is the same bytes in every run.

/** \class Stopwatch
 * \brief What the process takes from its making on. */
class Stopwatch
{
public:
  Stopwatch();

  /** {"seconds", "cpuSeconds", "peakBytes"}; the peak is that of the process since its start. */
  nlohmann::ordered_json Read() const;

private:
  double m_Seconds;
  double m_CPUSeconds;
};

/** Adds a line. A file that cannot be written is left as it is: the result is none the worse. */
void AppendTiming(const std::string & folder, const std::string & output, const nlohmann::ordered_json & timing);

/** The last line of each output, by the names of outputs. What is no line of ours is left out. */
std::map<std::string, nlohmann::ordered_json> ReadTimings(const std::string & folder);

} // namespace gigapixel::application

#endif
