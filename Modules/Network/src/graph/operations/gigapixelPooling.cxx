/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"

namespace gigapixel
{
namespace schema
{
namespace
{

std::string
CheckPooling(const Operation & operation, const Channels &)
{
  for (int axis = 0; axis < operation.axes; ++axis)
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

Keeps
KeepIndices(const Operation &)
{
  return Keeps::InputAndIndices;
}

/** Whether the first or the last window reaches beyond the map. */
bool
ReachesOut(const Operation & operation, int axis, const AxisSizes & sizes)
{
  const Window       window = Window::Get(operation, axis);
  const std::int64_t before = operation.GetAlong("padding", axis);
  return before > 0 || (sizes.output - 1) * window.stride + window.GetReach() > sizes.inputs.front();
}

std::string
GetMaximumBorder(const Operation & operation, int axis, const AxisSizes & sizes)
{
  return ReachesOut(operation, axis, sizes) ? "nothing" : "";
}

std::string
GetMeanBorder(const Operation & operation, int axis, const AxisSizes & sizes)
{
  return !ReachesOut(operation, axis, sizes) ? "" : operation.GetFlag("count_include_pad") ? "zeros" : "nothing";
}

/** No value is greater or less than those of the windows. */
ValueForms
BoundGreatest(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms & forms = bounds.GetInput(operation);
  return bounds.MakeSources(bounds.GetRanges(forms), bounds.IsClipped(forms));
}

ValueForms
BoundMean(const Operation & operation, ValueBounds & bounds)
{
  const ValueForms & forms = bounds.GetInput(operation);
  bool               seesZeros = false;
  for (int axis = 0; axis < operation.axes && operation.GetFlag("count_include_pad"); ++axis)
  {
    seesZeros = seesZeros || operation.GetAlong("padding", axis) > 0;
  }
  return seesZeros ? bounds.MoveBeside(forms, 0) : bounds.Move(forms);
}

OperationSchema
MakePool(const char * type, const char * typeOfVolumes)
{
  OperationSchema entry(type);
  entry.typeOfVolumes = typeOfVolumes;
  entry.attributes = { NeededAlongAxes("kernel_size", 1), OptionalAlongAxes("stride", 1), AlongAxes("padding", 0, 0) };
  entry.scratch = Scratch::Padded;
  entry.check = &CheckPooling;
  entry.getSize = &GetWindowedSize;
  entry.getRequired = &RequireWindow;
  entry.getSampling = &SampleWindow;
  entry.getCost = &GetPoolingCost;
  return entry;
}

/** For a volume, what each tap along z sees, and values, places and which of them are greater; all of it but for
 * places, which are twice as large, or more, is of the maps' size or less. */
PassMaps
HoldTaps(const Operation & operation, const MapSizes &)
{
  return operation.axes == 3 ? PassMaps{ { 1, 6, 0 }, { 1, 1, 0 } } : PassMaps{};
}

OperationSchema
MakeMaximum()
{
  OperationSchema entry = MakePool("max_pool2d", "max_pool3d");
  entry.summary = "the greatest value, the first of equal ones; without stride, that of the kernel";
  entry.attributes.push_back(AlongAxes("dilation", 1, 1));
  entry.attributes.push_back(Flag("ceil_mode", false));
  entry.getKeeps = &KeepIndices;
  entry.getBounds = &BoundGreatest;
  entry.getBorder = &GetMaximumBorder;
  entry.getPassMaps = &HoldTaps;
  return entry;
}

/** The gradient, divided by the numbers of pixels. */
PassMaps
HoldQuotient(const Operation &, const MapSizes &)
{
  return { {}, { 0, 1, 0 } };
}

OperationSchema
MakeMean()
{
  OperationSchema entry = MakePool("avg_pool2d", "avg_pool3d");
  entry.summary = "the mean; without stride, that of the kernel";
  entry.attributes.push_back(Flag("ceil_mode", false));
  entry.attributes.push_back(Flag("count_include_pad", true));
  entry.getBorder = &GetMeanBorder;
  entry.getBounds = &BoundMean;
  entry.getPassMaps = &HoldQuotient;
  entry.needsFloat = &AlwaysNeedFloat; // the sum is rounded, and then the mean
  return entry;
}

} // namespace

std::vector<OperationSchema>
MakePooling()
{
  return { MakeMaximum(), MakeMean() };
}

} // namespace schema
} // namespace gigapixel
