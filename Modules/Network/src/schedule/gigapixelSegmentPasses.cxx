/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSegmentPasses.h"
#include "gigapixelTileProgram.h"

#include <algorithm>

namespace gigapixel
{

SegmentPasses::SegmentPasses(const std::shared_ptr<const GraphGeometry> & geometry,
                             const std::vector<Segment> &                 segments,
                             const std::vector<SegmentPass> &             passes)
  : m_Geometry(geometry)
  , m_Segments(segments)
{
  std::int64_t begin = 0;
  for (const SegmentPass & pass : passes)
  {
    const Segment & segment = segments[pass.segment];
    const bool      reduces = geometry->GetReduction(segment.operation) != nullptr;
    m_Runs.push_back({ pass, begin, TileGrid(geometry, segment, pass.IsBackward()), reduces });
    begin += m_Runs.back().grid.GetNumberOfTiles();
    if (pass.IsBackward())
    {
      this->FindReads(*geometry, segment, m_Runs.back());
    }
  }
}

/** Of whole rows and columns of tiles: what a tile reads lies in what its row and its column read. */
void
SegmentPasses::FindReads(const GraphGeometry & geometry, const Segment & segment, Run & run) const
{
  const Box whole = geometry.GetTiled(segment.operation);
  for (int axis = 0; axis < geometry.GetNumberOfAxes(); ++axis)
  {
    for (std::int64_t begin = 0; begin < whole[axis].end; begin += segment.tileSize)
    {
      Box strip = whole;
      strip[axis] = { begin, std::min(whole[axis].end, begin + segment.tileSize) };
      const auto boxes = geometry.GetRequired(segment.operation, strip, segment.kept);
      for (const int operation : segment.kept)
      {
        const std::int64_t never = geometry.GetSize(operation)[axis];
        run.reads.try_emplace(operation, geometry.GetNumberOfAxes())
          .first->second[axis]
          .push_back(boxes[operation] ? (*boxes[operation])[axis].begin : never);
      }
    }
    for (auto & read : run.reads)
    {
      std::vector<std::int64_t> & begins = read.second[axis];
      for (std::size_t i = begins.size(); i-- > 1;)
      {
        begins[i - 1] = std::min(begins[i - 1], begins[i]);
      }
    }
  }
}

const SegmentPasses::Run &
SegmentPasses::FindRun(std::int64_t item) const
{
  const auto next = std::upper_bound(
    m_Runs.begin(), m_Runs.end(), item, [](std::int64_t number, const Run & run) { return number < run.begin; });
  return *std::prev(next);
}

Tile
SegmentPasses::GetTile(std::int64_t item) const
{
  const Run & run = FindRun(item);
  return run.grid.GetTile(item - run.begin);
}

Region
SegmentPasses::GetInputOf(std::int64_t item) const
{
  const Run & run = FindRun(item);
  return run.grid.GetInputOf(item - run.begin);
}

double
SegmentPasses::GetDone(std::int64_t item) const
{
  const Run & run = FindRun(item);
  return static_cast<double>(item + 1 - run.begin) / static_cast<double>(run.grid.GetNumberOfTiles());
}

std::int64_t
SegmentPasses::CountWriters(const Run & run, const Box & part) const
{
  if (run.reduces)
  {
    return run.begin + run.grid.GetNumberOfTiles();
  }
  Extent last(part.GetNumberOfAxes());
  std::transform(part.begin(), part.end(), last.begin(), [&](const Interval & interval) {
    return (interval.end - 1) / run.grid.GetTileSize();
  });
  return run.begin + run.grid.GetIndex(last) + 1;
}

std::int64_t
SegmentPasses::CountAdders(const Run & run, int operation, const Box & part) const
{
  const auto found = run.reads.find(operation);
  if (found == run.reads.end())
  {
    return 0;
  }
  Extent last(part.GetNumberOfAxes());
  for (int axis = 0; axis < part.GetNumberOfAxes(); ++axis)
  {
    const std::vector<std::int64_t> & begins = found->second[axis];
    last[axis] = std::lower_bound(begins.begin(), begins.end(), part[axis].end) - begins.begin() - 1;
  }
  const bool any = std::none_of(last.begin(), last.end(), [](std::int64_t tile) { return tile < 0; });
  return any ? run.begin + run.grid.GetIndex(last) + 1 : 0;
}

std::int64_t
SegmentPasses::GetNeeded(std::int64_t item, const TileProgram & program) const
{
  const Run &  own = FindRun(item);
  const int    target = m_Segments[own.pass.segment].operation;
  const Box    read = own.reduces ? m_Geometry->GetWhole(target) : program.core; // of the target's gradient
  std::int64_t needed = 0;
  for (const Run & run : m_Runs)
  {
    if (&run == &own)
    {
      break;
    }
    const int operation = m_Segments[run.pass.segment].operation;
    for (const TileProgram::Step & step : program.steps)
    {
      if (run.pass.kind == SegmentPass::Kind::Map && step.sources.empty() && step.operation == operation)
      {
        needed = std::max(needed, CountWriters(run, step.output));
      }
    }
    if (run.pass.IsBackward() && own.pass.kind == SegmentPass::Kind::Gradient)
    {
      needed = std::max(needed, CountAdders(run, target, read));
    }
  }
  return needed;
}

} // namespace gigapixel
