/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "execute/gigapixelDropoutMask.h"
#include "gigapixelOperationCall.h"

#include <ATen/OpMathType.h>

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
  for (std::int64_t y = box[0].begin; y < box[0].end; ++y)
  {
    for (std::int64_t x = box[1].begin; x < box[1].end; ++x)
    {
      const std::int64_t row = y - box[0].begin, column = x - box[1].begin;
      const T *          in = from.data_ptr<T>() + row * from.stride(2) + column * from.stride(3);
      T *                out = to.data_ptr<T>() + row * to.stride(2) + column * to.stride(3);
      for (std::int64_t c = 0; c < channels; ++c)
      {
        const bool keeps = whole ? mask.Keeps(0, 0, c) : mask.Keeps(y, x, c);
        out[c * to.stride(1)] = keeps ? static_cast<T>(factor * in[c * from.stride(1)]) : T(0);
      }
    }
  }
}

at::Tensor
MultiplyByMask(const OperationCall & call, bool whole, const at::Tensor & map, bool inPlace)
{
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

} // namespace
} // namespace gigapixel::torchmodule
