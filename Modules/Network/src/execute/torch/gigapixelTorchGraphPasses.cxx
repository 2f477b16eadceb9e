/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "objective/gigapixelLogitMap.h"
#include "gigapixelInstructionLimit.h"
#include "gigapixelPrimitiveLimit.h"
#include "gigapixelTileArena.h"
#include "gigapixelTorchLoss.h"
#include "gigapixelTorchPasses.h"
#include "gigapixelTorchThreads.h"
#include "gigapixelTorchTile.h"
#include "schedule/gigapixelGraphPlan.h"

#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

namespace gigapixel::torchmodule
{
namespace
{

/** \class TorchGraphPasses
 * \brief What a network's passes over tiles are asked for, by TorchTile, whose maps are of type T. */
template <typename T>
class TorchGraphPasses : public GraphPasses
{
public:
  TorchGraphPasses(const NetworkDescription & network, const TorchDevice & device)
    : m_Device(device)
    , m_Network(network)
    , m_Parameters(network.graph)
    , m_Tile(m_Network, m_Parameters, m_Device)
  {
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
    m_Tile.SetParameters(parameters);
  }

  void
  SetMaskSeed(const std::optional<std::uint64_t> & seed) override
  {
    m_Tile.SetMaskSeed(seed);
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
    const at::Tensor    map = OnDevice(
      data, [&](const Inputs & inputs) { return TorchTile<T>::ToHost(m_Tile.Forward(data, inputs).maps.back()); });
    data.kept->GetMap(program.steps.back().operation).Write(program.core, map.data_ptr<Value>());
  }

  std::vector<double>
  Reduce(TileData & data, std::vector<float> * reduced) const override
  {
    const Scope         scope(*this, data, false);
    const TileProgram & program = *data.tile.program;
    const Step &        target = program.steps.back();
    const int           source = target.sources.front();
    return OnDevice(data, [&](const Inputs & inputs) {
      const Tape tape = m_Tile.Forward(data, inputs, reduced ? source : -1);
      if (reduced)
      {
        const at::Tensor part = GetPart(tape.maps[source], program.steps[source].output, target.inputs.front());
        const at::Tensor map = TorchTile<T>::ToHost(part);
        reduced->assign(map.data_ptr<Value>(), map.data_ptr<Value>() + map.numel());
      }
      return ToVector(tape.maps.back());
    });
  }

  void
  WeighMap(TileData & data, const std::vector<double> & weights, float * values) const override
  {
    const Scope      scope(*this, data, false);
    const at::Tensor map = OnDevice(
      data, [&](const Inputs & inputs) { return TorchTile<T>::ToHost(m_Tile.Forward(data, inputs).maps.back()); });
    const Value * value = map.data_ptr<Value>();
    for (std::int64_t i = 0; i < GetNumberOfPixels(data.tile.program->core); ++i, value += weights.size())
    {
      values[i] = static_cast<float>(std::inner_product(weights.begin(), weights.end(), value, 0.0));
    }
  }

  void
  DifferentiateLogits(TileData & data, const std::vector<double> & ofLogits, FixedPointSum & gradient) const override
  {
    const Scope scope(*this, data, true);
    at::Tensor  logits = MakeMap(static_cast<std::int64_t>(ofLogits.size()), data.tile.program->core, ValueType);
    std::copy(ofLogits.begin(), ofLogits.end(), logits.data_ptr<Value>());
    Differentiate(data, 1, gradient, [&](Tape & tape) {
      ForgetTarget(data, tape);
      return m_Tile.Upload(logits);
    });
  }

  void
  AddGradientBehindMap(TileData & data, std::int64_t times, FixedPointSum & gradient) const override
  {
    const Scope         scope(*this, data, true);
    const TileProgram & program = *data.tile.program;
    const Step &        target = program.steps.back();
    const bool          reduced = m_Tile.GetReduction(target.operation) != nullptr;
    const KeptMap &     gradientOfMap = data.kept->GetGradient(target.operation);
    const Box           part = reduced ? gradientOfMap.GetWhole() : program.core;
    if (gradientOfMap.IsZero(part)) // of what nothing is learnt from
    {
      return TorchTile<T>::AddToKept(data, Tape{});
    }
    const at::Tensor read =
      reduced || m_Device.IsHost() ? at::Tensor() : m_Tile.ReadKept(gradientOfMap, target.channels, part);
    Differentiate(data, times, gradient, [&](Tape & tape) {
      ForgetTarget(data, tape);
      return reduced ? m_Tile.UploadPixels(data.kept->ReadReducedGradient(target.operation), target.channels, part)
                     : m_Tile.Upload(read.defined() ? read : m_Tile.ReadKept(gradientOfMap, target.channels, part));
    });
  }

