/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSegment.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelTileGrid.h"
#include "graph/gigapixelLabelings.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace gigapixel
{

std::vector<int>
FindKept(const GraphGeometry & geometry, const std::vector<int> & operations)
{
  std::set<int> wanted;
  for (const int operation : operations)
  {
    const int asRead = geometry.GetAsRead(operation);
    if (asRead != geometry.GetOutput() && !geometry.GetInputs()[asRead].empty())
    {
      wanted.insert(asRead);
    }
  }
  for (std::size_t i = 0; i < geometry.GetInputs().size(); ++i)
  {
    if (geometry.GetReduction(static_cast<int>(i)))
    {
      wanted.insert(static_cast<int>(i));
    }
  }
  // From the output backwards: what a segment reads that is needed itself.
  std::vector<int> kept;
  std::set<int>    read;
  const auto       go = [&](int target) {
    wanted.erase(target);
    const auto boxes = geometry.GetRequired(target, geometry.GetTiled(target), { wanted.begin(), wanted.end() });
    for (const int operation : wanted)
    {
      if (boxes[operation])
      {
        read.insert(operation);
      }
    }
  };
  go(geometry.GetOutput());
  while (!wanted.empty())
  {
    const int last = *wanted.rbegin();
    if (read.count(last) == 0)
    {
      wanted.erase(last);
      continue;
    }
    kept.insert(kept.begin(), last);
    go(last);
  }
  return kept;
}

std::vector<Segment>
MakeSegments(const GraphGeometry &             geometry,
             const std::vector<int> &          operations,
             const std::vector<std::int64_t> & tileSizes)
{
  std::vector<Segment> segments;
  for (std::size_t i = 0; i <= operations.size(); ++i)
  {
    const int target = i < operations.size() ? operations[i] : geometry.GetOutput();
    segments.push_back({ target, tileSizes[i], { operations.begin(), operations.begin() + i } });
  }
  return segments;
}

std::vector<int>
FindReducedAndRead(const GraphGeometry & geometry)
{
  const auto &     inputs = geometry.GetInputs();
  std::vector<int> found;
  for (std::size_t i = 0; i < inputs.size(); ++i)
  {
    for (std::size_t j = 0; geometry.GetReduction(static_cast<int>(i)) && j < inputs[i].size(); ++j)
    {
      const int  map = inputs[i][j];
      const auto readsToo = [&](const std::vector<int> & ofReader) {
        return &ofReader != &inputs[i] && std::find(ofReader.begin(), ofReader.end(), map) != ofReader.end();
      };
      if (std::any_of(inputs.begin(), inputs.end(), readsToo))
      {
        found.push_back(map);
      }
    }
  }
  return found;
}

namespace
{

/** The axis; of equal ones the last. */
int
FindLongest(const Extent & size)
{
  int longest = size.GetNumberOfAxes() - 1;
  for (int axis = longest; axis-- > 0;)
  {
    longest = size[axis] > size[longest] ? axis : longest;
  }
  return longest;
}

} // namespace

std::vector<int>
PixelLabeling::FindKept(const GraphGeometry & geometry) const
{
  return FindReducedAndRead(geometry);
}

std::vector<int>
ImageLabeling::FindKept(const GraphGeometry &) const
{
  return {};
}

std::vector<SegmentPlan>
MakeReducingSegments(const GraphGeometry & geometry, std::int64_t tileSize)
{
  std::vector<int> operations = FindKept(geometry, Labeling::Of(geometry.GetGraph()).FindKept(geometry));
  operations.push_back(geometry.GetOutput());
  std::vector<SegmentPlan> plan;
  for (const int operation : operations)
  {
    // Of the longer side, so that small images are as others.
    const int          axis = FindLongest(geometry.GetSize(0));
    const std::int64_t side = geometry.GetSize(0)[axis], tiled = geometry.GetTiled(operation)[axis].GetLength();
    const std::int64_t scale = (side + tiled - 1) / tiled;
    plan.push_back({ geometry.GetGraph().operations[operation].name, RoundUp(tileSize, scale) / scale });
  }
  return plan;
}

std::int64_t
GetMostKeptBytes(const GraphGeometry & geometry, const std::vector<Segment> & segments, int valueBytes, bool training)
{
  std::int64_t  now = 0, most = 0;
  std::set<int> gradients;
  const auto    last = training ? std::map<int, std::size_t>() : FindLastReaders(geometry, segments);
  const auto    getBytes = [&](int operation) {
    return geometry.GetReduction(operation)
                ? 0
                : GetNumberOfBytes(geometry.GetWhole(operation), geometry.GetChannels(operation), valueBytes);
  };
  const auto take = [&](int operation) {
    now += getBytes(operation);
    most = std::max(most, now);
  };
  for (std::size_t i = 0; i + 1 < segments.size(); ++i)
  {
    take(segments[i].operation);
    for (std::size_t j = 0; !training && j <= i; ++j)
    {
      now -= last.at(segments[j].operation) == i ? getBytes(segments[j].operation) : 0;
    }
  }
  for (std::size_t i = segments.size(); training && i-- > 0;)
  {
    const Segment & segment = segments[i];
    const auto      boxes = geometry.GetRequired(segment.operation, geometry.GetTiled(segment.operation), segment.kept);
    for (const int operation : segment.kept)
    {
      if (boxes[operation] && geometry.IsBehindTrained(operation) && gradients.insert(operation).second)
      {
        take(operation);
      }
    }
    if (i + 1 < segments.size())
    {
      now -= (gradients.count(segment.operation) > 0 ? 2 : 1) * getBytes(segment.operation);
    }
  }
  return most;
}

std::int64_t
GetReducedBytes(const GraphGeometry & geometry, const std::vector<int> & operations, int valueBytes, bool gradients)
{
  std::int64_t bytes = 0;
  for (const int operation : operations)
  {
    if (const ReductionSchema * const reduction = geometry.GetReduction(operation))
    {
      const int          input = geometry.GetInputs()[operation].front();
      const std::int64_t sums =
        reduction->countSums(geometry.GetGraph().operations[operation], geometry.GetChannels(input));
      const int ofValue = valueBytes + (gradients ? static_cast<int>(sizeof(double)) : 0);
      bytes += sums * static_cast<std::int64_t>(sizeof(double)) +
               GetNumberOfBytes(geometry.GetWhole(operation), geometry.GetChannels(operation), ofValue);
    }
  }
  return bytes;
}

std::map<int, std::size_t>
FindLastReaders(const GraphGeometry & geometry, const std::vector<Segment> & segments)
{
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < segments.size(); ++i)
  {
    const Segment & segment = segments[i];
    const auto      boxes = geometry.GetRequired(segment.operation, geometry.GetTiled(segment.operation), segment.kept);
    last[segment.operation] = i;
    for (const int operation : segment.kept)
    {
      last[operation] = boxes[operation] ? i : last[operation];
    }
  }
  return last;
}

