/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "ReferenceOperations.h"
#include "execute/gigapixelDropoutMask.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace gigapixel
{
namespace test
{
namespace
{

/** \param sides left, right, above, below, in front, behind */
Tensor
PadBy(const Tensor & map, const Numbers & sides, const std::string & mode, double value = 0)
{
  const bool flat = map.dim() == 4;
  return mode == "reflect"     ? (flat ? at::reflection_pad2d(map, sides) : at::reflection_pad3d(map, sides))
         : mode == "replicate" ? (flat ? at::replication_pad2d(map, sides) : at::replication_pad3d(map, sides))
                               : at::constant_pad_nd(map, sides, value);
}

Tensor
ConvolvePadded(const Given & given, const Tensor & map, const Numbers & padding)
{
  const Tensor  weight = given.Array("weight"), bias = given.Array("bias");
  const Numbers stride = given.Along("stride"), dilation = given.Along("dilation");
  const auto    groups = given.operation.GetInteger("groups");
  return given.IsFlat() ? at::conv2d(map, weight, bias, stride, padding, dilation, groups)
                        : at::conv3d(map, weight, bias, stride, padding, dilation, groups);
}

Tensor
Convolve(const Given & given)
{
  const Operation & operation = given.operation;
  const auto        groups = operation.GetInteger("groups");
  const std::string mode = operation.GetWord("padding_mode");
  Numbers           sides; // as PadBy() has them
  for (int axis = operation.axes; axis-- > 0;)
  {
    const std::int64_t reach = (operation.GetAlong("kernel_size", axis) - 1) * operation.GetAlong("dilation", axis);
    const bool         same = operation.IsWord("padding");
    const std::int64_t before = same ? reach / 2 : operation.GetAlong("padding", axis);
    sides.push_back(before);
    sides.push_back(same ? reach - before : before);
  }
  if (mode == "zeros" && operation.IsWord("padding"))
  {
    const auto convolve = [&](const auto & operate) {
      return operate(given.X(),
                     given.Array("weight"),
                     given.Array("bias"),
                     given.Along("stride"),
                     "same",
                     given.Along("dilation"),
                     groups);
    };
    return given.IsFlat() ? convolve([](auto &&... all) { return at::conv2d(all...); })
                          : convolve([](auto &&... all) { return at::conv3d(all...); });
  }
  if (mode == "zeros")
  {
    return ConvolvePadded(given, given.X(), given.Along("padding"));
  }
  return ConvolvePadded(given, PadBy(given.X(), sides, mode), Numbers(operation.axes, 0));
}

Tensor
ConvolveTransposed(const Given & given)
{
  const auto convolve = [&](const auto & operate) {
    return operate(given.X(),
                   given.Array("weight"),
                   given.Array("bias"),
                   given.Along("stride"),
                   given.Along("padding"),
                   given.Along("output_padding"),
                   given.operation.GetInteger("groups"),
                   given.Along("dilation"));
  };
  return given.IsFlat() ? convolve([](auto &&... all) { return at::conv_transpose2d(all...); })
                        : convolve([](auto &&... all) { return at::conv_transpose3d(all...); });
}

Tensor
PoolGreatest(const Given & given)
{
  return (given.IsFlat() ? &at::max_pool2d : &at::max_pool3d)(given.X(),
                                                              given.Along("kernel_size"),
                                                              given.Along("stride"),
                                                              given.Along("padding"),
                                                              given.Along("dilation"),
                                                              given.operation.GetFlag("ceil_mode"));
}

Tensor
PoolMean(const Given & given)
{
  return (given.IsFlat() ? &at::avg_pool2d : &at::avg_pool3d)(given.X(),
                                                              given.Along("kernel_size"),
                                                              given.Along("stride"),
                                                              given.Along("padding"),
                                                              given.operation.GetFlag("ceil_mode"),
                                                              given.operation.GetFlag("count_include_pad"),
                                                              c10::nullopt);
}

Numbers
GetPixelDimensions(const Tensor & map)
{
  Numbers dimensions(map.dim() - 2);
  std::iota(dimensions.begin(), dimensions.end(), 2);
  return dimensions;
}

constexpr double NothingCounts = -std::numeric_limits<double>::infinity();

Tensor
PoolLogSum(const Given & given)
{
  const double r = given.operation.GetNumber("r");
  return (at::logsumexp(given.Counted(0, NothingCounts) * r, GetPixelDimensions(given.X()), true) -
          std::log(given.CountPixels())) /
         r;
}

/** \return channels, as one pixel */
Tensor
PoolByAttention(const Given & given)
{
  const Tensor attention = at::softmax(given.Counted(1, NothingCounts).flatten(2), 2);
  return AlongChannels((given.X().flatten(2) * attention).sum(2), given.X());
}

Tensor
Interpolate(const Given & given)
{
  const Operation &     operation = given.operation;
  Numbers               size = given.Along("size");
  c10::optional<double> scales[3];
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    const double factor = operation.GetNumberAlong("scale_factor", axis);
    if (factor > 0)
    {
      scales[axis] = factor;
      size[axis] = static_cast<std::int64_t>(std::floor(static_cast<double>(given.X().size(2 + axis)) * factor));
    }
    else if (given.inputs.size() == 2)
    {
      size[axis] = given.inputs[1].size(2 + axis);
    }
  }
  if (operation.GetWord("mode") != "nearest")
  {
    const bool align = operation.GetFlag("align_corners");
    return given.IsFlat() ? at::upsample_bilinear2d(given.X(), size, align, scales[0], scales[1])
                          : at::upsample_trilinear3d(given.X(), size, align, scales[0], scales[1], scales[2]);
  }
  // Which pixel is the nearest one is asked in float: LibTorch 1.13 rounds otherwise in double, but for some shapes
  // only.
  const Tensor one = given.X().narrow(1, 0, 1);
  const Tensor places = at::arange(one.numel(), at::kFloat).view_as(one);
  const Tensor nearest = given.IsFlat() ? at::upsample_nearest2d(places, size, scales[0], scales[1])
                                        : at::upsample_nearest3d(places, size, scales[0], scales[1], scales[2]);
  size.insert(size.begin(), { 1, -1 });
  return given.X().flatten(2).index_select(2, nearest.to(at::kLong).view(-1)).view(size);
}

Tensor
Pad(const Given & given)
{
  const Operation & operation = given.operation;
  Numbers           sides;
  for (int axis = operation.axes; axis-- > 0;)
  {
    const std::int64_t size = given.X().size(2 + axis), multiple = operation.GetInteger("multiple");
    const std::int64_t before = operation.GetAlong("before", axis);
    std::int64_t       all = size + before + operation.GetAlong("after", axis);
    all = given.inputs.size() == 2 ? given.inputs[1].size(2 + axis) : (all + multiple - 1) / multiple * multiple;
    sides.push_back(before);
    sides.push_back(all - size - before);
  }
  return PadBy(given.X(), sides, operation.GetWord("mode"), operation.GetNumber("value"));
}

Tensor
Crop(const Given & given)
{
  Tensor map = given.X();
  for (int axis = 0; axis < given.operation.axes; ++axis)
  {
    const std::int64_t size = map.size(2 + axis);
    std::int64_t       before = given.operation.GetAlong("before", axis);
    const std::int64_t wanted = given.inputs.size() == 2 ? given.inputs[1].size(2 + axis)
                                                         : size - before - given.operation.GetAlong("after", axis);
    before = given.operation.GetFlag("center") ? (size - wanted) / 2 : before;
    map = map.narrow(2 + axis, before, wanted);
  }
  return map;
}

Tensor
Slice(const Given & given)
{
  Tensor map = given.X();
  for (int axis = 0; axis < given.operation.axes; ++axis)
  {
    map = map.slice(
      2 + axis, given.operation.GetAlong("start", axis), map.size(2 + axis), given.operation.GetAlong("step", axis));
  }
  return map;
}

Tensor
PadChannels(const Given & given)
{
  Numbers sides(2 * given.operation.axes, 0);
  sides.insert(sides.end(), { given.operation.GetInteger("before"), given.operation.GetInteger("after") });
  return at::constant_pad_nd(given.X(), sides);
}

Tensor
SliceChannels(const Given & given)
{
  return given.X().narrow(1, given.operation.GetInteger("start"), given.operation.GetInteger("channels"));
}

Tensor
NormalizeBatch(const Given & given)
{
  const Tensor map = at::batch_norm(given.X(),
                                    given.Array("weight"),
                                    given.Array("bias"),
                                    given.Array("running_mean"),
                                    given.Array("running_var"),
                                    given.calibrates,
                                    1,
                                    given.operation.GetNumber("eps"),
                                    false);
  if (given.calibrates) // PyTorch normalizes by the mean square, and keeps the estimate that has no bias
  {
    const auto pixels = static_cast<double>(given.X().numel() / given.X().size(1));
    given.Array("running_var").mul_((pixels - 1) / pixels);
  }
  return map;
}

/** Of groups of channels, with the statistics of the pixels that count. */
Tensor
NormalizeCounted(const Given & given, std::int64_t groups)
{
  const double epsilon = given.operation.GetNumber("eps");
  const Tensor x = given.X().view({ groups, -1, given.X().size(2), given.X().size(3) });
  const Tensor counts = given.ignored.logical_not().to(x.scalar_type());
  const double number = given.CountPixels() * static_cast<double>(x.size(1));
  const Tensor mean = (x * counts).sum(at::IntArrayRef{ 1, 2, 3 }, true) / number;
  const Tensor variance = ((x - mean) * (x - mean) * counts).sum(at::IntArrayRef{ 1, 2, 3 }, true) / number;
  const Tensor normalized = ((x - mean) / (variance + epsilon).sqrt()).view_as(given.X());
  return given.Array("weight").defined() ? normalized * AlongChannels(given.Array("weight"), given.X()) +
                                             AlongChannels(given.Array("bias"), given.X())
                                         : normalized;
}

Tensor
NormalizeGroups(const Given & given, std::int64_t groups)
{
  return given.ignored.defined()
           ? NormalizeCounted(given, groups)
           : at::group_norm(
               given.X(), groups, given.Array("weight"), given.Array("bias"), given.operation.GetNumber("eps"), false);
}

/** As groups of one channel each: the gradient of LibTorch 1.13's instance_norm, which goes to its batch norm, is wrong
 * where that of its output has channels beside each other, as behind a layer_norm; finite differences say so. */
Tensor
NormalizeInstance(const Given & given)
{
  return NormalizeGroups(given, given.X().size(1));
}

Tensor
NormalizeLayer(const Given & given)
{
  const Tensor rows = given.X().movedim(1, -1);
  return at::layer_norm(
           rows, { rows.size(-1) }, given.Array("weight"), given.Array("bias"), given.operation.GetNumber("eps"))
    .movedim(-1, 1);
}

/** The mask of every value of the whole map. */
Tensor
Drop(const Given & given)
{
  if (!given.maskSeed)
  {
    return given.X();
  }
  const double      p = given.operation.GetNumber("p");
  const DropoutMask mask(*given.maskSeed, given.index, p);
  const bool        channels = given.operation.type != "dropout";
  Tensor            factors = at::empty(given.X().sizes(), at::kDouble);
  // Slices one below the other.
  const Tensor tall = factors.flatten(2, -2);
  auto         values = tall.accessor<double, 4>();
  for (std::int64_t c = 0; c < tall.size(1); ++c)
  {
    for (std::int64_t y = 0; y < tall.size(2); ++y)
    {
      for (std::int64_t x = 0; x < tall.size(3); ++x)
      {
        values[0][c][y][x] = mask.Keeps(channels ? 0 : y, channels ? 0 : x, c) ? 1 / (1 - p) : 0;
      }
    }
  }
  return given.X() * factors.to(given.X().scalar_type());
}

/** With the same ones under the names that they have for volumes. */
std::map<std::string, std::function<Tensor(const Given &)>>
WithVolumes(std::map<std::string, std::function<Tensor(const Given &)>> operations)
{
  const auto ofImages = operations;
  for (const auto & [type, compute] : ofImages)
  {
    const std::size_t at = type.size() - 2;
    if (type.compare(at, 2, "2d") == 0)
    {
      operations[type.substr(0, at) + "3d"] = compute;
    }
  }
  return operations;
}

Tensor
Second(const Given & given)
{
  return given.inputs.size() == 2 ? given.inputs[1] : at::full_like(given.X(), given.operation.GetNumber("other"));
}

} // namespace

const std::map<std::string, std::function<Tensor(const Given &)>> &
GetReferenceOperations()
{
  static const auto operations = WithVolumes({
    { "conv2d", Convolve },
    { "conv_transpose2d", ConvolveTransposed },
    { "max_pool2d", PoolGreatest },
    { "avg_pool2d", PoolMean },
    { "adaptive_avg_pool2d",
      [](const Given & given) {
        return given.ignored.defined() ? given.Counted(0, 0).sum(at::IntArrayRef{ 2, 3 }, true) / given.CountPixels()
               : given.IsFlat()        ? at::adaptive_avg_pool2d(given.X(), given.Along("output_size"))
                                       : at::adaptive_avg_pool3d(given.X(), given.Along("output_size"));
      } },
    { "adaptive_max_pool2d",
      [](const Given & given) {
        const auto pool = given.IsFlat() ? &at::adaptive_max_pool2d : &at::adaptive_max_pool3d;
        return std::get<0>(pool(given.Counted(0, NothingCounts), given.Along("output_size")));
      } },
    { "logsumexp_pool2d", PoolLogSum },
    { "attention_pool2d", PoolByAttention },
    { "interpolate", Interpolate },
    { "cat", [](const Given & given) { return at::cat(given.inputs, 1); } },
    { "add", [](const Given & given) { return given.X() + Second(given); } },
    { "sub", [](const Given & given) { return given.X() - Second(given); } },
    { "mul", [](const Given & given) { return given.X() * Second(given); } },
    { "pad", Pad },
    { "crop", Crop },
    { "slice", Slice },
    { "pad_channels", PadChannels },
    { "slice_channels", SliceChannels },
    { "relu", [](const Given & given) { return at::relu(given.X()); } },
    { "leaky_relu",
      [](const Given & given) { return at::leaky_relu(given.X(), given.operation.GetNumber("negative_slope")); } },
    { "prelu", [](const Given & given) { return at::prelu(given.X(), given.Array("weight")); } },
    { "elu", [](const Given & given) { return at::elu(given.X(), given.operation.GetNumber("alpha")); } },
    { "gelu", [](const Given & given) { return at::gelu(given.X(), given.operation.GetWord("approximate")); } },
    { "silu", [](const Given & given) { return at::silu(given.X()); } },
    { "mish", [](const Given & given) { return at::mish(given.X()); } },
    { "hardswish", [](const Given & given) { return at::hardswish(given.X()); } },
    { "hardsigmoid", [](const Given & given) { return at::hardsigmoid(given.X()); } },
    { "tanh", [](const Given & given) { return at::tanh(given.X()); } },
    { "hardtanh",
      [](const Given & given) {
        return at::hardtanh(given.X(), given.operation.GetNumber("min_val"), given.operation.GetNumber("max_val"));
      } },
    { "channel_mean", [](const Given & given) { return given.X().mean(1, true); } },
    { "channel_max", [](const Given & given) { return std::get<0>(given.X().max(1, true)); } },
    { "maximum", [](const Given & given) { return at::maximum(given.X(), Second(given)); } },
    { "minimum", [](const Given & given) { return at::minimum(given.X(), Second(given)); } },
    { "softplus",
      [](const Given & given) {
        return at::softplus(given.X(), given.operation.GetNumber("beta"), given.operation.GetNumber("threshold"));
      } },
    { "log", [](const Given & given) { return given.X().clamp_min(given.operation.GetNumber("eps")).log(); } },
    { "logit", [](const Given & given) { return given.X().logit(given.operation.GetNumber("eps")); } },
    { "softmax", [](const Given & given) { return at::softmax(given.X(), 1); } },
    { "pixel_shuffle",
      [](const Given & given) { return at::pixel_shuffle(given.X(), given.operation.GetInteger("upscale_factor")); } },
    { "sigmoid", [](const Given & given) { return at::sigmoid(given.X()); } },
    { "batch_norm", NormalizeBatch },
    { "shift", [](const Given & given) { return given.X() + given.Array("bias"); } },
    { "affine",
      [](const Given & given) {
        const Tensor scaled = given.X() * AlongChannels(given.Array("weight"), given.X());
        return given.operation.GetFlag("bias") ? scaled + AlongChannels(given.Array("bias"), given.X()) : scaled;
      } },
    { "layer_norm", NormalizeLayer },
    { "norm_statistics", [](const Given & given) { return given.X().detach(); } }, // norms compute theirs themselves
    { "instance_norm", NormalizeInstance },
    { "group_norm",
      [](const Given & given) { return NormalizeGroups(given, given.operation.GetInteger("num_groups")); } },
    { "dropout", Drop },
    { "dropout2d", Drop },
  });
  return operations;
}

} // namespace test
} // namespace gigapixel
