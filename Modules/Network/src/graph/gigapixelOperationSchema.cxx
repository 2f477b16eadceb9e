/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationSchema.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{
namespace
{

using Kind = AttributeSchema::Kind;
using Channels = std::vector<int>;
using Sizes = std::vector<std::int64_t>;
using Parameters = std::vector<ParameterDescription>;
using Cost = std::pair<double, double>;

constexpr int Axes = NetworkGraph::NumberOfAxes;

std::int64_t
DivideDown(std::int64_t a, std::int64_t b)
{
  return a >= 0 ? a / b : -((b - 1 - a) / b);
}

std::int64_t
DivideUp(std::int64_t a, std::int64_t b)
{
  return -DivideDown(-a, b);
}

/** The part that a map of this size has; where it has none of it, the index that is nearest, so that there is always
 * something to compute with. */
Interval
Clip(const Interval & interval, std::int64_t size)
{
  const Interval clipped{ std::max<std::int64_t>(interval.begin, 0), std::min(interval.end, size) };
  if (!clipped.IsEmpty())
  {
    return clipped;
  }
  const std::int64_t nearest = std::clamp<std::int64_t>(interval.begin, 0, size - 1);
  return { nearest, nearest + 1 };
}

/** The same where the map is padded: pixels that reflection or replication takes from it are of the part. */
Interval
ClipPadded(const Interval & interval, std::int64_t size, const std::string & mode)
{
  Interval part = Clip(interval, size);
  for (const std::int64_t index : { interval.begin, interval.end - 1 })
  {
    if (mode == "reflect" || mode == "replicate")
    {
      const std::int64_t real = GetMirrored(mode, index, size);
      part = Hull(part, { real, real + 1 });
    }
  }
  return part;
}

[[noreturn]] void
Refuse(const std::string & reason)
{
  throw std::invalid_argument(reason);
}

// What many operations have in common.

AttributeSchema
Flag(const char * name, bool value)
{
  return { name, Kind::Flag, false, value };
}

AttributeSchema
AlongAxes(const char * name, std::int64_t value, std::int64_t least)
{
  return { name, Kind::Axes, false, std::vector<std::int64_t>(Axes, value), least };
}

AttributeSchema
NeededAlongAxes(const char * name, std::int64_t least)
{
  return { name, Kind::Axes, true, {}, least };
}

/** That may be left out, which is something else than any number. */
AttributeSchema
OptionalAlongAxes(const char * name, std::int64_t least)
{
  return { name, Kind::Axes, false, std::vector<std::int64_t>(), least };
}

AttributeSchema
Integer(const char * name, std::int64_t value, std::int64_t least)
{
  return { name, Kind::Integer, false, value, least };
}

AttributeSchema
NeededInteger(const char * name, std::int64_t least)
{
  return { name, Kind::Integer, true, {}, least };
}

AttributeSchema
Number(const char * name, double value)
{
  return { name, Kind::Number, false, value };
}

/** Added to variances before their root is taken. */
AttributeSchema
Epsilon()
{
  AttributeSchema schema = Number("eps", 1e-5);
  schema.positive = true;
  return schema;
}

AttributeSchema
Word(const char * name, const char * value, std::vector<std::string> words)
{
  return { name, Kind::Word, false, std::string(value), 0, 65536, std::move(words) };
}

std::string
AcceptAll(const Operation &, const Channels &)
{
  return {};
}

int
KeepChannels(const Operation &, const Channels & channels)
{
  return channels.front();
}

std::int64_t
KeepSize(const Operation &, int, const Sizes & inputs)
{
  return inputs.front();
}

Interval
RequireSame(const Operation &, int, std::size_t, const Interval & output, const AxisSizes &)
{
  return output;
}

std::int64_t
OnePhase(const Operation &, int, std::int64_t, const AxisSizes &)
{
  return 0;
}

Keeps
KeepNothing(const Operation &)
{
  return Keeps::Nothing;
}

Keeps
KeepInput(const Operation &)
{
  return Keeps::Input;
}

Keeps
KeepOutput(const Operation &)
{
  return Keeps::Output;
}

Keeps
KeepIndices(const Operation &)
{
  return Keeps::InputAndIndices;
}

/** One that is multiplied by a number does not show in its gradient. */
Keeps
KeepInputsOfProduct(const Operation & operation)
{
  return operation.inputs.size() == 1 ? Keeps::Nothing : Keeps::Input;
}

Parameters
HaveNone(const Operation &, const Channels &)
{
  return {};
}

Cost
CostOneEach(const Operation &, const Channels & channels)
{
  return { channels.front(), 0 };
}

/** All inputs are of the same size. */
std::int64_t
KeepCommonSize(const Operation &, int, const Sizes & inputs)
{
  for (const std::int64_t size : inputs)
  {
    if (size != inputs.front())
    {
      Refuse("its inputs are of different sizes, " + std::to_string(inputs.front()) + " and " + std::to_string(size));
    }
  }
  return inputs.front();
}

// Convolutions and pooling: a window that moves in strides.

struct Window
{
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t dilation;

  std::int64_t
  GetReach() const
  {
    return (kernel - 1) * dilation + 1;
  }
};

Window
GetWindow(const Operation & operation, int axis)
{
  const bool dilated = operation.attributes.count("dilation") > 0;
  return { operation.GetAlong("kernel_size", axis),
           operation.GetAlong("stride", axis),
           dilated ? operation.GetAlong("dilation", axis) : 1 };
}

/** The pixel at a map's border is there once: as many pixels as are padded have to lie behind it. */
void
CheckReflection(std::int64_t size, const Padding & padding)
{
  const std::int64_t most = std::max(padding.before, padding.after);
  if (most >= size)
  {
    Refuse("its input of " + std::to_string(size) + " pixels is too small to be reflected over " +
           std::to_string(most));
  }
}

std::int64_t
GetWindowedSize(const Operation & operation, int axis, const Sizes & inputs)
{
  const Window       window = GetWindow(operation, axis);
  const Padding      padding = GetPadding(operation, axis);
  const std::int64_t padded = inputs.front() + padding.before + padding.after;
  if (operation.attributes.count("padding_mode") > 0 && operation.GetWord("padding_mode") == "reflect")
  {
    CheckReflection(inputs.front(), padding);
  }
  const std::int64_t left = padded - window.GetReach();
  if (left < 0)
  {
    Refuse("its input of " + std::to_string(inputs.front()) + " pixels is smaller than its kernel");
  }
  const bool         up = operation.attributes.count("ceil_mode") > 0 && operation.GetFlag("ceil_mode");
  const std::int64_t size = (up ? DivideUp(left, window.stride) : left / window.stride) + 1;
  // PyTorch leaves out a window that would begin behind the map.
  return up && (size - 1) * window.stride >= inputs.front() + padding.before ? size - 1 : size;
}

Interval
RequireWindow(const Operation & operation, int axis, std::size_t, const Interval & output, const AxisSizes & sizes)
{
  const Window       window = GetWindow(operation, axis);
  const std::int64_t before = GetPadding(operation, axis).before;
  const std::int64_t size = sizes.inputs.front();
  const Interval     seen{ output.begin * window.stride - before,
                       (output.end - 1) * window.stride - before + window.GetReach() };
  const bool         hasMode = operation.attributes.count("padding_mode") > 0; // which pools do not have
  return ClipPadded(seen, size, hasMode ? operation.GetWord("padding_mode") : "zeros");
}

double
GetTaps(const Operation & operation)
{
  double taps = 1;
  for (int axis = 0; axis < Axes; ++axis)
  {
    taps *= static_cast<double>(operation.GetAlong("kernel_size", axis));
  }
  return taps;
}

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
  for (int axis = 0; axis < Axes; ++axis)
  {
    const Window window = GetWindow(operation, axis);
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

// That of a transposed one has input channels, output channels of a group, and taps.

double
GetTransposedFanIn(const Operation & operation, const Sizes & shape)
{
  double taps = GetTaps(operation);
  for (int axis = 0; axis < Axes; ++axis)
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
  const bool           transposed = operation.type == "conv_transpose2d";
  ParameterDescription weight{ "weight",
                               { transposed ? channels.front() : out, (transposed ? out : channels.front()) / groups },
                               true };
  for (int axis = 0; axis < Axes; ++axis)
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
  for (int axis = 0; axis < Axes; ++axis)
  {
    const Window window = GetWindow(operation, axis);
    if (operation.GetAlong("output_padding", axis) >= std::max(window.stride, window.dilation))
    {
      return "its output_padding must be smaller than its stride or dilation";
    }
  }
  return CheckGroups(operation, channels);
}

std::int64_t
GetTransposedSize(const Operation & operation, int axis, const Sizes & inputs)
{
  const Window window = GetWindow(operation, axis);
  return (inputs.front() - 1) * window.stride - 2 * operation.GetAlong("padding", axis) + window.GetReach() +
         operation.GetAlong("output_padding", axis);
}

/** Input i is spread over the outputs i * stride - padding ... + reach - 1; solved for i. */
Interval
RequireTransposed(const Operation & operation, int axis, std::size_t, const Interval & output, const AxisSizes & sizes)
{
  const Window       window = GetWindow(operation, axis);
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

std::string
CheckPooling(const Operation & operation, const Channels &)
{
  for (int axis = 0; axis < Axes; ++axis)
  {
    if (2 * operation.GetAlong("padding", axis) > operation.GetAlong("kernel_size", axis))
    {
      return "its padding is more than half of its kernel";
    }
  }
  return {};
}

Cost
GetPoolingCost(const Operation & operation, const Channels & channels)
{
  return { GetTaps(operation) * channels.front(), 0 };
}

// Operations that move pixels.

std::string
CheckInterpolation(const Operation & operation, const Channels & channels)
{
  const bool scaled = operation.GetNumberAlong("scale_factor", 0) > 0;
  const bool sized = operation.GetAlong("size", 0) > 0;
  if (scaled + sized + (channels.size() == 2) != 1)
  {
    return "it needs one of scale_factor, size, and a second input whose size it takes";
  }
  if (operation.GetFlag("align_corners") && operation.GetWord("mode") == "nearest")
  {
    return "align_corners is for the mode bilinear";
  }
  for (int axis = 0; axis < Axes; ++axis)
  {
    const double factor = operation.GetNumberAlong("scale_factor", axis);
    if (scaled && !(factor > 0 && factor <= 256))
    {
      return "its scale_factor must be above 0 and at most 256";
    }
  }
  return {};
}

std::int64_t
GetInterpolatedSize(const Operation & operation, int axis, const Sizes & inputs)
{
  if (inputs.size() == 2)
  {
    return inputs[1];
  }
  const std::int64_t given = operation.GetAlong("size", axis);
  return given > 0 ? given
                   : static_cast<std::int64_t>(std::floor(static_cast<double>(inputs.front()) *
                                                          operation.GetNumberAlong("scale_factor", axis)));
}

Interval
RequireInterpolated(const Operation & operation,
                    int               axis,
                    std::size_t       input,
                    const Interval &  output,
                    const AxisSizes & sizes)
{
  if (input > 0)
  {
    return {};
  }
  const std::int64_t size = sizes.inputs.front(), last = output.end - 1;
  if (operation.GetWord("mode") == "nearest")
  {
    return { GetNearestSource(operation, axis, output.begin, size, sizes.output),
             GetNearestSource(operation, axis, last, size, sizes.output) + 1 };
  }
  const double first = GetBilinearSource(operation, axis, output.begin, size, sizes.output);
  const double end = GetBilinearSource(operation, axis, last, size, sizes.output);
  return Clip({ static_cast<std::int64_t>(std::floor(first)), static_cast<std::int64_t>(std::ceil(end)) + 1 }, size);
}

/** Sources repeat with a whole factor only, and their last bits only with one by which every number is divided exactly:
 * a power of two. */
std::int64_t
GetInterpolatedPhase(const Operation & operation, int axis, std::int64_t output, const AxisSizes & sizes)
{
  const std::int64_t input = sizes.inputs.front(), factor = sizes.output / input;
  const double       given = operation.GetNumberAlong("scale_factor", axis);
  const bool whole = sizes.output % input == 0 && !operation.GetFlag("align_corners") && (factor & (factor - 1)) == 0 &&
                     (given == 0 || given == static_cast<double>(factor));
  return whole ? output % factor : output;
}

std::int64_t
GetPaddedSize(const Operation & operation, int axis, const Sizes & inputs)
{
  const std::int64_t before = operation.GetAlong("before", axis), multiple = operation.GetInteger("multiple");
  const std::int64_t least = inputs.front() + before + operation.GetAlong("after", axis);
  const std::int64_t size = inputs.size() == 2 ? inputs[1] : DivideUp(least, multiple) * multiple;
  if (size < inputs.front())
  {
    Refuse("it pads to " + std::to_string(size) + " pixels what has " + std::to_string(inputs.front()));
  }
  if (operation.GetWord("mode") == "reflect")
  {
    CheckReflection(inputs.front(), { before, size - inputs.front() - before });
  }
  return size;
}

Interval
RequirePadded(const Operation & operation,
              int               axis,
              std::size_t       input,
              const Interval &  output,
              const AxisSizes & sizes)
{
  if (input > 0)
  {
    return {};
  }
  const std::int64_t before = operation.GetAlong("before", axis), size = sizes.inputs.front();
  const Interval     seen{ output.begin - before, output.end - before };
  return ClipPadded(seen, size, operation.GetWord("mode"));
}

std::string
CheckPad(const Operation & operation, const Channels & channels)
{
  const bool byNumbers = operation.GetAlong("before", 0) + operation.GetAlong("before", 1) +
                           operation.GetAlong("after", 0) + operation.GetAlong("after", 1) >
                         0;
  return channels.size() == 2 && (byNumbers || operation.GetInteger("multiple") > 1)
           ? "it pads by numbers, or to the size of a second input, not both"
           : "";
}

std::int64_t
GetCropOffset(const Operation & operation, int axis, const AxisSizes & sizes)
{
  return operation.GetFlag("center") ? (sizes.inputs.front() - sizes.output) / 2 : operation.GetAlong("before", axis);
}

std::int64_t
GetCroppedSize(const Operation & operation, int axis, const Sizes & inputs)
{
  const std::int64_t before = operation.GetAlong("before", axis), after = operation.GetAlong("after", axis);
  const std::int64_t size = inputs.size() == 2 ? inputs[1] : inputs.front() - before - after;
  if (size < 1 || size + (operation.GetFlag("center") ? 0 : before) > inputs.front())
  {
    Refuse("it crops more than the " + std::to_string(inputs.front()) + " pixels that there are");
  }
  return size;
}

Interval
RequireCropped(const Operation & operation,
               int               axis,
               std::size_t       input,
               const Interval &  output,
               const AxisSizes & sizes)
{
  const std::int64_t offset = input > 0 ? 0 : GetCropOffset(operation, axis, sizes);
  return input > 0 ? Interval{} : Interval{ output.begin + offset, output.end + offset };
}

std::int64_t
GetSlicedSize(const Operation & operation, int axis, const Sizes & inputs)
{
  const std::int64_t start = operation.GetAlong("start", axis);
  if (start >= inputs.front())
  {
    Refuse("it starts behind the " + std::to_string(inputs.front()) + " pixels that there are");
  }
  return DivideUp(inputs.front() - start, operation.GetAlong("step", axis));
}

Interval
RequireSliced(const Operation & operation, int axis, std::size_t, const Interval & output, const AxisSizes &)
{
  const std::int64_t start = operation.GetAlong("start", axis), step = operation.GetAlong("step", axis);
  return { output.begin * step + start, (output.end - 1) * step + start + 1 };
}

// Channels.

int
SumChannels(const Operation &, const Channels & channels)
{
  return std::accumulate(channels.begin(), channels.end(), 0);
}

int
AddChannels(const Operation & operation, const Channels & channels)
{
  return static_cast<int>(channels.front() + operation.GetInteger("before") + operation.GetInteger("after"));
}

std::string
CheckPair(const Operation & operation, const Channels & channels)
{
  if (channels.size() == 1 && !std::isfinite(operation.GetNumber("other")))
  {
    return "it needs a second input, or the number \"other\"";
  }
  return channels.size() == 2 && channels[0] != channels[1]
           ? "its inputs have " + std::to_string(channels[0]) + " and " + std::to_string(channels[1]) + " channels"
           : "";
}

// Norms whose statistics do not depend on the image.

Parameters
GetScaleAndShift(const Operation &, const Channels & channels)
{
  return { { "weight", { channels.front() }, true, 1 }, { "bias", { channels.front() }, true } };
}

Parameters
GetScaleAndShiftIfAffine(const Operation & operation, const Channels & channels)
{
  return operation.GetFlag("affine") ? GetScaleAndShift(operation, channels) : Parameters{};
}

Parameters
GetBatchNormParameters(const Operation & operation, const Channels & channels)
{
  Parameters parameters = GetScaleAndShiftIfAffine(operation, channels);
  parameters.push_back({ "running_mean", { channels.front() }, false });
  parameters.push_back({ "running_var", { channels.front() }, false, 1 });
  return parameters;
}

int
GetInputOperationChannels(const Operation & operation, const Channels &)
{
  return static_cast<int>(operation.GetInteger("channels"));
}

std::int64_t
RefuseSize(const Operation &, int, const Sizes &)
{
  Refuse("its size is the image's");
}

Cost
CostNothing(const Operation &, const Channels &)
{
  return {};
}

constexpr double NotGiven = std::numeric_limits<double>::quiet_NaN();

} // namespace

const std::vector<OperationSchema> &
OperationSchema::GetAll()
{
  static const std::vector<std::string> modes{ "constant", "reflect", "replicate" };
  // clang-format off
  // type, fewest and most inputs, attributes,
  // what the backward pass keeps, the inputs' gradients, what both passes take for a time, whether the forward pass may
  // overwrite its input, roles, weight,
  // check, channels, size, required input, phase, parameters, cost
  static const std::vector<OperationSchema> all{
    { "input", 0, 0,
      { NeededInteger("channels", 1) },
      KeepNothing, InputGradient::Computed, Scratch::Nothing, false, Role::NetworkInput, nullptr,
      AcceptAll, GetInputOperationChannels, RefuseSize, RequireSame, OnePhase, HaveNone, CostNothing },
    { "conv2d", 1, 1,
      { NeededInteger("out_channels", 1), NeededAlongAxes("kernel_size", 1), AlongAxes("stride", 1, 1),
        { "padding", Kind::AxesOrWord, false, std::vector<std::int64_t>(Axes, 0), 0, 65536, { "same" } },
        Word("padding_mode", "zeros", { "zeros", "reflect", "replicate" }), AlongAxes("dilation", 1, 1),
        Integer("groups", 1, 1), Flag("bias", true) },
      KeepInput, InputGradient::Computed, Scratch::Padded, false, Role::None, &PlainWeight,
      CheckConvolution, GetOutChannels, GetWindowedSize, RequireWindow, OnePhase, GetConvolutionParameters, GetConvolutionCost },
    { "conv_transpose2d", 1, 1,
      { NeededInteger("out_channels", 1), NeededAlongAxes("kernel_size", 1), AlongAxes("stride", 1, 1),
        AlongAxes("padding", 0, 0), AlongAxes("output_padding", 0, 0), AlongAxes("dilation", 1, 1),
        Integer("groups", 1, 1), Flag("bias", true) },
      KeepInput, InputGradient::Computed, Scratch::Places, false, Role::None, &TransposedWeight,
      CheckTransposed, GetOutChannels, GetTransposedSize, RequireTransposed, GetTransposedPhase, GetConvolutionParameters, GetTransposedCost },
    { "max_pool2d", 1, 1,
      { NeededAlongAxes("kernel_size", 1), OptionalAlongAxes("stride", 1), AlongAxes("padding", 0, 0),
        AlongAxes("dilation", 1, 1), Flag("ceil_mode", false) },
      KeepIndices, InputGradient::Computed, Scratch::Padded, false, Role::None, nullptr,
      CheckPooling, KeepChannels, GetWindowedSize, RequireWindow, OnePhase, HaveNone, GetPoolingCost },
    { "avg_pool2d", 1, 1,
      { NeededAlongAxes("kernel_size", 1), OptionalAlongAxes("stride", 1), AlongAxes("padding", 0, 0),
        Flag("ceil_mode", false), Flag("count_include_pad", true) },
      KeepNothing, InputGradient::Computed, Scratch::Padded, false, Role::None, nullptr,
      CheckPooling, KeepChannels, GetWindowedSize, RequireWindow, OnePhase, HaveNone, GetPoolingCost },
    { "interpolate", 1, 2,
      { Word("mode", "nearest", { "nearest", "bilinear" }), Flag("align_corners", false),
        { "scale_factor", Kind::AxesNumbers, false, std::vector<double>() }, OptionalAlongAxes("size", 1) },
      KeepNothing, InputGradient::Computed, Scratch::Nothing, false, Role::Placement, nullptr,
      CheckInterpolation, KeepChannels, GetInterpolatedSize, RequireInterpolated, GetInterpolatedPhase, HaveNone, CostOneEach },
    { "cat", 1, 64, {},
      KeepNothing, InputGradient::Shared, Scratch::Nothing, false, Role::None, nullptr,
      AcceptAll, SumChannels, KeepCommonSize, RequireSame, OnePhase, HaveNone, CostNothing },
    { "add", 1, 2, { Number("other", NotGiven) },
      KeepNothing, InputGradient::Passed, Scratch::Nothing, true, Role::Linear | Role::Sum, nullptr,
      CheckPair, KeepChannels, KeepCommonSize, RequireSame, OnePhase, HaveNone, CostOneEach },
    { "sub", 1, 2, { Number("other", NotGiven) },
      KeepNothing, InputGradient::Passed, Scratch::Nothing, true, Role::None, nullptr,
      CheckPair, KeepChannels, KeepCommonSize, RequireSame, OnePhase, HaveNone, CostOneEach },
    { "mul", 1, 2, { Number("other", NotGiven) },
      KeepInputsOfProduct, InputGradient::Computed, Scratch::Nothing, true, Role::None, nullptr,
      CheckPair, KeepChannels, KeepCommonSize, RequireSame, OnePhase, HaveNone, CostOneEach },
    { "pad", 1, 2,
      { AlongAxes("before", 0, 0), AlongAxes("after", 0, 0), Integer("multiple", 1, 1),
        Word("mode", "constant", { "constant", "reflect", "replicate" }), Number("value", 0) },
      KeepNothing, InputGradient::Passed, Scratch::Nothing, false, Role::Placement | Role::View, nullptr,
      CheckPad, KeepChannels, GetPaddedSize, RequirePadded, OnePhase, HaveNone, CostNothing },
    { "crop", 1, 2,
      { AlongAxes("before", 0, 0), AlongAxes("after", 0, 0), Flag("center", false) },
      KeepNothing, InputGradient::Passed, Scratch::Nothing, false, Role::Placement | Role::View, nullptr,
      AcceptAll, KeepChannels, GetCroppedSize, RequireCropped, OnePhase, HaveNone, CostNothing },
    { "slice", 1, 1,
      { AlongAxes("start", 0, 0), AlongAxes("step", 1, 1) },
      KeepNothing, InputGradient::Computed, Scratch::Nothing, false, Role::Placement | Role::View, nullptr,
      AcceptAll, KeepChannels, GetSlicedSize, RequireSliced, OnePhase, HaveNone, CostNothing },
    { "pad_channels", 1, 1,
      { Integer("before", 0, 0), Integer("after", 0, 0) },
      KeepNothing, InputGradient::Shared, Scratch::Nothing, false, Role::None, nullptr,
      AcceptAll, AddChannels, KeepSize, RequireSame, OnePhase, HaveNone, CostNothing },
    { "relu", 1, 1, {},
      KeepOutput, InputGradient::Computed, Scratch::Nothing, true, Role::Rectifier | Role::NoLogits, nullptr,
      AcceptAll, KeepChannels, KeepSize, RequireSame, OnePhase, HaveNone, CostOneEach },
    { "leaky_relu", 1, 1, { Number("negative_slope", 0.01) },
      KeepInput, InputGradient::Computed, Scratch::Nothing, true, Role::Rectifier, nullptr,
      AcceptAll, KeepChannels, KeepSize, RequireSame, OnePhase, HaveNone, CostOneEach },
    { "sigmoid", 1, 1, {},
      KeepOutput, InputGradient::Computed, Scratch::Nothing, true, Role::NoLogits, nullptr,
      AcceptAll, KeepChannels, KeepSize, RequireSame, OnePhase, HaveNone, CostOneEach },
    { "batch_norm", 1, 1, { Epsilon(), Flag("affine", true) },
      KeepInput, InputGradient::Computed, Scratch::Nothing, true, Role::Linear | Role::FrozenNorm, nullptr,
      AcceptAll, KeepChannels, KeepSize, RequireSame, OnePhase, GetBatchNormParameters, CostOneEach },
    { "affine", 1, 1, {},
      KeepInput, InputGradient::Computed, Scratch::Nothing, true, Role::Linear, nullptr,
      AcceptAll, KeepChannels, KeepSize, RequireSame, OnePhase, GetScaleAndShift, CostOneEach },
    { "layer_norm", 1, 1, { Epsilon(), Flag("affine", true) },
      KeepInput, InputGradient::Computed, Scratch::Nothing, false, Role::None, nullptr,
      AcceptAll, KeepChannels, KeepSize, RequireSame, OnePhase, GetScaleAndShiftIfAffine, CostOneEach },
  };
  // clang-format on
  return all;
}

const OperationSchema *
OperationSchema::Find(const std::string & type)
{
  const auto & all = GetAll();
  const auto   found = std::find_if(all.begin(), all.end(), [&](const OperationSchema & s) { return type == s.type; });
  return found == all.end() ? nullptr : &*found;
}

int
FindLastWeighted(const NetworkGraph & graph)
{
  int operation = graph.GetIndex(graph.output);
  while (OperationSchema::Find(graph.operations[operation].type)->Is(Role::Placement))
  {
    operation = graph.GetIndex(graph.operations[operation].inputs.front());
  }
  return OperationSchema::Find(graph.operations[operation].type)->weight ? operation : -1;
}

Padding
GetPadding(const Operation & operation, int axis)
{
  if (operation.IsWord("padding")) // PyTorch's "same": the odd one goes behind
  {
    const std::int64_t all = GetWindow(operation, axis).GetReach() - 1;
    return { all / 2, all - all / 2 };
  }
  const std::int64_t both = operation.GetAlong("padding", axis);
  return { both, both };
}

double
GetBilinearSource(const Operation & operation, int axis, std::int64_t index, std::int64_t input, std::int64_t output)
{
  if (output == input) // also with a scale_factor that is a little more than 1: so does ATen
  {
    return static_cast<double>(index);
  }
  if (operation.GetFlag("align_corners"))
  {
    return output > 1 ? static_cast<double>(index) * static_cast<double>(input - 1) / static_cast<double>(output - 1)
                      : 0.0;
  }
  const double factor = operation.GetNumberAlong("scale_factor", axis);
  const double ratio = factor > 0 ? 1 / factor : static_cast<double>(input) / static_cast<double>(output);
  return std::max(0.0, (static_cast<double>(index) + 0.5) * ratio - 0.5);
}

std::int64_t
GetNearestSource(const Operation & operation, int axis, std::int64_t index, std::int64_t input, std::int64_t output)
{
  if (output == input)
  {
    return index;
  }
  if (output == 2 * input)
  {
    return index / 2;
  }
  // In float, whatever the maps are: so does ATen, and a rounded product may lie below a whole number.
  const double factor = operation.GetNumberAlong("scale_factor", axis);
  const float  ratio =
    factor > 0 ? static_cast<float>(1 / factor) : static_cast<float>(input) / static_cast<float>(output);
  return std::min(static_cast<std::int64_t>(std::floor(static_cast<float>(index) * ratio)), input - 1);
}

std::int64_t
GetMirrored(const std::string & mode, std::int64_t index, std::int64_t size)
{
  if (mode == "replicate")
  {
    return std::clamp<std::int64_t>(index, 0, size - 1);
  }
  return index < 0 ? -index : index >= size ? 2 * (size - 1) - index : index;
}

} // namespace gigapixel