std::int64_t
GetKeptBytes(const GraphGeometry & geometry, const std::vector<int> & operations, int valueBytes, bool gradients)
{
  std::int64_t bytes = 0;
  for (const int operation : operations)
  {
    bytes += geometry.GetReduction(operation)
               ? 0
               : (gradients ? 2 : 1) *
                   GetNumberOfBytes(geometry.GetWhole(operation), geometry.GetChannels(operation), valueBytes);
  }
  return bytes;
}

std::int64_t
GetScratchBytes(const GraphGeometry & geometry, const std::vector<Segment> & segments, int valueBytes, bool training)
{
  return training ? GetKeptBytes(geometry, segments.back().kept, valueBytes)
                  : GetMostKeptBytes(geometry, segments, valueBytes, false);
}

std::vector<Segment>
MakeSegments(const GraphGeometry & geometry, const std::vector<SegmentPlan> & plan)
{
  std::vector<int>          operations;
  std::vector<std::int64_t> tileSizes;
  for (const SegmentPlan & segment : plan)
  {
    operations.push_back(geometry.GetGraph().GetIndex(segment.operation));
    tileSizes.push_back(segment.tileSize);
  }
  const bool atEnd = !operations.empty() && operations.back() == geometry.GetOutput();
  operations.resize(atEnd ? operations.size() - 1 : 0);
  if (!atEnd || FindKept(geometry, operations) != operations ||
      std::any_of(tileSizes.begin(), tileSizes.end(), [](std::int64_t size) { return size < 1; }))
  {
    throw InvalidArgument(Diagnostic("E-OPTION-VALUE", "these segments are none of the network"));
  }
  return MakeSegments(geometry, operations, tileSizes);
}

} // namespace gigapixel
