/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelJoinNames.h"
#include "gigapixelObjectiveKinds.h"
#include "gigapixelTruthField.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>
#include <locale>
#include <sstream>

namespace gigapixel
{

const std::vector<const ObjectiveKind *> &
ObjectiveKind::GetAll()
{
#define GIGAPIXEL_OBJECTIVE_KIND(Name) &Get##Name##Kind(),
  static const std::vector<const ObjectiveKind *> all{
#include "gigapixelObjectiveKindList.h"
  };
  return all;
}

const ObjectiveKind *
GetDefaultObjectiveKind()
{
  return &GetClassesKind();
}

const ObjectiveKind *
ObjectiveKind::Find(const std::string & name)
{
  const auto & all = GetAll();
  const auto   found = std::find_if(all.begin(), all.end(), [&](const auto * entry) { return entry->name == name; });
  return found == all.end() ? nullptr : *found;
}

bool
ObjectiveKind::HasNames() const
{
  return columns.front().back() == ':';
}

std::string
ObjectiveKind::Describe() const
{
  return name + " (" + JoinNames(columns, " and ") + (HasNames() ? "NAME)" : ")");
}

std::string
ObjectiveKind::NameAll()
{
  std::string  text;
  const auto & all = GetAll();
  for (const auto * const kind : all)
  {
    text += (kind == all.front() ? "" : kind == all.back() ? " or " : ", ") + kind->name;
  }
  return text;
}

const ObjectiveKind &
Objective::GetKind() const
{
  return *kind;
}

bool
Objective::HasTargets() const
{
  return kind->makeTargets != nullptr;
}

std::vector<std::string>
Objective::GetColumns() const
{
  if (!kind->HasNames())
  {
    return kind->columns;
  }
  std::vector<std::string> columns;
  columns.reserve(names.size());
  for (const std::string & name : names)
  {
    columns.push_back(kind->columns.front() + name);
  }
  return columns;
}

std::vector<std::string>
Objective::GetTruthColumns() const
{
  return HasTargets() ? GetColumns() : std::vector<std::string>();
}

std::size_t
Objective::CountTruths() const
{
  return GetTruthColumns().size();
}

int
CountNames(int names)
{
  return names;
}

std::string
FormatTruth(double value)
{
  std::string text;
  for (const int digits : { std::numeric_limits<double>::digits10, std::numeric_limits<double>::max_digits10 })
  {
    std::ostringstream stream;
    stream.imbue(std::locale::classic());
    stream.precision(digits);
    stream << value;
    std::istringstream back(stream.str());
    back.imbue(std::locale::classic());
    double same = 0;
    back >> same;
    text = stream.str();
    if (same == value)
    {
      break;
    }
  }
  return text;
}

std::vector<std::string>
DescribeNamed(const Objective & objective, const ImageTruth & truth)
{
  std::vector<std::string> known;
  for (std::size_t i = 0; i < truth.size(); ++i)
  {
    if (!std::isnan(truth[i]))
    {
      known.push_back(objective.names[i] + '=' + FormatTruth(truth[i]));
    }
  }
  return known;
}

std::vector<double>
ExplainOutput(int outputs, int name)
{
  std::vector<double> ofOutputs(static_cast<std::size_t>(outputs));
  ofOutputs[static_cast<std::size_t>(name)] = 1;
  return ofOutputs;
}

bool
IsNotKnown(const std::string & field)
{
  const char * const words[] = { "", "NaN", "nan", "NA", "<NA>" };
  return std::find(std::begin(words), std::end(words), field) != std::end(words);
}

std::string
WithoutZeros(const std::string & number)
{
  const std::size_t point = number.find('.');
  const bool        isWhole = point != std::string::npos && point > 0 && point + 1 < number.size() &&
                       number.find_first_not_of("0123456789") == point &&
                       number.find_first_not_of('0', point + 1) == std::string::npos;
  return isWhole ? number.substr(0, point) : number;
}

double
ReadAnswer(const std::string & field)
{
  // Tables with gaps come with numbers of floating point, those of logical values with words.
  std::string word = WithoutZeros(field);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool isThere = word == "1" || word == "true";
  if (!isThere && word != "0" && word != "false")
  {
    throw InvalidArgument(
      Diagnostic("E-COHORT-FORMAT", "is neither 1 (there) nor 0 (not there) nor empty (not known)"));
  }
  return isThere ? 1 : 0;
}

double
GetProbability(double logit)
{
  const double e = std::exp(-std::abs(logit));
  return (logit >= 0 ? 1 : e) / (1 + e);
}

double
ClampShare(double share)
{
  return std::clamp(share, 1e-3, 1 - 1e-3);
}

double
GetLogOdds(double share)
{
  return std::log(ClampShare(share) / (1 - ClampShare(share)));
}

std::vector<double>
GetBiasesOfLogits(int, const std::vector<double> & shares)
{
  std::vector<double> biases(shares.size());
  std::transform(shares.begin(), shares.end(), biases.begin(), GetLogOdds);
  return biases;
}

double
GetMeanScore(const Objective &                        objective,
             const std::vector<ImageTruth> &          truths,
             const std::vector<std::vector<double>> & predictions,
             double (*getScore)(const std::vector<double> & truths, const std::vector<double> & predictions))
{
  double sum = 0, number = 0;
  for (std::size_t k = 0; k < objective.names.size(); ++k)
  {
    std::vector<double> known, predicted;
    for (std::size_t i = 0; i < truths.size(); ++i)
    {
      if (!std::isnan(truths[i][k]))
      {
        known.push_back(truths[i][k]);
        predicted.push_back(predictions[i][k]);
      }
    }
    const double score = getScore(known, predicted);
    sum += std::isnan(score) ? 0 : score;
    number += std::isnan(score) ? 0 : 1;
  }
  return number > 0 ? sum / number : std::numeric_limits<double>::quiet_NaN();
}

} // namespace gigapixel
