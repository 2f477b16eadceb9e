/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

namespace gigapixel
{
namespace schema
{
namespace
{

std::string
CheckPad(const Operation & operation, const Channels & channels)
{
  bool byNumbers = false;
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    byNumbers = byNumbers || operation.GetAlong("before", axis) + operation.GetAlong("after", axis) > 0;
  }
  return channels.size() == 2 && (byNumbers || operation.GetInteger("multiple") > 1)
           ? "it pads by numbers, or to the size of a second input, not both"
           : "";
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

Sampling
SamplePadded(const Operation & operation, int axis, const AxisSizes &)
{
  return { 1, -static_cast<double>(operation.GetAlong("before", axis)) };
}

std::string
GetPadBorder(const Operation & operation, int, const AxisSizes & sizes)
{
  return sizes.output > sizes.inputs.front() ? operation.GetWord("mode") : "";
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

Sampling
SampleCropped(const Operation & operation, int axis, const AxisSizes & sizes)
{
  return { 1, static_cast<double>(GetCropOffset(operation, axis, sizes)) };
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

Sampling
SampleSliced(const Operation & operation, int axis, const AxisSizes &)
{
  return { static_cast<double>(operation.GetAlong("step", axis)),
           static_cast<double>(operation.GetAlong("start", axis)) };
}

/** Rows are mirrored, and then columns. */
PassMaps
HoldMirrored(const Operation & operation, const MapSizes &)
{
  return operation.GetWord("mode") == "constant" ? PassMaps{} : PassMaps{ { 0, 0, 1 }, { 1, 0, 1 } };
}

/** Pixels are moved, and keep their values. */
OperationSchema
MakeEntry(const char * type, std::size_t mostInputs)
{
  OperationSchema entry(type, 1, mostInputs);
  entry.gradient = InputGradient::Passed;
  entry.roles = Role::Placement | Role::View;
  entry.getBounds = &BoundLikeInput;
  entry.getCost = &CostNothing;
  return entry;
}

ValueForms
BoundPadded(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms & forms = bounds.GetInput(operation);
  return operation.GetWord("mode") == "constant" ? bounds.MoveBeside(forms, operation.GetNumber("value"))
                                                 : bounds.Move(forms);
}

OperationSchema
MakePad()
{
  OperationSchema entry = MakeEntry("pad", 2);
  entry.summary =
    "adds pixels: before and after, then up to a multiple, or, at the right and bottom, to the size of a second input";
  entry.attributes = { AlongAxes("before", 0, 0),
                       AlongAxes("after", 0, 0),
                       Integer("multiple", 1, 1),
                       Word("mode", "constant", { "constant", "reflect", "replicate" }),
                       Number("value", 0) };
  entry.getBounds = &BoundPadded;
  entry.getPassMaps = &HoldMirrored;
  entry.check = &CheckPad;
  entry.getSize = &GetPaddedSize;
  entry.getRequired = &RequirePadded;
  entry.getSampling = &SamplePadded;
  entry.getBorder = &GetPadBorder;
  return entry;
}

OperationSchema
MakeCrop()
{
  OperationSchema entry = MakeEntry("crop", 2);
  entry.summary = "removes pixels, or crops to the size of a second input, with center in its middle";
  entry.attributes = { AlongAxes("before", 0, 0), AlongAxes("after", 0, 0), Flag("center", false) };
  entry.getSize = &GetCroppedSize;
  entry.getRequired = &RequireCropped;
  entry.getSampling = &SampleCropped;
  return entry;
}

std::string
CheckShuffle(const Operation & operation, const Channels & channels)
{
  const std::int64_t factor = operation.GetInteger("upscale_factor");
  return channels.front() % (factor * factor) == 0
           ? ""
           : "its " + std::to_string(channels.front()) + " channels cannot be laid out in squares of " +
               std::to_string(factor) + " x " + std::to_string(factor) + " pixels";
}

int
GetShuffledChannels(const Operation & operation, const Channels & channels)
{
  const auto factor = static_cast<int>(operation.GetInteger("upscale_factor"));
  return channels.front() / (factor * factor);
}

std::int64_t
GetShuffledSize(const Operation & operation, int, const Sizes & inputs)
{
  return inputs.front() * operation.GetInteger("upscale_factor");
}

Interval
RequireShuffled(const Operation & operation, int, std::size_t, const Interval & output, const AxisSizes &)
{
  const std::int64_t factor = operation.GetInteger("upscale_factor");
  return { output.begin / factor, (output.end - 1) / factor + 1 };
}

std::int64_t
GetShuffledPhase(const Operation & operation, int, std::int64_t output, const AxisSizes &)
{
  return output % operation.GetInteger("upscale_factor");
}

Sampling
SampleShuffled(const Operation & operation, int, const AxisSizes &)
{
  const auto factor = static_cast<double>(operation.GetInteger("upscale_factor"));
  return { 1 / factor, (1 / factor - 1) / 2 };
}

/** A channel holds the values of several ones. */
ValueForms
BoundShuffled(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms &      forms = bounds.GetInput(operation);
  const auto              places = forms.size() / bounds.GetChannels(operation.name);
  std::vector<ValueRange> all = bounds.GetRanges(forms), ranges;
  for (std::size_t i = 0; i < all.size(); ++i)
  {
    const ValueRange range = all[i];
    if (i % places == 0)
    {
      ranges.push_back(range);
    }
    ranges.back() = { std::min(ranges.back().least, range.least), std::max(ranges.back().greatest, range.greatest) };
  }
  return bounds.MakeSources(ranges, bounds.IsClipped(forms));
}

/** Channels become pixels: depth to space. */
OperationSchema
MakePixelShuffle()
{
  OperationSchema entry("pixel_shuffle");
  entry.summary = "channels become pixels";
  entry.axes = 2;
  entry.attributes = { NeededInteger("upscale_factor", 1) };
  entry.check = &CheckShuffle;
  entry.getChannels = &GetShuffledChannels;
  entry.getSize = &GetShuffledSize;
  entry.getRequired = &RequireShuffled;
  entry.getPhase = &GetShuffledPhase;
  entry.getSampling = &SampleShuffled;
  entry.getBounds = &BoundShuffled;
  entry.getPassMaps = &HoldOneMap; // where a part begins or ends between the pixels of one of the input
  entry.getCost = &CostNothing;
  return entry;
}

OperationSchema
MakeSlice()
{
  OperationSchema entry = MakeEntry("slice", 1);
  entry.summary = "keeps one pixel of each step";
  entry.attributes = { AlongAxes("start", 0, 0), AlongAxes("step", 1, 1) };
  entry.gradient = InputGradient::Computed;
  entry.getSize = &GetSlicedSize;
  entry.getRequired = &RequireSliced;
  entry.getSampling = &SampleSliced;
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakePlacement()
{
  return { MakePad(), MakeCrop(), MakeSlice(), MakePixelShuffle() };
}

} // namespace schema
} // namespace gigapixel
