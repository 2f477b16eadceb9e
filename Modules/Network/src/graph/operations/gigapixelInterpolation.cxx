/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelOperationEntry.h"
#include "gigapixelPrintable.h"

#include <cmath>
#include <numeric>

namespace gigapixel
{
namespace schema
{
namespace
{

/** Else linear along all axes. */
bool
IsNearest(const Operation & operation)
{
  return operation.GetWord("mode") == "nearest";
}

std::string
CheckInterpolation(const Operation & operation, const Channels & channels)
{
  const bool scaled = !std::get<std::vector<double>>(operation.attributes.at("scale_factor")).empty();
  const bool sized = operation.GetAlong("size", 0) > 0;
  for (int axis = 0; axis < operation.axes; ++axis)
  {
    const double factor = operation.GetNumberAlong("scale_factor", axis);
    if (scaled && !(factor > 0 && factor <= 256))
    {
      return "its scale_factor must be above 0 and at most 256, not " + FormatShortest(factor);
    }
  }
  if (scaled + sized + (channels.size() == 2) != 1)
  {
    return "it needs one of scale_factor, size, and a second input whose size it takes";
  }
  const std::string linear = operation.axes == 2 ? "bilinear" : "trilinear"; // PyTorch's words
  if (!IsNearest(operation) && operation.GetWord("mode") != linear)
  {
    return "its mode is " + operation.GetWord("mode") + ", which in " +
           (operation.axes == 2 ? "images is " : "volumes is ") + linear;
  }
  if (operation.GetFlag("align_corners") && IsNearest(operation))
  {
    return "align_corners is for the mode " + linear;
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
  if (IsNearest(operation))
  {
    return { GetNearestSource(operation, axis, output.begin, size, sizes.output),
             GetNearestSource(operation, axis, last, size, sizes.output) + 1 };
  }
  const double first = GetLinearSource(operation, axis, output.begin, size, sizes.output);
  const double end = GetLinearSource(operation, axis, last, size, sizes.output);
  return Clip({ static_cast<std::int64_t>(std::floor(first)), static_cast<std::int64_t>(std::ceil(end)) + 1 }, size);
}

/** What is read, floor(step * i), lies before step * i by 0, 1/q ... (q - 1)/q of a pixel, each as often, where the
 * step is p/q: in the middle of these. */
double
GetNearestOffset(double factor, const AxisSizes & sizes)
{
  constexpr double most = 64; // for p: a factor of more digits is taken for one of so many parts
  double q = static_cast<double>(sizes.output) / static_cast<double>(std::gcd(sizes.inputs.front(), sizes.output));
  if (factor > 0) // whatever the sizes that it comes to
  {
    double p = 1;
    while (p < most && factor * p != std::floor(factor * p))
    {
      ++p;
    }
    q = factor * p;
  }
  return -(q - 1) / (2 * q);
}

Sampling
SampleInterpolated(const Operation & operation, int axis, const AxisSizes & sizes)
{
  const auto   input = static_cast<double>(sizes.inputs.front()), output = static_cast<double>(sizes.output);
  const double factor = operation.GetNumberAlong("scale_factor", axis);
  if (input == output)
  {
    return {};
  }
  if (operation.GetFlag("align_corners"))
  {
    return { output > 1 ? (input - 1) / (output - 1) : 0.0, 0 };
  }
  const double step = factor > 0 ? 1 / factor : input / output;
  return { step, IsNearest(operation) ? GetNearestOffset(factor, sizes) : (step - 1) / 2 };
}

/** Behind the corners of a map that becomes larger, unless they stay corners, its last pixels are taken as the second
 * one of two. */
std::string
GetInterpolationBorder(const Operation & operation, int axis, const AxisSizes & sizes)
{
  return !IsNearest(operation) && SampleInterpolated(operation, axis, sizes).offset < 0 ? "replicate" : "";
}

/** LibTorch 1.13 rounds each addition to a gradient of the linear one; values of the nearest one are but copied. */
bool
NeedsFloat(const Operation & operation)
{
  return !IsNearest(operation);
}

/** One pixel; of the linear one the last bits differ. */
bool
IsSpread(const Operation & operation, std::size_t input, const AxisSizes & sizes)
{
  return input == 0 && sizes.inputs.front() == 1 && IsNearest(operation);
}

/** Sources repeat with a whole factor only, and their last bits only with one by which every number is divided exactly:
 * a power of two. */
std::int64_t
GetInterpolatedPhase(const Operation & operation, int axis, std::int64_t output, const AxisSizes & sizes)
{
  if (IsSpread(operation, 0, sizes))
  {
    return 0;
  }
  const std::int64_t input = sizes.inputs.front(), factor = sizes.output / input;
  const double       given = operation.GetNumberAlong("scale_factor", axis);
  const bool whole = sizes.output % input == 0 && !operation.GetFlag("align_corners") && (factor & (factor - 1)) == 0 &&
                     (given == 0 || given == static_cast<double>(factor));
  return whole ? output % factor : output;
}

/** Maps that are done along one axis, and both values that each is the mean of; where maps are doubled, a copy of the
 * gradient for the library's operator. */
PassMaps
HoldInterpolated(const Operation & operation, const MapSizes & sizes)
{
  if (DoublesMaps(operation, sizes))
  {
    return { {}, { 0, 1, 0 } };
  }
  if (IsNearest(operation))
  {
    return { { 0, 0, 1 }, { 0, 0, 1 } };
  }
  return { { 0, 1, 2 }, { 1, 1, 2 } };
}

} // namespace

std::vector<OperationSchema>
MakeInterpolation()
{
  OperationSchema entry("interpolate", 1, 2);
  entry.summary = "resizes by scale_factor, to size, or to the size of a second input";
  entry.attributes = { Word("mode", "nearest", { "nearest", "bilinear", "trilinear" }),
                       Flag("align_corners", false),
                       { "scale_factor", Kind::AxesNumbers, false, std::vector<double>() },
                       OptionalAlongAxes("size", 1) };
  entry.needsFloat = &NeedsFloat;
  entry.getPassMaps = &HoldInterpolated;
  entry.doublesMaps = &DoublesMaps;
  entry.roles = Role::Placement;
  entry.getBounds = &BoundLikeInput;
  entry.check = &CheckInterpolation;
  entry.getSize = &GetInterpolatedSize;
  entry.getRequired = &RequireInterpolated;
  entry.getPhase = &GetInterpolatedPhase;
  entry.isSpread = &IsSpread;
  entry.getSampling = &SampleInterpolated;
  entry.getBorder = &GetInterpolationBorder;
  return { entry };
}

} // namespace schema

bool
DoublesMaps(const Operation & operation, const MapSizes & sizes)
{
  const bool nearest = operation.GetWord("mode") == "nearest";
  bool       doubles = !operation.GetFlag("align_corners");
  int        axis = 0;
  for (const AxisSizes & along : sizes)
  {
    // Sources follow from a factor that was given, 2.1 for one, not from the sizes that it comes to.
    const double factor = operation.GetNumberAlong("scale_factor", axis++);
    doubles = doubles && along.output == 2 * along.inputs.front() && (nearest || factor == 0 || factor == 2);
  }
  return doubles;
}

} // namespace gigapixel
