/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTileProgram.h"

#include "gigapixelDiagnostic.h"

#include <limits>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** How many steps read a step's map, and the last one that does. */
struct Readers
{
  int number{ 0 };
  int last{ -1 };
};

std::vector<Readers>
FindReaders(const std::vector<TileProgram::Step> & steps)
{
  std::vector<Readers> readers(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i)
  {
    for (const int source : steps[i].sources)
    {
      if (source >= 0)
      {
        ++readers[source].number;
        readers[source].last = static_cast<int>(i);
      }
    }
  }
  return readers;
}

/** Whether a step may write its output over its first input. */
bool
MayWorkInPlace(const GraphGeometry &                  geometry,
               const std::vector<TileProgram::Step> & steps,
               std::size_t                            i,
               const std::vector<Readers> &           readers)
{
  const TileProgram::Step & step = steps[i];
  if (step.sources.empty() || !geometry.GetSchema(step.operation).mayOverwrite || step.sources.front() < 0 ||
      readers[step.sources.front()].number > 1)
  {
    return false;
  }
  const TileProgram::Step & source = steps[step.sources.front()];
  return !source.sources.empty() && source.keptFor < 0 && source.output == step.output;
}

/** Sets of each step the earliest one whose backward pass reads its map. */
void
SetKeptFor(std::vector<TileProgram::Step> & steps)
{
  for (std::size_t i = steps.size(); i-- > 0;)
  {
    if (steps[i].keeps == Keeps::Output)
    {
      steps[i].keptFor = static_cast<int>(i); // nobody before it reads it
    }
    for (const int source : steps[i].sources)
    {
      if (source >= 0 && steps[i].keeps == Keeps::Input)
      {
        steps[source].keptFor = static_cast<int>(i);
      }
    }
  }
}

/** What a step's computation depends on along one axis: lengths, where the parts that it reads lie in the maps that
 * hold them, and how far borders of the real maps are where they are met. */
void
AppendSignature(const GraphGeometry &                  geometry,
                const std::vector<TileProgram::Step> & steps,
                const TileProgram::Step &              step,
                int                                    axis,
                std::vector<std::int64_t> &            signature)
{
  constexpr std::int64_t  NotMet = -1;
  const OperationSchema & schema = geometry.GetSchema(step.operation);
  const Operation &       operation = geometry.GetGraph().operations[step.operation];
  const AxisSizes &       sizes = geometry.GetAxisSizes(step.operation, axis);
  const Interval          output = step.output[axis];
  bool                    atBegin = false, atEnd = false;
  signature.push_back(step.operation);
  signature.push_back(output.GetLength());
  for (std::size_t j = 0; j < step.sources.size(); ++j)
  {
    if (step.sources[j] >= 0)
    {
      const Interval input = step.inputs[j][axis];
      const bool     spread = schema.isSpread && schema.isSpread(operation, j, sizes);
      signature.push_back(input.GetLength());
      signature.push_back(input.begin - steps[step.sources[j]].output[axis].begin);
      atBegin = atBegin || (!spread && input.begin == 0);
      atEnd = atEnd || (!spread && input.end == sizes.inputs[j]);
    }
  }
  if (!step.sources.empty())
  {
    signature.push_back(schema.getPhase(operation, axis, output.begin, sizes));
  }
  signature.push_back(atBegin ? output.begin : NotMet);
  signature.push_back(atEnd ? sizes.output - output.end : NotMet);
}

} // namespace

namespace
{

/** Adds steps one by one. */
class ProgramBuilder
{
public:
  ProgramBuilder(const GraphGeometry & geometry, int target, std::vector<std::optional<Box>> boxes, bool training)
    : m_Geometry(geometry)
    , m_Target(target)
    , m_Boxes(std::move(boxes))
    , m_StepOf(m_Boxes.size(), -1)
    , m_Training(training)
  {
    program.window = Box(geometry.GetNumberOfAxes());
  }

  /** A map that is there: when it is first read, so that it lies in memory no longer than it has to. */
  void
  AppendGiven(int operation)
  {
    TileProgram::Step step = MakeStep(operation);
    step.needsGradient = m_Training && m_Geometry.IsBehindTrained(operation);
    if (m_Geometry.GetInputs()[operation].empty())
    {
      program.window = step.output;
    }
    Append(std::move(step));
  }

  void
  AppendComputed(int operation)
  {
    TileProgram::Step step = MakeStep(operation);
    step.folded = m_Geometry.IsFolded(operation);
    step.needsGradient = m_Training && m_Geometry.IsTrained(operation);
    const auto & inputs = m_Geometry.GetInputs()[operation];
    for (std::size_t j = 0; j < inputs.size(); ++j)
    {
      step.inputs.push_back(m_Geometry.GetRead(m_Target, operation, j, step.output));
      const bool read = !IsEmpty(step.inputs.back());
      if (read && m_StepOf[inputs[j]] < 0)
      {
        AppendGiven(inputs[j]);
      }
      step.sources.push_back(read ? m_StepOf[inputs[j]] : -1);
      step.needsGradient = step.needsGradient || (read && program.steps[step.sources.back()].needsGradient);
    }
    step.keeps = step.needsGradient && !step.folded
                   ? m_Geometry.GetSchema(operation).getKeeps(m_Geometry.GetGraph().operations[operation])
                   : Keeps::Nothing;
    Append(std::move(step));
  }

