/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "objective/gigapixelLogitMap.h"
#include "gigapixelInstructionLimit.h"
#include "gigapixelPrimitiveLimit.h"
#include "gigapixelTileArena.h"
#include "gigapixelTorchPasses.h"
#include "gigapixelTorchThreads.h"
#include "gigapixelTorchTile.h"
#include "schedule/gigapixelGraphPlan.h"

#include <ATen/Context.h>
#include <c10/core/InferenceMode.h>

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
    const at::Tensor    map = TorchTile<T>::ToHost(m_Tile.Forward(data).maps.back());
    data.kept->GetMap(program.steps.back().operation).Write(program.core, map.data_ptr<Value>());
  }

  std::vector<double>
  Reduce(TileData & data, std::vector<float> * reduced) const override
  {
    const Scope         scope(*this, data, false);
    const TileProgram & program = *data.tile.program;
    const Step &        target = program.steps.back();
    const int           source = target.sources.front();
    const Tape          tape = m_Tile.Forward(data, reduced ? source : -1);
    if (reduced)
    {
      const at::Tensor part = GetPart(tape.maps[source], program.steps[source].output, target.inputs.front());
      const at::Tensor map = TorchTile<T>::ToHost(part);
      reduced->assign(map.data_ptr<Value>(), map.data_ptr<Value>() + map.numel());
    }
    return ToVector(tape.maps.back());
  }

  void
  WeighMap(TileData & data, const std::vector<double> & weights, float * values) const override
  {
    const Scope      scope(*this, data, false);
    const at::Tensor map = TorchTile<T>::ToHost(m_Tile.Forward(data).maps.back());
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
    Tape        tape = m_Tile.Forward(data);
    if (data.tile.program->steps.back().keptFor < 0)
    {
      tape.maps.back().reset();
    }
    at::Tensor logits = MakeMap(static_cast<std::int64_t>(ofLogits.size()), data.tile.program->core, ValueType);
    std::copy(ofLogits.begin(), ofLogits.end(), logits.data_ptr<Value>());
    m_Tile.Backward(data, tape, m_Device.Upload(logits, MapType), 1, gradient);
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
    Tape tape = m_Tile.Forward(data);
    if (target.keptFor < 0)
    {
      tape.maps.back().reset();
    }
    m_Tile.Backward(data,
                    tape,
                    reduced
                      ? m_Tile.UploadPixels(data.kept->ReadReducedGradient(target.operation), target.channels, part)
                      : m_Tile.ReadKept(gradientOfMap, target.channels, part, MapType),
                    times,
                    gradient);
  }

  void
  AddGradient(TileData & data, const LossTerms & terms, std::int64_t times, LossSum & loss, FixedPointSum & gradient)
    const override
  {
    const Scope scope(*this, data, true);
    Tape        tape = m_Tile.Forward(data);
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
    m_Tile.Backward(data, tape, std::move(logits), times, gradient);
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

  static constexpr at::ScalarType MapType = TorchTile<T>::MapType;
  static constexpr at::ScalarType ValueType = TorchTile<T>::ValueType;

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
    at::Tensor  logits = m_Tile.Forward(data).maps.back().to(at::kCPU, ValueType).contiguous();
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