  void
  AddGradient(TileData & data, const LossTerms & terms, std::int64_t times, LossSum & loss, FixedPointSum & gradient)
    const override
  {
    const Scope scope(*this, data, true);
    Differentiate(data, times, gradient, [&](Tape & tape) {
      return m_Device.IsHost() || terms.image || terms.pixel ? DifferentiateLossOnHost(data, terms, tape, loss)
                                                             : DifferentiateLossOnDevice(data, terms, tape, loss);
    });
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
  using Value = typename TorchTile<T>::Value;
  using Step = TileProgram::Step;

  using Inputs = std::vector<at::Tensor>;

  static constexpr at::ScalarType MapType = TorchTile<T>::MapType;
  static constexpr at::ScalarType ValueType = TorchTile<T>::ValueType;

  /** \class Scope
   * \brief What the calling thread needs around it while it computes a tile. */
  class Scope
  {
  public:
    Scope(const TorchGraphPasses & passes, const TileData & data, bool training)
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
    std::optional<TileArenas::Scope> m_Memory;
  };

  /** What compute(inputs) returns, while the thread has the device for itself. What it needs of the CPU's memory is
   * read before, so that a GPU computes another thread's tile meanwhile.
   * \throw std::runtime_error a GPU's memory is full */
  template <typename F>
  auto
  OnDevice(const TileData & data, const F & compute) const
  {
    const Inputs             inputs = m_Tile.Read(data);
    const TorchDevice::Scope scope(m_Device);
    try
    {
      return compute(inputs);
    }
    catch (const c10::OutOfMemoryError &)
    {
      throw Refusal(Diagnostic("E-DEVICE-MEMORY",
                               "the GPU's memory is full",
                               "choose smaller tiles (--tile-size), or end what else uses the GPU"));
    }
  }

  /** Adds the gradients of a tile's weights to the sums, and those of the maps that it reads to theirs.
   * \param start (tape) gives the gradient of the target's map, which it may let go */
  template <typename F>
  void
  Differentiate(TileData & data, std::int64_t times, FixedPointSum & sums, const F & start) const
  {
    using Array = FoldedParameters::Array;
    Tape                       tape;
    at::Tensor                 all; // of a device that is not the CPU: all arrays, which come back at once
    std::vector<const Array *> there;
    OnDevice(data, [&](const Inputs & inputs) {
      tape = m_Tile.Forward(data, inputs);
      at::Tensor gradient = start(tape);
      if (!m_Device.IsHost())
      {
        all = at::empty({ static_cast<std::int64_t>(GetNumberOfSums()) }, m_Device.GetOptions(ValueType));
      }
      m_Tile.Backward(data, tape, std::move(gradient), [&](const Array & array, const at::Tensor & ofArray) {
        if (all.defined())
        {
          all.narrow(0, static_cast<std::int64_t>(array.first), static_cast<std::int64_t>(array.size))
            .copy_(ofArray.reshape({ -1 }));
          there.push_back(&array);
          return;
        }
        const at::Tensor values = ofArray.to(ValueType).contiguous();
        sums.Add(array.first, values.data_ptr<Value>(), array.size, times);
      });
      tape.maps.clear();
      tape.kept.clear();
      all = all.defined() ? all.to(at::kCPU) : all;
    });
    for (const Array * array : there)
    {
      sums.Add(array->first, all.data_ptr<Value>() + array->first, array->size, times);
    }
    TorchTile<T>::AddToKept(data, tape);
  }

  /** The target's map, where no operation reads it any more. */
  static void
  ForgetTarget(const TileData & data, Tape & tape)
  {
    if (data.tile.program->steps.back().keptFor < 0)
    {
      tape.maps.back().reset();
    }
  }

  at::Tensor
  DifferentiateLossOnHost(const TileData & data, const LossTerms & terms, Tape & tape, LossSum & loss) const
  {
    at::Tensor logits = tape.maps.back().to(at::kCPU, ValueType).contiguous();
    CheckLogits(logits);
    ForgetTarget(data, tape);
    if (!IsAlone(logits)) // a map that the backward pass still reads, or a part of one
    {
      logits = logits.clone();
    }
    GetLogitMap(logits, data).TakeLoss(terms, loss);
    return MakeDense(m_Tile.Upload(logits));
  }

  at::Tensor
  DifferentiateLossOnDevice(const TileData & data, const LossTerms & terms, Tape & tape, LossSum & loss) const
  {
    const auto       pixels = static_cast<std::int64_t>(data.classes.size());
    const at::Tensor classes = at::from_blob(const_cast<std::uint8_t *>(data.classes.data()), { pixels }, at::kByte);
    const at::Tensor logits = tape.maps.back();
    ForgetTarget(data, tape);
    at::Tensor gradient = TakeLoss(logits, m_Device.Upload(classes, at::kByte), terms, MapType, loss);
    if (!gradient.defined())
    {
      throw MakeNotFiniteError();
    }
    return gradient;
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
    at::Tensor  logits = OnDevice(data, [&](const Inputs & inputs) {
      return m_Tile.Forward(data, inputs).maps.back().to(at::kCPU, ValueType).contiguous();
    });
    CheckLogits(logits);
    f(GetLogitMap(logits, data));
  }

  void
  CheckLogits(const at::Tensor & logits) const
  {
    const Value * const values = logits.data_ptr<Value>();
    if (!std::all_of(values, values + logits.numel(), [](Value value) { return std::isfinite(value); }))
    {
      throw MakeNotFiniteError();
    }
  }

  NotFiniteError
  MakeNotFiniteError() const
  {
    return NotFiniteError(Diagnostic("E-NOT-FINITE",
                                     "the network \"" + m_Network.name +
                                       "\" comes to numbers beyond what a float holds: its weights are of no use")
                            .OfValue(m_Network.name));
  }

  const KeepTorchThreads            m_Threads; ///< what threads of their own set is the process' number, too
  const TorchDevice                 m_Device;
  std::optional<PrimitiveLimit>     m_Primitives; ///< of the CPU
  mutable std::optional<TileArenas> m_Arenas;     ///< likewise
  const NetworkDescription          m_Network;
  const FoldedParameters            m_Parameters;
  TorchTile<T>                      m_Tile;
  std::vector<Value>                m_Values; ///< the parameters
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
    throw Refusal(Diagnostic(
      "E-PRECISION",
      "this LibTorch computes wrong numbers in bf16 on processors with AMX, which this program had it use already",
      "start it with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in its environment, or choose the precision fp32"));
  }
  if (!at::globalContext().hasMKLDNN())
  {
    throw Refusal(Diagnostic("E-PRECISION",
                             "this LibTorch has no convolutions in bf16, since it was built without oneDNN",
                             "choose the precision fp32"));
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
