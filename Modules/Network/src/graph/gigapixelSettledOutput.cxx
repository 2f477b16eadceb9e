/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationSchema.h"
#include "gigapixelValueBounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <sstream>

namespace gigapixel
{
namespace
{

/** Sums of factors such as 1/3 are rounded by so much. */
constexpr double Tolerance = 1e-6;

std::string
ToText(double number)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << number + 0.0; // no -0
  return text.str();
}

std::string
Append(NetworkGraph &                                graph,
       std::string                                   name,
       const char *                                  type,
       const std::map<std::string, AttributeValue> & attributes)
{
  const auto isTaken = [&](const Operation & operation) { return operation.name == name; };
  while (std::any_of(graph.operations.begin(), graph.operations.end(), isTaken))
  {
    name += '_';
  }
  graph.operations.push_back({ name, type, { graph.output }, attributes, {} });
  graph.output = name;
  return name;
}

/** A graph cannot end in a reduction of the image: something is computed of it. */
void
EndBehindMean(NetworkGraph & graph)
{
  const Operation & output = graph.operations[graph.GetIndex(graph.output)];
  if (OperationSchema::Find(output.type)->getReduction(output))
  {
    Append(graph, "logits", "mul", { { "other", 1.0 } });
  }
}

/** Takes off a sigmoid or softmax at the end, also where its pixels are chosen or copied behind it: so are the logits'
 * then. \return its type; empty: there is none */
std::string
Strip(NetworkGraph & graph)
{
  const auto countReaders = [&graph](const std::string & name) {
    return std::accumulate(graph.operations.begin(), graph.operations.end(), 0, [&](int sum, const Operation & each) {
      return sum + static_cast<int>(std::count(each.inputs.begin(), each.inputs.end(), name));
    });
  };
  const auto choosesPixels = [](const Operation & operation) {
    return operation.type == "crop" || operation.type == "slice" ||
           (operation.type == "interpolate" && operation.GetWord("mode") == "nearest");
  };
  std::string * place = &graph.output; // where the name of the operation stands that is looked at
  int           readers = 0;
  while (countReaders(*place) == readers && choosesPixels(graph.operations[graph.GetIndex(*place)]))
  {
    place = &graph.operations[graph.GetIndex(*place)].inputs.front();
    readers = 1;
  }
  const int   last = graph.GetIndex(*place);
  std::string type = graph.operations[last].type;
  const bool  isEnd = type == "sigmoid" || (type == "softmax" && graph.GetOutputChannels() > 1);
  if (!isEnd || countReaders(*place) != readers)
  {
    return {};
  }
  *place = graph.operations[last].inputs.front();
  graph.operations.erase(graph.operations.begin() + last);
  return type;
}

/** Takes off the logarithm of the probability of one class. \return whether there is one */
bool
TakeOffLogarithm(NetworkGraph & graph, const ValueBounds::FindArray & findArray)
{
  const Operation & output = graph.operations[graph.GetIndex(graph.output)];
  if (output.type != "log" || graph.GetOutputChannels() != 1)
  {
    return false;
  }
  NetworkGraph without = graph;
  without.output = output.inputs.front();
  without.operations.erase(without.operations.begin() + graph.GetIndex(graph.output));
  const bool isRead = std::any_of(without.operations.begin(), without.operations.end(), [&](const Operation & each) {
    return std::count(each.inputs.begin(), each.inputs.end(), graph.output) > 0;
  });
  if (isRead)
  {
    return false;
  }
  EndBehindMean(without);
  without.Validate();
  const OutputValues values = FindOutputValues(without, findArray);
  if (values.kind != OutputValues::Kind::Probabilities || values.greatest != 1)
  {
    return false;
  }
  graph = std::move(without);
  return true;
}

} // namespace

std::string
ToText(const ValueRange & range)
{
  return !std::isfinite(range.greatest) ? ToText(range.least) + " or more"
         : !std::isfinite(range.least)  ? ToText(range.greatest) + " or less"
                                        : "between " + ToText(range.least) + " and " + ToText(range.greatest);
}

OutputValues
FindOutputValues(const NetworkGraph & graph, const ValueBounds::FindArray & findArray)
{
  ValueBounds        bounds(graph, findArray);
  const ValueForms & forms = bounds.Get(graph.output);
  OutputValues       values;
  if (forms.empty())
  {
    return values;
  }
  values.range = bounds.GetRange(forms.front());
  for (const ValueRange & range : bounds.GetRanges(forms))
  {
    values.range = { std::min(values.range.least, range.least), std::max(values.range.greatest, range.greatest) };
  }
  const double least = values.range.least, greatest = values.range.greatest;
  // Where several channels have one bound alone, as ReLU's, the greatest one is the label.
  const bool hasOneSign = forms.size() == 1 && (least >= 0 || greatest <= 0);
  if ((!std::isfinite(least) || !std::isfinite(greatest)) && !hasOneSign)
  {
    return values;
  }
  const bool isUnit = greatest <= 1 + Tolerance;
  values.kind = OutputValues::Kind::Unclear;
  if (least >= -Tolerance && std::isfinite(greatest) && greatest > Tolerance && (isUnit || !bounds.IsClipped(forms)))
  {
    values.kind = OutputValues::Kind::Probabilities;
    values.greatest = isUnit ? 1 : greatest;
    const ValueRange all = bounds.GetRange(bounds.GetSum(forms));
    values.areShares = forms.size() > 1 && std::abs(all.least / values.greatest - 1) < Tolerance &&
                       std::abs(all.greatest / values.greatest - 1) < Tolerance;
  }
  return values;
}

SettledOutput
SettleOutput(NetworkGraph & graph, const ValueBounds::FindArray & findArray)
{
  if (TakeOffLogarithm(graph, findArray))
  {
    SettledOutput settled = SettleOutput(graph, findArray);
    settled.leftOut = settled.leftOut.empty() ? "log at the end" : "log of " + settled.leftOut;
    return settled;
  }
  SettledOutput     settled;
  NetworkGraph      stripped = graph;
  const std::string type = Strip(stripped);
  if (!type.empty())
  {
    EndBehindMean(stripped);
    stripped.Validate();
  }
  // A sigmoid of probabilities is no probability of theirs.
  if (!type.empty() && FindOutputValues(stripped, findArray).kind != OutputValues::Kind::Probabilities)
  {
    graph = std::move(stripped);
    settled.leftOut = type + " at the end";
    settled.isOfEach = type == "sigmoid" && graph.GetOutputChannels() > 1;
    return settled;
  }
  EndBehindMean(graph);
  graph.Validate();
  const OutputValues values = FindOutputValues(graph, findArray);
  if (values.kind == OutputValues::Kind::Unclear)
  {
    settled.bounds = values.range;
  }
  if (values.kind == OutputValues::Kind::Probabilities)
  {
    settled.computed = "probabilities";
    settled.greatest = values.greatest;
    if (values.greatest != 1)
    {
      settled.computed += ", divided by " + ToText(values.greatest);
      Append(graph, "probabilities", "mul", { { "other", 1 / values.greatest } });
    }
    const bool areShares = graph.GetOutputChannels() > 1 && values.areShares;
    settled.isOfEach = graph.GetOutputChannels() > 1 && !areShares;
    Append(graph, "logits", areShares ? "log" : "logit", {});
    graph.Validate();
  }
  return settled;
}

} // namespace gigapixel
