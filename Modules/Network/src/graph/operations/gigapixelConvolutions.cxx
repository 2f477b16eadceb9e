/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

#include <algorithm>
#include <numeric>

namespace gigapixel
{
namespace schema
{
namespace
{

std::string
CheckGroups(const Operation & operation, const Channels & channels)
{
  const std::int64_t groups = operation.GetInteger("groups");
  if (channels.front() % groups != 0 || operation.GetInteger("out_channels") % groups != 0)
  {
    return "its " + std::to_string(groups) + " groups divide its " + std::to_string(channels.front()) + " input or " +
           std::to_string(operation.GetInteger("out_channels")) + " output channels unevenly";
  }
  return {};
}

std::string
CheckConvolution(const Operation & operation, const Channels & channels)
{
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    const Window window = Window::Get(operation, axis);
    if (operation.IsWord("padding") && window.stride != 1)
    {
      return "padding \"same\" is for a stride of 1";
    }
    if (GetPadding(operation, axis).before > window.GetReach() - 1)
    {
      return "its padding is wider than its kernel, so that some outputs see no pixel";
    }
  }
  return CheckGroups(operation, channels);
}

int
GetOutChannels(const Operation & operation, const Channels &)
{
  return static_cast<int>(operation.GetInteger("out_channels"));
}

// A convolution's weight has output channels, input channels of a group, and taps, one behind the other.

double
GetPlainFanIn(const Operation & operation, const Sizes & shape)
{
  return static_cast<double>(shape[1]) * GetTaps(operation);
}

std::size_t
GetPlainOutput(const Operation &, const Sizes & shape, std::size_t place)
{
  std::size_t inputs = 1;
  for (std::size_t i = 1; i < shape.size(); ++i)
  {
    inputs *= static_cast<std::size_t>(shape[i]);
  }
  return place / inputs;
}

constexpr WeightSchema PlainWeight{ &GetPlainFanIn, &GetPlainOutput };

// The weight of a transposed one has input channels, output channels of a group, and taps.

double
GetTransposedFanIn(const Operation & operation, const Sizes & shape)
{
  double taps = GetTaps(operation);
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    taps /= static_cast<double>(operation.GetAlong("stride", axis)); // they are spread over so many outputs
  }
  return taps * static_cast<double>(shape[0]) / static_cast<double>(operation.GetInteger("groups"));
}

std::size_t
GetTransposedOutput(const Operation & operation, const Sizes & shape, std::size_t place)
{
  std::size_t taps = 1;
  for (std::size_t i = 2; i < shape.size(); ++i)
  {
    taps *= static_cast<std::size_t>(shape[i]);
  }
  const auto inputs = static_cast<std::size_t>(shape[0] / operation.GetInteger("groups"));
  const auto outputs = static_cast<std::size_t>(shape[1]); // of a group
  const auto input = place / taps / outputs;
  return input / inputs * outputs + place / taps % outputs;
}

constexpr WeightSchema TransposedWeight{ &GetTransposedFanIn, &GetTransposedOutput };

Parameters
GetConvolutionParameters(const Operation & operation, const Channels & channels)
{
  const std::int64_t   out = operation.GetInteger("out_channels"), groups = operation.GetInteger("groups");
  const bool           transposed = operation.type.rfind("conv_transpose", 0) == 0;
  ParameterDescription weight{ "weight",
                               { transposed ? channels.front() : out, (transposed ? out : channels.front()) / groups },
                               true };
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    weight.shape.push_back(operation.GetAlong("kernel_size", axis));
  }
  Parameters parameters{ weight };
  if (operation.GetFlag("bias"))
  {
    parameters.push_back({ "bias", { out }, true });
  }
  return parameters;
}

double
CountProducts(const Operation & operation, const Channels & channels)
{
  return GetTaps(operation) * channels.front() * static_cast<double>(operation.GetInteger("out_channels")) /
         static_cast<double>(operation.GetInteger("groups"));
}

Cost
GetConvolutionCost(const Operation & operation, const Channels & channels)
{
  return { CountProducts(operation, channels), 0 };
}

Cost
GetTransposedCost(const Operation & operation, const Channels & channels)
{
  return { 0, CountProducts(operation, channels) };
}

std::string
CheckTransposed(const Operation & operation, const Channels & channels)
{
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    const Window window = Window::Get(operation, axis);
    if (operation.GetAlong("output_padding", axis) >= std::max(window.stride, window.dilation))
    {
      return "its output_padding must be smaller than its stride or dilation";
    }
  }
  return CheckGroups(operation, channels);
}

/** Where windows overlap, the gradient of all pixels that they reach is a copy. */
PassMaps
HoldSpread(const Operation & operation, const MapSizes &)
{
  return HasTouchingWindows(operation) ? PassMaps{} : PassMaps{ {}, { 0, 1, 0 } };
}

