/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPredictionTable.h"

#include "gigapixelNumberText.h"
#include "gigapixelTableReader.h"
#include "gigapixelTruthField.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <locale>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr double SumTolerance = 0.01;
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

/** Refuses a prediction that does not fit a cohort. Names the row, where the table is one that was read. */
[[noreturn]] void
RefuseMatch(const PredictionTable & table,
            const Prediction &      prediction,
            const std::string &     why,
            const std::string &     remedy = {})
{
  RefuseRow(table.file, prediction.line, Diagnostic("E-PREDICTIONS-MATCH", why, remedy).OfValue(prediction.name));
}

/** Takes what only the other one knows. \return false: they contradict each other */
bool
TakeKnown(ImageTruth & truth, const ImageTruth & other)
{
  truth.resize(std::max(truth.size(), other.size()), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t i = 0; i < other.size(); ++i)
  {
    if (!std::isnan(truth[i]) && !std::isnan(other[i]) && truth[i] != other[i])
    {
      return false;
    }
    truth[i] = std::isnan(truth[i]) ? other[i] : truth[i];
  }
  return true;
}

/** The same of labels, which are those of classes, or say in words what the truths are. */
bool
TakeKnown(ImageTruth &        truth,
          std::string &       label,
          const ImageTruth &  other,
          const std::string & otherLabel,
          const Objective &   objective)
{
  if (truth.empty() && other.empty())
  {
    return label == otherLabel;
  }
  const bool agree = TakeKnown(truth, other);
  label = agree ? ToLabel(truth, objective) : label;
  return agree;
}

/** The columns that truths stand in; of names that have none -1. */
std::vector<int>
FindTruthColumns(const TableReader & reader, const Objective & objective)
{
  std::vector<int> columns;
  for (const std::string & column : objective.GetTruthColumns())
  {
    columns.push_back(reader.FindColumn(column));
  }
  return columns;
}

bool
IsAnyThere(const std::vector<int> & columns)
{
  return std::any_of(columns.begin(), columns.end(), [](int column) { return column >= 0; });
}

/** \return nothing where there are no columns */
ImageTruth
ReadTruth(const TableReader &      reader,
          const TableReader::Row & row,
          const std::vector<int> & columns,
          const ObjectiveKind &    kind)
{
  ImageTruth truth;
  for (std::size_t i = 0; IsAnyThere(columns) && i < columns.size(); ++i)
  {
    const std::string field = columns[i] < 0 ? "" : row.fields[static_cast<std::size_t>(columns[i])];
    try
    {
      truth.push_back(IsNotKnown(field) ? std::numeric_limits<double>::quiet_NaN() : kind.readTruth(i, field));
    }
    catch (const std::invalid_argument & error)
    {
      const std::string & column = reader.GetHeader().fields[static_cast<std::size_t>(columns[i])];
      reader.Fail(row.line, '"' + field + "\" in the column " + column + ' ' + Diagnostic::Of(error).why);
    }
  }
  return truth;
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
  ImageTruth  truth{};
};

class Truths
{
public:
  Truths(const std::string & file, const Objective & objective, bool needsLabels)
    : m_File(file)
    , m_Reader(file)
    , m_Objective(objective)
  {
    const int  slide = this->Require("slide", "the slides' files");
    const bool isClass = !objective.HasTargets();
    const int  label = !isClass      ? -1
                       : needsLabels ? this->Require("label", "the class of each slide")
                                     : m_Reader.FindColumn("label");
    const auto truths = FindTruthColumns(m_Reader, objective);
    if (!isClass && needsLabels && !IsAnyThere(truths))
    {
      this->Refuse(1, "no column has the " + objective.GetKind().Describe() + " of the slides");
    }
    const int patient = m_Reader.FindColumn("patient"), split = m_Reader.FindColumn("split");
    knowsLabels = label >= 0 || IsAnyThere(truths);
    m_NeedsLabels = label >= 0; // of other objectives something may be unknown
    knowsPatients = patient >= 0;
    const auto get = [](const TableReader::Row & row, int column) {
      return column < 0 ? std::string() : row.fields[static_cast<std::size_t>(column)];
    };
    TableReader::Row row;
    while (m_Reader.Next(row))
    {
      const ImageTruth truth = ReadTruth(m_Reader, row, truths, objective.GetKind());
      this->Add({ get(row, slide),
                  GetParts(get(row, slide)),
                  isClass ? get(row, label) : ToLabel(truth, objective),
                  get(row, patient),
                  get(row, split),
                  row.line,
                  truth });
    }
  }

