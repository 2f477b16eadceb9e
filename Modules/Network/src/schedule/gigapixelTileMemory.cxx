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
    , m_Maps(program.steps.size())
    , m_Indices(program.steps.size())
    , m_Gradients(program.steps.size())
    , m_HasGaps(program.steps.size())
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
        m_Maps[i] = Take(GetBytes(step));
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
    m_Result = m_ValueBytes < FloatBytes ? Take(GetBytes(m_Program.steps.back(), FloatBytes)) : nullptr;
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
    m_Gradients.back() = map ? std::move(map) : Take(GetBytes(target));
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
  GetBytes(const Step & step) const
  {
    return GetBytes(step, m_ValueBytes);
  }

  static std::int64_t
  GetBytes(const Step & step, std::int64_t valueBytes)
  {
    return GetNumberOfBytes(step.output, step.channels, valueBytes);
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
    floats.push_back(Take(GetBytes(step, FloatBytes * (backward && step.keeps == Keeps::Output ? 2 : 1))));
    for (std::size_t j = 0; j < step.sources.size(); ++j)
    {
      if (step.sources[j] >= 0)
      {
        const int  channels = m_Program.steps[step.sources[j]].channels;
        const bool both = backward && step.keeps == Keeps::Input;
        floats.push_back(Take(GetNumberOfBytes(step.inputs[j], channels, FloatBytes * (both ? 2 : 1))));
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
    const int  channels = m_Program.steps[step.sources.front()].channels;
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

  /** Whether a part has rows as long as its map's: another one is copied for an operator that wants pixels without
   * gaps between them. */
  bool
  IsDense(const Step & step) const
  {
    const int source = step.sources.front();
    return source < 0 || step.inputs.front()[1] == m_Program.steps[source].output[1];
  }

  /** Whether the operator sees a copy of the pixels that its stride leads to, and no others. */
  bool
  TakesEach(const Step & step) const
  {
    const Operation & operation = m_Graph.operations[step.operation];
    return OperationSchema::Find(operation.type)->scratch == Scratch::Padded &&
           !PaddedWindow(operation, step.inputs.front(), step.output).taken.empty();
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
    const std::int64_t channels = m_Program.steps[step.sources.front()].channels;
    if (scratch == Scratch::Padded)
    {
      const Box seen = GetSeen(step, 0);
      const Box copied = TakesEach(step) ? step.output : seen;
      return copied == input && IsDense(step) ? nullptr : Take(GetNumberOfBytes(copied, channels, m_ValueBytes));
    }
    if (scratch == Scratch::Places)
    {
      std::int64_t values = step.channels;
      for (int axis = 0; axis < NetworkGraph::NumberOfAxes; ++axis)
      {
        values *= operation.GetAlong("stride", axis);
      }
      return Take(GetNumberOfBytes(input, values, m_ValueBytes));
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
    const auto       getBytes = [&](int channels, const Box & box) {
      return GetNumberOfBytes(box, (channels + ChannelBlock - 1) / ChannelBlock * ChannelBlock, m_ValueBytes);
    };
    const std::int64_t bytes =
      getBytes(m_Program.steps[step.sources.front()].channels, GetSeen(step, 0)) + getBytes(step.channels, step.output);
    return Take(padded ? bytes : bytes / rows.GetLength() * GetBandRows(rows.GetLength()));
  }

  void
  TakeIndices(std::size_t i)
  {
    const Step &      step = m_Program.steps[i];
    const Operation & operation = m_Graph.operations[step.operation];
    if (!step.sources.empty() && OperationSchema::Find(operation.type)->getKeeps(operation) == Keeps::InputAndIndices)
    {
      const Block indices = Take(GetNumberOfBytes(step.output, step.channels, IndexBytes));
      m_Indices[i] = step.keeps == Keeps::InputAndIndices ? indices : nullptr;
    }
  }

  InputGradient
  GetKind(const Step & step) const
  {
    return OperationSchema::Find(m_Graph.operations[step.operation].type)->gradient;
  }

  bool
  IsWanted(const Step & step, std::size_t input) const
  {
    return step.sources[input] >= 0 && m_Program.steps[step.sources[input]].needsGradient;
  }

  /** Of the parts of a step's inputs that want one; null for others. What sums and crops give is the output's gradient,
   * or a part of it, which keeps all of it. */
  std::vector<Block>
  ComputeGradients(const Step & step, const Block & gradient, bool hasGaps)
  {
    const InputGradient kind = GetKind(step);
    const bool          same =
      kind == InputGradient::InPlace ? gradient.use_count() == 1 && !hasGaps : kind != InputGradient::Computed;
    const auto  floats = TakeFloats(step, true);
    Block       scratch = step.keeps == Keeps::InputAndIndices ? nullptr : TakeScratch(step);
    const Block band = TakeBand(step);
    const Block ordered = TakeWeight(step, std::max(m_ValueBytes, FloatBytes));
    const Block ofTaken = TakesEach(step) ? TakeScratch(step) : nullptr; // before it gets its gaps
    if (ofTaken)
    {
      scratch.reset();
    }
    std::vector<Block> parts(step.sources.size());
    for (std::size_t j = 0; j < parts.size(); ++j)
    {
      if (IsWanted(step, j))
      {
        const int channels = m_Program.steps[step.sources[j]].channels;
        parts[j] = same ? gradient : Take(GetNumberOfBytes(GetSeen(step, j), channels, m_ValueBytes));
      }
    }
    return parts;
  }

  void
  Differentiate(std::size_t i)
  {
    const Step &       step = m_Program.steps[i];
    const Block        gradient = std::move(m_Gradients[i]);
    const Block        ofWeight = TakeWeight(step, m_ValueBytes);
    std::vector<Block> parts = ComputeGradients(step, gradient, m_HasGaps[i]);
    const bool         shared = GetKind(step) == InputGradient::Shared;
    for (std::size_t j = 0; j < parts.size(); ++j)
    {
      if (!IsWanted(step, j))
      {
        continue;
      }
      const int    source = step.sources[j];
      const Step & of = m_Program.steps[source];
      const bool   whole = step.inputs[j] == of.output;
      const bool   view = shared || !(GetSeen(step, j) == step.inputs[j]);
      const bool   soon = source + 1 == static_cast<int>(i) && !of.sources.empty();
      const Block  part = std::move(parts[j]);
      Block &      sum = m_Gradients[source];
      const bool   added = sum && sum.use_count() == 1; // in place, if nobody else holds it
      if (!added)
      {
        const bool copied = sum || !whole || (view && !soon);
        sum = copied ? Take(GetBytes(of)) : part;
        m_HasGaps[source] = view && !copied;
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
  std::shared_ptr<BlockPlacement> m_Blocks{ std::make_shared<BlockPlacement>() };
  std::vector<Block>              m_Maps;
  std::vector<Block>              m_Indices; ///< of pooling
  std::vector<Block>              m_Gradients;
  std::vector<bool>               m_HasGaps; ///< of gradients that are a part of a larger map's
  Block                           m_Result;  ///< what leaves the tile, where maps are narrower than floats
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
