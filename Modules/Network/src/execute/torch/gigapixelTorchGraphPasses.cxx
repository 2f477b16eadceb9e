/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "objective/gigapixelLogitMap.h"
#include "gigapixelOperationCall.h"
#include "gigapixelInstructionLimit.h"
#include "gigapixelPrimitiveLimit.h"
#include "gigapixelReducedPixels.h"
#include "gigapixelTileArena.h"
#include "gigapixelTileInput.h"
#include "gigapixelTorchDevice.h"
#include "gigapixelTorchPasses.h"
#include "gigapixelTorchThreads.h"
#include "gigapixelTurns.h"
#include "maps/gigapixelKeptMaps.h"
#include "schedule/gigapixelGraphPlan.h"
#include "graph/gigapixelFoldedParameters.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace gigapixel::torchmodule
{
namespace
{

using Step = TileProgram::Step;

/** What the forward pass leaves. */
struct Tape
{
  std::vector<at::Tensor>              maps;      ///< of each step, while somebody needs it
  std::vector<std::vector<at::Tensor>> kept;      ///< of each step, beside maps
  std::vector<at::Tensor>              gradients; ///< of maps, while they are added up
};

/** The part of a step's map that another step reads. */
at::Tensor
GetPart(const at::Tensor & map, const Box & covered, const Box & part)
{
  return part == covered ? map : Show(map, covered, part);
}

/** Itself if it is of the type. */
at::Tensor
ToType(at::Tensor map, at::ScalarType type)
{
  return map.defined() ? map.to(type) : std::move(map);
}

/** \class TorchGraphPasses
 * \brief Maps, their gradients and the weights of convolutions are of type T; what enters and leaves a tile but the
 * pixels, other parameters, and what OperationSchema says of are at least floats. */
template <typename T>
class TorchGraphPasses : public GraphPasses
{
public:
  TorchGraphPasses(const NetworkDescription & network, const TorchDevice & device)
    : m_Device(device)
    , m_Network(network)
    , m_Input(network)
    , m_Parameters(network.graph)
    , m_Weights(network.graph.operations.size())
  {
    for (const Operation & operation : network.graph.operations)
    {
      m_Operations.push_back(operation.inputs.empty() ? nullptr : &TorchOperation::Find(operation.type));
      m_Types.push_back(OperationSchema::Find(operation.type)->needsFloat(operation) ? ValueType : MapType);
    }
    if (m_Device.IsHost())
    {
      m_Primitives.emplace();
      m_Arenas.emplace();
    }
  }

  void
  SetParameters(const std::vector<double> & parameters) override
  {
    m_Values.assign(parameters.begin(), parameters.end());
    for (std::size_t i = 0; i < m_Weights.size(); ++i)
    {
      m_Parameters.Fold(
        parameters, static_cast<int>(i), [this, i](const FoldedParameters::Array & array, const double * values) {
          // In its place from the second time on: fresh memory takes longer than the numbers.
          at::Tensor & weight = m_Weights[i][array.role];
          if (!weight.defined())
          {
            const auto       type = array.shape.size() >= 4 ? m_Types[i] : ValueType;
            const at::Tensor plain = at::empty(array.shape, m_Device.GetOptions(type));
            weight = array.shape.size() >= 4 ? MakeDense(plain) : plain;
          }
          weight.copy_(at::from_blob(const_cast<double *>(values), array.shape, at::kDouble));
        });
    }
  }

  void
  SetMaskSeed(const std::optional<std::uint64_t> & seed) override
  {
    m_MaskSeed = seed;
  }

  std::size_t
  GetNumberOfSums() const override
  {
    return m_Parameters.GetNumberOfValues();
  }

  void
  WriteMap(TileData & data) const override
  {
    const Scope         scope(*this, data, false);
    const TileProgram & program = *data.tile.program;
    const at::Tensor    map = ToHost(Forward(data).maps.back());
    data.kept->GetMap(program.steps.back().operation).Write(program.core, map.data_ptr<Value>());
  }

  std::vector<double>
  Reduce(TileData & data, std::vector<float> * reduced) const override
  {
    const Scope         scope(*this, data, false);
    const TileProgram & program = *data.tile.program;
    const Step &        target = program.steps.back();
    const int           source = target.sources.front();
    const Tape          tape = Forward(data, reduced ? source : -1);
    if (reduced)
    {
      const at::Tensor part = GetPart(tape.maps[source], program.steps[source].output, target.inputs.front());
      const at::Tensor map = ToHost(part);
      reduced->assign(map.data_ptr<Value>(), map.data_ptr<Value>() + map.numel());
    }
    return ToVector(tape.maps.back());
  }

  void
  WeighMap(TileData & data, const std::vector<double> & weights, float * values) const override
  {
    const Scope      scope(*this, data, false);
    const at::Tensor map = ToHost(Forward(data).maps.back());
    const Value *    value = map.data_ptr<Value>();
    for (std::int64_t i = 0; i < GetNumberOfPixels(data.tile.program->core); ++i, value += weights.size())
    {
      values[i] = static_cast<float>(std::inner_product(weights.begin(), weights.end(), value, 0.0));
    }
  }

  void
  DifferentiateLogits(TileData & data, const std::vector<double> & ofLogits, FixedPointSum & gradient) const override
  {
    const Scope scope(*this, data, true);
    Tape        tape = Forward(data);
    if (data.tile.program->steps.back().keptFor < 0)
    {
      tape.maps.back().reset();
    }
    at::Tensor logits = MakeMap(static_cast<std::int64_t>(ofLogits.size()), data.tile.program->core, ValueType);
    std::copy(ofLogits.begin(), ofLogits.end(), logits.data_ptr<Value>());
    Backward(data, tape, m_Device.Upload(logits, MapType), 1, gradient);
  }

  void
  AddGradientBehindMap(TileData & data, std::int64_t times, FixedPointSum & gradient) const override
  {
    const Scope         scope(*this, data, true);
    const TileProgram & program = *data.tile.program;
    const Step &        target = program.steps.back();
    const bool          reduced = GetReduction(target.operation) != nullptr;
    const KeptMap &     gradientOfMap = data.kept->GetGradient(target.operation);
    const Box           part = reduced ? gradientOfMap.GetWhole() : program.core;
    if (gradientOfMap.IsZero(part)) // of what nothing is learnt from
    {
      return AddToKept(data, Tape{});
    }
    Tape tape = Forward(data);
    if (target.keptFor < 0)
    {
      tape.maps.back().reset();
    }
    Backward(data,
             tape,
             reduced ? UploadPixels(data.kept->ReadReducedGradient(target.operation), target.channels, part)
                     : ReadKept(gradientOfMap, target.channels, part, MapType),
             times,
             gradient);
  }

  void
  AddGradient(TileData & data, const LossTerms & terms, std::int64_t times, LossSum & loss, FixedPointSum & gradient)
    const override
  {
    const Scope scope(*this, data, true);
    Tape        tape = Forward(data);
    at::Tensor  logits = tape.maps.back().to(at::kCPU, ValueType).contiguous();
    CheckLogits(logits);
    if (data.tile.program->steps.back().keptFor < 0)
    {
      tape.maps.back().reset();
    }
    if (!IsAlone(logits)) // a map that the backward pass still reads, or a part of one
    {
      logits = logits.clone();
    }
    GetLogitMap(logits, data).TakeLoss(terms, loss);
    logits = MakeDense(m_Device.Upload(logits, MapType));
    Backward(data, tape, std::move(logits), times, gradient);
  }

  std::vector<double>
  GetGradient(const FixedPointSum & sums, Workers & workers) const override
  {
    return m_Parameters.Unfold(m_Values, [&](std::size_t first, std::size_t number, double * values) {
      workers.ForEachPart(number, [&](std::size_t begin, std::size_t end) {
        sums.GetValues(first + begin, end - begin, values + begin);
      });
    });
  }

  void
  AddScore(TileData & data, const LossTerms & terms, Score & sum) const override
  {
    sum.SetNumberOfClasses(m_Network.GetNumberOfClasses());
    TakeLogits(data, [&](const LogitMap<Value> & logits) { logits.TakeScore(terms, sum); });
  }

  void
  Predict(TileData & data, PixelValue value, float * values, std::ptrdiff_t pitch) const override
  {
    TakeLogits(data, [&](const LogitMap<Value> & logits) { logits.Predict(value, values, pitch); });
  }

  void
  PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const override
  {
    TakeLogits(data, [&](const LogitMap<Value> & logits) { logits.PredictLabels(threshold, labels, pitch); });
  }

  std::int64_t
  GetPeakBytes() const override
  {
    return m_Arenas ? m_Arenas->GetPeak() : 0;
  }

private:
  using Value = std::conditional_t<std::is_same_v<T, double>, double, float>;

  static constexpr at::ScalarType MapType = c10::CppTypeToScalarType<T>::value;
  static constexpr at::ScalarType ValueType = c10::CppTypeToScalarType<Value>::value;

  /** \class Scope
   * \brief What the calling thread needs around it while it computes a tile. */
  class Scope
  {
  public:
    Scope(const TorchGraphPasses & passes, const TileData & data, bool training)
      : m_Device(passes.m_Device)
    {
      ComputeAlone();
      if (passes.m_Arenas)
      {
        m_Memory.emplace(*passes.m_Arenas,
                         data.tile.program->GetPeakBytes(passes.m_Network.graph, training, sizeof(T)));
      }
    }

  private:
    const c10::InferenceMode         m_NoGraph;
    const TorchDevice::Scope         m_Device;
    std::optional<TileArenas::Scope> m_Memory;
  };

  /** What a function returns. \throw std::runtime_error a GPU's memory is full */
  template <typename F>
  static auto
  NamingMemory(const F & compute)
  {
    try
    {
      return compute();
    }
    catch (const c10::OutOfMemoryError &)
    {
      throw std::runtime_error("the GPU's memory is full: choose smaller tiles (--tile-size), or end what else uses "
                               "the GPU");
    }
  }

  static LogitMap<Value>
  GetLogitMap(at::Tensor & logits, const TileData & data)
  {
    return { logits.data_ptr<Value>(), static_cast<int>(logits.size(1)), data, data.tile.core };
  }

  template <typename F>
  void
  TakeLogits(TileData & data, const F & f) const
  {
    const Scope scope(*this, data, false);
    at::Tensor  logits = Forward(data).maps.back().to(at::kCPU, ValueType).contiguous();
    CheckLogits(logits);
    f(GetLogitMap(logits, data));
  }

  void
  CheckLogits(const at::Tensor & logits) const
  {
    const Value * const values = logits.data_ptr<Value>();
    if (!std::all_of(values, values + logits.numel(), [](Value value) { return std::isfinite(value); }))
    {
      throw NotFiniteError("the network \"" + m_Network.name +
                           "\" comes to numbers beyond what a float holds: its weights are of no use");
    }
  }

  const ReductionSchema *
  GetReduction(int operation) const
  {
    const Operation & of = m_Network.graph.operations[operation];
    return OperationSchema::Find(of.type)->getReduction(of);
  }

  at::Tensor
  ReadKept(const KeptMap & kept, int channels, const Box & part, at::ScalarType type) const
  {
    const at::Tensor map = MakeMap(channels, part, m_Device.GetUploadOptions(ValueType));
    kept.Read(part, map.data_ptr<Value>());
    return m_Device.Upload(map, type);
  }

  at::Tensor
  UploadPixels(const std::vector<double> & values, int channels, const Box & box) const
  {
    return m_Device.Upload(ToPixels(values, channels, box, ValueType), ValueType);
  }

  /** In the memory that maps are kept in. */
  static at::Tensor
  ToHost(const at::Tensor & map)
  {
    return MakeDense(map.to(at::kCPU, ValueType));
  }

  /** That an operation's map has in a tile: what an image was reduced to is few numbers, which all pixels see. */
  at::ScalarType
  GetMapType(int operation) const
  {
    return GetReduction(operation) ? ValueType : MapType;
  }

  OperationCall
  MakeCall(const TileData & data, const Step & step) const
  {
    const TileProgram & program = *data.tile.program;
    OperationCall       call{ m_Network.graph.operations[step.operation],
                        step,
                        m_Weights[step.operation],
                        {},
                        m_Device.GetOptions(m_Types[step.operation]),
                        m_Device.IsPlain(),
                        false,
                        {},
                        {},
                        {},
                        {},
                        {} };
    for (std::size_t j = 0; j < step.sources.size(); ++j)
    {
      const int source = step.sources[j];
      call.channels.push_back(source < 0 ? 0 : program.steps[source].channels);
      call.wanted.push_back(source >= 0 && program.steps[source].needsGradient);
    }
    call.inputs.resize(step.sources.size());
    call.maskSeed = m_MaskSeed;
    call.counted = &data.counted;
    return call;
  }

  /** \param wanted a step whose map stays, too */
  Tape
  Forward(const TileData & data, int wanted = -1) const
  {
    const TileProgram & program = *data.tile.program;
    program.CheckMaps(m_Network.graph);
    Tape tape;
    tape.maps.resize(program.steps.size());
    tape.kept.resize(program.steps.size());
    for (std::size_t i = 0; i < program.steps.size(); ++i)
    {
      const Step & step = program.steps[i];
      if (step.sources.empty())
      {
        tape.maps[i] =
          m_Operations[step.operation]
            ? ReadKept(data.kept->GetMap(step.operation), step.channels, step.output, GetMapType(step.operation))
            : m_Device.Upload(m_Input.Make(data, m_Device.GetUploadOptions(MapType)), MapType);
        continue;
      }
      if (step.folded)
      {
        tape.maps[i] = std::move(tape.maps[step.sources.front()]);
      }
      else
      {
        Run(data, step, tape.maps, tape.maps[i], tape.kept[i]);
      }
      for (const int read : step.lastReaderOf)
      {
        if (program.steps[read].keptFor < 0 && read != wanted)
        {
          tape.maps[read].reset();
        }
      }
    }
    return tape;
  }

  void
  Run(const TileData &          data,
      const Step &              step,
      std::vector<at::Tensor> & maps,
      at::Tensor &              output,
      std::vector<at::Tensor> & kept) const
  {
    const TileProgram &  program = *data.tile.program;
    OperationCall        call = MakeCall(data, step);
    const at::ScalarType type = m_Types[step.operation];
    for (std::size_t j = 0; j < step.sources.size(); ++j)
    {
      const int source = step.sources[j];
      if (source >= 0)
      {
        call.inputs[j] = ToType(GetPart(maps[source], program.steps[source].output, step.inputs[j]), type);
      }
    }
    if (step.inPlace)
    {
      maps[step.sources.front()].reset();
      call.inPlace = IsAlone(call.inputs.front());
    }
    output = NamingMemory([&] { return m_Operations[step.operation]->forward(call); });
    if (!GetReduction(step.operation))
    {
      output = ToType(std::move(output), MapType);
    }
    else if (&step != &program.steps.back()) // all that it reduces is in this tile
    {
      call.kept = { output };
      const std::vector<double> values =
        GetReduction(step.operation)->finish(call.operation, SumOfTile(call.operation, step, output));
      output = GetPart(UploadPixels(values, step.channels, GetWholeMap(step)), GetWholeMap(step), step.output);
    }
    kept = std::move(call.kept);
  }

  /** \param gradient of the target's map */
  void
  Backward(const TileData & data, Tape & tape, at::Tensor && gradient, std::int64_t times, FixedPointSum & sums) const
  {
    const TileProgram & program = *data.tile.program;
    tape.gradients.resize(tape.maps.size());
    tape.gradients.back() = std::move(gradient);
    for (std::size_t i = program.steps.size(); i-- > 0;)
    {
      const Step & step = program.steps[i];
      if (!step.sources.empty() && step.needsGradient && tape.gradients[i].defined())
      {
        if (step.folded)
        {
          tape.gradients[step.sources.front()] = std::move(tape.gradients[i]);
        }
        else
        {
          RunBackward(data, i, tape, times, sums);
        }
      }
      for (std::size_t kept = 0; kept <= i; ++kept)
      {
        if (program.steps[kept].keptFor == static_cast<int>(i))
        {
          tape.maps[kept].reset();
        }
      }
    }
    AddToKept(data, tape);
  }

  /** Gradients of kept maps, in which tiles overlap, are added one after the other, in the tiles' order. */
  static void
  AddToKept(const TileData & data, const Tape & tape)
  {
    if (data.turns)
    {
      data.turns->Take(data.turn, [&] { AddGradientsToKept(data, tape); });
    }
  }

  static void
  AddGradientsToKept(const TileData & data, const Tape & tape)
  {
    const TileProgram & program = *data.tile.program;
    for (std::size_t i = 0; i < tape.gradients.size(); ++i)
    {
      const Step & step = program.steps[i];
      if (step.sources.empty() && step.needsGradient && tape.gradients[i].defined())
      {
        const at::Tensor gradient = ToHost(tape.gradients[i]);
        data.kept->AddToGradient(step.operation, step.output, gradient.data_ptr<Value>());
      }
    }
  }

  void
  RunBackward(const TileData & data, std::size_t i, Tape & tape, std::int64_t times, FixedPointSum & sums) const
  {
    const TileProgram &  program = *data.tile.program;
    const Step &         step = program.steps[i];
    const at::ScalarType type = m_Types[step.operation];
    OperationCall        call = MakeCall(data, step);
    call.kept = std::move(tape.kept[i]);
    const bool reduces = GetReduction(step.operation) != nullptr, alone = reduces && i + 1 < program.steps.size();
    const std::vector<double> ofTile =
      alone ? SumOfTile(call.operation, step, call.kept.front()) : std::vector<double>();
    call.sums = alone ? &ofTile : reduces ? &data.kept->GetSums(step.operation) : nullptr;
    call.output = step.keeps == Keeps::Output ? ToType(tape.maps[i], type) : at::Tensor();
    for (std::size_t j = 0; j < step.sources.size() && step.keeps == Keeps::Input; ++j)
    {
      const int source = step.sources[j];
      if (source >= 0)
      {
        call.inputs[j] = ToType(GetPart(tape.maps[source], program.steps[source].output, step.inputs[j]), type);
      }
    }
    at::Tensor ofMap = std::move(tape.gradients[i]);
    if (alone)
    {
      ofMap = GetPart(ofMap, step.output, GetWholeMap(step));
    }
    const at::Tensor        gradient = ToType(std::move(ofMap), type);
    std::vector<at::Tensor> gradients =
      NamingMemory([&] { return m_Operations[step.operation]->backward(call, gradient); });
    for (std::size_t j = 0; j < step.sources.size(); ++j)
    {
      if (call.wanted[j])
      {
        const int  source = step.sources[j];
        at::Tensor part = ToType(std::move(gradients[j]), GetMapType(program.steps[source].operation));
        AddPart(tape.gradients[source],
                program.steps[source].output,
                std::move(part),
                step.inputs[j],
                source + 1 == static_cast<int>(i) && !program.steps[source].sources.empty());
      }
    }
    for (const FoldedParameters::Array & array : m_Parameters.GetArrays(step.operation))
    {
      const at::Tensor values = call.weightGradients.at(array.role).to(at::kCPU, ValueType).contiguous();
      sums.Add(array.first, values.data_ptr<Value>(), array.size, times);
    }
  }

  /** Adds the gradient of a part of a map to the map's. \param soon whether the map's step comes next */
  static void
  AddPart(at::Tensor & sum, const Box & covered, at::Tensor part, const Box & box, bool soon)
  {
    if (sum.defined())
    {
      sum = MakeOwn(std::move(sum));
      GetPart(sum, covered, box).add_(part);
      return;
    }
    part = box == covered ? std::move(part) : Show(part, box, covered);
    // A part of a larger map would keep all of it until then.
    sum = soon ? std::move(part) : MakeDense(part);
  }

  const KeepTorchThreads              m_Threads; ///< what threads of their own set is the process' number, too
  const TorchDevice                   m_Device;
  std::optional<PrimitiveLimit>       m_Primitives; ///< of the CPU
  mutable std::optional<TileArenas>   m_Arenas;     ///< likewise
  const NetworkDescription            m_Network;
  const TileInput<T>                  m_Input;
  const FoldedParameters              m_Parameters;
  std::vector<const TorchOperation *> m_Operations;
  std::vector<at::ScalarType>         m_Types;  ///< that each operation is computed in
  std::vector<Value>                  m_Values; ///< the parameters
  std::optional<std::uint64_t>        m_MaskSeed;
  std::vector<std::map<std::string, at::Tensor>> m_Weights; ///< of each operation, by role
};

template <typename T>
GraphPasses *
MakePasses(const NetworkDescription & network, const TorchDevice & device)
{
  return new TorchGraphPasses<T>(network, device);
}

/** \throw std::runtime_error there are no right convolutions in bf16 for this CPU */
void
CheckBFloat16OfCPU(bool hasRightBFloat16)
{
  if (!hasRightBFloat16)
  {
    throw std::runtime_error(
      "this LibTorch computes wrong numbers in bf16 on processors with AMX, which this program had "
      "it use already: start it with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in its environment, or "
      "choose the precision fp32");
  }
  if (!at::globalContext().hasMKLDNN())
  {
    throw std::runtime_error("this LibTorch has no convolutions in bf16, since it was built without oneDNN: choose the "
                             "precision fp32");
  }
}

} // namespace

GraphPasses *
MakeGraphPasses(const NetworkDescription & network, const Device & device, GraphOperators operators)
{
  const TorchDevice on(device, operators);
  const bool        hasRightBFloat16 = !on.IsHost() || AvoidTileInstructions(); // before anything is computed
  if (device.precision == Precision::BFloat16 && on.IsHost())
  {
    CheckBFloat16OfCPU(hasRightBFloat16);
  }
  CheckPrecision(network, device.precision);
  return device.precision == Precision::Double     ? MakePasses<double>(network, on)
         : device.precision == Precision::BFloat16 ? MakePasses<at::BFloat16>(network, on)
                                                   : MakePasses<float>(network, on);
}

} // namespace gigapixel::torchmodule
