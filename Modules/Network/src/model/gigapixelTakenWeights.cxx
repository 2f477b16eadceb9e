/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTakenWeights.h"

#include "gigapixelFormatCount.h"

#include <map>

namespace gigapixel
{
namespace
{
constexpr std::size_t MostNamed = 5;
} // namespace

Diagnostic
TakenWeights::GetWarning(const std::string & path) const
{
  return Diagnostic("W-WEIGHTS-SET", warning, remedy).OfFile(path).OfValue(set);
}

std::string
TakenWeights::DescribeMissing(const std::string & network) const
{
  std::vector<std::string> missing = notInFile;
  missing.insert(missing.end(), ofOtherShape.begin(), ofOtherShape.end());
  std::string names;
  for (std::size_t i = 0; i < missing.size() && i < MostNamed; ++i)
  {
    names += (names.empty() ? "" : ", ") + missing[i];
  }
  return std::to_string(missing.size()) + (missing.size() == 1 ? " array" : " arrays") + " of the network \"" +
         network + "\", or has them in another shape: " + names + (missing.size() > MostNamed ? " ..." : "");
}

std::string
TakenWeights::DescribeTaken() const
{
  struct Part
  {
    std::size_t taken{ 0 };
    std::size_t all{ 0 };
  };
  std::map<std::string, Part> parts;
  for (const auto * names : { &taken, &ofOtherShape, &notInFile })
  {
    for (const std::string & name : *names)
    {
      Part & part = parts[name.substr(0, name.find('.'))];
      part.taken += names == &taken ? 1 : 0;
      ++part.all;
    }
  }
  std::string list;
  std::size_t listed = 0;
  for (auto part = parts.begin(); part != parts.end() && listed < 2 * MostNamed; ++part, ++listed)
  {
    list += (list.empty() ? "" : ", ") + part->first + ' ' + std::to_string(part->second.taken) + " of " +
            std::to_string(part->second.all);
  }
  return std::to_string(taken.size()) + " of the network's " +
         FormatCount(taken.size() + ofOtherShape.size() + notInFile.size(), "array") + " (" + list +
         (listed < parts.size() ? " ..." : "") + ')';
}

} // namespace gigapixel
