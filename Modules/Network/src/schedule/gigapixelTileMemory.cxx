/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBlockPlacement.h"
#include "kernels/gigapixelInstructions.h"
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
    , m_Kept(program.steps.size())
    , m_Gradients(program.steps.size())
    , m_HasGaps(program.steps.size())
    , m_GradientHasGaps(program.steps.size())
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
        m_HasGaps[i] =
          m_HasGaps[step.sources.front()] || HasGaps(step.output, m_Program.steps[step.sources.front()].output);
      }
      else
      {
        const std::vector<Block> floats = TakeFloats(step, false);
        if (step.inPlace)
        {
          m_Maps[step.sources.front()].reset();
        }
        const Block scratch = TakeScratch(step);
        const Block passMaps = TakePassMaps(step, false);
        const Block sums = TakeSums(step);
        m_Maps[i] = Take(sums ? GetSumBytes(step) : GetBytes(step));
        m_HasGaps[i] = IsPartOfDoubled(step);
        TakeKept(i);
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
    if (m_Result || GetReduction(target))
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

  /** Null: it reduces no image. */
  const ReductionSchema *
  GetReduction(const Step & step) const
  {
    const Operation & operation = m_Graph.operations[step.operation];
    return OperationSchema::Find(operation.type)->getReduction(operation);
  }

  /** Of what reduces an image, its few values, not the part of the image that it is told by. */
  std::int64_t
  GetBytes(const Step & step, std::int64_t valueBytes) const
  {
    return GetReduction(step) ? GetNumberOfBytes(GetWholeMap(step), step.channels, sizeof(double))
                              : GetNumberOfBytes(step.output, step.channels, valueBytes);
  }

  /** Of what reduces an image: sums of the tile's part. */
  std::int64_t
  GetSumBytes(const Step & step) const
  {
    const int channels = m_Program.steps[step.sources.front()].channels;
    return static_cast<std::int64_t>(sizeof(double)) *
           GetReduction(step)->countSums(m_Graph.operations[step.operation], channels);
  }

  /** They are added up elsewhere than where they are left. */
  Block
  TakeSums(const Step & step)
  {
    return GetReduction(step) && !step.sources.empty() ? Take(GetSumBytes(step)) : nullptr;
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

  /** Of a value that the step's operation computes with. */
  std::int64_t
  GetComputedBytes(const Step & step) const
  {
    return IsConverted(step) ? FloatBytes : m_ValueBytes;
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
    if (backward || !step.inPlace)
    {
      floats.push_back(Take(GetBytes(step, FloatBytes * (backward && step.keeps == Keeps::Output ? 2 : 1))));
    }
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
    return GetScratch(step) == Scratch::Padded ? PaddedWindow(operation, step.inputs[input], step.output).seen
                                               : step.inputs[input];
  }

  Scratch
  GetScratch(const Step & step) const
  {
    return OperationSchema::Find(m_Graph.operations[step.operation].type)->scratch;
  }

  /** Whether a part of a map, along all axes but the first, is not as long as the map. */
  static bool
  HasGaps(const Box & part, const Box & map)
  {
    return !std::equal(part.begin() + 1, part.end(), map.begin() + 1, [](const Interval & a, const Interval & b) {
      return a.GetLength() == b.GetLength();
    });
  }

  /** Whether a part has rows as long as its map's, which has no gaps itself: another one is copied for an operator that
   * wants pixels without gaps between them. */
  bool
  IsDense(const Step & step) const
  {
    const int source = step.sources.front();
    return source < 0 || (!m_HasGaps[source] && !HasGaps(step.inputs.front(), m_Program.steps[source].output));
  }

  /** Whether more columns are computed than the step's map has, which is a part of them. */
  bool
  IsPartOfDoubled(const Step & step) const
  {
    const Operation & operation = m_Graph.operations[step.operation];
    const auto        doubles = OperationSchema::Find(operation.type)->doublesMaps;
    if (!doubles || step.sources.empty() || !doubles(operation, step.sizes))
    {
      return false;
    }
    Box doubled = step.inputs.front();
    std::for_each(doubled.begin(), doubled.end(), [](Interval & interval) {
      interval = { 2 * interval.begin, 2 * interval.end };
    });
    return HasGaps(step.output, doubled);
  }

  /** Whether the operator sees a copy of the pixels that its stride leads to, and no others. */
  bool
  TakesEach(const Step & step) const
  {
    const Operation & operation = m_Graph.operations[step.operation];
    return GetScratch(step) == Scratch::Padded &&
           !PaddedWindow(operation, step.inputs.front(), step.output).taken.empty();
  }

  /** Without AVX-512 oneDNN leaves some convolutions of groups to matrix products, for which it copies a group's input,
   * and for the weight's gradient the output's as well. */
  bool
  CopiesGroups(const Step & step) const
  {
    const Operation & operation = m_Graph.operations[step.operation];
    return !HasAVX512() && GetScratch(step) == Scratch::Padded && OperationSchema::Find(operation.type)->weight &&
           operation.GetInteger("groups") > 1;
  }

  Block
  TakeScratch(const Step & step)
  {
    if (step.sources.empty())
    {
      return {};
    }
    const Operation &  operation = m_Graph.operations[step.operation];
    const Scratch      scratch = GetScratch(step);
    const std::int64_t valueBytes = GetComputedBytes(step);
    const Box &        input = step.inputs.front();
    const std::int64_t channels = m_Program.steps[step.sources.front()].channels;
    if (scratch == Scratch::Padded)
    {
      const Box          seen = GetSeen(step, 0);
      const Box          copied = TakesEach(step) ? step.output : seen;
      const std::int64_t ofGroup =
        CopiesGroups(step) ? GetNumberOfBytes(copied, channels / operation.GetInteger("groups"), valueBytes) : 0;
      const std::int64_t bytes =
        ofGroup + (copied == input && IsDense(step) ? 0 : GetNumberOfBytes(copied, channels, valueBytes));
      return bytes == 0 ? nullptr : Take(bytes);
    }
    if (scratch == Scratch::Places)
    {
      const std::int64_t places = GetPlaces(step);
      // Of windows that overlap, LibTorch 1.13 also copies the input and the output into another order.
      const std::int64_t all =
        HasTouchingWindows(operation)
          ? GetNumberOfBytes(input, places, valueBytes)
          : GetNumberOfBytes(input, places / operation.GetInteger("groups") + channels, valueBytes) +
              GetNumberOfBytes(step.output, step.channels, valueBytes);
      return Take(all);
    }
    return {};
  }

  /** Values of all taps of a transposed convolution's windows, for one pixel of its input. */
  std::int64_t
  GetPlaces(const Step & step) const
  {
    std::int64_t places = step.channels;
    for (int axis = 0; axis < step.output.GetNumberOfAxes(); ++axis)
    {
      places *= m_Graph.operations[step.operation].GetAlong("kernel_size", axis);
    }
    return places;
  }

  /** Of a window that is padded with pixels of the map: whether the map does not end there. */
  bool
  SeesNoMirror(const Step & step) const
  {
    if (GetScratch(step) != Scratch::Padded)
    {
      return false;
    }
    const PaddedWindow window(m_Graph.operations[step.operation], step.inputs.front(), step.output);
    return window.mirrors && window.seen == step.inputs.front();
  }

  /** Of the maps between, where one axis is done after the other. */
  static std::int64_t
  GetBytesOfRows(const Box & output, const Box & input, std::int64_t channels, std::int64_t valueBytes)
  {
    std::int64_t bytes = 0;
    Box          rows = input;
    for (int axis = 0; axis + 1 < output.GetNumberOfAxes(); ++axis)
    {
      rows[axis] = output[axis];
      bytes += GetNumberOfBytes(rows, channels, valueBytes);
    }
    return bytes;
  }

  Block
  TakePassMaps(const Step & step, bool backward)
  {
    if (step.sources.empty() || IsView(step) || SeesNoMirror(step))
    {
      return {};
    }
    const Operation &  operation = m_Graph.operations[step.operation];
    const PassMaps     maps = OperationSchema::Find(operation.type)->getPassMaps(operation, step.sizes);
    const MapCounts &  counts = backward ? maps.backward : maps.forward;
    const Box &        input = step.inputs.front();
    const std::int64_t channels = m_Program.steps[step.sources.front()].channels;
    const std::int64_t valueBytes = GetComputedBytes(step);
    const std::int64_t bytes = counts.ofInput * GetNumberOfBytes(input, channels, valueBytes) +
                               counts.ofOutput * GetNumberOfBytes(step.output, step.channels, valueBytes) +
                               counts.ofRows * GetBytesOfRows(step.output, input, channels, valueBytes);
    return bytes == 0 ? nullptr : Take(bytes);
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
    const auto       groups = operation.GetInteger("groups");
    const auto       getBytes = [&](std::int64_t channels, const Box & box) {
      const std::int64_t blocks = (channels / groups + ChannelBlock - 1) / ChannelBlock;
      return GetNumberOfBytes(box, groups * blocks * ChannelBlock, m_ValueBytes);
    };
    const std::int64_t bytes =
      getBytes(m_Program.steps[step.sources.front()].channels, TakesEach(step) ? step.output : GetSeen(step, 0)) +
      (plain ? getBytes(step.channels, step.output) : getBytes(GetPlaces(step), step.inputs.front()));
    return Take(padded ? bytes : bytes / rows.GetLength() * GetBandRows(rows.GetLength()));
  }

  /** What an operator leaves for the backward pass beside maps, whether that is kept or not. */
  void
  TakeKept(std::size_t i)
  {
    const Step & step = m_Program.steps[i];
    if (step.sources.empty())
    {
      return;
    }
    const Operation &       operation = m_Graph.operations[step.operation];
    const OperationSchema & schema = *OperationSchema::Find(operation.type);
    Block                   kept;
    if (schema.getKeeps(operation) == Keeps::InputAndIndices)
    {
      kept = Take(GetNumberOfBytes(step.output, step.channels, IndexBytes));
    }
    if (schema.keptChannels > 0)
    {
      kept = Take(GetNumberOfBytes(step.output, schema.keptChannels, GetComputedBytes(step)));
    }
    m_Kept[i] = step.keeps == Keeps::Nothing ? nullptr : kept;
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
    const auto  floats = TakeFloats(step, true);
    const Block passMaps = TakePassMaps(step, true);
    const Block dense = hasGaps && GetScratch(step) == Scratch::Padded ? Take(GetBytes(step)) : nullptr;
    Block       scratch = step.keeps == Keeps::InputAndIndices ? nullptr : TakeScratch(step);
    if (!TakesEach(step))
    {
      std::vector<Block> parts = TakeParts(step, gradient, hasGaps);
      ComputeWeightGradient(step);
      return parts;
    }
    const Block ofTaken = TakeScratch(step); // before it gets its gaps
    ComputeWeightGradient(step);
    scratch.reset();
    return TakeParts(step, gradient, hasGaps);
  }

  void
  ComputeWeightGradient(const Step & step)
  {
    const Block band = TakeBand(step);
    const Block copied = CopiesGroups(step) ? Take(GetBytes(step)) : nullptr;
    const Block ordered = TakeWeight(step, std::max(m_ValueBytes, FloatBytes));
  }

  std::vector<Block>
  TakeParts(const Step & step, const Block & gradient, bool hasGaps)
  {
    const InputGradient kind = GetKind(step);
    const bool          inPlace = kind == InputGradient::InPlace && gradient.use_count() == 1 && !hasGaps;
    const bool          given = inPlace || kind == InputGradient::Passed || kind == InputGradient::Shared;
    std::vector<Block>  parts(step.sources.size());
    for (std::size_t j = 0; j < parts.size(); ++j)
    {
      if (IsWanted(step, j))
      {
        const int  channels = m_Program.steps[step.sources[j]].channels;
        const bool same = given || (kind == InputGradient::FirstPassed && j == 0);
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
    std::vector<Block> parts = ComputeGradients(step, gradient, m_GradientHasGaps[i]);
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
        m_GradientHasGaps[source] =
          (shared || GetSeen(step, j)[1].GetLength() != step.inputs[j][1].GetLength()) && !copied;
      }
    }
    m_Kept[i].reset();
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
  std::vector<Block>              m_Kept; ///< what forward passes leave beside maps
  std::vector<Block>              m_Gradients;
  std::vector<bool>               m_HasGaps;         ///< of maps that are a part of a larger one
  std::vector<bool>               m_GradientHasGaps; ///< likewise
  Block                           m_Result;          ///< what leaves the tile, where maps are narrower than floats
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
