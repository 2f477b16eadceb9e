/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPatchDifference.h"
#include "gigapixelGraphGeometry.h"
#include "gigapixelLayerChain.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

/** Places of operations. */
using Places = std::set<int>;

bool
IsNear(double a, double b)
{
  return std::abs(a - b) < 1e-9 * std::max(1.0, std::abs(b));
}

/** Whether the values of an input count, and not its size alone. */
bool
IsSampled(const GraphGeometry & geometry, int operation, std::size_t input, int axis)
{
  const Operation & it = geometry.GetGraph().operations[operation];
  return !geometry.GetSchema(operation)
            .getRequired(it, axis, input, { 0, 1 }, geometry.GetAxisSizes(operation, axis))
            .IsEmpty();
}

/** \class Alignment
 * \brief By how many pixels the maps of a patch begin behind those of the whole image, along one axis. */
class Alignment
{
public:
  Alignment(const GraphGeometry & patch, const GraphGeometry & image, int axis)
    : m_Patch(patch)
    , m_Image(image)
    , m_Axis(axis)
    , m_Shifts(image.GetInputs().size())
  {}

  /** The operations whose outputs lie between those of the whole image. \param begin of the patch, in the image */
  Places
  FindMisplaced(std::int64_t begin)
  {
    Places misplaced;
    for (std::size_t i = 0; i < m_Shifts.size(); ++i)
    {
      const auto operation = static_cast<int>(i);
      m_Shifts[i] = static_cast<double>(begin);
      if (!m_Image.GetInputs()[i].empty() && !this->Shift(operation))
      {
        misplaced.insert(operation);
      }
    }
    if (misplaced.empty() && m_Shifts[m_Image.GetOutput()] != static_cast<double>(begin))
    {
      misplaced.insert(m_Image.GetOutput());
    }
    return misplaced;
  }

private:
  /** \return whether the operation's outputs lie on those of the whole image, a whole number of them behind */
  bool
  Shift(int operation)
  {
    const OperationSchema &  schema = m_Image.GetSchema(operation);
    const Operation &        it = m_Image.GetGraph().operations[operation];
    const std::vector<int> & inputs = m_Image.GetInputs()[operation];
    const Sampling           inPatch = schema.getSampling(it, m_Axis, m_Patch.GetAxisSizes(operation, m_Axis));
    const Sampling           inImage = schema.getSampling(it, m_Axis, m_Image.GetAxisSizes(operation, m_Axis));
    const double             first = m_Shifts[inputs.front()];
    const bool               sameStep = IsNear(inPatch.step, inImage.step);
    const double             behind = first + (sameStep ? inPatch.offset - inImage.offset : 0.0);
    const double             shift = behind / inPatch.step;
    m_Shifts[operation] = std::round(shift);
    bool same = sameStep && IsNear(shift, m_Shifts[operation]);
    for (std::size_t j = 1; j < inputs.size(); ++j)
    {
      same = same && (m_Shifts[inputs[j]] == first || !IsSampled(m_Image, operation, j, m_Axis));
    }
    return same;
  }

  const GraphGeometry & m_Patch;
  const GraphGeometry & m_Image;
  int                   m_Axis;
  std::vector<double>   m_Shifts;
};

Places
FindMisplaced(const GraphGeometry & patch, const GraphGeometry & image, std::int64_t begin)
{
  Places misplaced;
  for (int axis = 0; axis < NetworkGraph::NumberOfAxes; ++axis)
  {
    misplaced.merge(Alignment(patch, image, axis).FindMisplaced(begin));
  }
  return misplaced;
}

GraphGeometry
MakeSquare(const NetworkGraph & graph, std::int64_t side)
{
  Extent extent;
  extent.fill(side);
  return { graph, extent };
}

/** Of images whose sides are no multiples. \param side of an image that is a multiple */
Places
FindMisplacedByRemainders(const NetworkGraph &  graph,
                          const GraphGeometry & patch,
                          std::int64_t          side,
                          std::int64_t          multiple)
{
  constexpr std::int64_t FewestRemainders = 3, MostRemainders = 64;
  Places                 misplaced;
  for (std::int64_t rest = 1; rest <= std::clamp(multiple - 1, FewestRemainders, MostRemainders); ++rest)
  {
    try
    {
      misplaced.merge(FindMisplaced(patch, MakeSquare(graph, side + rest), multiple));
    }
    catch (const std::invalid_argument &)
    {
      continue; // there are no such images
    }
  }
  return misplaced;
}

std::map<std::string, int>
CountTypes(const NetworkGraph & graph, const Places & places)
{
  std::map<std::string, int> counts;
  for (const int place : places)
  {
    ++counts[graph.operations[place].type];
  }
  return counts;
}

std::map<std::string, int>
CountBorders(const GraphGeometry & patch)
{
  std::map<std::string, int> counts;
  const auto &               operations = patch.GetGraph().operations;
  for (std::size_t i = 0; i < operations.size(); ++i)
  {
    const auto  place = static_cast<int>(i);
    std::string border;
    for (int axis = 0; axis < NetworkGraph::NumberOfAxes && border.empty(); ++axis)
    {
      border = patch.GetSchema(place).getBorder(operations[i], axis, patch.GetAxisSizes(place, axis));
    }
    if (!border.empty())
    {
      ++counts[operations[i].type + " (" + border + ')'];
    }
  }
  return counts;
}

} // namespace

PatchDifference
PatchDifference::Make(const NetworkDescription & network)
{
  constexpr std::int64_t MostStrides = 16, LeastSide = 256;
  const NetworkGraph     graph = network.graph.IsEmpty() ? MakeChainGraph(network) : network.graph;
  const std::int64_t     stride = network.GetStride();
  std::int64_t           side = stride; // of a patch, with a middle that no border reaches
  while (side < LeastSide || side < 4 * network.GetHalo())
  {
    side *= 2;
  }
  const GraphGeometry patch = MakeSquare(graph, side), image = MakeSquare(graph, 4 * side);
  PatchDifference     difference{ CountBorders(patch), 0, {} };
  for (std::int64_t begin = 1; begin <= MostStrides * stride && difference.multiple == 0; ++begin)
  {
    difference.multiple = FindMisplaced(patch, image, begin).empty() ? begin : 0;
  }
  difference.sizes =
    CountTypes(graph,
               difference.multiple == 0 ? FindMisplaced(patch, image, stride)
                                        : FindMisplacedByRemainders(graph, patch, 4 * side, difference.multiple));
  return difference;
}

} // namespace gigapixel
