/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelChannelLines.h"
#include "gigapixelReducedPixels.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

namespace gigapixel::torchmodule
{
namespace
{

at::Tensor
ToChannels(const std::vector<double> & values, const at::Tensor & map)
{
  const at::Tensor channels = at::tensor(values, at::kDouble).to(map.device());
  return AlongChannels(channels, GetNumberOfAxes(map));
}

/** Whether pixels count, in the map's shape but for channels; undefined: all do. */
at::Tensor
ToMask(const std::vector<std::uint8_t> & counted, const at::Tensor & map)
{
  if (counted.empty())
  {
    return {};
  }
  std::vector<std::int64_t> shape = map.sizes().vec();
  shape[1] = 1;
  return at::tensor(counted, at::kByte).to(map.device()).ne(0).view(shape);
}

/** Calls f(first row, number) for bands of a map's first axis. */
template <typename F>
void
ForEachBand(const at::Tensor & map, const F & f)
{
  constexpr std::int64_t MostValues = std::int64_t{ 1 } << 22;
  const std::int64_t     rows = map.size(GetDimension(0));
  const std::int64_t     most = std::max<std::int64_t>(1, MostValues / (map.numel() / rows));
  for (std::int64_t first = 0; first < rows; first += most)
  {
    f(first, std::min(most, rows - first));
  }
}

/** A band, in double: a part of the map, where that is of doubles itself. */
at::Tensor
TakeBand(const at::Tensor & map, std::int64_t first, std::int64_t number)
{
  return map.narrow(GetDimension(0), first, number).to(at::kDouble);
}

at::Tensor
MakeSums(const at::Tensor & map)
{
  return at::zeros({ map.size(1) }, at::TensorOptions().dtype(at::kDouble).device(map.device()));
}

} // namespace

at::Tensor
MapLinesInBands(const at::Tensor & map, const ChannelLines & lines, const std::vector<std::uint8_t> & counted)
{
  const at::Tensor means = ToChannels(lines.means, map), factors = ToChannels(lines.factors, map);
  const at::Tensor terms = ToChannels(lines.terms, map), mask = ToMask(counted, map);
  const bool       flat = GetNumberOfAxes(map) == 2;
  const auto       format = flat ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::ChannelsLast3d;
  const at::Tensor mapped = at::empty(map.sizes(), map.options().memory_format(format));
  ForEachBand(map, [&](std::int64_t first, std::int64_t number) {
    at::Tensor band = TakeBand(map, first, number).sub(means).mul_(factors).add_(terms);
    if (mask.defined())
    {
      band.mul_(mask.narrow(GetDimension(0), first, number));
    }
    mapped.narrow(GetDimension(0), first, number).copy_(band);
  });
  return mapped;
}

at::Tensor
SumUpMomentsInBands(const at::Tensor & map, const std::vector<std::uint8_t> & counted)
{
  const at::Tensor mask = ToMask(counted, map), sums = MakeSums(map), squares = MakeSums(map);
  const auto       add = [&](const at::Tensor & to, at::Tensor values, std::int64_t first, std::int64_t number) {
    values = mask.defined() ? values.mul(mask.narrow(GetDimension(0), first, number)) : values;
    to.add_(values.sum(GetAllButChannels(map)));
  };
  ForEachBand(map,
              [&](std::int64_t first, std::int64_t number) { add(sums, TakeBand(map, first, number), first, number); });
  const std::int64_t pixels =
    counted.empty() ? map.numel() / map.size(1)
                    : std::count_if(counted.begin(), counted.end(), [](std::uint8_t counts) { return counts != 0; });
  const at::Tensor means = sums.div(std::max(1.0, static_cast<double>(pixels)));
  const at::Tensor ofChannels = AlongChannels(means, GetNumberOfAxes(map));
  ForEachBand(map, [&](std::int64_t first, std::int64_t number) {
    const at::Tensor differences = TakeBand(map, first, number).sub(ofChannels);
    add(squares, differences.mul(differences), first, number);
  });
  const at::Tensor number = at::tensor(std::vector<double>{ static_cast<double>(pixels) }, at::kDouble);
  return at::cat({ number, means.to(at::kCPU), squares.to(at::kCPU) });
}

std::pair<std::vector<double>, std::vector<double>>
SumUpProductsInBands(const at::Tensor & gradient, const at::Tensor & map, const std::vector<double> & means)
{
  const at::Tensor sums = MakeSums(map), products = MakeSums(map), ofChannels = ToChannels(means, map);
  ForEachBand(map, [&](std::int64_t first, std::int64_t number) {
    const at::Tensor band = TakeBand(gradient, first, number);
    sums.add_(band.sum(GetAllButChannels(map)));
    products.add_(TakeBand(map, first, number).sub(ofChannels).mul_(band).sum(GetAllButChannels(map)));
  });
  return { ToVector(sums), ToVector(products) };
}

} // namespace gigapixel::torchmodule
