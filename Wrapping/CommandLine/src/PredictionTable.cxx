/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PredictionTable.h"

#include "ArgumentText.h"

#include "gigapixelSession.h"

#include "gigapixelTableReader.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <locale>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace gigapixel::commandline
{
namespace
{

constexpr double  SumTolerance = 0.01;
const std::string Prefix = "p_";
using PathParts = std::vector<std::string>; ///< the last one first

/** Without what says where to begin: the root, "." and leading "..". */
PathParts
GetParts(const std::string & path)
{
  PathParts parts;
  for (const auto & part : std::filesystem::path(path).lexically_normal().relative_path())
  {
    if (part != ".." && part != "." && !part.empty())
    {
      parts.insert(parts.begin(), part.string());
    }
  }
  return parts;
}

/** How many parts both have in common, if these are all of one of them; else 0. */
std::size_t
CountCommon(const PathParts & a, const PathParts & b)
{
  const std::size_t shorter = std::min(a.size(), b.size());
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(shorter), b.begin()) ? shorter : 0;
}

/** Names the row, where the table is one that was read. */
[[noreturn]] void
FailOf(const PredictionTable & table, const Prediction & prediction, const std::string & reason)
{
  if (prediction.line == 0)
  {
    throw std::runtime_error(ToMessage(reason));
  }
  TableReader::Fail(table.file, prediction.line, reason);
}

/** A slide of the cohort, of one row or of several with its regions. */
struct Truth
{
  std::string slide;
  PathParts   parts;
  std::string label;
  std::string patient;
  std::string split;
  int         line{ 0 };
};

class Truths
{
public:
  Truths(const std::string & file, bool needsLabels)
    : m_File(file)
    , m_Reader(file)
  {
    const int slide = this->Require("slide", "the slides' files");
    const int label = needsLabels ? this->Require("label", "the class of each slide") : m_Reader.FindColumn("label");
    const int patient = m_Reader.FindColumn("patient"), split = m_Reader.FindColumn("split");
    m_KnowsLabels = label >= 0;
    m_KnowsPatients = patient >= 0;
    const auto get = [](const TableReader::Row & row, int column) {
      return column < 0 ? std::string() : row.fields[static_cast<std::size_t>(column)];
    };
    TableReader::Row row;
    while (m_Reader.Next(row))
    {
      this->Add(
        { get(row, slide), GetParts(get(row, slide)), get(row, label), get(row, patient), get(row, split), row.line });
    }
  }

  bool
  KnowsLabels() const
  {
    return m_KnowsLabels;
  }

  bool
  KnowsPatients() const
  {
    return m_KnowsPatients;
  }

  const Truth &
  Find(const PredictionTable & table, const Prediction & prediction) const
  {
    const PathParts            parts = GetParts(prediction.name);
    const auto                 candidates = m_ByName.find(parts.empty() ? std::string() : parts.front());
    std::vector<const Truth *> best;
    std::size_t                most = 1;
    for (const std::size_t i : candidates == m_ByName.end() ? std::vector<std::size_t>() : candidates->second)
    {
      const std::size_t common = CountCommon(parts, m_Truths[i].parts);
      if (common > most)
      {
        best.clear();
        most = common;
      }
      if (common == most)
      {
        best.push_back(&m_Truths[i]);
      }
    }
    if (best.empty())
    {
      FailOf(table,
             prediction,
             "the slide " + prediction.name + " is not in " + m_File + ": add its row there, or name it as there");
    }
    if (best.size() > 1)
    {
      FailOf(table,
             prediction,
             "the slide " + prediction.name + " may be " + best[0]->slide + " or " + best[1]->slide + " of " + m_File +
               ": name it with its folder");
    }
    return *best.front();
  }

private:
  int
  Require(const std::string & column, const std::string & content) const
  {
    const int found = m_Reader.FindColumn(column);
    if (found < 0)
    {
      m_Reader.Fail(1, "the column \"" + column + "\", " + content + ", is missing");
    }
    return found;
  }

  void
  Add(Truth && truth)
  {
    if (truth.parts.empty() || (m_KnowsLabels && truth.label.empty()))
    {
      m_Reader.Fail(truth.line, "the slide or its label is empty");
    }
    std::vector<std::size_t> & sameName = m_ByName[truth.parts.front()];
    for (const std::size_t i : sameName)
    {
      const Truth & other = m_Truths[i];
      if (other.parts == truth.parts && (other.label != truth.label || other.patient != truth.patient))
      {
        m_Reader.Fail(truth.line,
                      "the slide " + truth.slide + " has another label or patient than on line " +
                        std::to_string(other.line) + ": what was predicted of the whole slide has no truth there");
      }
      if (other.parts == truth.parts)
      {
        return;
      }
    }
    sameName.push_back(m_Truths.size());
    m_Truths.push_back(std::move(truth));
  }

  std::string                                     m_File;
  TableReader                                     m_Reader;
  bool                                            m_KnowsLabels{ false };
  bool                                            m_KnowsPatients{ false };
  std::vector<Truth>                              m_Truths;
  std::map<std::string, std::vector<std::size_t>> m_ByName; ///< of files
};

std::vector<double>
ReadProbabilities(const TableReader & reader, const TableReader::Row & row, const std::vector<int> & columns)
{
  std::vector<double> probabilities;
  probabilities.reserve(columns.size());
  for (const int column : columns)
  {
    const std::string & text = row.fields[static_cast<std::size_t>(column)];
    const auto          number = ReadNumber(text);
    if (!number || !(*number >= 0 && *number <= 1))
    {
      reader.Fail(row.line,
                  "\"" + text + "\" in the column " + reader.GetHeader().fields[static_cast<std::size_t>(column)] +
                    " is no probability: a number from 0 to 1 is wanted");
    }
    probabilities.push_back(*number);
  }
  const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  if (std::abs(sum - 1) > SumTolerance)
  {
    reader.Fail(row.line, "the probabilities of the classes sum to " + FormatNumber(sum, 3) + ", and not to 1");
  }
  return probabilities;
}

int
ReadFold(const TableReader & reader, const TableReader::Row & row, int column)
{
  const auto fold = column < 0 ? 0 : ReadInteger(row.fields[static_cast<std::size_t>(column)]).value_or(-1);
  if (fold < 0 || fold > std::numeric_limits<int>::max())
  {
    reader.Fail(row.line, "\"" + row.fields[static_cast<std::size_t>(column)] + "\" is no number of a fold");
  }
  return static_cast<int>(fold);
}

} // namespace

