/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef ReferenceOperations_h
#define ReferenceOperations_h

#include "gigapixelNetworkGraph.h"

#include <ATen/ATen.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{
namespace test
{

using at::Tensor;
using Numbers = std::vector<std::int64_t>;

/** One operation: its inputs and its arrays by role. */
struct Given
{
  const Operation &             operation;
  std::vector<Tensor>           inputs;
  std::map<std::string, Tensor> arrays;
  std::optional<std::uint64_t>  maskSeed;            ///< of dropout
  int                           index;               ///< of the operation
  Tensor                        ignored;             ///< which pixels of a pooled map do not count; undefined: all do
  bool                          calibrates{ false }; ///< batch norms take the statistics of their input, and keep them

  const Tensor &
  X() const
  {
    return inputs.front();
  }

  Tensor
  Array(const char * role) const
  {
    const auto found = arrays.find(role);
    return found == arrays.end() ? Tensor() : found->second;
  }

  /** Of an input, with what is no number in the way where its pixels do not count. */
  Tensor
  Counted(std::size_t input, double value) const
  {
    return ignored.defined() ? inputs[input].masked_fill(ignored, value) : inputs[input];
  }

  double
  CountPixels() const
  {
    return ignored.defined() ? ignored.logical_not().sum().item<double>()
                             : static_cast<double>(X().select(1, 0).numel());
  }

  Numbers
  Along(const char * attribute) const
  {
    Numbers values;
    for (int axis = 0; axis < operation.axes; ++axis)
    {
      values.push_back(operation.GetAlong(attribute, axis));
    }
    return values;
  }

  bool
  IsFlat() const
  {
    return operation.axes == 2;
  }
};

/** In the shape by which they meet each pixel of the map. */
inline Tensor
AlongChannels(const Tensor & values, const Tensor & map)
{
  Numbers shape(map.dim(), 1);
  shape[1] = -1;
  return values.view(shape);
}

/** Each type of operation on whole maps, as PyTorch computes it. */
const std::map<std::string, std::function<Tensor(const Given &)>> & GetReferenceOperations();

} // namespace test
} // namespace gigapixel

#endif
