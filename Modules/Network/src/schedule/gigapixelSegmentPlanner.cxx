/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSegmentPlanner.h"
#include "gigapixelLabeling.h"
#include "gigapixelImageKind.h"
#include "gigapixelTileGrid.h"
#include "gigapixelTileProgram.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace gigapixel
{
namespace
{

constexpr std::size_t MostKept = 4;
constexpr std::size_t MostCandidates = 32;
constexpr double      MostValues = 8.5;      ///< of a map that may be kept, for each pixel of the image
constexpr double      LeastGain = 0.9;       ///< of the time without segments
constexpr double      TrafficTimes = 2.5;    ///< maps are written once and read twice or thrice, and so are gradients
constexpr double      BytesPerSecond = 1e9;  ///< of a disk
constexpr double      TimesOfBFloat16 = 1.6; ///< a float's rate
constexpr double      None = std::numeric_limits<double>::infinity();

/** \class SegmentPlanner
 * \brief Looks for the segments that take the least time. */
class SegmentPlanner
{
public:
  SegmentPlanner(const NetworkDescription & network,
                 Size                       image,
                 std::int64_t               bytes,
                 Precision                  precision,
                 Purpose                    purpose)
    : m_Network(network)
    , m_Training(purpose == Purpose::Training)
    , m_Stride(network.GetStride())
    , m_Bytes(bytes)
    , m_Precision(precision)
    , m_Geometry(network.graph, ToExtent(image, network.graph.GetNumberOfAxes()))
    , m_Sources(m_Geometry.GetInputs().size())
  {
    for (std::size_t i = 0; i < m_Sources.size(); ++i)
    {
      const Box                whole = m_Geometry.GetTiled(static_cast<int>(i));
      const std::vector<int> & inputs = m_Geometry.GetInputs()[i];
      for (std::size_t j = 0; j < inputs.size(); ++j)
      {
        if (GetNumberOfPixels(m_Geometry.GetRequired(static_cast<int>(i), j, whole)) > 0)
        {
          m_Sources[i].push_back(inputs[j]);
        }
      }
      const TileProgram alone = TileProgram::Make(m_Geometry, static_cast<int>(i), inputs, whole, true);
      m_Least.push_back(alone.GetOperations(network.graph) / GetRate(1, precision));
    }
  }

  /** Of a network that sees the whole image. */
  std::vector<SegmentPlan>
  ChooseReducing(bool keepsMaps)
  {
    return Describe(FindKept(m_Geometry, keepsMaps ? FindReducedAndRead(m_Geometry) : std::vector<int>{}));
  }

  /** Of inference: all maps that convolutions read are kept, and then those no longer without which it is faster. */
  std::vector<SegmentPlan>
  ChooseForInference()
  {
    std::vector<int> kept = FindCandidatesForInference();
    double           least = GetSeconds(kept, None);
    const auto       without = [&](std::size_t i) {
      std::vector<int> others = kept;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      return others;
    };
    for (bool found = true; found;)
    {
      found = false;
      std::size_t best = 0;
      for (std::size_t i = 0; i < kept.size(); ++i)
      {
        const double seconds = GetSeconds(without(i), least);
        if (seconds < least)
        {
          least = seconds;
          best = i;
          found = true;
        }
      }
      kept = found ? without(best) : kept;
    }
    return least < LeastGain * GetSeconds({}, None) ? Describe(kept) : std::vector<SegmentPlan>();
  }

  /** Of a network that labels images, what it is reduced to lies behind the maps that may be kept. */
  std::vector<SegmentPlan>
  Choose()
  {
    const auto       reductions = FindKept(m_Geometry, {});
    double           least = LeastGain * GetSeconds(reductions, None);
    std::vector<int> best, kept;
    auto             candidates = FindCandidates();
    candidates.erase(std::remove_if(candidates.begin(),
                                    candidates.end(),
                                    [&](int map) { return !reductions.empty() && map >= reductions.front(); }),
                     candidates.end());
    const auto withReductions = [&] {
      std::vector<int> all = kept;
      all.insert(all.end(), reductions.begin(), reductions.end());
      return all;
    };
    const auto tryFrom = [&](std::size_t first, const auto & self) -> void {
      for (std::size_t i = first; i < candidates.size() && kept.size() < MostKept; ++i)
      {
        kept.push_back(candidates[i]);
        const double seconds = GetSeconds(withReductions(), least);
        if (seconds < least)
        {
          least = seconds;
          best = withReductions();
        }
        self(i + 1, self);
        kept.pop_back();
      }
    };
    tryFrom(0, tryFrom);
    return best.empty() ? std::vector<SegmentPlan>() : Describe(best);
  }

private:
  struct Cost
  {
    double       seconds{ None };  ///< of a forward pass over the map
    double       withRest{ None }; ///< and those in which other cores rest beside the last tile
    std::int64_t tileSize{ 0 };    ///< in pixels of the map
  };

  /** Of operations in a row whose maps are of one size, smaller than the image, the one that most operations beyond
   * them read, the last of several; if its map has few values. */
  std::vector<int>
  FindCandidates() const
  {
    const Extent     image = m_Geometry.GetSize(0);
    const auto       number = static_cast<int>(m_Sources.size());
    std::vector<int> candidates;
    for (int begin = 0, end = 0; begin < number; begin = end)
    {
      const Extent & size = m_Geometry.GetSize(begin);
      for (end = begin; end < number && m_Geometry.GetSize(end) == size; ++end)
      {}
      const int    most = FindMostRead(begin, end);
      const double part = CountPixels(size) / CountPixels(image);
      if (size[0] < image[0] && part * m_Geometry.GetChannels(most) <= MostValues && m_Geometry.IsBehindTrained(most))
      {
        candidates.push_back(most);
      }
    }
    return FindKept(m_Geometry, TakeSome(candidates));
  }

  /** Maps that convolutions, or several operations, read. */
  std::vector<int>
  FindCandidatesForInference() const
  {
    const std::vector<Operation> & operations = m_Geometry.GetGraph().operations;
    std::vector<int>               readers(operations.size()), read;
    for (std::size_t i = 0; i < operations.size(); ++i)
    {
      const bool hasWeight = OperationSchema::Find(operations[i].type)->weight;
      for (const int input : m_Sources[i])
      {
        if (++readers[input] > 1 || hasWeight)
        {
          read.push_back(input);
        }
      }
    }
    return FindKept(m_Geometry, TakeSome(read));
  }

  /** Of more candidates than can be tried some of them, evenly: there are 40 thousand ways to keep up to four of 32,
   * and networks that change sizes to and fro, or have many convolutions, have more. */
  static std::vector<int>
  TakeSome(std::vector<int> candidates)
  {
    if (const std::size_t all = candidates.size(); all > MostCandidates)
    {
      for (std::size_t i = 0; i < MostCandidates; ++i)
      {
        candidates[i] = candidates[i * all / MostCandidates];
      }
      candidates.resize(MostCandidates);
    }
    return candidates;
  }

  static double
  CountPixels(const Extent & size)
  {
    return std::accumulate(size.begin(), size.end(), 1.0, [](double product, std::int64_t length) {
      return product * static_cast<double>(length);
    });
  }

  /** By operations behind the row. */
  int
  FindMostRead(int begin, int end) const
  {
    std::vector<int> readers(end - begin);
    for (std::size_t i = end; i < m_Geometry.GetInputs().size(); ++i)
    {
      for (const int input : m_Geometry.GetInputs()[i])
      {
        if (input >= begin && input < end)
        {
          ++readers[input - begin];
        }
      }
    }
    return end - 1 - static_cast<int>(std::max_element(readers.rbegin(), readers.rend()) - readers.rbegin());
  }

  std::vector<Segment>
  GetSegments(const std::vector<int> & kept) const
  {
    return MakeSegments(m_Geometry, kept, std::vector<std::int64_t>(kept.size() + 1));
  }

  /** \param enough what is no less is not computed to the end */
  double
  GetSeconds(const std::vector<int> & kept, double enough)
  {
    double           seconds = GetTrafficSeconds(GetKeptBytes(m_Geometry, kept, sizeof(float), m_Training), m_Training);
    std::vector<Key> unknown;
    std::vector<double> least;
    for (const Segment & segment : GetSegments(kept))
    {
      Key        key{ segment.operation };
      const auto atLeast = FindRead(segment, key);
      const auto found = m_Known.find(key);
      seconds += GetPasses(key) * (found == m_Known.end() ? atLeast : found->second.seconds);
      if (found == m_Known.end())
      {
        unknown.push_back(key);
        least.push_back(atLeast);
      }
    }
    for (std::size_t i = 0; i < unknown.size() && seconds < enough; ++i)
    {
      seconds += GetPasses(unknown[i]) * (FindBest(unknown[i]).seconds - least[i]);
    }
    return seconds;
  }

  std::vector<SegmentPlan>
  Describe(const std::vector<int> & kept)
  {
    std::vector<SegmentPlan> plan;
    for (const Segment & segment : GetSegments(kept))
    {
      Key key{ segment.operation };
      FindRead(segment, key);
      const std::int64_t best = FindBest(key).tileSize; // 0: none is small enough, of segments that there have to be
      plan.push_back(
        { m_Geometry.GetGraph().operations[segment.operation].name,
          best > 0 ? best
                   : GetTileSize(segment.operation, ImageKind::Of(m_Geometry.GetNumberOfAxes()).sides.tiles.front()) });
    }
    return plan;
  }

  /** An operation, and the kept maps that it is computed from: segments of which it is the same are computed alike. */
  using Key = std::vector<int>;

  double
  GetPasses(const Key & key) const
  {
    return m_Training ? gigapixel::GetPasses(m_Network, key.front() == m_Geometry.GetOutput()) : 1;
  }

  /** Completes the key. \return less seconds than any tiles take: without halos */
  double
  FindRead(const Segment & segment, Key & key) const
  {
    constexpr double  Slack = 0.9; // tiles are estimated by one of them
    double            seconds = 0;
    std::vector<char> reached(m_Sources.size());
    reached[segment.operation] = 1;
    for (int i = segment.operation; i >= 0; --i)
    {
      const bool isKept = std::find(segment.kept.begin(), segment.kept.end(), i) != segment.kept.end();
      seconds += reached[i] && !isKept ? m_Least[i] : 0;
      for (std::size_t j = 0; reached[i] && !isKept && j < m_Sources[i].size(); ++j)
      {
        reached[m_Sources[i][j]] = 1;
      }
    }
    std::copy_if(segment.kept.begin(), segment.kept.end(), std::back_inserter(key), [&](int operation) {
      return reached[operation];
    });
    return Slack * seconds;
  }

  /** The tile size that fits and is the fastest on two cores, of which one rests while the other one computes the last
   * tile: whatever the number of threads is, so that all have the same bits. */
  const Cost &
  FindBest(const Key & key)
  {
    const auto [found, added] = m_Known.try_emplace(key);
    Cost &       best = found->second;
    const auto & sizes = ImageKind::Of(m_Geometry.GetNumberOfAxes()).sides.tiles;
    for (std::size_t i = 0; added && i < sizes.size(); ++i)
    {
      if (!Try({ key.front(), GetTileSize(key.front(), sizes[i]), { key.begin() + 1, key.end() } }, best))
      {
        break;
      }
    }
    return best;
  }

  /** \param side in pixels of the image */
  std::int64_t
  GetTileSize(int operation, std::int64_t side) const
  {
    const std::int64_t tiled = m_Geometry.GetTiled(operation)[0].GetLength();
    const std::int64_t scale = (m_Geometry.GetSize(0)[0] + tiled - 1) / tiled;
    return operation == m_Geometry.GetOutput() ? RoundUp(side, m_Stride) : std::max<std::int64_t>(1, side / scale);
  }

  /** By a tile in the middle, which stands for all. \return false: larger ones need not be tried */
  bool
  Try(const Segment & segment, Cost & best) const
  {
    Box    core(m_Geometry.GetNumberOfAxes());
    bool   all = true;
    double tiles = 1;
    for (int axis = 0; axis < core.GetNumberOfAxes(); ++axis)
    {
      const std::int64_t size = m_Geometry.GetTiled(segment.operation)[axis].GetLength();
      const std::int64_t begin = (size - 1) / segment.tileSize / 2 * segment.tileSize;
      core[axis] = { begin, std::min(size, begin + segment.tileSize) };
      tiles *= static_cast<double>(size) / static_cast<double>(core[axis].GetLength());
      all = all && core[axis].GetLength() == size;
    }
    const NetworkGraph & graph = m_Geometry.GetGraph();
    const TileProgram    program = TileProgram::Make(m_Geometry, segment.operation, segment.kept, core, m_Training);
    const double         reading =
      m_Training ? 0 : GetReadSeconds(static_cast<double>(program.GetReadBytes(graph, sizeof(float))));
    const double seconds =
      tiles * (program.GetOperations(graph) / GetRate(program.GetGreatestSide(), m_Precision) + reading);
    const double withRest = seconds * (1 + 1 / tiles);
    if (withRest < best.withRest)
    {
      if (program.GetPeakBytes(graph, m_Training, GetValueBytes(m_Precision)) > m_Bytes)
      {
        return false;
      }
      best = { seconds, withRest, segment.tileSize };
    }
    return !all;
  }

  const NetworkDescription &    m_Network;
  const bool                    m_Training;
  const std::int64_t            m_Stride;
  const std::int64_t            m_Bytes;
  const Precision               m_Precision;
  const GraphGeometry           m_Geometry;
  std::vector<std::vector<int>> m_Sources; ///< of each operation, those whose values it is computed from
  std::vector<double>           m_Least;   ///< seconds of a forward pass over each operation's map
  std::map<Key, Cost>           m_Known;
};

} // namespace

double
GetRate(std::int64_t side, Precision precision)
{
  // Of a U-Net whose first maps have 16 channels: tiles of 256 to 4096 pixels and their halo.
  const double ofFloats = side <= 800 ? 66e9 : side <= 1000 ? 59e9 : side <= 1280 ? 53e9 : side <= 2304 ? 51e9 : 50e9;
  return precision == Precision::BFloat16 ? TimesOfBFloat16 * ofFloats : ofFloats;
}

double
GetPasses(const NetworkDescription & network, bool ofOutput)
{
  constexpr double ForwardAndBackward = 3;
  return ForwardAndBackward + (!ofOutput || network.TakesSumsFirst() ? 1 : 0);
}

double
GetTrafficSeconds(std::int64_t keptBytes, bool training)
{
  return (training ? TrafficTimes : 1) * static_cast<double>(keptBytes) / BytesPerSecond;
}

double
GetReadSeconds(double bytes)
{
  return bytes / BytesPerSecond;
}

std::vector<SegmentPlan>
ChooseSegments(const NetworkDescription & network,
               Size                       image,
               std::int64_t               bytes,
               Precision                  precision,
               Purpose                    purpose,
               bool                       keepsMaps)
{
  SegmentPlanner planner(network, image, bytes, precision, purpose);
  return Labeling::HasPixelsOfReductions(network.graph) ? planner.ChooseReducing(keepsMaps)
         : purpose == Purpose::Training                 ? planner.Choose()
                                                        : planner.ChooseForInference();
}

} // namespace gigapixel
