/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGraphBuilder.h"

namespace gigapixel
{
namespace
{

AttributeValue
Whole(std::int64_t value)
{
  return value;
}

} // namespace

GraphBuilder::Name
GraphBuilder::Append(Operation operation)
{
  m_Graph.operations.push_back(std::move(operation));
  return m_Graph.operations.back().name;
}

std::string
GraphBuilder::OfAxes(const char * type) const
{
  return std::string(type) + (m_Axes == 2 ? "2d" : "3d");
}

GraphBuilder::Name
GraphBuilder::Input(int channels)
{
  return Append({ "input", "input", {}, { { "channels", Whole(channels) }, { "axes", Whole(m_Axes) } }, {} });
}

GraphBuilder::Name
GraphBuilder::Convolve(const Name & name, const Name & input, int channels, int kernel, int stride, bool bias)
{
  return Append({ name,
                  OfAxes("conv"),
                  { input },
                  { { "out_channels", Whole(channels) },
                    { "kernel_size", Whole(kernel) },
                    { "stride", Whole(stride) },
                    { "padding", Whole(kernel / 2) },
                    { "bias", bias } },
                  {} });
}

GraphBuilder::Name
GraphBuilder::ConvolveDilated(const Name & name, const Name & input, int channels, int kernel, int dilation, bool bias)
{
  return Append({ name,
                  OfAxes("conv"),
                  { input },
                  { { "out_channels", Whole(channels) },
                    { "kernel_size", Whole(kernel) },
                    { "padding", Whole(kernel / 2 * dilation) },
                    { "dilation", Whole(dilation) },
                    { "bias", bias } },
                  {} });
}

GraphBuilder::Name
GraphBuilder::ConvolveTransposed(const Name & name, const Name & input, int channels, int stride)
{
  return Append(
    { name,
      OfAxes("conv_transpose"),
      { input },
      { { "out_channels", Whole(channels) }, { "kernel_size", Whole(stride) }, { "stride", Whole(stride) } },
      {} });
}

GraphBuilder::Name
GraphBuilder::Normalize(const Name & name, const Name & input)
{
  return Append({ name, "batch_norm", { input }, {}, {} });
}

GraphBuilder::Name
GraphBuilder::NormalizeInstance(const Name & name, const Name & input)
{
  return Append({ name, "instance_norm", { input }, { { "affine", true } }, {} });
}

GraphBuilder::Name
GraphBuilder::NormalizeGroups(const Name & name, const Name & input, int groups)
{
  return Append({ name, "group_norm", { input }, { { "num_groups", Whole(groups) } }, {} });
}

GraphBuilder::Name
GraphBuilder::Shift(const Name & name, const Name & input)
{
  return Append({ name, "shift", { input }, {}, { { "bias", name } } });
}

GraphBuilder::Name
GraphBuilder::ScaleAndShift(const Name & scale, const Name & bias, const Name & input)
{
  return Append(
    { scale, "affine", { input }, { { "num_parameters", Whole(1) } }, { { "weight", scale }, { "bias", bias } } });
}

GraphBuilder::Name
GraphBuilder::Rectify(const Name & name, const Name & input)
{
  return Append({ name, "relu", { input }, {}, {} });
}

GraphBuilder::Name
GraphBuilder::Activate(const std::string & operation, const Name & name, const Name & input)
{
  return Append({ name, operation, { input }, {}, {} });
}

GraphBuilder::Name
GraphBuilder::PoolMaximum(const Name & name, const Name & input, int kernel, int stride, int padding)
{
  return Append({ name,
                  OfAxes("max_pool"),
                  { input },
                  { { "kernel_size", Whole(kernel) }, { "stride", Whole(stride) }, { "padding", Whole(padding) } },
                  {} });
}

GraphBuilder::Name
GraphBuilder::AverageAll(const Name & name, const Name & input)
{
  return Append({ name, OfAxes("adaptive_avg_pool"), { input }, { { "output_size", Whole(1) } }, {} });
}

GraphBuilder::Name
GraphBuilder::PoolGreatest(const Name & name, const Name & input)
{
  return Append({ name, OfAxes("adaptive_max_pool"), { input }, { { "output_size", Whole(1) } }, {} });
}

GraphBuilder::Name
GraphBuilder::PoolLogSum(const Name & name, const Name & input)
{
  return Append({ name, OfAxes("logsumexp_pool"), { input }, {}, {} });
}

GraphBuilder::Name
GraphBuilder::PoolByAttention(const Name & name, const Name & input, int hidden)
{
  const Name content = Convolve("attention_V", input, hidden, 1, 1, true);
  const Name gate = Convolve("attention_U", input, hidden, 1, 1, true);
  const Name tanh = Append({ "attention_tanh", "tanh", { content }, {}, {} });
  const Name sigmoid = Append({ "attention_sigmoid", "sigmoid", { gate }, {}, {} });
  const Name gated = Append({ "attention_gated", "mul", { tanh, sigmoid }, {}, {} });
  return Append({ name, OfAxes("attention_pool"), { input, Convolve("attention_w", gated, 1, 1, 1, false) }, {}, {} });
}

GraphBuilder::Name
GraphBuilder::Add(const Name & name, const Name & a, const Name & b)
{
  return Append({ name, "add", { a, b }, {}, {} });
}

GraphBuilder::Name
GraphBuilder::Concatenate(const Name & name, const Name & a, const Name & b)
{
  return Append({ name, "cat", { a, b }, {}, {} });
}

GraphBuilder::Name
GraphBuilder::PadLike(const Name & name, const Name & input, const Name & like)
{
  return Append({ name, "pad", { input, like }, {}, {} });
}

GraphBuilder::Name
GraphBuilder::PadToMultiple(const Name & name, const Name & input, int multiple)
{
  return Append(
    { name, "pad", { input }, { { "multiple", Whole(multiple) }, { "mode", std::string("replicate") } }, {} });
}

GraphBuilder::Name
GraphBuilder::CropLike(const Name & name, const Name & input, const Name & like)
{
  return Append({ name, "crop", { input, like }, {}, {} });
}

GraphBuilder::Name
GraphBuilder::EnlargeTwofold(const Name & name, const Name & input)
{
  return Append({ name,
                  "interpolate",
                  { input },
                  { { "mode", std::string(m_Axes == 2 ? "bilinear" : "trilinear") }, { "scale_factor", 2.0 } },
                  {} });
}

GraphBuilder::Name
GraphBuilder::EnlargeLike(const Name & name, const Name & input, const Name & like)
{
  return Append({ name, "interpolate", { input, like }, {}, {} });
}

NetworkGraph
GraphBuilder::Finish(const Name & output)
{
  m_Graph.output = output;
  m_Graph.Validate();
  return m_Graph;
}

} // namespace gigapixel