  bool knowsLabels{ false };
  bool knowsPatients{ false };

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
      RefuseMatch(table,
                  prediction,
                  "the slide " + prediction.name + " is not in " + m_File,
                  "add its row there, or name it as there");
    }
    if (best.size() > 1)
    {
      RefuseMatch(table,
                  prediction,
                  "the slide " + prediction.name + " may be " + best[0]->slide + " or " + best[1]->slide + " of " +
                    m_File,
                  "name it with its folder");
    }
    return *best.front();
  }

private:
  [[noreturn]] void
  Refuse(int line, const std::string & why, const std::string & code = "E-COHORT-FORMAT") const
  {
    TableReader::Fail(m_File, line, Diagnostic(code, why));
  }

  int
  Require(const std::string & column, const std::string & content) const
  {
    const int found = m_Reader.FindColumn(column);
    if (found < 0)
    {
      this->Refuse(1, "the column \"" + column + "\", " + content + ", is missing");
    }
    return found;
  }

  void
  Add(Truth && truth)
  {
    if (truth.parts.empty() || (m_NeedsLabels && truth.label.empty()))
    {
      this->Refuse(truth.line, "the slide or its label is empty");
    }
    std::vector<std::size_t> & sameName = m_ByName[truth.parts.front()];
    for (const std::size_t i : sameName)
    {
      Truth & other = m_Truths[i];
      if (other.parts == truth.parts && (other.patient != truth.patient ||
                                         !TakeKnown(other.truth, other.label, truth.truth, truth.label, m_Objective)))
      {
        this->Refuse(truth.line,
                     "the slide " + truth.slide + " has another label or patient than on line " +
                       std::to_string(other.line) + ": what was predicted of the whole slide has no truth there",
                     "E-COHORT-CONFLICT");
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
  Objective                                       m_Objective;
  bool                                            m_NeedsLabels{ false };
  std::vector<Truth>                              m_Truths;
  std::map<std::string, std::vector<std::size_t>> m_ByName; ///< of files
};

/** Or values. */
std::vector<double>
ReadProbabilities(const TableReader &      reader,
                  const TableReader::Row & row,
                  const std::vector<int> & columns,
                  const ObjectiveKind &    kind)
{
  const bool          areValues = kind.hasUnits;
  std::vector<double> probabilities;
  probabilities.reserve(columns.size());
  for (const int column : columns)
  {
    const std::string & text = row.fields[static_cast<std::size_t>(column)];
    const auto          number = ReadNumber(text);
    if (!number || (!areValues && !(*number >= 0 && *number <= 1)))
    {
      reader.Fail(row.line,
                  "\"" + text + "\" in the column " + reader.GetHeader().fields[static_cast<std::size_t>(column)] +
                    (areValues ? " is no number" : " is no probability"),
                  areValues ? "give a number" : "give a number from 0 to 1");
    }
    probabilities.push_back(*number);
  }
  const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  if (kind.isExclusive && std::abs(sum - 1) > SumTolerance)
  {
    reader.Fail(row.line,
                "the probabilities of the " + kind.name + " sum to " + FormatNumber(sum, 3) + ", and not to 1");
  }
  return probabilities;
}

int
ReadFold(const TableReader & reader, const TableReader::Row & row, int column)
{
  const auto fold = column < 0 ? 0 : ReadInteger(row.fields[static_cast<std::size_t>(column)]).value_or(-1);
  if (fold < 0 || fold > std::numeric_limits<int>::max())
  {
    reader.Fail(
      row.line, "\"" + row.fields[static_cast<std::size_t>(column)] + "\" is no number of a fold", "give 1, 2, ...");
  }
  return static_cast<int>(fold);
}

/** \throw std::runtime_error the names in the columns are none of the kind */
void
CheckNames(const TableReader & reader, const ObjectiveKind & kind, const std::vector<std::string> & names)
{
  try
  {
    kind.checkNames == nullptr ? void() : kind.checkNames(names);
  }
  catch (const std::invalid_argument & error)
  {
    const Diagnostic reason = Diagnostic::Of(error);
    reader.Fail(1, "a name in the columns " + kind.prediction + "NAME " + reason.why);
  }
}

/** What the predictions in a table are of, by its columns. */
const ObjectiveKind &
FindKind(const TableReader & reader)
{
  const ObjectiveKind * found = nullptr;
  for (const ObjectiveKind * kind : ObjectiveKind::GetAll())
  {
    const std::string & prefix = kind->prediction;
    const auto &        names = reader.GetHeader().fields;
    const bool          isThere = std::any_of(names.begin(), names.end(), [&](const std::string & name) {
      return name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0;
    });
    if (isThere && found && found->makeTargets != nullptr)
    {
      reader.Fail(1,
                  "there are predictions of " + found->name + " (" + found->prediction + "NAME) and of " + kind->name +
                    " (" + prefix + "NAME)",
                  "put them into a table each");
    }
    found = isThere ? kind : found; // "p_label:a" begins as a class does
  }
  return found ? *found : *ObjectiveKind::GetAll().front();
}

} // namespace

std::string
ToLabel(const ImageTruth & truth, const Objective & objective)
{
  std::string text;
  const bool  isKnown = std::any_of(truth.begin(), truth.end(), [](double value) { return !std::isnan(value); });
  for (const std::string & known :
       isKnown ? objective.GetKind().describe(objective, truth) : std::vector<std::string>())
  {
    text += (text.empty() ? "" : " ") + known;
  }
  return text;
}

PredictionTable
PredictionTable::Load(const std::string & fileName)
{
  TableReader     reader(fileName, "E-PREDICTIONS-FORMAT");
  PredictionTable table;
  table.file = fileName;
  const ObjectiveKind & kind = FindKind(reader);
  const std::string &   prefix = kind.prediction;
  const bool            isClass = kind.makeTargets == nullptr;
  std::vector<int>      columns;
  const auto &          names = reader.GetHeader().fields;
  table.objective = &kind;
  for (std::size_t i = 0; i < names.size(); ++i)
  {
    if (std::count(names.begin(), names.end(), names[i]) > 1)
    {
      reader.Fail(1, "the column \"" + names[i] + "\" is there twice");
    }
    if (names[i].size() > prefix.size() && names[i].compare(0, prefix.size(), prefix) == 0)
    {
      table.classes.push_back(names[i].substr(prefix.size()));
      columns.push_back(static_cast<int>(i));
    }
  }
  const int slide = reader.FindColumn("slide"), patient = reader.FindColumn("patient"),
            label = isClass ? reader.FindColumn("label") : -1, fold = reader.FindColumn("fold");
  if (slide < 0 && patient >= 0 && !columns.empty())
  {
    reader.Fail(1,
                "the table is of patients, as --per-patient of classify writes them",
                "give that of the slides, and --case patient");
  }
  const std::size_t fewest = kind.isExclusive ? 2 : 1;
  if (slide < 0 || columns.size() < fewest)
  {
    reader.Fail(1,
                (slide < 0 ? std::string("the column \"slide\" is missing")
                           : "there are not two columns with probabilities of " + kind.name + " (" + prefix + "NAME)"),
                "the columns are to be those that classify writes: slide and " + prefix +
                  (isClass ? "NAME for each class" : "NAME for each"));
  }
  CheckNames(reader, kind, table.classes);
  const Objective objective = table.GetObjective();
  const auto      truths = FindTruthColumns(reader, objective);
  table.knowsPatients = patient >= 0;
  table.knowsLabels = label >= 0 || IsAnyThere(truths);
  table.hasFolds = fold >= 0;
  std::map<PathParts, int> lines;
  TableReader::Row         row;
  while (reader.Next(row))
  {
    const auto get = [&](int column) { return column < 0 ? "" : row.fields[static_cast<std::size_t>(column)]; };
    Prediction prediction{ get(slide),
                           get(patient),
                           get(label),
                           {},
                           ReadProbabilities(reader, row, columns, kind),
                           ReadFold(reader, row, fold),
                           row.line,
                           ReadTruth(reader, row, truths, kind) };
    prediction.label = isClass ? prediction.label : ToLabel(prediction.truth, objective);
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
  const Truths                 truths(cohort, GetObjective(), needsLabels);
  std::map<const Truth *, int> taken;
  for (Prediction & prediction : cases)
  {
    const Truth & truth = truths.Find(*this, prediction);
    const auto    contradict = [&](const std::string & what, const std::string & here, const std::string & there) {
      RefuseMatch(*this,
                  prediction,
                  "the slide " + prediction.name + " has the " + what + " " + here + " here, and " + there + " in " +
                    cohort + ", line " + std::to_string(truth.line));
    };
    const auto [first, isNew] = taken.emplace(&truth, prediction.line);
    if (!isNew)
    {
      RefuseMatch(*this,
                  prediction,
                  "the slide " + prediction.name + " is " + truth.slide + " of " + cohort + ", as is that on line " +
                    std::to_string(first->second));
    }
    ImageTruth  known = truth.truth;
    std::string label = truth.label;
    if (knowsLabels && truths.knowsLabels &&
        !TakeKnown(known, label, prediction.truth, prediction.label, GetObjective()))
    {
      contradict("label", prediction.label, truth.label);
    }
    if (knowsPatients && truths.knowsPatients && prediction.patient != truth.patient)
    {
      contradict("patient", prediction.patient, truth.patient);
    }
    prediction.label = truths.knowsLabels ? label : prediction.label;
    prediction.truth = truths.knowsLabels ? known : prediction.truth;
    prediction.split = truth.split;
    prediction.patient = truths.knowsPatients ? truth.patient : prediction.patient;
  }
  knowsLabels = knowsLabels || truths.knowsLabels;
  knowsPatients = knowsPatients || truths.knowsPatients;
}

Objective
PredictionTable::GetObjective() const
{
  return { objective, classes, {}, {} };
}

void
RefuseRow(const std::string & file, int line, const Diagnostic & refusal)
{
  if (line > 0)
  {
    TableReader::Fail(file, line, refusal);
  }
  throw Refusal(refusal.OfFile(file));
}

PredictionTable
PredictionTable::GetPatients() const
{
  if (!knowsPatients)
  {
    throw Refusal(Diagnostic("E-PREDICTIONS-FORMAT",
                             "whose slides they are is not known",
                             "a column \"patient\" in this table, or in that of --cohort, is to say it")
                    .OfFile(file));
  }
  std::map<std::string, std::vector<const Prediction *>> slidesOf;
  for (const Prediction & prediction : cases)
  {
    if (prediction.patient.empty())
    {
      RefuseRow(file,
                prediction.line,
                Diagnostic("E-PREDICTIONS-FORMAT", "the patient of the slide " + prediction.name + " is empty")
                  .OfValue(prediction.name));
    }
    slidesOf[prediction.patient].push_back(&prediction);
  }
  const Objective said = GetObjective();
  PredictionTable patients = *this;
  patients.arePatients = true;
  patients.cases.clear();
  for (const auto & [patient, slides] : slidesOf)
  {
    const Prediction & first = *slides.front();
    Prediction         mean{ patient, patient, first.label, first.split, {}, first.fold, first.line, first.truth };
    mean.probabilities.resize(classes.size());
    for (const Prediction * slide : slides)
    {
      if (!TakeKnown(mean.truth, mean.label, slide->truth, slide->label, said))
      {
        RefuseRow(file,
                  slide->line,
                  Diagnostic("E-PREDICTIONS-MATCH",
                             "the patient " + patient + " has slides of the labels " + mean.label + " (line " +
                               std::to_string(first.line) + ") and " + slide->label + ", and so no label as a whole",
                             "evaluate by slide, or give all slides that of the patient")
                    .OfValue(patient));
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

namespace
{

/** Its fields, each behind a comma. */
std::string
ShowTruth(const Prediction & prediction, const Objective & objective)
{
  std::string text;
  for (std::size_t i = 0; i < objective.CountTruths(); ++i)
  {
    const bool isKnown = i < prediction.truth.size() && !std::isnan(prediction.truth[i]);
    text += ',' + (isKnown ? FormatTruth(prediction.truth[i]) : std::string());
  }
  return text.empty() ? ',' + ToField(prediction.label) : text;
}

} // namespace

std::string
PredictionTable::ToCSV() const
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text.precision(9);
  const bool            tellsPatients = knowsPatients && !arePatients;
  const Objective       said = GetObjective();
  const ObjectiveKind & kind = said.GetKind();
  const bool            hasFound = !kind.found.empty();
  text << (arePatients ? "patient" : "slide") << (tellsPatients ? ",patient" : "");
  for (const std::string & column : knowsLabels ? said.GetColumns() : std::vector<std::string>())
  {
    text << ',' << ToField(column);
  }
  text << (hasFolds ? ",fold" : "") << (hasFound ? "," : "") << kind.found;
  for (const std::string & name : classes)
  {
    text << ',' << ToField(kind.prediction + name);
  }
  text << '\n';
  for (const Prediction & prediction : cases)
  {
    text << ToField(prediction.name) << (tellsPatients ? ',' + ToField(prediction.patient) : "")
         << (knowsLabels ? ShowTruth(prediction, said) : "") << (hasFolds ? ',' + std::to_string(prediction.fold) : "");
    if (hasFound)
    {
      const int found = kind.choose(prediction.probabilities);
      text << ',' << ToField(classes[static_cast<std::size_t>(found)]);
    }
    for (const double probability : prediction.probabilities)
    {
      text << ',' << probability;
    }
    text << '\n';
  }
  return text.str();
}

} // namespace gigapixel
