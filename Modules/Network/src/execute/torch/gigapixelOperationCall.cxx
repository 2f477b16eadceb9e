/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationCall.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

namespace gigapixel::torchmodule
{
namespace
{

std::map<std::string, const TorchOperation *> &
GetOperations()
{
  static std::map<std::string, const TorchOperation *> operations;
  return operations;
}

/** The map's axes in the order in which they lie in memory. */
at::Tensor
PutChannelsLast(const at::Tensor & map)
{
  return map.movedim(1, -1);
}

at::Tensor
PutChannelsSecond(const at::Tensor & map)
{
  return map.movedim(-1, 1);
}

/** In the part of the call's first input, along an axis. */
std::vector<std::int64_t>
GetMirroredIndices(const OperationCall & call, int axis, const Interval & wanted, const std::string & mode)
{
  std::vector<std::int64_t> indices;
  for (std::int64_t i = wanted.begin; i < wanted.end; ++i)
  {
    const std::int64_t real = GetMirrored(mode, i, call.step.sizes[axis].inputs.front());
    indices.push_back(real - call.step.inputs.front()[axis].begin);
  }
  return indices;
}

} // namespace

TorchOperation::TorchOperation(const char * type, Forward forwardPass, Backward backwardPass)
  : forward(forwardPass)
  , backward(backwardPass)
{
  GetOperations()[type] = this;
}

const TorchOperation &
TorchOperation::Find(const std::string & type)
{
  return *GetOperations().at(type);
}

at::Tensor
OperationCall::GetWeight(const char * role) const
{
  const auto found = weights.find(role);
  return found == weights.end() ? at::Tensor() : found->second;
}

at::Tensor
OperationCall::MakeInputMap(std::size_t input) const
{
  return MakeMap(channels[input], step.inputs[input], options);
}

namespace
{

at::MemoryFormat
GetFormat(int axes)
{
  return axes == 2 ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d;
}

} // namespace

at::Tensor
MakeDense(const at::Tensor & map)
{
  return map.contiguous(GetFormat(GetNumberOfAxes(map)));
}

at::Tensor
AlongAxis(const at::Tensor & values, int axis, int axes)
{
  std::vector<std::int64_t> shape(GetDimension(axes), 1);
  shape[GetDimension(axis)] = -1;
  return values.view(shape);
}

std::vector<std::int64_t>
GetShape(std::int64_t channels, const Box & box)
{
  std::vector<std::int64_t> shape{ 1, channels };
  for (const Interval & interval : box)
  {
    shape.push_back(interval.GetLength());
  }
  return shape;
}

at::Tensor
MakeMap(std::int64_t channels, const Box & box, const at::TensorOptions & options)
{
  return at::empty(GetShape(channels, box), options.memory_format(GetFormat(box.GetNumberOfAxes())));
}

at::Tensor
Show(const at::Tensor & map, const Box & covered, const Box & wanted, double value)
{
  std::vector<std::int64_t> pads; // of the last axis first, as PyTorch has them
  at::Tensor                shown = map;
  bool                      more = false;
  const int                 axes = wanted.GetNumberOfAxes();
  for (int axis = axes; axis-- > 0;)
  {
    const std::int64_t begin = std::max(covered[axis].begin, wanted[axis].begin);
    const std::int64_t end = std::min(covered[axis].end, wanted[axis].end);
    if (begin >= end)
    {
      at::Tensor all = MakeMap(map.size(1), wanted, map.options());
      return all.fill_(value);
    }
    shown = shown.narrow(GetDimension(axis), begin - covered[axis].begin, end - begin);
    pads.push_back(begin - wanted[axis].begin);
    pads.push_back(wanted[axis].end - end);
    more = more || pads[pads.size() - 2] > 0 || pads.back() > 0;
  }
  if (!more)
  {
    return shown;
  }
  at::Tensor all = MakeMap(map.size(1), wanted, map.options());
  all.fill_(value);
  at::Tensor part = all;
  for (int axis = 0; axis < axes; ++axis)
  {
    const int dimension = GetDimension(axis);
    part = part.narrow(dimension, pads[2 * (axes - 1 - axis)], shown.size(dimension));
  }
  part.copy_(shown);
  return all;
}

bool
IsAlone(const at::Tensor & tensor)
{
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

at::Tensor
MakeOwn(at::Tensor && tensor)
{
  return IsAlone(tensor) ? std::move(tensor) : tensor.clone(GetFormat(GetNumberOfAxes(tensor)));
}

at::Tensor
Gather(const at::Tensor & map, int axis, const std::vector<std::int64_t> & indices)
{
  const at::Tensor places = at::tensor(indices, at::kLong).to(map.device());
  return PutChannelsSecond(PutChannelsLast(map).index_select(axis + 1, places));
}

at::Tensor
Scatter(const at::Tensor &                gradient,
        int                               axis,
        const std::vector<std::int64_t> & indices,
        std::int64_t                      length,
        bool                              plain)
{
  const at::Tensor places = at::tensor(indices, at::kLong).to(gradient.device());
  if (plain)
  {
    const at::Tensor          rows = PutChannelsLast(gradient).movedim(axis + 1, 0);
    std::vector<std::int64_t> shape = rows.sizes().vec();
    shape[0] = length;
    at::Tensor sums = at::zeros(shape, gradient.options());
    sums.index_put_({ places }, rows, true); // sorts, where index_add_ adds in any order
    return PutChannelsSecond(sums.movedim(0, axis + 1));
  }
  const at::Tensor          values = PutChannelsLast(gradient);
  std::vector<std::int64_t> shape = values.sizes().vec();
  shape[axis + 1] = length;
  return PutChannelsSecond(at::zeros(shape, gradient.options()).index_add_(axis + 1, places, values));
}

at::Tensor
ShowMirrored(const OperationCall & call, const at::Tensor & map, const Box & wanted, const std::string & mode)
{
  if (wanted == call.step.inputs.front())
  {
    return map;
  }
  at::Tensor shown = map;
  for (int axis = 0; axis < wanted.GetNumberOfAxes(); ++axis)
  {
    shown = Gather(shown, axis, GetMirroredIndices(call, axis, wanted[axis], mode));
  }
  return shown;
}

at::Tensor
DifferentiateMirrored(const OperationCall & call,
                      const at::Tensor &    gradient,
                      const Box &           wanted,
                      const std::string &   mode)
{
  const Box & part = call.step.inputs.front();
  if (wanted == part)
  {
    return gradient;
  }
  at::Tensor sums = gradient;
  for (int axis = wanted.GetNumberOfAxes(); axis-- > 0;)
  {
    sums = Scatter(sums, axis, GetMirroredIndices(call, axis, wanted[axis], mode), part[axis].GetLength(), call.plain);
  }
  return sums;
}

} // namespace gigapixel::torchmodule
