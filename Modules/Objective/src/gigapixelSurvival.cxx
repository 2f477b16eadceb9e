/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelObjectiveKinds.h"
#include "gigapixelSurvivalFigures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <locale>
#include <numeric>
#include <set>
#include <sstream>

namespace gigapixel
{
namespace
{

// M. F. Gensheimer, B. Narasimhan, "A scalable discrete-time survival model for neural networks", PeerJ 7:e6257, 2019.
// Time is cut into intervals, whose ends are the names. Output k is the logit of the hazard: the probability of the
// event within interval k, for those whom it has not met before. The loss, binary cross-entropy of the hazards of the
// intervals that an image is known to have reached, is the negative logarithm of the likelihood. What is after the last
// end is one more interval, without an output. Unlike Cox's partial likelihood, which compares images, it is a sum over
// images, so that steps with one of them at a time give its exact gradient.

constexpr std::size_t Time = 0, Event = 1; // of an ImageTruth
constexpr std::size_t Intervals = 4;       // with as many events each, as usual for slides: few have hundreds of events

double
ReadTime(const std::string & field)
{
  std::istringstream stream(field);
  stream.imbue(std::locale::classic());
  double time = 0;
  stream >> time;
  if (!stream || !stream.eof() || !std::isfinite(time) || time < 0)
  {
    throw InvalidArgument(Diagnostic("E-COHORT-FORMAT", "is no time: a number from 0 up is wanted, of any unit"));
  }
  return time;
}

double
ReadTruth(std::size_t column, const std::string & field)
{
  return column == Time ? ReadTime(field) : ReadAnswer(field);
}

std::vector<double>
GetEnds(const std::vector<std::string> & names)
{
  std::vector<double> ends(names.size());
  std::transform(names.begin(), names.end(), ends.begin(), ReadTime);
  return ends;
}

void
CheckNames(const std::vector<std::string> & names)
{
  const std::vector<double> ends = GetEnds(names);
  for (std::size_t k = 0; k < ends.size(); ++k)
  {
    if (k > 0 && ends[k] <= ends[k - 1])
    {
      throw InvalidArgument(Diagnostic("E-COHORT-FORMAT", "is no later time than the one before it").OfValue(names[k]));
    }
  }
}

std::vector<std::string>
Describe(const Objective &, const ImageTruth & truth)
{
  return { "time=" + FormatTruth(truth[Time]), "event=" + FormatTruth(truth[Event]) };
}

std::vector<std::string>
GetStrata(const Objective &, const ImageTruth & truth, const std::string &)
{
  return { "event=" + FormatTruth(truth[Event]) };
}

void
Learn(Objective & objective, const std::vector<ImageTruth> &, const std::vector<ImageTruth> & training)
{
  std::vector<double> times;
  for (const ImageTruth & truth : training)
  {
    if (truth[Event] == 1)
    {
      times.push_back(truth[Time]);
    }
  }
  if (times.empty())
  {
    throw Refusal(
      Diagnostic("E-COHORT-LABELS", "no training slide has an event: there is nothing to learn of when it comes"));
  }
  if (!objective.names.empty())
  {
    return; // of all folds
  }
  std::sort(times.begin(), times.end());
  std::set<double> ends;
  for (std::size_t k = 1; k < Intervals; ++k)
  {
    ends.insert(times[(k * times.size() + Intervals - 1) / Intervals - 1]);
  }
  std::transform(ends.begin(), ends.end(), std::back_inserter(objective.names), FormatTruth);
}

/** An image whose event is not seen has survived an interval in which it was seen for half of it or longer. */
OutputTargets
MakeTargets(const Objective & objective, const ImageTruth & truth)
{
  OutputTargets result;
  const auto    unknown = std::numeric_limits<double>::quiet_NaN();
  double        begin = 0;
  bool          isOver = false;
  for (const double end : GetEnds(objective.names))
  {
    const bool isMet = truth[Event] == 1 && truth[Time] <= end;
    const bool isPassed = truth[Event] == 1 ? truth[Time] > end : truth[Time] >= (begin + end) / 2;
    result.targets.push_back(isOver || (!isMet && !isPassed) ? unknown : isMet ? 1 : 0);
    isOver = isOver || !isPassed;
    begin = end;
  }
  return result;
}

std::string
DescribeTarget(const Objective & objective, int output, bool target)
{
  const auto        number = static_cast<std::size_t>(output);
  const std::string begin = output == 0 ? "0" : objective.names[number - 1];
  return target ? "an event between the times " + begin + " and " + objective.names[number]
                : "no event until the time " + objective.names[number];
}

/** The probability of no event until each end. */
std::vector<double>
Predict(const Objective &, const std::vector<double> & outputs)
{
  std::vector<double> survival;
  double              product = 1;
  for (const double output : outputs)
  {
    product *= GetProbability(-output);
    survival.push_back(product);
  }
  return survival;
}

int
Choose(const std::vector<double> & prediction)
{
  return static_cast<int>(prediction.size()) - 1;
}

/** The hazards up to this end speak for an event until there. */
std::vector<double>
Explain(int outputs, int name)
{
  std::vector<double> ofOutputs(static_cast<std::size_t>(outputs));
  std::fill_n(ofOutputs.begin(), name + 1, 1);
  return ofOutputs;
}

/** The concordance with the negative sum of the predicted survival as the risk. */
double
GetScore(const Objective &,
         const std::vector<ImageTruth> &          truths,
         const std::vector<std::vector<double>> & predictions)
{
  std::vector<SurvivalCase> cases;
  cases.reserve(truths.size());
  for (std::size_t i = 0; i < truths.size(); ++i)
  {
    const double sum = std::accumulate(predictions[i].begin(), predictions[i].end(), 0.0);
    cases.push_back({ truths[i][Time], truths[i][Event] == 1, -sum });
  }
  return Concordance::Make(cases).index;
}

} // namespace

/** The time until an event, such as death, which not all images have been seen long enough to have. */
const ObjectiveKind &
GetSurvivalKind()
{
  static const ObjectiveKind kind = [] {
    ObjectiveKind entry;
    entry.name = "survival";
    entry.columns = { "time", "event" };
    entry.prediction = "p_survival:";
    entry.numbers = "probabilities";
    entry.score = "C-index";
    entry.scoreColumn = "validation_c_index";
    entry.countOutputs = CountNames;
    entry.readTruth = ReadTruth;
    entry.checkNames = CheckNames;
    entry.describe = Describe;
    entry.getStrata = GetStrata;
    entry.learn = Learn;
    entry.makeTargets = MakeTargets;
    entry.describeTarget = DescribeTarget;
    entry.getBiases = GetBiasesOfLogits;
    entry.predict = Predict;
    entry.choose = Choose;
    entry.explain = Explain;
    entry.getScore = GetScore;
    return entry;
  }();
  return kind;
}

} // namespace gigapixel
