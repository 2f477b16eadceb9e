/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGraphGeometry.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelFoldedParameters.h"
#include "gigapixelLabelings.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace gigapixel
{

namespace
{

/** No image has so many pixels along an axis; what an operation makes of this many is still a 64-bit number. */
constexpr std::int64_t MostPixels = std::int64_t{ 1 } << 40;

} // namespace

std::string
ToText(const Extent & extent)
{
  std::string text;
  for (int axis = extent.GetNumberOfAxes(); axis-- > 0;)
  {
    text += std::to_string(extent[axis]) + (axis > 0 ? " x " : "");
  }
  return text;
}

Extent
ToExtent(Size image, int axes)
{
  return axes == 2 && image.depth == 1 ? Extent{ image.height, image.width }
                                       : Extent{ image.depth, image.height, image.width };
}

Size
ToSize(const Extent & extent)
{
  const int last = extent.GetNumberOfAxes() - 1;
  return { extent[last], extent[last - 1], last > 1 ? extent[0] : 1 };
}

std::string
ToText(Size size)
{
  return ToText(ToExtent(size, size.depth == 1 ? 2 : 3));
}

Region
ToRegion(const Box & box)
{
  const int      last = box.GetNumberOfAxes() - 1;
  const Interval z = last > 1 ? box[0] : Interval{ 0, 1 };
  return { box[last].begin, box[last - 1].begin, box[last].GetLength(), box[last - 1].GetLength(),
           z.begin,         z.GetLength() };
}

std::vector<Extent>
GetMapSizes(const NetworkGraph & graph, const std::vector<std::vector<int>> & inputs, const Extent & image)
{
  const int axes = graph.GetNumberOfAxes();
  if (image.GetNumberOfAxes() != axes)
  {
    throw InvalidArgument(Diagnostic("E-MODEL-INPUT",
                                     axes == 2 ? "the network is one for images of two axes, not for volumes"
                                               : "the network is one for volumes, not for images of two axes"));
  }
  const std::string   ofImage = "an image of " + ToText(image) + " pixels";
  std::vector<Extent> sizes(graph.operations.size(), Extent(axes));
  for (std::size_t i = 0; i < sizes.size(); ++i)
  {
    const Operation &       operation = graph.operations[i];
    const OperationSchema & schema = *OperationSchema::Find(operation.type);
    for (int axis = 0; axis < axes; ++axis)
    {
      std::vector<std::int64_t> ofInputs;
      for (const int input : inputs[i])
      {
        ofInputs.push_back(sizes[input][axis]);
      }
      std::int64_t & size = sizes[i][axis];
      try
      {
        size = ofInputs.empty() ? image[axis] : schema.getSize(operation, axis, ofInputs);
      }
      catch (const std::invalid_argument & error)
      {
        Diagnostic problem = Diagnostic::Of(error);
        problem.why = "for " + ofImage + " the operation \"" + operation.name + "\" cannot be computed: " + problem.why;
        throw InvalidArgument(problem.OfValue(operation.name));
      }
      if (size < 1)
      {
        throw InvalidArgument(
          Diagnostic("E-NETWORK-IMAGE-SIZE",
                     ofImage + " is too small for the operation \"" + operation.name + "\": nothing is left of it")
            .OfValue(operation.name));
      }
      if (size > MostPixels)
      {
        throw InvalidArgument(
          Diagnostic("E-NETWORK-IMAGE-SIZE", "operation \"" + operation.name + "\": its map has too many pixels")
            .OfValue(operation.name));
      }
    }
  }
  return sizes;
}

GraphGeometry::GraphGeometry(const NetworkGraph & graph, const Extent & image)
  : m_Graph(graph)
  , m_Output(graph.GetIndex(graph.output))
  , m_Channels(graph.GetChannels())
  , m_Inputs(graph.GetInputs())
  , m_Sizes(GetMapSizes(graph, m_Inputs, image))
  , m_AxisSizes(graph.operations.size(), MapSizes(image.GetNumberOfAxes()))
  , m_FoldedInto(FindFolded(graph))
{
  for (std::size_t i = 0; i < graph.operations.size(); ++i)
  {
    const Operation & operation = graph.operations[i];
    m_Schemas.push_back(OperationSchema::Find(operation.type));
    for (int axis = 0; axis < GetNumberOfAxes(); ++axis)
    {
      m_AxisSizes[i][axis] = MakeAxisSizes(static_cast<int>(i), axis);
    }
    std::vector<int> ofInputs;
    for (const int input : m_Inputs[i])
    {
      ofInputs.push_back(m_Channels[input]);
    }
    const auto parameters = m_Schemas[i]->getParameters(operation, ofInputs);
    m_Trained.push_back(std::any_of(parameters.begin(), parameters.end(), [&](const auto & parameter) {
      return parameter.trained && !graph.IsKept(operation.GetParameter(parameter.name.c_str()));
    }));
  }
  for (std::size_t i = 0; i < graph.operations.size(); ++i)
  {
    if (IsFolded(static_cast<int>(i)) &&
        m_Trained[i]) // the norm is learnt from the gradient of the convolution's arrays
    {
      m_Trained[m_FoldedInto[i]] = true;
    }
  }
  for (std::size_t i = 0; i < graph.operations.size(); ++i)
  {
    m_BehindTrained.push_back(m_Trained[i] || std::any_of(m_Inputs[i].begin(), m_Inputs[i].end(), [this](int input) {
                                return m_BehindTrained[input];
                              }));
  }
}

AxisSizes
GraphGeometry::MakeAxisSizes(int operation, int axis) const
{
  AxisSizes sizes;
  for (const int input : m_Inputs[operation])
  {
    sizes.inputs.push_back(m_Sizes[input][axis]);
  }
  sizes.output = m_Sizes[operation][axis];
  return sizes;
}

Box
GraphGeometry::GetWhole(int operation) const
{
  return MakeWhole(m_Sizes[operation]);
}

Box
GraphGeometry::GetTiled(int operation) const
{
  return GetWhole(GetReduction(operation) ? m_Inputs[operation].front() : operation);
}

Box
GraphGeometry::GetRequired(int operation, std::size_t input, const Box & output) const
{
  Box box(GetNumberOfAxes());
  for (int axis = 0; axis < GetNumberOfAxes(); ++axis)
  {
    box[axis] = m_Schemas[operation]->getRequired(
      m_Graph.operations[operation], axis, input, output[axis], GetAxisSizes(operation, axis));
    if (box[axis].IsEmpty())
    {
      return Box(GetNumberOfAxes());
    }
  }
  return box;
}

Box
GraphGeometry::GetRead(int target, int operation, std::size_t input, const Box & output) const
{
  return operation == target && GetReduction(operation) ? output : GetRequired(operation, input, output);
}

std::vector<std::optional<Box>>
GraphGeometry::GetRequired(int target, const Box & part, const std::vector<int> & kept) const
{
  std::vector<std::optional<Box>> boxes(m_Graph.operations.size());
  boxes[target] = part;
  for (std::size_t i = boxes.size(); i-- > 0;)
  {
    if (std::find(kept.begin(), kept.end(), static_cast<int>(i)) != kept.end())
    {
      continue;
    }
    for (std::size_t j = 0; boxes[i] && j < m_Inputs[i].size(); ++j)
    {
      const Box required = GetRead(target, static_cast<int>(i), j, *boxes[i]);
      if (IsEmpty(required))
      {
        continue;
      }
      std::optional<Box> & box = boxes[m_Inputs[i][j]];
      for (int axis = 0; box && axis < GetNumberOfAxes(); ++axis)
      {
        (*box)[axis] = Hull((*box)[axis], required[axis]);
      }
      box = box ? box : required;
    }
  }
  return boxes;
}

int
GraphGeometry::GetAsRead(int operation) const
{
  const auto norm = std::find(m_FoldedInto.begin(), m_FoldedInto.end(), operation);
  return norm == m_FoldedInto.end() ? operation : static_cast<int>(norm - m_FoldedInto.begin());
}

Sampling
GraphGeometry::GetSampling(int operation, int axis) const
{
  Sampling sampling;
  while (!m_Inputs[operation].empty())
  {
    const Sampling inInput =
      m_Schemas[operation]->getSampling(m_Graph.operations[operation], axis, GetAxisSizes(operation, axis));
    sampling.step *= inInput.step;
    sampling.offset = inInput.step * sampling.offset + inInput.offset;
    operation = m_Inputs[operation].front();
  }
  return sampling;
}

Interval
GraphGeometry::GetNearest(int operation, int axis, const Interval & part) const
{
  const Sampling     sampling = GetSampling(operation, axis);
  const std::int64_t size = m_Sizes[operation][axis], ofImage = m_Sizes[0][axis];
  const auto         begin = [&](std::int64_t pixel) {
    const double middle = sampling.step * (static_cast<double>(pixel) - 0.5) + sampling.offset;
    const auto   first = static_cast<std::int64_t>(std::ceil(middle));
    return pixel == 0 ? 0 : pixel == size ? ofImage : std::clamp<std::int64_t>(first, 0, ofImage);
  };
  return { begin(part.begin), begin(part.end) };
}

Box
GraphGeometry::GetInputBox(int operation, const Box & part, const std::vector<int> & kept) const
{
  const auto boxes = GetRequired(operation, part, kept);
  for (std::size_t i = 0; i < boxes.size(); ++i)
  {
    if (m_Inputs[i].empty() && boxes[i])
    {
      return *boxes[i];
    }
  }
  return part; // of a map that does not depend on the image
}

std::vector<int>
FindReductions(const NetworkGraph & graph)
{
  std::vector<int> reductions;
  for (std::size_t i = 0; i < graph.operations.size(); ++i)
  {
    if (OperationSchema::Find(graph.operations[i].type)->getReduction(graph.operations[i]))
    {
      reductions.push_back(static_cast<int>(i));
    }
  }
  return reductions;
}

bool
IsOnePixelOfReductions(const NetworkGraph & graph)
{
  const std::vector<int> reductions = FindReductions(graph);
  if (reductions.empty())
  {
    return false;
  }
  constexpr std::int64_t Side = 1 << 16; // whatever it is
  const GraphGeometry    geometry(graph, Extent(graph.GetNumberOfAxes(), Side));
  bool                   fromImage = false;
  const auto boxes = geometry.GetRequired(geometry.GetOutput(), geometry.GetWhole(geometry.GetOutput()), reductions);
  for (std::size_t i = 0; i < boxes.size(); ++i)
  {
    fromImage = fromImage || (boxes[i] && geometry.GetInputs()[i].empty());
  }
  // What only sums up has nothing behind it that would be computed once.
  return !fromImage && !geometry.GetReduction(geometry.GetOutput()) &&
         GetNumberOfPixels(geometry.GetWhole(geometry.GetOutput())) == 1;
}

bool
IsBehindReductions(const NetworkGraph & graph)
{
  const auto        inputs = graph.GetInputs();
  std::vector<bool> behind;
  for (std::size_t i = 0; i < inputs.size(); ++i)
  {
    const Operation & operation = graph.operations[i];
    behind.push_back(OperationSchema::Find(operation.type)->getReduction(operation) ||
                     std::any_of(inputs[i].begin(), inputs[i].end(), [&](int input) { return behind[input]; }));
  }
  return behind[graph.GetIndex(graph.output)];
}

std::int64_t
GetStride(const NetworkGraph & graph)
{
  // What borders take from a map of so many pixels is not seen in the rounded ratio.
  constexpr std::int64_t Side = 1 << 24;
  constexpr std::int64_t Most = 65536;
  const GraphGeometry    geometry(graph, Extent(graph.GetNumberOfAxes(), Side));
  std::int64_t           stride = 1;
  for (std::size_t i = 0; i < graph.operations.size(); ++i)
  {
    for (const std::int64_t size : geometry.GetSize(static_cast<int>(i)))
    {
      const std::int64_t scale = (Side + size / 2) / size;
      stride = scale >= 1 && scale <= Most ? std::min(std::lcm(stride, scale), Most) : stride;
    }
  }
  return stride;
}

int
PixelLabeling::FindTiled(const GraphGeometry & geometry) const
{
  return geometry.GetOutput();
}

int
ImageLabeling::FindTiled(const GraphGeometry & geometry) const
{
  const std::vector<int> reductions = FindReductions(geometry.GetGraph());
  return *std::prev(std::lower_bound(reductions.begin(), reductions.end(), geometry.GetOutput()));
}

std::int64_t
GetHalo(const NetworkGraph & graph)
{
  // Of cores of one stride, at places that are multiples of it.
  const std::int64_t  stride = GetStride(graph);
  const std::int64_t  side = stride * std::max<std::int64_t>(1024, (1 << 20) / stride);
  const GraphGeometry geometry(graph, Extent(graph.GetNumberOfAxes(), side));
  std::vector<int>    reductions = FindReductions(graph); // what they reduce is there: they see all of it
  const int           target = Labeling::Of(graph).FindTiled(geometry);
  reductions.erase(std::remove(reductions.begin(), reductions.end(), target), reductions.end());
  const std::int64_t tiled = geometry.GetTiled(target)[0].GetLength();
  // Pixels of the image for one of the map; or, where that is larger than the image, pixels of it for one of the image.
  const std::int64_t scale = std::max<std::int64_t>(1, (side + tiled / 2) / tiled);
  const std::int64_t times = std::max<std::int64_t>(1, (tiled + side / 2) / side);
  std::int64_t       halo = 0;
  for (const std::int64_t begin : { std::int64_t{ 0 }, side / 2 / stride * stride, side - stride })
  {
    const Interval core{ begin, begin + stride };
    const Box      part(graph.GetNumberOfAxes(), { begin / scale * times, (begin + stride) / scale * times });
    for (const Interval & interval : geometry.GetInputBox(target, part, reductions))
    {
      halo = std::max({ halo, core.begin - interval.begin, interval.end - core.end });
    }
  }
  return halo;
}

} // namespace gigapixel
