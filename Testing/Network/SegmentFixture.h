/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef SegmentFixture_h
#define SegmentFixture_h

#include "gigapixelMemoryPlan.h"
#include "graph/gigapixelGraphGeometry.h"

#include <string>
#include <utility>
#include <vector>

namespace gigapixel
{
namespace test
{

/** The last operation whose map has this scale, before the first one whose map has a smaller one (encoder), or after
 * the last one (decoder). */
inline std::string
FindMap(const NetworkDescription & network, std::int64_t scale, bool decoder)
{
  const Extent        size{ 1024, 1024 };
  const GraphGeometry geometry(network.graph, size);
  std::vector<int>    of;
  for (int i = 0; i < static_cast<int>(network.graph.operations.size()); ++i)
  {
    const bool here = geometry.GetSize(i)[0] * scale == size[0];
    if (here && (decoder || of.empty() || of.back() + 1 == i))
    {
      of.push_back(i);
    }
  }
  return network.graph.operations[geometry.GetAsRead(of.back())].name;
}

inline std::vector<SegmentPlan>
MakePlan(const NetworkDescription & network, const std::vector<std::pair<std::int64_t, bool>> & maps)
{
  std::vector<SegmentPlan> plan;
  for (const auto & [scale, decoder] : maps)
  {
    plan.push_back({ FindMap(network, scale, decoder), 64 / scale });
  }
  plan.push_back({ network.graph.output, 64 });
  return plan;
}

} // namespace test
} // namespace gigapixel

#endif
