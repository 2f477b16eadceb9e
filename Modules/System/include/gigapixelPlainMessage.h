/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPlainMessage_h
#define gigapixelPlainMessage_h

#include <algorithm>
#include <regex>
#include <string>

namespace gigapixel
{

/** The sentence of an ITK message, in one line: without the place in the sources, class and address that ITK puts
 * before it, and of the functions of its NRRD library that report each other's trouble only what the innermost says. */
inline std::string
CleanMessage(const std::string & message)
{
  // "WARNING: In file, line 1\nClass (0x1): sentence\n\n", "file:1:\nITK ERROR: Class(0x1): sentence"
  static const std::regex origin(
    R"((\S+:\d+:\n)?(WARNING: In [^\n]*\n|ITK ERROR: |itk::ERROR: )[\w:<>, ]*\(0x[0-9a-f]+\): )");
  static const std::regex kind("^(WARNING: |(Read|ReadImageInformation): (?=Error ))");
  std::string             sentence = std::regex_replace(message, origin, "");
  sentence = std::regex_replace(sentence, kind, "");
  const std::string library = "[nrrd] ";
  const std::size_t outermost = sentence.find(library);
  const std::size_t reason = outermost == std::string::npos ? outermost : sentence.find(": ", sentence.rfind(library));
  if (reason != std::string::npos)
  {
    sentence = sentence.substr(0, outermost) + sentence.substr(reason + 2);
  }
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  const std::size_t last = sentence.find_last_not_of(' ');
  const std::size_t first = sentence.find_first_not_of(' ');
  return last == std::string::npos ? std::string() : sentence.substr(first, last - first + 1);
}

constexpr const char * TooLittleMemory =
  "There is not enough memory for this; try a coarser level, smaller tiles, or --memory with less.";

/** What an exception says that came through others, which keep its words alone. */
inline std::string
DescribeReason(const std::string & what)
{
  return what == "std::bad_alloc" ? TooLittleMemory : what;
}

} // namespace gigapixel

#endif
