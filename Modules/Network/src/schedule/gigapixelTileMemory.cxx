/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBlockPlacement.h"
#include "gigapixelTileProgram.h"
#include "graph/gigapixelPaddedWindow.h"

#include <memory>

namespace gigapixel
{
namespace
{

/** A block that is given back when nobody holds it any more. */
using Block = std::shared_ptr<const std::int64_t>;

/** \class TileMemory
 * \brief Goes through a program's passes as the executor does, and takes and gives the memory that it takes and gives,
 * without computing anything. */
class TileMemory
{
public:
  TileMemory(const TileProgram & program, const NetworkGraph & graph, int valueBytes)
    : m_Program(program)
    , m_Graph(graph)
    , m_ValueBytes(valueBytes)
    , m_Channels(graph.GetChannels())
    , m_Maps(program.steps.size())
    , m_Indices(program.steps.size())
    , m_Gradients(program.steps.size())
  {}

  void
  Forward()
  {
    for (std::size_t i = 0; i < m_Program.steps.size(); ++i)
    {
      const Step & step = m_Program.steps[i];
      if (step.folded || (step.inPlace && !IsConverted(step)))
      {
        m_Maps[i] = std::move(m_Maps[step.sources.front()]);
      }
      else if (IsView(step))
      {
        m_Maps[i] = m_Maps[step.sources.front()];
      }
      else
      {
        const std::vector<Block> floats = TakeFloats(step, false);
        const Block              scratch = TakeScratch(step);
        m_Maps[i] = Take(GetValues(step) * m_ValueBytes);
        TakeIndices(i);
        const Block weight = TakeWeight(step, m_ValueBytes);
      }
      for (const int read : step.lastReaderOf)
      {
        if (m_Program.steps[read].keptFor < 0)
        {
          m_Maps[read].reset();
        }
      }
    }
    m_Result = m_ValueBytes < FloatBytes ? Take(GetValues(m_Program.steps.back()) * FloatBytes) : nullptr;
  }

  void
  Backward()
  {
    // The logits become their gradient; that of a map that is kept takes the map's place.
    const Step & target = m_Program.steps.back();
    Block        map = target.keptFor < 0 ? std::move(m_Maps.back()) : nullptr;
    if (m_Result)
    {
      map.reset();
    }
    m_Gradients.back() = map ? std::move(map) : Take(GetValues(target) * m_ValueBytes);
    m_Result.reset();
    for (std::size_t i = m_Program.steps.size(); i-- > 0;)
    {
      const Step & step = m_Program.steps[i];
      if (step.sources.empty())
      {
        continue; // its gradient is what the pass is for
      }
      if (step.folded)
      {
        m_Gradients[step.sources.front()] = std::move(m_Gradients[i]);
      }
      else if (step.needsGradient)
      {
        Differentiate(i);
      }
      for (std::size_t kept = 0; kept <= i; ++kept)
      {
        if (m_Program.steps[kept].keptFor == static_cast<int>(i))
        {
          m_Maps[kept].reset();
        }
      }
    }
  }

  std::int64_t
  GetPeak() const
  {
    return m_Blocks->GetPeak();
  }

private:
  using Step = TileProgram::Step;

  Block
  Take(std::int64_t bytes)
  {
    const auto give = [blocks = m_Blocks](const std::int64_t * first) {
      blocks->Give(*first);
      delete first;
    };
    return { new std::int64_t(m_Blocks->Take(bytes)), give };
  }

  std::int64_t
  GetValues(const Step & step) const
  {
    return m_Channels[step.operation] * GetNumberOfPixels(step.output);
  }

  bool
  IsView(const Step & step) const
  {
    return !step.sources.empty() && OperationSchema::Find(m_Graph.operations[step.operation].type)->Is(Role::View) &&
           GetNumberOfPixels(step.output) <= GetNumberOfPixels(step.inputs.front());
  }

