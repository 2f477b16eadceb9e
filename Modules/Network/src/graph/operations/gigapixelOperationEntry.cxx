/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace gigapixel
{
namespace schema
{

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

void
Refuse(const std::string & reason)
{
  throw InvalidArgument(Diagnostic("E-NETWORK-IMAGE-SIZE", reason));
}

AttributeSchema
Flag(const char * name, bool value)
{
  return { name, Kind::Flag, false, value };
}

AttributeSchema
AlongAxes(const char * name, std::int64_t value, std::int64_t least)
{
  return { name, Kind::Axes, false, std::vector<std::int64_t>{ value }, least };
}

AttributeSchema
NeededAlongAxes(const char * name, std::int64_t least)
{
  return { name, Kind::Axes, true, {}, least };
}

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

bool
AlwaysNeedFloat(const Operation &)
{
  return true;
}

bool
NeverNeedFloat(const Operation &)
{
  return false;
}

PassMaps
HoldNoMaps(const Operation &, const MapSizes &)
{
  return {};
}

PassMaps
HoldOneMap(const Operation &, const MapSizes &)
{
  return { { 0, 1, 0 }, { 0, 1, 0 } };
}

ValueForms
BoundLikeInput(const Operation & operation, ValueBounds & bounds)
{
  return bounds.Move(bounds.GetInput(operation));
}

ValueForms
BoundEach(const Operation & operation, ValueBounds & bounds, const ValueRange & range)
{
  return bounds.MakeSources(std::vector<ValueRange>(bounds.GetChannels(operation.name), range));
}

ValueForms
BoundWeighted(ValueForms sums, const ValueBounds & bounds)
{
  constexpr double tolerance = 1e-5;
  const auto       ranges = bounds.GetRanges(sums);
  return std::all_of(ranges.begin(),
                     ranges.end(),
                     [](const ValueRange & range) {
                       return std::abs(range.least) < tolerance && std::abs(range.greatest - 1) < tolerance;
                     })
           ? std::move(sums)
           : ValueForms();
}

Interval
RequireAll(const Operation &, int, std::size_t input, const Interval &, const AxisSizes & sizes)
{
  return { 0, sizes.inputs[input] };
}

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

std::int64_t
GetOnePixel(const Operation & operation, int axis, const Sizes & inputs)
{
  KeepCommonSize(operation, axis, inputs); // throws
  return 1;
}

Cost
CostNothing(const Operation &, const Channels &)
{
  return {};
}

Window
Window::Get(const Operation & operation, int axis)
{
  const bool dilated = operation.attributes.count("dilation") > 0;
  return { operation.GetAlong("kernel_size", axis),
           operation.GetAlong("stride", axis),
           dilated ? operation.GetAlong("dilation", axis) : 1 };
}

double
GetTaps(const Operation & operation)
{
  double taps = 1;
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    taps *= static_cast<double>(operation.GetAlong("kernel_size", axis));
  }
  return taps;
}

std::int64_t
GetWindowedSize(const Operation & operation, int axis, const Sizes & inputs)
{
  const Window       window = Window::Get(operation, axis);
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
  const Window       window = Window::Get(operation, axis);
  const std::int64_t before = GetPadding(operation, axis).before;
  const std::int64_t size = sizes.inputs.front();
  const Interval     seen{ output.begin * window.stride - before,
                       (output.end - 1) * window.stride - before + window.GetReach() };
  const bool         hasMode = operation.attributes.count("padding_mode") > 0; // which pools do not have
  return ClipPadded(seen, size, hasMode ? operation.GetWord("padding_mode") : "zeros");
}

Sampling
SampleWindow(const Operation & operation, int axis, const AxisSizes &)
{
  const Window window = Window::Get(operation, axis);
  return { static_cast<double>(window.stride),
           static_cast<double>(window.GetReach() - 1) / 2 - static_cast<double>(GetPadding(operation, axis).before) };
}

} // namespace schema
} // namespace gigapixel