int
Prediction::GetPredicted() const
{
  return static_cast<int>(std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
}

PredictionTable
PredictionTable::Load(const std::string & fileName)
{
  TableReader     reader(fileName);
  PredictionTable table;
  table.file = fileName;
  std::vector<int> columns;
  const auto &     names = reader.GetHeader().fields;
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    if (std::count(names.begin(), names.end(), names[i]) > 1)
    {
      reader.Fail(1, "the column \"" + names[i] + "\" is there twice");
    }
    if (names[i].size() > Prefix.size() && names[i].compare(0, Prefix.size(), Prefix) == 0)
    {
      table.classes.push_back(names[i].substr(Prefix.size()));
      columns.push_back(static_cast<int>(i));
    }
  }
  const int slide = reader.FindColumn("slide"), patient = reader.FindColumn("patient"),
            label = reader.FindColumn("label"), fold = reader.FindColumn("fold");
  if (slide < 0 || columns.size() < 2)
  {
    reader.Fail(1,
                (slide < 0 ? std::string("the column \"slide\" is missing")
                           : "there are not two columns with probabilities of classes (p_NAME)") +
                  "; the columns are to be those that classify writes: slide and p_NAME for each class");
  }
  table.knowsPatients = patient >= 0;
  table.knowsLabels = label >= 0;
  table.hasFolds = fold >= 0;
  std::map<PathParts, int> lines;
  TableReader::Row         row;
  while (reader.Next(row))
  {
    const auto get = [&](int column) { return column < 0 ? "" : row.fields[static_cast<std::size_t>(column)]; };
    Prediction prediction{
      get(slide), get(patient), get(label), {}, ReadProbabilities(reader, row, columns), ReadFold(reader, row, fold),
      row.line
    };
    const auto [first, isNew] = lines.emplace(GetParts(prediction.name), row.line);
    if (prediction.name.empty() || (label >= 0 && prediction.label.empty()))
    {
      reader.Fail(row.line, "the slide or its label is empty");
    }
    if (!isNew)
    {
      reader.Fail(row.line,
                  "the slide " + prediction.name + " is there already, on line " + std::to_string(first->second));
    }
    table.cases.push_back(std::move(prediction));
  }
  if (table.cases.empty())
  {
    reader.Fail(1, "there is no prediction below the header");
  }
  return table;
}

