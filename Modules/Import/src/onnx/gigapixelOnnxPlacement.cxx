/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelDiagnostic.h"
#include "gigapixelOnnxOperators.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace gigapixel
{
namespace
{

/** By the number of axes. */
constexpr const char * LinearModes[] = { "linear", "bilinear", "trilinear" };

using Integers = std::vector<std::int64_t>;

// Concatenation and its inverse.

void
ImportConcatenation(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  constexpr const char * different = "of maps and numbers, or with axes in another order";
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
  {
    if (!walk.IsOfPixels(node, i))
    {
      throw MissingOperation(different);
    }
  }
  const OnnxWalkValue      first = walk.GetInput(node, 0);
  const std::size_t        axis = GetOnnxAxis(node.GetInteger("axis", 1), first.axes.size());
  std::vector<std::string> maps;
  Integers                 shape = first.shape;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
  {
    const OnnxWalkValue & value = walk.GetInput(node, i);
    if (value.axes != first.axes)
    {
      throw MissingOperation(different);
    }
    maps.push_back(value.map);
    shape[axis] += i > 0 ? value.shape[axis] : 0;
  }
  if (first.axes[axis] != 'c')
  {
    walk.Miss(node, "not of channels");
    return walk.SetStandIn(node, first.axes, shape);
  }
  walk.Put(node, "cat", first, maps);
}

void
ImportSplit(OnnxWalk & walk, const OnnxNode & node)
{
  const OnnxWalkValue map = walk.GetInput(node, 0);
  if (!map.IsMap() || map.axes[GetOnnxAxis(node.GetInteger("axis", 0), map.axes.size())] != 'c')
  {
    throw MissingOperation("not of channels");
  }
  const std::int64_t channels = walk.GetChannels(map.map);
  Integers           parts = walk.GetIntegers(node, 1, "split");
  const auto         count = static_cast<std::int64_t>(node.outputs.size());
  for (std::int64_t i = 0, part = (channels + count - 1) / count; parts.size() < node.outputs.size(); ++i)
  {
    parts.push_back(std::min(part, channels - i * part));
  }
  std::int64_t start = 0;
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
  {
    const std::string part =
      walk.Append(node, "slice_channels", { map.map }, { { "start", start }, { "channels", parts[i] } });
    walk.Set(node, { part, map.axes, walk.GetShape(part, map.axes), nullptr, {} }, i);
    start += parts[i];
  }
}

// Other sizes.

/** Which pixels are read, along the axes of the image. */
struct Scaling
{
  std::vector<double> factors;
  Integers            sizes;
  bool                byFactors{ true };
};

/** The attribute or input that is given for each of these axes of the map. */
Scaling
GetScaling(OnnxWalk & walk, const OnnxNode & node, const OnnxWalkValue & map)
{
  const bool former = walk.GetOpset() < 11; // X and scales, without a region and sizes
  Scaling    scaling{ std::vector<double>(walk.GetNumberOfAxes(), 1), walk.Repeat(0) };
  Integers   axes = node.GetIntegers("axes");
  if (axes.empty())
  {
    axes.resize(map.axes.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  const std::size_t   scales = former ? 1 : 2;
  OnnxConstantPointer numbers;
  if (node.Has("scales"))
  {
    auto constant = std::make_shared<OnnxConstant>();
    constant->isFloat = true;
    constant->floats = node.attributes.at("scales").numbers;
    numbers = constant;
  }
  else if (OnnxWalk::HasInput(node, scales) && walk.GetConstant(node, scales)->GetCount() > 0)
  {
    numbers = walk.GetConstant(node, scales);
  }
  else
  {
    numbers = walk.GetConstant(node, 3);
    scaling.byFactors = false;
  }
  if (numbers->GetCount() != axes.size())
  {
    throw MissingOperation("by numbers of other axes");
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
  {
    const std::size_t axis = GetOnnxAxis(axes[i], map.axes.size());
    const int         place = walk.FindPlace(map.axes[axis]);
    const double      number = numbers->Get(i);
    if (place < 0 && number != (scaling.byFactors ? 1 : static_cast<double>(map.shape[axis])))
    {
      throw MissingOperation("of channels");
    }
    if (place >= 0 && !(number > 0 && number <= (1 << 24)))
    {
      throw InvalidArgument(
        Diagnostic("E-ONNX-FORMAT", "its node \"" + node.outputs.front() + "\" has an impossible size")
          .OfValue(node.outputs.front()));
    }
    if (place >= 0)
    {
      scaling.factors[place] = number;
      scaling.sizes[place] = static_cast<std::int64_t>(number);
    }
  }
  const Extent size = walk.GetSize(map.map);
  for (int axis = 0; axis < walk.GetNumberOfAxes(); ++axis)
  {
    if (scaling.byFactors)
    {
      scaling.sizes[axis] =
        static_cast<std::int64_t>(std::floor(static_cast<double>(size[axis]) * scaling.factors[axis]));
    }
    else
    {
      scaling.sizes[axis] = scaling.sizes[axis] > 0 ? scaling.sizes[axis] : size[axis];
      scaling.factors[axis] = static_cast<double>(scaling.sizes[axis]) / static_cast<double>(size[axis]);
    }
  }
  return scaling;
}

/** Whether each pixel becomes a whole number of pixels. */
bool
IsWhole(const Scaling & scaling)
{
  return std::all_of(scaling.factors.begin(), scaling.factors.end(), [](double factor) {
    return factor >= 1 && factor == std::floor(factor);
  });
}

/** PyTorch's nearest pixel is floor(index / factor). */
void
CheckNearest(OnnxWalk &          walk,
             const OnnxNode &    node,
             const std::string & coordinates,
             const Scaling &     scaling,
             bool                former)
{
  const std::string nearest = former ? "floor" : node.GetText("nearest_mode", "round_prefer_floor");
  const bool        half = coordinates.find("half_pixel") != std::string::npos;
  const bool        rounded = nearest == "round_prefer_floor" || nearest == "round_prefer_ceil";
  const bool        twice = std::all_of(
    scaling.factors.begin(), scaling.factors.end(), [](double factor) { return factor == 1 || factor == 2; });
  const bool same =
    (coordinates == "asymmetric" && (nearest == "floor" || (nearest == "round_prefer_floor" && twice))) ||
    (half && rounded && IsWhole(scaling)) ||
    (coordinates == "tf_half_pixel_for_nn" && IsWhole(scaling) && nearest == "floor");
  if (!same)
  {
    walk.Miss(node, "(nearest, " + coordinates + ", " + nearest + ")");
  }
}

void
ImportResize(OnnxWalk & walk, const OnnxNode & node)
{
  const bool        former = walk.GetOpset() < 11;
  const std::string coordinates = former ? "asymmetric" : node.GetText("coordinate_transformation_mode", "half_pixel");
  const std::string mode = node.GetText("mode", "nearest");
  const std::string ways = "(" + mode + ", " + coordinates + ")";
  if (node.GetText("keep_aspect_ratio_policy", "stretch") != "stretch" || coordinates == "tf_crop_and_resize")
  {
    throw MissingOperation(coordinates == "tf_crop_and_resize" ? ways : "with an aspect ratio that is kept");
  }
  if (node.GetInteger("antialias", 0) != 0)
  {
    walk.Miss(node, "with antialias");
  }
  if (mode != "nearest" && mode != "linear")
  {
    walk.Miss(node, ways);
  }
  if (!walk.IsOfPixels(node, 0))
  {
    throw MissingOperation("of numbers");
  }
  const OnnxWalkValue map = walk.GetInput(node, 0);
  const Scaling       scaling = GetScaling(walk, node, map);
  const bool          same = scaling.factors == std::vector<double>(walk.GetNumberOfAxes(), 1);
  const bool          aligned = coordinates == "align_corners";
  const bool          half = coordinates == "half_pixel" || coordinates == "pytorch_half_pixel" ||
                    (coordinates == "half_pixel_symmetric" && IsWhole(scaling));
  if (mode == "nearest" && !same)
  {
    CheckNearest(walk, node, coordinates, scaling, former);
  }
  else if (mode == "linear" && !half && !aligned && !same)
  {
    walk.Miss(node, ways);
  }
  const std::string                     linear = LinearModes[walk.GetNumberOfAxes() - 1];
  std::map<std::string, AttributeValue> attributes{ { "mode", mode == "linear" ? linear : "nearest" },
                                                    { "align_corners", aligned && mode == "linear" } };
  if (scaling.byFactors)
  {
    attributes["scale_factor"] = scaling.factors;
  }
  else
  {
    attributes["size"] = scaling.sizes;
  }
  walk.Put(node, "interpolate", map, { map.map }, attributes);
}

Integers
Negate(Integers numbers)
{
  std::transform(numbers.begin(), numbers.end(), numbers.begin(), std::negate<>());
  return numbers;
}

void
ImportPad(OnnxWalk & walk, const OnnxNode & node)
{
  const std::string mode = node.GetText("mode", "constant");
  const bool        known = mode == "constant" || mode == "reflect" || mode == "edge";
  if (!known)
  {
    walk.Miss(node, "(" + mode + ")");
  }
  if (!walk.IsOfPixels(node, 0))
  {
    throw MissingOperation("of numbers");
  }
  const double   value = OnnxWalk::HasInput(node, 2) ? walk.GetConstant(node, 2)->Get(0) : node.GetNumber("value", 0);
  const Integers pads = walk.GetIntegers(node, 1, "pads");
  Integers       axes = walk.GetIntegers(node, 3, "axes");
  const OnnxWalkValue map = walk.GetInput(node, 0);
  if (axes.empty())
  {
    axes.resize(map.axes.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (pads.size() != 2 * axes.size())
  {
    throw MissingOperation("by numbers of other axes");
  }
  constexpr std::int64_t largest = 1 << 24; // a map's side is smaller
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad < -largest || pad > largest; }))
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it pads by an impossible number of pixels"));
  }
  Integers     before = walk.Repeat(0), after = before;
  std::int64_t channelsBefore = 0, channelsAfter = 0;
  for (std::size_t i = 0; i < axes.size(); ++i)
  {
    const char         axis = map.axes[GetOnnxAxis(axes[i], map.axes.size())];
    const std::int64_t first = pads[i], last = pads[i + axes.size()];
    const int          place = walk.FindPlace(axis);
    if (place >= 0)
    {
      before[place] = first;
      after[place] = last;
    }
    else if (axis == 'c')
    {
      channelsBefore = first;
      channelsAfter = last;
    }
    else if (first != 0 || last != 0)
    {
      throw MissingOperation("of the batch");
    }
  }
  std::string padded = map.map;
  if (channelsBefore != 0 || channelsAfter != 0)
  {
    if (mode != "constant" || value != 0)
    {
      walk.Miss(node, "of channels by what is not 0");
    }
    padded =
      walk.Append(node, "pad_channels", { padded }, { { "before", channelsBefore }, { "after", channelsAfter } });
  }
  const auto [leastBefore, mostBefore] = std::minmax_element(before.begin(), before.end());
  const auto [leastAfter, mostAfter] = std::minmax_element(after.begin(), after.end());
  const std::int64_t least = std::min(*leastBefore, *leastAfter), most = std::max(*mostBefore, *mostAfter);
  if (least < 0 && most > 0)
  {
    throw MissingOperation("that adds at one side and takes off at another");
  }
  if (least < 0)
  {
    return walk.Put(node, "crop", map, { padded }, { { "before", Negate(before) }, { "after", Negate(after) } });
  }
  const std::string word = mode == "edge" ? "replicate" : known ? mode : "constant";
  walk.Put(
    node, "pad", map, { padded }, { { "before", before }, { "after", after }, { "mode", word }, { "value", value } });
}

/** Of one axis: indices from start to before end. */
struct Part
{
  std::int64_t start;
  std::int64_t end;
  std::int64_t step;
};

/** As ONNX clips them to the axis. */
Part
GetPart(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t length)
{
  const auto counted = [length](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? index + length : index, 0, length);
  };
  return { counted(start), counted(end), step };
}

/** The indices of one axis, forwards or backwards, as ONNX clips them. \throw MissingOperation there are none */
Integers
GetSteps(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t length)
{
  const std::int64_t least = step > 0 ? 0 : -1, most = step > 0 ? length : length - 1;
  const auto         counted = [=](std::int64_t index) {
    return std::clamp<std::int64_t>(index < -length ? least : index < 0 ? index + length : index, least, most);
  };
  Integers           indices;
  const std::int64_t stride = std::clamp<std::int64_t>(step, -length - 1, length + 1), last = counted(end);
  for (std::int64_t at = counted(start); stride > 0 ? at < last : stride < 0 && at > last; at += stride)
  {
    indices.push_back(at);
  }
  if (indices.empty())
  {
    throw MissingOperation("of no channels");
  }
  return indices;
}

/** Crops follow each other axis by axis: both at once may be the size of another map. */
void
Crop(OnnxWalk & walk, const OnnxNode & node, const OnnxWalkValue & map, Integers before, Integers after)
{
  const Operation last = walk.GetLast();
  std::string     input = map.map;
  if (last.name == map.map && last.type == "crop" && last.inputs.size() == 1 && walk.IsReadOnce(node.inputs.front()))
  {
    for (int axis = 0; axis < walk.GetNumberOfAxes(); ++axis)
    {
      before[axis] += last.GetAlong("before", axis);
      after[axis] += last.GetAlong("after", axis);
    }
    walk.RemoveLast();
    input = last.inputs.front();
  }
  walk.Put(node, "crop", map, { input }, { { "before", before }, { "after", after } });
}

/** A number that says a place in a map of the one size that the file is for says nothing of other sizes. */
void
CheckFixed(const OnnxWalk & walk, std::int64_t start, std::int64_t end, std::int64_t length)
{
  const bool known = start >= 0 && (end < 0 || end >= length);
  if (walk.IsOfFixedSize() && !known)
  {
    throw MissingOperation("to a size that is right for one size of the image only");
  }
}

/** Some channels, in any order. \return the operation */
std::string
ChooseChannels(OnnxWalk & walk, const OnnxNode & node, const std::string & map, const Integers & channels)
{
  constexpr std::size_t    MostParts = 64; // that are concatenated at once
  std::vector<std::string> parts;
  for (std::size_t i = 0, end = 0; i < channels.size(); i = end)
  {
    end = i + 1;
    while (end < channels.size() && channels[end] == channels[end - 1] + 1)
    {
      ++end;
    }
    if (parts.size() == MostParts)
    {
      throw MissingOperation("of more than " + std::to_string(MostParts) + " channels in another order");
    }
    const auto count = static_cast<std::int64_t>(end - i);
    parts.push_back(
      count == walk.GetChannels(map)
        ? map
        : walk.Append(node, "slice_channels", { map }, { { "start", channels[i] }, { "channels", count } }));
  }
  return parts.size() == 1 ? parts.front() : walk.Append(node, "cat", parts);
}

/** Indices of channels, one behind the other; of one, the axis may be left out. */
void
ImportGather(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const OnnxConstantPointer indices = walk.GetConstant(node, 1);
  const OnnxWalkValue       map = walk.GetInput(node, 0);
  const std::size_t         axis = GetOnnxAxis(node.GetInteger("axis", 0), map.axes.size());
  Integers                  channels = indices->integers;
  if (map.axes[axis] != 'c' || indices->shape.size() > 1 || channels.empty())
  {
    throw MissingOperation("not of channels");
  }
  for (std::int64_t & channel : channels)
  {
    channel += channel < 0 ? map.shape[axis] : 0;
    if (channel < 0 || channel >= map.shape[axis])
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it asks for a channel that there is not"));
    }
  }
  const std::string chosen = ChooseChannels(walk, node, map.map, channels);
  std::string       axes = map.axes;
  if (indices->shape.empty())
  {
    axes.erase(axis, 1);
  }
  walk.Set(node, { chosen, axes, walk.GetShape(chosen, axes), nullptr, {} });
}

/** Copies of channels behind each other, or of one pixel beside each other. \param shape of the result */
void
Repeat(OnnxWalk & walk, const OnnxNode & node, const OnnxWalkValue & map, const Integers & shape)
{
  constexpr std::int64_t MostCopies = 64; // that are concatenated at once
  std::string            copied = map.map;
  Integers               sizes(walk.GetNumberOfAxes());
  bool                   isSpread = false;
  for (std::size_t i = 0; i < shape.size(); ++i)
  {
    const int          place = walk.FindPlace(map.axes[i]);
    const std::int64_t copies = shape[i] / map.shape[i];
    if (place >= 0)
    {
      sizes[place] = shape[i];
      isSpread = isSpread || copies > 1;
    }
    if (copies > 1 && (place >= 0 ? map.shape[i] > 1 : map.axes[i] != 'c' || copies > MostCopies))
    {
      throw MissingOperation(map.axes[i] == 'c' ? "of so many copies" : "not of channels");
    }
    if (copies > 1 && place < 0)
    {
      copied = walk.Append(node, "cat", std::vector<std::string>(static_cast<std::size_t>(copies), copied));
    }
  }
  if (isSpread)
  {
    copied = walk.Append(node, "interpolate", { copied }, { { "size", sizes } });
  }
  walk.Set(node, { copied, map.axes, walk.GetShape(copied, map.axes), nullptr, {} });
}

void
ImportTile(OnnxWalk & walk, const OnnxNode & node)
{
  const Integers      repeats = walk.GetIntegers(node, 1, "repeats");
  const OnnxWalkValue map = walk.GetInput(node, 0);
  if (!map.IsMap() || repeats.size() != map.shape.size())
  {
    throw MissingOperation(map.IsMap() ? "to other axes" : "of numbers");
  }
  Integers shape = map.shape;
  for (std::size_t i = 0; i < shape.size(); ++i)
  {
    if (repeats[i] < 1 || repeats[i] > 65536)
    {
      throw InvalidArgument(Diagnostic("E-ONNX-FORMAT", "it repeats an impossible number of times"));
    }
    shape[i] *= repeats[i];
  }
  Repeat(walk, node, map, shape);
}

void
ImportExpand(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  const Integers      wanted = walk.GetIntegers(node, 1, "shape");
  const OnnxWalkValue map = walk.GetInput(node, 0);
  const Integers      shape = BroadcastShapes(map.shape, wanted);
  if (shape.size() != map.shape.size() || *std::min_element(shape.begin(), shape.end()) < 1)
  {
    throw MissingOperation("to other axes");
  }
  Repeat(walk, node, map, shape);
}

/** What a node takes along an axis, as it is written. */
struct AxisSlice
{
  std::size_t  axis;
  std::int64_t start;
  std::int64_t end;
  std::int64_t step;
};

std::vector<AxisSlice>
GetSlices(OnnxWalk & walk, const OnnxNode & node, const OnnxWalkValue & map)
{
  const Integers starts = walk.GetIntegers(node, 1, "starts"), ends = walk.GetIntegers(node, 2, "ends");
  Integers       axes = walk.GetIntegers(node, 3, "axes"), steps = walk.GetIntegers(node, 4, "steps");
  if (axes.empty())
  {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  steps.resize(steps.empty() ? starts.size() : steps.size(), 1);
  if (!map.IsMap() || starts.empty() || ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size())
  {
    throw MissingOperation("by numbers of other axes");
  }
  std::vector<AxisSlice> slices;
  slices.reserve(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i)
  {
    slices.push_back({ GetOnnxAxis(axes[i], map.axes.size()), starts[i], ends[i], steps[i] });
  }
  return slices;
}

void
ImportSlice(OnnxWalk & walk, const OnnxNode & node)
{
  if (IsOfNumbers(walk, node))
  {
    return ComputeNumbers(walk, node);
  }
  constexpr const char * backwards = "that steps backwards or ends before the map does";
  const OnnxWalkValue    map = walk.GetInput(node, 0);
  OnnxWalkValue          part = map;
  Integers               before = walk.Repeat(0), after = before, first = before, step = walk.Repeat(1);
  bool                   cropped = false, stepped = false;
  for (const AxisSlice & slice : GetSlices(walk, node, map))
  {
    const std::int64_t length = map.shape[slice.axis];
    if (map.axes[slice.axis] == 'c' && slice.step != 1)
    {
      part.map = ChooseChannels(walk, node, part.map, GetSteps(slice.start, slice.end, slice.step, length));
      continue;
    }
    if (slice.step < 1)
    {
      throw MissingOperation(backwards);
    }
    const Part taken = GetPart(slice.start, slice.end, slice.step, length);
    const int  place = walk.FindPlace(map.axes[slice.axis]);
    if (taken.end <= taken.start || (taken.step > 1 && taken.end != length))
    {
      throw MissingOperation(backwards);
    }
    if (place < 0 && (taken.step != 1 || (map.axes[slice.axis] != 'c' && taken.end - taken.start != length)))
    {
      throw MissingOperation("of channels in steps");
    }
    if (place < 0 && taken.end - taken.start != length)
    {
      part.map = walk.Append(
        node, "slice_channels", { part.map }, { { "start", taken.start }, { "channels", taken.end - taken.start } });
    }
    if (place >= 0)
    {
      CheckFixed(walk, slice.start, slice.end, length);
      (taken.step > 1 ? first : before)[place] = taken.start;
      after[place] = length - taken.end;
      step[place] = taken.step;
      stepped = stepped || taken.step > 1;
      cropped = cropped || taken.step == 1;
    }
  }
  part.shape = walk.GetShape(part.map, part.axes);
  if (!cropped && !stepped)
  {
    walk.Set(node, part);
  }
  if (cropped)
  {
    Crop(walk, node, part, before, after);
  }
  if (stepped)
  {
    const std::string input = cropped ? walk.GetLast().name : part.map;
    walk.Put(node, "slice", part, { input }, { { "start", first }, { "step", step } });
  }
}

/** Channels in another order. \param order which channel each of them was before \return the operation */
std::string
OrderChannels(OnnxWalk & walk, const OnnxNode & node, const std::vector<std::size_t> & order)
{
  constexpr std::size_t MostParts = 64; // that are concatenated at once
  const OnnxWalkValue   map = walk.GetMap(node);
  // Those of a convolution are in the order of its filters.
  const Operation * const convolution = walk.FindLast(node, 0, walk.GetType("conv"));
  if (convolution && convolution->GetInteger("groups") == 1)
  {
    Operation ordered = *convolution;
    for (auto & [role, name] : ordered.parameters)
    {
      const OnnxConstant & given = walk.GetArray(name);
      const std::size_t    length = given.floats.size() / order.size();
      std::vector<float>   values(given.floats.size());
      for (std::size_t i = 0; i < order.size(); ++i)
      {
        std::copy_n(given.floats.begin() + static_cast<std::ptrdiff_t>(order[i] * length),
                    length,
                    values.begin() + static_cast<std::ptrdiff_t>(i * length));
      }
      name = walk.AddArray(name, std::move(values), given.shape);
    }
    walk.PutAgain(node, map, ordered);
    return walk.GetLast().name;
  }
  if (order.size() > MostParts)
  {
    walk.Miss(node, "(DCR) of more than " + std::to_string(MostParts) + " channels of what is no convolution");
    return map.map;
  }
  std::vector<std::string> parts;
  parts.reserve(order.size());
  for (const std::size_t channel : order)
  {
    parts.push_back(walk.Append(node,
                                "slice_channels",
                                { map.map },
                                { { "start", static_cast<std::int64_t>(channel) }, { "channels", std::int64_t(1) } }));
  }
  return walk.Append(node, "cat", parts);
}

/** \throw std::invalid_argument it is none */
std::int64_t
GetBlockSize(const OnnxNode & node)
{
  const std::int64_t side = node.GetInteger("blocksize", 0);
  if (side < 1 || side > 256)
  {
    throw InvalidArgument(
      Diagnostic("E-ONNX-FORMAT", "its node \"" + node.outputs.front() + "\" has an impossible blocksize")
        .OfValue(node.outputs.front()));
  }
  return side;
}

/** Blocks are squares. */
void
CheckTwoAxes(const OnnxWalk & walk)
{
  if (walk.GetNumberOfAxes() != 2)
  {
    throw MissingOperation("of a volume");
  }
}

/** Ours takes channels as PyTorch does: those of one output channel are beside each other. */
void
ImportDepthToSpace(OnnxWalk & walk, const OnnxNode & node)
{
  CheckTwoAxes(walk);
  const OnnxWalkValue map = walk.GetMap(node);
  const std::int64_t  side = GetBlockSize(node);
  const auto          places = static_cast<std::size_t>(side * side);
  const auto          outputs = static_cast<std::size_t>(walk.GetChannels(map.map)) / places;
  std::string         ordered = map.map;
  if (node.GetText("mode", "DCR") != "CRD" && outputs > 1)
  {
    std::vector<std::size_t> order(outputs * places);
    for (std::size_t i = 0; i < order.size(); ++i)
    {
      order[i] = i % places * outputs + i / places;
    }
    ordered = OrderChannels(walk, node, order);
  }
  walk.Put(node, "pixel_shuffle", map, { ordered }, { { "upscale_factor", side } });
}

/** Its inverse: every so many pixels, from each place of a block on, become channels. */
void
ImportSpaceToDepth(OnnxWalk & walk, const OnnxNode & node)
{
  CheckTwoAxes(walk);
  const std::int64_t side = GetBlockSize(node);
  if (side > 8)
  {
    walk.Miss(node, "of more than 8 x 8 pixels");
  }
  const OnnxWalkValue      map = walk.GetMap(node);
  const Extent             size = walk.GetSize(map.map);
  std::vector<std::string> parts;
  if (size[0] % side != 0 || size[1] % side != 0)
  {
    throw InvalidArgument(Diagnostic("E-ONNX-FORMAT",
                                     "its node \"" + node.outputs.front() +
                                       "\" (SpaceToDepth) is of a map whose size is no " + "multiple of " +
                                       std::to_string(side))
                            .OfValue(node.outputs.front()));
  }
  if (side > 8)
  {
    const std::int64_t channels = walk.GetChannels(map.map) * side * side;
    return walk.SetStandIn(node, map.axes, { 1, channels, size[0] / side, size[1] / side });
  }
  parts.reserve(static_cast<std::size_t>(side * side));
  for (std::int64_t i = 0; i < side * side; ++i)
  {
    parts.push_back(walk.Append(
      node, "slice", { map.map }, { { "start", Integers{ i / side, i % side } }, { "step", Integers{ side, side } } }));
  }
  walk.Put(node, "cat", map, parts);
}

} // namespace

std::vector<OnnxOperator>
GetOnnxPlacement()
{
  return { { "Concat", &ImportConcatenation },
           { "Split", &ImportSplit },
           { "Resize", &ImportResize },
           { "Upsample", &ImportResize },
           { "Pad", &ImportPad },
           { "Slice", &ImportSlice },
           { "Gather", &ImportGather },
           { "Tile", &ImportTile },
           { "Expand", &ImportExpand },
           { "DepthToSpace", &ImportDepthToSpace },
           { "SpaceToDepth", &ImportSpaceToDepth } };
}

} // namespace gigapixel
