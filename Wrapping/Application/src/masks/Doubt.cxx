/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "Doubt.h"

#include "ArgumentText.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <limits>
#include <locale>
#include <mutex>
#include <sstream>
#include <utility>

namespace gigapixel::application
{
namespace
{

std::mutex         doubtsMutex;
std::vector<Doubt> keptDoubts;

/** Warnings of other parts that are doubts as well, with the limits that their values are beyond. */
const std::pair<const char *, double> doubtfulWarnings[] = {
  { "W-DOUBT-MASK-EMPTY", 0 }, // of training
  { "W-DOUBT-MASK-FULL", 1 },
  { "W-SLIDE-RESOLUTION-COARSE", 8 },
};

constexpr double leastTissue = 0.01;
constexpr double mostTissue = 0.95;

void
KeepOnce(const Doubt & doubt, std::vector<Doubt> & doubts)
{
  if (std::none_of(doubts.begin(), doubts.end(), [&doubt](const Doubt & each) {
        return each.code == doubt.code && each.file == doubt.file && each.value == doubt.value;
      }))
  {
    doubts.push_back(doubt);
  }
}

/** What to do about a doubt, as the table of codes says. */
std::string
FindRemedy(const std::string & code)
{
  const auto & codes = GetCodes();
  const auto   found =
    std::find_if(codes.begin(), codes.end(), [&code](const CodeEntry & entry) { return code == entry.code; });
  std::string remedy = found == codes.end() ? std::string() : found->remedy;
  if (!remedy.empty())
  {
    remedy[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(remedy[0]))); // it goes on a sentence
  }
  return remedy;
}

std::string
FormatValue(double value)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << value;
  return text.str();
}

std::string
FormatPercent(double share)
{
  return FormatNumber(100 * share, share > 0 && share < 0.001 ? 4 : 2) + " %";
}

} // namespace

void
RaiseDoubt(const Session &     session,
           const Doubt &       doubt,
           const std::string & why,
           const std::string & file,
           const std::string & remedy)
{
  KeepDoubt({ doubt.code, doubt.value, doubt.limit, file });
  session.Warn(Diagnostic(doubt.code, why, remedy.empty() ? FindRemedy(doubt.code) : remedy)
                 .OfFile(file)
                 .OfValue(FormatValue(doubt.value)));
}

void
KeepDoubt(const Doubt & doubt)
{
  const std::lock_guard<std::mutex> lock(doubtsMutex);
  KeepOnce(doubt, keptDoubts);
}

void
ForgetDoubts()
{
  const std::lock_guard<std::mutex> lock(doubtsMutex);
  keptDoubts.clear();
}

bool
DoubtMask(const Session & session, const std::string & file, const std::string & name, double objectShare)
{
  if (objectShare == 0)
  {
    RaiseDoubt(session, { "W-DOUBT-MASK-EMPTY", 0, 0 }, name + " has no object", file);
  }
  else if (objectShare == 1)
  {
    RaiseDoubt(session, { "W-DOUBT-MASK-FULL", 1, 1 }, name + " is object everywhere", file);
  }
  return objectShare == 0 || objectShare == 1;
}

std::optional<Doubt>
FindTissueDoubt(double tissueShare)
{
  if (tissueShare == 0 || tissueShare == 1)
  {
    return Doubt{ tissueShare == 0 ? "W-DOUBT-MASK-EMPTY" : "W-DOUBT-MASK-FULL", tissueShare, tissueShare };
  }
  if (tissueShare < leastTissue)
  {
    return Doubt{ "W-DOUBT-TISSUE-LITTLE", tissueShare, leastTissue };
  }
  return tissueShare > mostTissue ? std::optional<Doubt>({ "W-DOUBT-TISSUE-MUCH", tissueShare, mostTissue })
                                  : std::nullopt;
}

void
DoubtTissue(const Session & session, const std::string & slide, double tissueShare)
{
  if (DoubtMask(session, slide, "the tissue mask", tissueShare))
  {
    return;
  }
  if (auto doubt = FindTissueDoubt(tissueShare))
  {
    doubt->file = slide;
    RaiseDoubt(session, *doubt, FormatPercent(tissueShare) + " of the slide is tissue", slide);
  }
}

void
AddDoubts(const std::vector<Diagnostic> & warnings, nlohmann::ordered_json & result, std::string & text)
{
  std::vector<Doubt> doubts;
  {
    const std::lock_guard<std::mutex> lock(doubtsMutex);
    doubts = std::exchange(keptDoubts, {});
  }
  const std::vector<Doubt> raised = doubts; // with warnings of their own
  for (const Diagnostic & warning : warnings)
  {
    for (const auto & [code, limit] : doubtfulWarnings)
    {
      const bool isRaised = std::any_of(raised.begin(), raised.end(), [&warning](const Doubt & each) {
        return each.code == warning.code && each.file == warning.file;
      });
      if (warning.code == code && !isRaised)
      {
        const auto value = ReadNumber(warning.value);
        KeepOnce({ code, value.value_or(std::numeric_limits<double>::quiet_NaN()), limit, warning.file }, doubts);
      }
    }
  }
  if (doubts.empty())
  {
    return;
  }
  std::string codes;
  auto        list = nlohmann::ordered_json::array();
  for (const Doubt & doubt : doubts)
  {
    list.push_back({ { "code", doubt.code },
                     { "file", doubt.file.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(doubt.file) },
                     { "value", doubt.value },
                     { "limit", doubt.limit } });
    if (codes.find(doubt.code) == std::string::npos)
    {
      codes += (codes.empty() ? "" : ", ") + doubt.code;
    }
  }
  if (result.is_object())
  {
    result["doubts"] = list;
  }
  if (!text.empty())
  {
    const std::size_t end = text.find_last_not_of('\n') + 1;
    text.insert(end, " (doubtful: " + codes + ')');
  }
}

} // namespace gigapixel::application