  /** Whether values are converted to floats for the step: for its operation, or those of a map that is kept. */
  bool
  IsConverted(const Step & step) const
  {
    const Operation & operation = m_Graph.operations[step.operation];
    const bool        given = step.sources.empty();
    return m_ValueBytes < FloatBytes &&
           (given ? !operation.inputs.empty() : OperationSchema::Find(operation.type)->needsFloat(operation));
  }

  /** What is converted, and what it is converted to: each input, or its gradient, and the output or its gradient. */
  std::vector<Block>
  TakeFloats(const Step & step, bool backward)
  {
    std::vector<Block> floats;
    if (!IsConverted(step))
    {
      return floats;
    }
    floats.push_back(Take(GetValues(step) * FloatBytes * (backward && step.keeps == Keeps::Output ? 2 : 1)));
    for (std::size_t j = 0; j < step.sources.size(); ++j)
    {
      if (step.sources[j] >= 0)
      {
        const std::int64_t channels = m_Channels[m_Program.steps[step.sources[j]].operation];
        const bool         both = backward && step.keeps == Keeps::Input;
        floats.push_back(Take(channels * GetNumberOfPixels(step.inputs[j]) * FloatBytes * (both ? 2 : 1)));
      }
    }
    return floats;
  }

  /** A copy of the weight, or its gradient, in the order that the operator computes with. Small tensors are none of the
   * arena's. */
  Block
  TakeWeight(const Step & step, std::int64_t valueBytes)
  {
    const Operation &       operation = m_Graph.operations[step.operation];
    const OperationSchema & schema = *OperationSchema::Find(operation.type);
    if (!schema.weight || step.sources.empty())
    {
      return {};
    }
    const int  channels = m_Channels[m_Program.steps[step.sources.front()].operation];
    const auto weight = schema.getParameters(operation, { channels }).front();
    const auto bytes = weight.GetNumberOfValues() * valueBytes;
    return bytes < SmallBytes ? nullptr : Take(bytes);
  }

  /** What an operation sees of an input: the part that is read, and the padding where it copies both. */
  Box
  GetSeen(const Step & step, std::size_t input) const
  {
    const Operation & operation = m_Graph.operations[step.operation];
    const bool        padded = OperationSchema::Find(operation.type)->scratch == Scratch::Padded;
    return padded ? PaddedWindow(operation, step.inputs[input], step.output).seen : step.inputs[input];
  }

  Block
  TakeScratch(const Step & step)
  {
    if (step.sources.empty())
    {
      return {};
    }
    const Operation &  operation = m_Graph.operations[step.operation];
    const Scratch      scratch = OperationSchema::Find(operation.type)->scratch;
    const Box &        input = step.inputs.front();
    const std::int64_t channels = m_Channels[m_Program.steps[step.sources.front()].operation];
    if (scratch == Scratch::Padded)
    {
      const Box seen = GetSeen(step, 0);
      return seen == input ? nullptr : Take(channels * GetNumberOfPixels(seen) * m_ValueBytes);
    }
    if (scratch == Scratch::Places)
    {
      std::int64_t values = m_Channels[step.operation] * GetNumberOfPixels(input);
      for (int axis = 0; axis < NetworkGraph::NumberOfAxes; ++axis)
      {
        values *= operation.GetAlong("stride", axis);
      }
      return Take(values * m_ValueBytes);
    }
    return {};
  }

  /** Of what the gradient of a convolution's weight is computed from, in the order that it is computed in: see
   * GetBandRows(). */
  Block
  TakeBand(const Step & step)
  {
    const Operation &       operation = m_Graph.operations[step.operation];
    const OperationSchema & schema = *OperationSchema::Find(operation.type);
    if (!schema.weight || m_ValueBytes >= FloatBytes || IsConverted(step))
    {
      return {};
    }
    const bool       plain = schema.scratch == Scratch::Padded;
    const Interval & rows = (plain ? step.output : step.inputs.front())[0];
    const bool       padded = plain && PaddedWindow(operation, step.inputs.front(), step.output).padding[0] > 0;
    const auto       getBytes = [&](int channels, std::int64_t pixels) {
      return (channels + ChannelBlock - 1) / ChannelBlock * ChannelBlock * pixels * m_ValueBytes;
    };
    const std::int64_t bytes =
      getBytes(m_Channels[m_Program.steps[step.sources.front()].operation], GetNumberOfPixels(GetSeen(step, 0))) +
      getBytes(m_Channels[step.operation], GetNumberOfPixels(step.output));
    return Take(padded ? bytes : bytes / rows.GetLength() * GetBandRows(rows.GetLength()));
  }