/** For overlapping windows LibTorch 1.13 has no kernel in bf16; those that touch are a 1x1 convolution. */
bool
NeedsFloat(const Operation & operation)
{
  return !HasTouchingWindows(operation);
}

std::int64_t
GetTransposedSize(const Operation & operation, int axis, const Sizes & inputs)
{
  const Window window = Window::Get(operation, axis);
  return (inputs.front() - 1) * window.stride - 2 * operation.GetAlong("padding", axis) + window.GetReach() +
         operation.GetAlong("output_padding", axis);
}

/** Input i is spread over the outputs i * stride - padding ... + reach - 1; solved for i. */
Interval
RequireTransposed(const Operation & operation, int axis, std::size_t, const Interval & output, const AxisSizes & sizes)
{
  const Window       window = Window::Get(operation, axis);
  const std::int64_t padding = operation.GetAlong("padding", axis);
  return Clip({ DivideUp(output.begin + padding - window.GetReach() + 1, window.stride),
                DivideDown(output.end - 1 + padding, window.stride) + 1 },
              sizes.inputs.front());
}

std::int64_t
GetTransposedPhase(const Operation & operation, int axis, std::int64_t output, const AxisSizes &)
{
  return output % operation.GetAlong("stride", axis);
}

Sampling
SampleTransposed(const Operation & operation, int axis, const AxisSizes &)
{
  const Window window = Window::Get(operation, axis);
  const auto   stride = static_cast<double>(window.stride), reach = static_cast<double>(window.GetReach() - 1);
  return { 1 / stride, (static_cast<double>(operation.GetAlong("padding", axis)) - reach / 2) / stride };
}

std::string
GetConvolutionBorder(const Operation & operation, int axis, const AxisSizes &)
{
  const Padding padding = GetPadding(operation, axis);
  return padding.before + padding.after > 0 ? operation.GetWord("padding_mode") : "";
}

/** Zeros where inputs before the first and behind the last one would reach outputs that there are. */
std::string
GetTransposedBorder(const Operation & operation, int axis, const AxisSizes &)
{
  const Window window = Window::Get(operation, axis);
  return window.GetReach() + operation.GetAlong("output_padding", axis) >
             window.stride + operation.GetAlong("padding", axis)
           ? "zeros"
           : "";
}

/** Rows of what it is padded with are mirrored, and then columns. A kernel of one pixel has no padding. Of a volume,
 * what each tap along z adds. */
PassMaps
HoldMirrored(const Operation & operation, const MapSizes &)
{
  const bool isPoint = GetTaps(operation) == 1;
  const int  mirrored = isPoint || operation.GetWord("padding_mode") == "zeros" ? 0 : 1, ofTap = operation.axes - 2;
  return { { mirrored, ofTap, 0 }, { mirrored + ofTap, 0, 0 } };
}

/** A filter of one pixel gives sums of the channels with known weights. */
ValueForms
BoundChannels(const Operation & operation, ValueBounds & bounds)
{
  const std::vector<float> * const weight = bounds.FindParameter(operation, "weight");
  const std::vector<float> * const bias = bounds.FindParameter(operation, "bias");
  const ValueForms &               forms = bounds.GetInput(operation);
  bool                             isOfPixel = weight && GetTaps(operation) == 1 && operation.GetInteger("groups") == 1;
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    const Padding padding = GetPadding(operation, axis);
    isOfPixel = isOfPixel && Window::Get(operation, axis).stride == 1 && padding.before + padding.after == 0;
  }
  if (!isOfPixel || forms.empty() || (operation.GetFlag("bias") && !bias))
  {
    return {};
  }
  ValueForms sums(static_cast<std::size_t>(operation.GetInteger("out_channels")));
  if (sums.size() * forms.size() != weight->size() || weight->size() > ValueBounds::MostChannels)
  {
    return {};
  }
  for (std::size_t i = 0; i < weight->size(); ++i)
  {
    bounds.Add(sums[i / forms.size()], (*weight)[i], forms[i % forms.size()]);
  }
  for (std::size_t i = 0; bias && i < sums.size(); ++i)
  {
    sums[i].constant += (*bias)[i];
  }
  return BoundWeighted(std::move(sums), bounds);
}