void
PredictionTable::TakeCohort(const std::string & cohort, bool needsLabels)
{
  const Truths                 truths(cohort, needsLabels);
  std::map<const Truth *, int> taken;
  for (Prediction & prediction : cases)
  {
    const Truth & truth = truths.Find(*this, prediction);
    const auto    contradict = [&](const std::string & what, const std::string & here, const std::string & there) {
      FailOf(*this,
             prediction,
             "the slide " + prediction.name + " has the " + what + " " + here + " here, and " + there + " in " +
               cohort + ", line " + std::to_string(truth.line));
    };
    const auto [first, isNew] = taken.emplace(&truth, prediction.line);
    if (!isNew)
    {
      FailOf(*this,
             prediction,
             "the slide " + prediction.name + " is " + truth.slide + " of " + cohort + ", as is that on line " +
               std::to_string(first->second));
    }
    if (knowsLabels && truths.KnowsLabels() && prediction.label != truth.label)
    {
      contradict("label", prediction.label, truth.label);
    }
    if (knowsPatients && truths.KnowsPatients() && prediction.patient != truth.patient)
    {
      contradict("patient", prediction.patient, truth.patient);
    }
    prediction.label = truths.KnowsLabels() ? truth.label : prediction.label;
    prediction.split = truth.split;
    prediction.patient = truths.KnowsPatients() ? truth.patient : prediction.patient;
  }
  knowsLabels = knowsLabels || truths.KnowsLabels();
  knowsPatients = knowsPatients || truths.KnowsPatients();
}

PredictionTable
PredictionTable::GetPatients() const
{
  if (!knowsPatients)
  {
    throw std::runtime_error(file +
                             ": whose slides they are is not known: a column \"patient\" in this table, or in that "
                             "of --cohort, is to say it");
  }
  std::map<std::string, std::vector<const Prediction *>> slidesOf;
  for (const Prediction & prediction : cases)
  {
    if (prediction.patient.empty())
    {
      FailOf(*this, prediction, "the patient of the slide " + prediction.name + " is empty");
    }
    slidesOf[prediction.patient].push_back(&prediction);
  }
  PredictionTable patients = *this;
  patients.arePatients = true;
  patients.cases.clear();
  for (const auto & [patient, slides] : slidesOf)
  {
    const Prediction & first = *slides.front();
    Prediction         mean{ patient, patient, first.label, first.split, {}, first.fold, first.line };
    mean.probabilities.resize(classes.size());
    for (const Prediction * slide : slides)
    {
      if (slide->label != first.label)
      {
        FailOf(*this,
               *slide,
               "the patient " + patient + " has slides of the labels " + first.label + " (line " +
                 std::to_string(first.line) + ") and " + slide->label +
                 ", and so no label as a whole: evaluate by slide, or give all slides that of the patient");
      }
      for (std::size_t c = 0; c < classes.size(); ++c)
      {
        mean.probabilities[c] += slide->probabilities[c] / static_cast<double>(slides.size());
      }
    }
    patients.cases.push_back(std::move(mean));
  }
  return patients;
}

std::string
PredictionTable::ToCSV() const
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(9);
  const bool tellsPatients = knowsPatients && !arePatients;
  text << (arePatients ? "patient" : "slide") << (tellsPatients ? ",patient" : "") << (knowsLabels ? ",label" : "")
       << (hasFolds ? ",fold" : "") << ",predicted";
  for (const std::string & name : classes)
  {
    text << ',' << ToField(Prefix + name);
  }
  text << '\n';
  for (const Prediction & prediction : cases)
  {
    text << ToField(prediction.name) << (tellsPatients ? ',' + ToField(prediction.patient) : "")
         << (knowsLabels ? ',' + ToField(prediction.label) : "")
         << (hasFolds ? ',' + std::to_string(prediction.fold) : "") << ','
         << ToField(classes[static_cast<std::size_t>(prediction.GetPredicted())]);
    for (const double probability : prediction.probabilities)
    {
      text << ',' << probability;
    }
    text << '\n';
  }
  return text.str();
}

} // namespace gigapixel::commandline
