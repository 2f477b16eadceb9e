/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGraphGeometry.h"
#include "gigapixelFormatCount.h"
#include "gigapixelValueBounds.h"
#include "graph/operations/gigapixelOperationEntry.h"

#include <cmath>
#include <iterator>
#include <set>
#include <unordered_map>

namespace gigapixel
{
namespace
{

std::string
AcceptAll(const Operation &, const std::vector<int> &)
{
  return {};
}

int
KeepChannels(const Operation &, const std::vector<int> & channels)
{
  return channels.front();
}

std::int64_t
KeepSize(const Operation &, int, const std::vector<std::int64_t> & inputs)
{
  return inputs.front();
}

Interval
RequireSame(const Operation &, int, std::size_t, const Interval & output, const AxisSizes &)
{
  return output;
}

std::int64_t
OnePhase(const Operation &, int, std::int64_t, const AxisSizes &)
{
  return 0;
}

Keeps
KeepNothing(const Operation &)
{
  return Keeps::Nothing;
}

Sampling
SampleSame(const Operation &, int, const AxisSizes &)
{
  return {};
}

std::string
HaveNoBorder(const Operation &, int, const AxisSizes &)
{
  return {};
}

const ReductionSchema *
ReduceNothing(const Operation &)
{
  return nullptr;
}

std::vector<ParameterDescription>
HaveNone(const Operation &, const std::vector<int> &)
{
  return {};
}

std::pair<double, double>
CostOneEach(const Operation &, const std::vector<int> & channels)
{
  return { channels.front(), 0 };
}

int
GetInputChannels(const Operation & operation, const std::vector<int> &)
{
  return static_cast<int>(operation.GetInteger("channels"));
}

std::int64_t
RefuseSize(const Operation &, int, const std::vector<std::int64_t> &)
{
  schema::Refuse("its size is the image's");
}

OperationSchema
MakeInput()
{
  OperationSchema entry("input", 0, 0);
  entry.summary = "the image; axes are 2, or 3 for volumes";
  entry.attributes = { schema::NeededInteger("channels", 1), schema::Integer("axes", 2, 2) };
  entry.attributes.back().greatest = PerAxis<int>::MostAxes;
  entry.roles = Role::NetworkInput;
  entry.getChannels = &GetInputChannels;
  entry.getSize = &RefuseSize;
  entry.getCost = &schema::CostNothing;
  return entry;
}

} // namespace

OperationSchema::OperationSchema(const char * name, std::size_t fewest, std::size_t most)
  : type(name)
  , fewestInputs(fewest)
  , mostInputs(most)
  , getKeeps(&KeepNothing)
  , needsFloat(&schema::NeverNeedFloat)
  , getPassMaps(&schema::HoldNoMaps)
  , getReduction(&ReduceNothing)
  , check(&AcceptAll)
  , getChannels(&KeepChannels)
  , getSize(&KeepSize)
  , getRequired(&RequireSame)
  , getPhase(&OnePhase)
  , getSampling(&SampleSame)
  , getBorder(&HaveNoBorder)
  , getParameters(&HaveNone)
  , getCost(&CostOneEach)
{}

namespace
{

/** With one entry more for each type that has another name in volumes. */
void
AppendFamily(std::vector<OperationSchema> & entries, const std::vector<OperationSchema> & family)
{
  for (OperationSchema entry : family)
  {
    entry.axes = entry.typeOfVolumes ? 2 : entry.axes;
    entries.push_back(entry);
    if (entry.typeOfVolumes)
    {
      entry.type = entry.typeOfVolumes;
      entry.axes = 3;
      entries.push_back(entry);
    }
  }
}

} // namespace

const std::vector<OperationSchema> &
OperationSchema::GetAll()
{
  static const std::vector<OperationSchema> all = [] {
    std::vector<OperationSchema> entries{ MakeInput() };
    for (const auto makeFamily : { &schema::MakeConvolutions,
                                   &schema::MakePooling,
                                   &schema::MakeInterpolation,
                                   &schema::MakePlacement,
                                   &schema::MakeArithmetic,
                                   &schema::MakeActivations,
                                   &schema::MakeNorms,
                                   &schema::MakeDropout })
    {
      AppendFamily(entries, makeFamily());
    }
    return entries;
  }();
  return all;
}

const std::vector<OperationSchema> &
OperationSchema::GetWholeImage()
{
  static const std::vector<OperationSchema> all = [] {
    std::vector<OperationSchema> entries;
    AppendFamily(entries, schema::MakeGlobalPooling());
    AppendFamily(entries, schema::MakeGlobalNorms());
    return entries;
  }();
  return all;
}

const OperationSchema *
OperationSchema::Find(const std::string & type)
{
  static const auto byType = [] {
    std::unordered_map<std::string, const OperationSchema *> schemas;
    for (const auto * entries : { &GetAll(), &GetWholeImage() })
    {
      for (const OperationSchema & schema : *entries)
      {
        schemas.emplace(schema.type, &schema);
      }
    }
    return schemas;
  }();
  const auto found = byType.find(type);
  return found == byType.end() ? nullptr : found->second;
}

std::vector<std::string>
NetworkGraph::GetWholeImageTypes()
{
  std::vector<std::string> types;
  for (const OperationSchema & schema : OperationSchema::GetWholeImage())
  {
    if (schema.type != std::string(StatisticsType)) // which belong to norms
    {
      types.emplace_back(schema.type);
    }
  }
  return types;
}

std::string
ListWholeImage(const NetworkGraph & graph)
{
  constexpr std::size_t MostNames = 3; // of a type: a sentence is no table
  std::string           text;
  for (const OperationSchema & schema : OperationSchema::GetWholeImage())
  {
    std::vector<std::string> names;
    for (const Operation & operation : graph.operations)
    {
      if (operation.type == schema.type)
      {
        names.push_back(operation.name);
      }
    }
    if (names.empty() || schema.type == std::string(StatisticsType))
    {
      continue;
    }
    text += (text.empty() ? "" : ", ") + std::string(schema.type) + " (" + std::to_string(names.size()) +
            (names.size() == 1 ? " place: " : " places: ");
    for (std::size_t i = 0; i < std::min(names.size(), MostNames); ++i)
    {
      text += (i == 0 ? "" : ", ") + names[i];
    }
    text += names.size() > MostNames ? " ...)" : ")";
  }
  return text;
}

namespace
{

/** What the output is computed from. */
NetworkGraph
GetRead(const NetworkGraph & graph)
{
  NetworkGraph          read;
  std::set<std::string> names{ graph.output };
  for (std::size_t i = graph.operations.size(); i-- > 0;)
  {
    const Operation & operation = graph.operations[i];
    if (names.count(operation.name) > 0)
    {
      names.insert(operation.inputs.begin(), operation.inputs.end());
      read.operations.insert(read.operations.begin(), operation);
    }
  }
  return read;
}

/** Norms are, of statistics that are reduced. */
bool
IsComputed(const Operation & operation)
{
  const OperationSchema * const schema = OperationSchema::Find(operation.type);
  const auto &                  all = OperationSchema::GetWholeImage();
  const bool seesAll = std::any_of(all.begin(), all.end(), [&](const auto & one) { return &one == schema; });
  return !seesAll || schema->Is(Role::WholeImageNorm) || schema->getReduction(operation);
}

} // namespace

std::string
GetRunProblem(const NetworkGraph & graph)
{
  const std::string all = ListWholeImage(graph), wholeImage = ListWholeImage(GetRead(graph));
  if (all.empty())
  {
    return {};
  }
  if (wholeImage.empty())
  {
    return "nothing reads what sees the whole image: " + all + "; leave that out";
  }
  NetworkGraph rest; // that is not computed
  std::copy_if(graph.operations.begin(),
               graph.operations.end(),
               std::back_inserter(rest.operations),
               [](const Operation & operation) { return !IsComputed(operation); });
  const Operation & output = graph.operations[graph.GetIndex(graph.output)];
  if (rest.IsEmpty() && OperationSchema::Find(output.type)->getReduction(output))
  {
    return "its output is a pooling of all pixels itself, \"" + output.name + "\" (" + output.type +
           "); end behind it, by a mul with 1 where nothing else is to be computed";
  }
  const auto statistics = // which belong to norms
    std::count_if(graph.operations.begin(), graph.operations.end(), [](const Operation & operation) {
      return operation.type == StatisticsType;
    });
  return rest.IsEmpty()
           ? std::string()
           : "it is a graph of " +
               FormatCount(static_cast<std::ptrdiff_t>(graph.operations.size()) - statistics, "operation") +
               ", but does not run yet: nothing computes what sees the whole image: " + ListWholeImage(rest);
}

int
FindLastWeighted(const NetworkGraph & graph)
{
  int operation = graph.GetIndex(graph.output);
  while (OperationSchema::Find(graph.operations[operation].type)->Is(Role::Placement))
  {
    operation = graph.GetIndex(graph.operations[operation].inputs.front());
  }
  return OperationSchema::Find(graph.operations[operation].type)->weight ? operation : -1;
}

Padding
GetPadding(const Operation & operation, int axis)
{
  if (operation.IsWord("padding")) // PyTorch's "same": the odd one goes behind
  {
    const std::int64_t all = schema::Window::Get(operation, axis).GetReach() - 1;
    return { all / 2, all - all / 2 };
  }
  const std::int64_t both = operation.GetAlong("padding", axis);
  return { both, both };
}

double
GetLinearSource(const Operation & operation, int axis, std::int64_t index, std::int64_t input, std::int64_t output)
{
  if (output == input) // also with a scale_factor that is a little more than 1: so does ATen
  {
    return static_cast<double>(index);
  }
  if (operation.GetFlag("align_corners"))
  {
    return output > 1 ? static_cast<double>(index) * static_cast<double>(input - 1) / static_cast<double>(output - 1)
                      : 0.0;
  }
  const double factor = operation.GetNumberAlong("scale_factor", axis);
  const double ratio = factor > 0 ? 1 / factor : static_cast<double>(input) / static_cast<double>(output);
  return std::max(0.0, (static_cast<double>(index) + 0.5) * ratio - 0.5);
}

std::int64_t
GetNearestSource(const Operation & operation, int axis, std::int64_t index, std::int64_t input, std::int64_t output)
{
  if (output == input)
  {
    return index;
  }
  if (output == 2 * input)
  {
    return index / 2;
  }
  // In float, whatever the maps are: so does ATen, and a rounded product may lie below a whole number.
  const double factor = operation.GetNumberAlong("scale_factor", axis);
  const float  ratio =
    factor > 0 ? static_cast<float>(1 / factor) : static_cast<float>(input) / static_cast<float>(output);
  return std::min(static_cast<std::int64_t>(std::floor(static_cast<float>(index) * ratio)), input - 1);
}

std::int64_t
GetMirrored(const std::string & mode, std::int64_t index, std::int64_t size)
{
  if (mode == "replicate")
  {
    return std::clamp<std::int64_t>(index, 0, size - 1);
  }
  return index < 0 ? -index : index >= size ? 2 * (size - 1) - index : index;
}

} // namespace gigapixel