/** Bounds filters that smooth, which none is that was learned: weights are not negative, and sum to 1 or less. */
ValueForms
BoundSmoothed(const Operation & operation, ValueBounds & bounds)
{
  if (ValueForms sums = BoundChannels(operation, bounds); !sums.empty())
  {
    return sums;
  }
  constexpr double                 tolerance = 1e-5;
  const std::vector<float> * const weight = bounds.FindParameter(operation, "weight");
  if (!weight || operation.GetFlag("bias") || *std::min_element(weight->begin(), weight->end()) < 0)
  {
    return {};
  }
  const auto              outputs = static_cast<std::size_t>(operation.GetInteger("out_channels"));
  const auto              taps = weight->size() / outputs;
  std::vector<ValueRange> ranges;
  bool                    areMeans = operation.GetInteger("groups") == operation.GetInteger("out_channels");
  for (auto first = weight->begin(); first != weight->end(); first += static_cast<std::ptrdiff_t>(taps))
  {
    const double sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(taps), 0.0);
    if (sum > 1 + tolerance)
    {
      return {};
    }
    ranges.push_back({ 0, sum });
    areMeans = areMeans && sum > 1 - tolerance && std::equal(weight->begin(), weight->begin() + taps, first);
  }
  const ValueForms & forms = bounds.GetInput(operation);
  const auto         given = bounds.GetRanges(forms);
  if (forms.empty() ||
      std::any_of(given.begin(), given.end(), [](const auto & each) { return each.least < 0 || each.greatest > 1; }))
  {
    return {};
  }
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    const Padding padding = GetPadding(operation, axis);
    areMeans = areMeans && (padding.before + padding.after == 0 || operation.GetWord("padding_mode") != "zeros");
  }
  return areMeans && forms.size() == outputs ? bounds.Move(forms) : bounds.MakeSources(ranges, bounds.IsClipped(forms));
}

OperationSchema
MakeConvolution()
{
  OperationSchema entry("conv2d");
  entry.summary = "convolution";
  entry.typeOfVolumes = "conv3d";
  entry.attributes = { NeededInteger("out_channels", 1),
                       NeededAlongAxes("kernel_size", 1),
                       AlongAxes("stride", 1, 1),
                       { "padding", Kind::AxesOrWord, false, std::vector<std::int64_t>{ 0 }, 0, 65536, { "same" } },
                       Word("padding_mode", "zeros", { "zeros", "reflect", "replicate" }),
                       AlongAxes("dilation", 1, 1),
                       Integer("groups", 1, 1),
                       Flag("bias", true) };
  entry.getKeeps = &KeepInput;
  entry.scratch = Scratch::Padded;
  entry.getPassMaps = &HoldMirrored;
  entry.weight = &PlainWeight;
  entry.getBounds = &BoundSmoothed;
  entry.check = &CheckConvolution;
  entry.getChannels = &GetOutChannels;
  entry.getSize = &GetWindowedSize;
  entry.getRequired = &RequireWindow;
  entry.getSampling = &SampleWindow;
  entry.getBorder = &GetConvolutionBorder;
  entry.getParameters = &GetConvolutionParameters;
  entry.getCost = &GetConvolutionCost;
  return entry;
}

OperationSchema
MakeTransposedConvolution()
{
  OperationSchema entry("conv_transpose2d");
  entry.summary = "transposed convolution";
  entry.typeOfVolumes = "conv_transpose3d";
  entry.attributes = { NeededInteger("out_channels", 1),  NeededAlongAxes("kernel_size", 1),
                       AlongAxes("stride", 1, 1),         AlongAxes("padding", 0, 0),
                       AlongAxes("output_padding", 0, 0), AlongAxes("dilation", 1, 1),
                       Integer("groups", 1, 1),           Flag("bias", true) };
  entry.getKeeps = &KeepInput;
  entry.needsFloat = &NeedsFloat;
  entry.scratch = Scratch::Places;
  entry.getPassMaps = &HoldSpread;
  entry.weight = &TransposedWeight;
  entry.check = &CheckTransposed;
  entry.getChannels = &GetOutChannels;
  entry.getSize = &GetTransposedSize;
  entry.getRequired = &RequireTransposed;
  entry.getPhase = &GetTransposedPhase;
  entry.getSampling = &SampleTransposed;
  entry.getBorder = &GetTransposedBorder;
  entry.getParameters = &GetConvolutionParameters;
  entry.getCost = &GetTransposedCost;
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakeConvolutions()
{
  return { MakeConvolution(), MakeTransposedConvolution() };
}

} // namespace schema

bool
HasTouchingWindows(const Operation & operation)
{
  bool touch = operation.GetInteger("groups") == 1;
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    const std::int64_t kernel = operation.GetAlong("kernel_size", axis);
    touch = touch && kernel == operation.GetAlong("stride", axis) && operation.GetAlong("padding", axis) == 0 &&
            operation.GetAlong("output_padding", axis) == 0 && operation.GetAlong("dilation", axis) == 1;
  }
  return touch;
}

} // namespace gigapixel