  void
  TakeIndices(std::size_t i)
  {
    const Step &      step = m_Program.steps[i];
    const Operation & operation = m_Graph.operations[step.operation];
    if (!step.sources.empty() && OperationSchema::Find(operation.type)->getKeeps(operation) == Keeps::InputAndIndices)
    {
      const Block indices = Take(GetValues(step) * IndexBytes);
      m_Indices[i] = step.keeps == Keeps::InputAndIndices ? indices : nullptr;
    }
  }

  void
  Differentiate(std::size_t i)
  {
    const Step & step = m_Program.steps[i];
    const Block  gradient = std::move(m_Gradients[i]);
    const auto   floats = TakeFloats(step, true);
    const Block  scratch = TakeScratch(step);
    const Block  band = TakeBand(step);
    const Block weight = TakeWeight(step, m_ValueBytes), ordered = TakeWeight(step, std::max(m_ValueBytes, FloatBytes));
    // What sums and crops give is the gradient itself, or a part of it, which keeps all of it.
    const InputGradient kind = OperationSchema::Find(m_Graph.operations[step.operation].type)->gradient;
    for (std::size_t j = 0; j < step.sources.size(); ++j)
    {
      const int source = step.sources[j];
      if (source < 0 || !m_Program.steps[source].needsGradient)
      {
        continue;
      }
      const Step &       of = m_Program.steps[source];
      const std::int64_t bytes = GetValues(of) * m_ValueBytes;
      const bool         whole = step.inputs[j] == of.output;
      const Box          seen = GetSeen(step, j);
      const bool         view = kind == InputGradient::Shared || !(seen == step.inputs[j]);
      const bool         soon = source + 1 == static_cast<int>(i) && !of.sources.empty();
      const bool         copied = !whole || (view && !soon);
      const Block        part = kind != InputGradient::Computed
                                  ? gradient
                                  : Take(m_Channels[of.operation] * GetNumberOfPixels(seen) * m_ValueBytes);
      Block &            sum = m_Gradients[source];
      const bool         added = sum && sum.use_count() == 1; // in place, if nobody else holds it
      if (!added)
      {
        sum = sum || copied ? Take(bytes) : part;
      }
    }
    m_Indices[i].reset();
  }

  static constexpr std::int64_t FloatBytes = 4;
  static constexpr std::int64_t IndexBytes = 8;
  static constexpr std::int64_t SmallBytes = 32768;
  static constexpr std::int64_t ChannelBlock = 16; ///< of oneDNN's order

  const TileProgram &             m_Program;
  const NetworkGraph &            m_Graph;
  const std::int64_t              m_ValueBytes;
  const std::vector<int>          m_Channels;
  std::shared_ptr<BlockPlacement> m_Blocks{ std::make_shared<BlockPlacement>() };
  std::vector<Block>              m_Maps;
  std::vector<Block>              m_Indices; ///< of pooling
  std::vector<Block>              m_Gradients;
  Block                           m_Result; ///< what leaves the tile, where maps are narrower than floats
};

} // namespace

std::int64_t
TileProgram::GetPeakBytes(const NetworkGraph & graph, bool training, int valueBytes) const
{
  TileMemory memory(*this, graph, valueBytes);
  memory.Forward();
  if (training)
  {
    memory.Backward();
  }
  return memory.GetPeak();
}

} // namespace gigapixel
