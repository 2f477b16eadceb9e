/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPatchDifference.h"
#include "gigapixelGraphGeometry.h"

#include <algorithm>
#include <cmath>
#include <limits>
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

/** \class Alignment
 * \brief By how many pixels the maps of a patch begin behind those of the whole image, along one axis. */
class Alignment
{
public:
  Alignment(const GraphGeometry & patch, const GraphGeometry & image, int axis)
    : m_Output(image.GetOutput())
    , m_Shifts(image.GetInputs().size())
  {
    for (std::size_t i = 0; i < m_Shifts.size(); ++i)
    {
      m_Placements.push_back(this->MakePlacement(patch, image, axis, static_cast<int>(i)));
      m_HasPlace.push_back(image.GetInputs()[i].empty() || !m_Placements.back().inputs.empty());
    }
  }

  /** The operations whose outputs lie between those of the whole image. \param begin of the patch, in the image
   * \param most after which no more are looked for */
  Places
  FindMisplaced(std::int64_t begin, std::size_t most)
  {
    Places misplaced;
    for (std::size_t i = 0; i < m_Shifts.size() && misplaced.size() < most; ++i)
    {
      m_Shifts[i] = static_cast<double>(begin);
      if (!m_Placements[i].inputs.empty() && !this->Shift(i))
      {
        misplaced.insert(static_cast<int>(i));
      }
    }
    if (misplaced.empty() && m_Shifts[m_Output] != static_cast<double>(begin))
    {
      misplaced.insert(m_Output);
    }
    return misplaced;
  }

private:
  /** Of an operation's outputs, whatever place the patch has. */
  struct Placement
  {
    std::vector<int> inputs;            ///< those whose values count, the first one first
    double           step{ 1 };         ///< from output to output in the first input
    double           behind{ 0 };       ///< by so much the patch's first output is farther into it than the image's
    bool             sameStep{ false }; ///< as in the whole image
  };

  /** None of what the whole image is reduced to, and of what is computed from nothing else. */
  Placement
  MakePlacement(const GraphGeometry & patch, const GraphGeometry & image, int axis, int operation) const
  {
    const std::vector<int> & inputs = image.GetInputs()[operation];
    if (inputs.empty())
    {
      return {};
    }
    const OperationSchema & schema = image.GetSchema(operation);
    const Operation &       it = image.GetGraph().operations[operation];
    const AxisSizes &       sizes = image.GetAxisSizes(operation, axis);
    const Sampling          inPatch = schema.getSampling(it, axis, patch.GetAxisSizes(operation, axis));
    const Sampling          inImage = schema.getSampling(it, axis, sizes);
    Placement               placement{ {}, inPatch.step, 0, IsNear(inPatch.step, inImage.step) };
    placement.behind = placement.sameStep ? inPatch.offset - inImage.offset : 0.0;
    for (std::size_t j = 0; j < inputs.size() && !image.GetReduction(operation); ++j)
    {
      const bool counts = j == 0 || !schema.getRequired(it, axis, j, { 0, 1 }, sizes).IsEmpty(); // not its size alone
      if (counts && m_HasPlace[inputs[j]])
      {
        placement.inputs.push_back(inputs[j]);
      }
    }
    return placement;
  }

  /** \return whether the operation's outputs lie on those of the whole image, a whole number of them behind */
  bool
  Shift(std::size_t operation)
  {
    const Placement & placement = m_Placements[operation];
    const double      first = m_Shifts[placement.inputs.front()];
    const double      shift = (first + placement.behind) / placement.step;
    m_Shifts[operation] = std::round(shift);
    return placement.sameStep && IsNear(shift, m_Shifts[operation]) &&
           std::all_of(
             placement.inputs.begin(), placement.inputs.end(), [&](int input) { return m_Shifts[input] == first; });
  }

  int                    m_Output;
  std::vector<double>    m_Shifts;
  std::vector<Placement> m_Placements;
  std::vector<bool>      m_HasPlace;
};

/** Along all axes. */
std::vector<Alignment>
MakeAlignments(const GraphGeometry & patch, const GraphGeometry & image)
{
  std::vector<Alignment> alignments;
  alignments.reserve(patch.GetNumberOfAxes());
  for (int axis = 0; axis < patch.GetNumberOfAxes(); ++axis)
  {
    alignments.emplace_back(patch, image, axis);
  }
  return alignments;
}

Places
FindMisplaced(std::vector<Alignment> && alignments, std::int64_t begin)
{
  Places misplaced;
  for (Alignment & alignment : alignments)
  {
    misplaced.merge(alignment.FindMisplaced(begin, std::numeric_limits<std::size_t>::max()));
  }
  return misplaced;
}

/** The least place of patches for which no operation is misplaced. \return 0: there is none up to `most` */
std::int64_t
FindMultiple(std::vector<Alignment> && alignments, std::int64_t most)
{
  for (std::int64_t begin = 1; begin <= most; ++begin)
  {
    if (std::all_of(alignments.begin(), alignments.end(), [begin](Alignment & alignment) {
          return alignment.FindMisplaced(begin, 1).empty();
        }))
    {
      return begin;
    }
  }
  return 0;
}

GraphGeometry
MakeSquare(const NetworkGraph & graph, std::int64_t side)
{
  return { graph, Extent(graph.GetNumberOfAxes(), side) };
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
      misplaced.merge(FindMisplaced(MakeAlignments(patch, MakeSquare(graph, side + rest)), multiple));
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
    for (int axis = 0; axis < patch.GetNumberOfAxes() && border.empty(); ++axis)
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

/** Norms in the place of their statistics. */
std::map<std::string, int>
CountReductions(const GraphGeometry & patch)
{
  std::map<std::string, int> counts;
  const auto &               operations = patch.GetGraph().operations;
  for (std::size_t i = 0; i < operations.size(); ++i)
  {
    const auto place = static_cast<int>(i);
    if (patch.GetSchema(place).Is(Role::WholeImageNorm) ||
        (patch.GetReduction(place) && operations[i].type != StatisticsType))
    {
      ++counts[operations[i].type];
    }
  }
  return counts;
}

} // namespace

PatchDifference
PatchDifference::Make(const NetworkDescription & network)
{
  constexpr std::int64_t MostStrides = 16, LeastSide = 256;
  const NetworkGraph &   graph = network.graph;
  const std::int64_t     stride = network.GetStride();
  std::int64_t           side = stride; // of a patch, with a middle that no border reaches
  while (side < LeastSide || side < 4 * network.GetHalo())
  {
    side *= 2;
  }
  const GraphGeometry patch = MakeSquare(graph, side), image = MakeSquare(graph, 4 * side);
  PatchDifference     difference{
    CountBorders(patch), FindMultiple(MakeAlignments(patch, image), MostStrides * stride), {}, CountReductions(patch)
  };
  difference.sizes =
    CountTypes(graph,
               difference.multiple == 0 ? FindMisplaced(MakeAlignments(patch, image), stride)
                                        : FindMisplacedByRemainders(graph, patch, 4 * side, difference.multiple));
  return difference;
}

} // namespace gigapixel