  TileProgram program;

private:
  TileProgram::Step
  MakeStep(int operation) const
  {
    TileProgram::Step step;
    step.operation = operation;
    step.channels = m_Geometry.GetChannels(operation);
    step.output = *m_Boxes[operation];
    step.sizes = MapSizes(m_Geometry.GetNumberOfAxes());
    for (int axis = 0; axis < m_Geometry.GetNumberOfAxes(); ++axis)
    {
      step.sizes[axis] = m_Geometry.GetAxisSizes(operation, axis);
    }
    return step;
  }

  void
  Append(TileProgram::Step && step)
  {
    for (int axis = 0; axis < m_Geometry.GetNumberOfAxes(); ++axis)
    {
      AppendSignature(m_Geometry, program.steps, step, axis, program.signature);
    }
    m_StepOf[step.operation] = static_cast<int>(program.steps.size());
    program.steps.push_back(std::move(step));
  }

  const GraphGeometry &                 m_Geometry;
  const int                             m_Target;
  const std::vector<std::optional<Box>> m_Boxes;
  std::vector<int>                      m_StepOf;
  const bool                            m_Training;
};

} // namespace

TileProgram
TileProgram::Make(const GraphGeometry &    geometry,
                  int                      target,
                  const std::vector<int> & kept,
                  const Box &              core,
                  bool                     training)
{
  const auto     boxes = geometry.GetRequired(target, core, kept);
  ProgramBuilder builder(geometry, target, boxes, training);
  for (std::size_t i = 0; i < boxes.size(); ++i)
  {
    const auto operation = static_cast<int>(i);
    const bool given = geometry.GetInputs()[i].empty() || std::find(kept.begin(), kept.end(), operation) != kept.end();
    if (boxes[i] && !given)
    {
      builder.AppendComputed(operation);
    }
  }
  TileProgram program = std::move(builder.program);
  program.core = core;
  SetKeptFor(program.steps);
  const std::vector<Readers> readers = FindReaders(program.steps);
  for (std::size_t i = 0; i < program.steps.size(); ++i)
  {
    if (readers[i].last >= 0)
    {
      program.steps[readers[i].last].lastReaderOf.push_back(static_cast<int>(i));
    }
    program.steps[i].inPlace = MayWorkInPlace(geometry, program.steps, i, readers);
  }
  return program;
}

TileProgram
TileProgram::Make(const GraphGeometry & geometry, const Box & core, bool training)
{
  return Make(geometry, geometry.GetOutput(), {}, core, training);
}

std::int64_t
TileProgram::GetGreatestSide() const
{
  std::int64_t greatest = 0;
  for (const Step & step : steps)
  {
    for (const Interval & interval : step.output)
    {
      greatest = std::max(greatest, interval.GetLength());
    }
  }
  return greatest;
}

void
TileProgram::CheckMaps(const NetworkGraph & graph) const
{
  constexpr std::int64_t Most = std::numeric_limits<std::int32_t>::max();
  for (const Step & step : steps)
  {
    if (GetNumberOfPixels(step.output) > Most / step.channels)
    {
      throw Refusal(Diagnostic("E-MEMORY-BUDGET",
                               "in a tile of " + ToText(GetExtent(core)) + " pixels the map of \"" +
                                 graph.operations[step.operation].name + "\" has more than " + std::to_string(Most) +
                                 " values, which operators do not take at once",
                               "give a smaller tile size"));
    }
  }
}

std::int64_t
TileProgram::GetReadBytes(const NetworkGraph & graph, int valueBytes) const
{
  std::int64_t bytes = 0;
  for (const Step & step : steps)
  {
    const bool isImage = graph.operations[step.operation].inputs.empty();
    bytes += step.sources.empty() && !isImage ? GetNumberOfBytes(step.output, step.channels, valueBytes) : 0;
  }
  return bytes;
}

double
TileProgram::GetOperations(const NetworkGraph & graph) const
{
  double products = 0;
  for (const Step & step : steps)
  {
    if (step.sources.empty())
    {
      continue;
    }
    std::vector<int> channels;
    channels.reserve(step.sources.size());
    for (const int source : step.sources)
    {
      channels.push_back(source < 0 ? 0 : steps[source].channels);
    }
    const Operation & operation = graph.operations[step.operation];
    const auto [ofOutput, ofInput] = OperationSchema::Find(operation.type)->getCost(operation, channels);
    products += ofOutput * static_cast<double>(GetNumberOfPixels(step.output)) +
                ofInput * static_cast<double>(GetNumberOfPixels(step.inputs.front()));
  }
  return 2 * products;
}

Box
GetWholeMap(const TileProgram::Step & step)
{
  Box whole(step.sizes.GetNumberOfAxes());
  std::transform(step.sizes.begin(), step.sizes.end(), whole.begin(), [](const AxisSizes & sizes) {
    return Interval{ 0, sizes.output };
  });
  return whole;
}

} // namespace gigapixel
