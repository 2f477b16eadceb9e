/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTorchTile_h
#define gigapixelTorchTile_h

#include "gigapixelOperationCall.h"
#include "gigapixelReducedPixels.h"
#include "gigapixelTileInput.h"
#include "gigapixelTorchDevice.h"
#include "gigapixelTurns.h"
#include "execute/gigapixelFixedPointSum.h"
#include "graph/gigapixelFoldedParameters.h"
#include "maps/gigapixelKeptMaps.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <optional>

namespace gigapixel::torchmodule
{

/** What the forward pass over a tile leaves. */
struct Tape
{
  std::vector<at::Tensor>              maps;      ///< of each step, while somebody needs it
  std::vector<std::vector<at::Tensor>> kept;      ///< of each step, beside maps
  std::vector<at::Tensor>              gradients; ///< of maps, while they are added up
};

/** The part of a step's map that another step reads. */
inline at::Tensor
GetPart(const at::Tensor & map, const Box & covered, const Box & part)
{
  return part == covered ? map : Show(map, covered, part);
}

/** Itself if it is of the type. */
inline at::Tensor
ToType(at::Tensor map, at::ScalarType type)
{
  return map.defined() ? map.to(type) : std::move(map);
}

/** \class TorchTile
 * \brief A network's operations over one tile, forward and backward, step by step as its program says, by LibTorch.
 *
 * Maps, their gradients and the weights of convolutions are of type T; what enters and leaves a tile but the pixels,
 * other parameters, and what OperationSchema says of are at least floats. */
template <typename T>
class TorchTile
{
public:
  using Value = std::conditional_t<std::is_same_v<T, double>, double, float>;
  using Step = TileProgram::Step;

  static constexpr at::ScalarType MapType = c10::CppTypeToScalarType<T>::value;
  static constexpr at::ScalarType ValueType = c10::CppTypeToScalarType<Value>::value;

  /** The three live as long as this. */
  TorchTile(const NetworkDescription & network, const FoldedParameters & parameters, const TorchDevice & device)
    : m_Device(device)
    , m_Network(network)
    , m_Input(network)
    , m_Parameters(parameters)
    , m_Weights(network.graph.operations.size())
  {
    for (const Operation & operation : network.graph.operations)
    {
      m_Operations.push_back(operation.inputs.empty() ? nullptr : &TorchOperation::Find(operation.type));
      m_Types.push_back(OperationSchema::Find(operation.type)->needsFloat(operation) ? ValueType : MapType);
    }
  }

  void
  SetParameters(const std::vector<double> & parameters)
  {
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
  SetMaskSeed(const std::optional<std::uint64_t> & seed)
  {
    m_MaskSeed = seed;
  }

  /** What comes from the CPU's memory into another device's: by step, in memory that the device fetches it from. Of the
   * CPU nothing: it takes each when its step comes. */
  std::vector<at::Tensor>
  Read(const TileData & data) const
  {
    const TileProgram &     program = *data.tile.program;
    std::vector<at::Tensor> inputs(program.steps.size());
    for (std::size_t i = 0; i < program.steps.size() && !m_Device.IsHost(); ++i)
    {
      const Step & step = program.steps[i];
      if (step.sources.empty())
      {
        inputs[i] = m_Operations[step.operation]
                      ? ReadKept(data.kept->GetMap(step.operation), step.channels, step.output)
                      : m_Input.Read(data, m_Device.GetUploadOptions(MapType));
      }
    }
    return inputs;
  }

  /** \param inputs what Read() gave \param wanted a step whose map stays, too */
  Tape
  Forward(const TileData & data, const std::vector<at::Tensor> & inputs, int wanted = -1) const
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
        tape.maps[i] = m_Operations[step.operation] ? TakeKept(data, step, inputs[i]) : TakeInput(data, inputs[i]);
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

  /** Calls take(array, gradient of its weights) for those that are trained. What is left of the tape is for
   * AddToKept(). \param gradient of the target's map */
  template <typename F>
  void
  Backward(const TileData & data, Tape & tape, at::Tensor && gradient, const F & take) const
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
          RunBackward(data, i, tape, take);
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
    for (std::size_t i = 0; i < tape.gradients.size(); ++i)
    {
      tape.gradients[i] = IsOfKept(program.steps[i], tape.gradients[i]) ? ToHost(tape.gradients[i]) : at::Tensor();
    }
  }

  /** Gradients of kept maps, in which tiles overlap, are added one after the other, in the tiles' order. It waits for
   * the tiles before, which need the device: the caller must not have it. */
  static void
  AddToKept(const TileData & data, const Tape & tape)
  {
    if (data.turns)
    {
      data.turns->Take(data.turn, [&] { AddGradientsToKept(data, tape); });
    }
  }

  const ReductionSchema *
  GetReduction(int operation) const
  {
    const Operation & of = m_Network.graph.operations[operation];
    return OperationSchema::Find(of.type)->getReduction(of);
  }

  /** In the CPU's memory. */
  at::Tensor
  ReadKept(const KeptMap & kept, int channels, const Box & part) const
  {
    const at::Tensor map = MakeMap(channels, part, m_Device.GetUploadOptions(ValueType));
    kept.Read(part, map.data_ptr<Value>());
    return map;
  }

  at::Tensor
  Upload(const at::Tensor & map) const
  {
    return m_Device.Upload(map, MapType);
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

private:
  at::Tensor
  TakeKept(const TileData & data, const Step & step, const at::Tensor & read) const
  {
    const at::Tensor map =
      read.defined() ? read : ReadKept(data.kept->GetMap(step.operation), step.channels, step.output);
    return m_Device.Upload(map, GetMapType(step.operation));
  }

  at::Tensor
  TakeInput(const TileData & data, const at::Tensor & read) const
  {
    return read.defined() ? m_Input.Standardize(m_Device.Upload(read, read.scalar_type()))
                          : m_Input.Make(data, m_Device.GetUploadOptions(MapType));
  }

  /** Whether a gradient is one of a map that is kept between segments. */
  static bool
  IsOfKept(const Step & step, const at::Tensor & gradient)
  {
    return step.sources.empty() && step.needsGradient && gradient.defined();
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
    output = m_Operations[step.operation]->forward(call);
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

  static void
  AddGradientsToKept(const TileData & data, const Tape & tape)
  {
    const TileProgram & program = *data.tile.program;
    for (std::size_t i = 0; i < tape.gradients.size(); ++i)
    {
      const Step & step = program.steps[i];
      if (IsOfKept(step, tape.gradients[i]))
      {
        const at::Tensor gradient = ToHost(tape.gradients[i]);
        data.kept->AddToGradient(step.operation, step.output, gradient.data_ptr<Value>());
      }
    }
  }

  template <typename F>
  void
  RunBackward(const TileData & data, std::size_t i, Tape & tape, const F & take) const
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
    std::vector<at::Tensor> gradients = m_Operations[step.operation]->backward(call, gradient);
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
      take(array, call.weightGradients.at(array.role));
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

  const TorchDevice &                            m_Device;
  const NetworkDescription &                     m_Network;
  const TileInput<T>                             m_Input;
  const FoldedParameters &                       m_Parameters;
  std::vector<const TorchOperation *>            m_Operations;
  std::vector<at::ScalarType>                    m_Types; ///< that each operation is computed in
  std::optional<std::uint64_t>                   m_MaskSeed;
  std::vector<std::map<std::string, at::Tensor>> m_Weights; ///< of each operation, by role
};

} // namespace gigapixel::torchmodule

#endif
