/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "execute/gigapixelDropoutMask.h"
#include "gigapixelOperationCall.h"
#include "schedule/gigapixelTileGrid.h"

#include <ATen/OpMathType.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/masked_fill.h>

namespace gigapixel::torchmodule
{
namespace
{

/** \param whole whether a channel is kept or not as a whole: its mask is that of the first pixel
 * \param from, to maps of the step's output; the same one, or others */
template <typename T>
void
Multiply(const OperationCall & call, bool whole, const at::Tensor & from, const at::Tensor & to)
{
  const double       p = call.operation.GetNumber("p");
  const DropoutMask  mask(*call.maskSeed, call.step.operation, p);
  const auto         factor = static_cast<at::opmath_type<T>>(1 / (1 - p));
  const Box &        box = call.step.output;
  const std::int64_t channels = from.size(1);
  const bool         deep = box.GetNumberOfAxes() > 2;
  const Region       region = ToRegion(box);
  const auto         getPlace = [deep](const at::Tensor & map, std::int64_t z, std::int64_t y, std::int64_t x) {
    return (deep ? z * map.stride(-3) : 0) + y * map.stride(-2) + x * map.stride(-1);
  };
  for (std::int64_t z = 0; z < region.depth; ++z)
  {
    // Slices follow one another as parts of one tall map do.
    const std::int64_t top = (region.z + z) * call.step.sizes[deep ? 1 : 0].output + region.y;
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      for (std::int64_t x = 0; x < region.width; ++x)
      {
        const T * in = from.data_ptr<T>() + getPlace(from, z, y, x);
        T *       out = to.data_ptr<T>() + getPlace(to, z, y, x);
        for (std::int64_t c = 0; c < channels; ++c)
        {
          const bool keeps = whole ? mask.Keeps(0, 0, c) : mask.Keeps(top + y, region.x + x, c);
          out[c * to.stride(1)] = keeps ? static_cast<T>(factor * in[c * from.stride(1)]) : T(0);
        }
      }
    }
  }
}

/** Which values are dropped is found out by the CPU, where maps may lie elsewhere. */
at::Tensor
MultiplyByUploadedMask(const OperationCall & call, bool whole, const at::Tensor & map)
{
  const at::Tensor ones = MakeMap(map.size(1), call.step.output, at::kFloat).fill_(1);
  Multiply<float>(call, whole, ones, ones);
  const at::Tensor dropped = ones.eq(0).to(map.device());
  return map.mul(1 / (1 - call.operation.GetNumber("p"))).masked_fill_(dropped, 0);
}

at::Tensor
MultiplyByMask(const OperationCall & call, bool whole, const at::Tensor & map, bool inPlace)
{
  if (call.plain)
  {
    return MultiplyByUploadedMask(call, whole, map);
  }
  at::Tensor           result = inPlace ? map : MakeMap(map.size(1), call.step.output, call.options);
  const at::ScalarType type = map.scalar_type();
  (type == at::kDouble  ? Multiply<double>
   : type == at::kFloat ? Multiply<float>
                        : Multiply<at::BFloat16>)(call, whole, map, result);
  return result;
}

template <bool Whole>
at::Tensor
Drop(OperationCall & call)
{
  const at::Tensor & input = call.inputs[0];
  if (!call.maskSeed) // inference
  {
    return call.inPlace ? input : MakeMap(input.size(1), call.step.output, call.options).copy_(input);
  }
  return MultiplyByMask(call, Whole, input, call.inPlace);
}

template <bool Whole>
std::vector<at::Tensor>
DifferentiateDrop(OperationCall & call, const at::Tensor & gradient)
{
  return { call.maskSeed ? MultiplyByMask(call, Whole, gradient, IsAlone(gradient)) : gradient };
}

const TorchOperation Dropout("dropout", &Drop<false>, &DifferentiateDrop<false>);
const TorchOperation DropoutOfChannels("dropout2d", &Drop<true>, &DifferentiateDrop<true>);
const TorchOperation DropoutOfVolumesChannels("dropout3d", &Drop<true>, &DifferentiateDrop<true>);

} // namespace
} // namespace gigapixel::torchmodule
