/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What an operation says that it reads is what its output depends on: no pixel less, and no pixel more.
#include "GraphCases.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** An operation behind an input of its own channels, and what of its output changes with the input's rows. */
class Dependence
{
public:
  Dependence(const OperationCase & test, const Attributes & attributes, int axis)
    : m_Axis(axis)
    , m_Graph(MakeBareGraph(test, attributes))
    , m_Geometry(m_Graph, ToExtent(test.GetImageSize(), test.axes))
    , m_Parameters(MakeParameters(m_Graph, 11))
    , m_Input(MakeInputMap(m_Graph, test.GetImageSize(), 13))
    , m_Output(ComputeMap(m_Graph, m_Parameters, m_Input))
  {
    m_Index = m_Graph.GetIndex(m_Graph.output);
    for (std::int64_t row = 0; row < m_Input.size(2 + axis); ++row)
    {
      at::Tensor changed = m_Input.clone();
      // Upwards, so that a maximum and a rectifier see it, and one channel, so that a norm does: the second, as some
      // channels are taken without the first.
      changed.narrow(2 + axis, row, 1).narrow(1, 1, 1).add_(100);
      const at::Tensor changes = ComputeMap(m_Graph, m_Parameters, changed).ne(m_Output);
      const at::Tensor difference = changes.transpose(0, 2 + axis).flatten(1).any(1);
      m_Changes.emplace_back();
      for (std::int64_t i = 0; i < difference.numel(); ++i)
      {
        m_Changes.back().push_back(difference[i].item<bool>());
      }
    }
  }

  std::int64_t
  GetInputSize() const
  {
    return static_cast<std::int64_t>(m_Changes.size());
  }

  std::int64_t
  GetOutputSize() const
  {
    return m_Output.size(2 + m_Axis);
  }

  /** Whether an output of the interval changes with this row of the input. */
  bool
  DependsOn(const Interval & output, std::int64_t row) const
  {
    const auto begin = m_Changes[row].begin();
    return std::any_of(begin + output.begin, begin + output.end, [](bool changes) { return changes; });
  }

  Interval
  GetRequired(const Interval & output) const
  {
    Box box = m_Geometry.GetWhole(m_Index);
    box[m_Axis] = output;
    return m_Geometry.GetRequired(m_Index, 0, box)[m_Axis];
  }

private:
  int                            m_Axis;
  NetworkGraph                   m_Graph;
  GraphGeometry                  m_Geometry;
  std::vector<double>            m_Parameters;
  at::Tensor                     m_Input;
  at::Tensor                     m_Output;
  int                            m_Index{ 0 };
  std::vector<std::vector<bool>> m_Changes; ///< of each row of the input, which rows of the output change with it
};

class RequiredIntervals : public testing::TestWithParam<OperationCase>
{
};

TEST_P(RequiredIntervals, HoldWhatTheOutputDependsOnAndNoMore)
{
  const OperationCase & test = GetParam();
  for (std::size_t variant = 0; variant < test.variants.size(); ++variant)
  {
    for (int axis = 0; axis < test.axes; ++axis)
    {
      SCOPED_TRACE("variant " + std::to_string(variant) + ", axis " + std::to_string(axis));
      const Dependence dependence(test, test.variants[variant], axis);
      int              firstMissed = 0, lastMissed = 0; // by an interval that is a pixel shorter
      for (std::int64_t begin = 0; begin < dependence.GetOutputSize(); ++begin)
      {
        for (const std::int64_t length : { 1, 2, 5, 11 })
        {
          const Interval output{ begin, std::min(begin + length, dependence.GetOutputSize()) };
          const Interval required = dependence.GetRequired(output);
          for (std::int64_t row = 0; row < dependence.GetInputSize(); ++row)
          {
            const bool inside = row >= required.begin && row < required.end;
            ASSERT_TRUE(inside || !dependence.DependsOn(output, row))
              << "[" << output.begin << ", " << output.end << ") depends on " << row << " outside of ["
              << required.begin << ", " << required.end << ")";
          }
          firstMissed += dependence.DependsOn(output, required.begin);
          lastMissed += dependence.DependsOn(output, required.end - 1);
        }
      }
      EXPECT_GT(firstMissed, dependence.GetOutputSize()) << "intervals begin too early";
      EXPECT_GT(lastMissed, dependence.GetOutputSize()) << "intervals end too late";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RequiredIntervals, testing::ValuesIn(GetOperationCases()), [](const auto & info) {
  return info.param.name;
});

} // namespace

/** Of nearest pixels the middle of what an output sees, which is one pixel, is that of what all of them see: against
 * ATen's, of a map whose values are their places. */
TEST(NearestPixels, LieInTheMiddleOfWhatTheySee)
{
  constexpr std::int64_t Side = 120;
  struct Case
  {
    double       factor; ///< 0: to the size
    std::int64_t size;
    double       offset;
  };
  for (const Case & each : { Case{ 2, 240, -0.25 },
                             Case{ 3, 360, -1.0 / 3 },
                             Case{ 0.5, 60, 0 },
                             Case{ 1.5, 180, -1.0 / 3 },
                             Case{ 0, 60, 0 },
                             Case{ 0, 80, -0.25 },
                             Case{ 0, 240, -0.25 },
                             Case{ 0, 360, -1.0 / 3 } })
  {
    NetworkGraph      graph;
    const std::string image = Append(graph, "input", {}, { { "channels", std::int64_t{ 1 } } });
    const Attributes  attributes = each.factor > 0
                                     ? Attributes{ { "scale_factor", NumberPair(each.factor, each.factor) } }
                                     : Attributes{ { "size", Pair(each.size, each.size) } };
    graph.output = Append(graph, "interpolate", { image }, attributes);
    graph.Validate();
    const GraphGeometry geometry(graph, { Side, Side });
    const Sampling      sampling = geometry.GetSampling(graph.GetIndex(graph.output), 0);
    const at::Tensor    sources =
      at::upsample_nearest1d(at::arange(Side, at::kDouble).view({ 1, 1, Side }), { each.size }).view(-1);
    const double mean = (sources - sampling.step * at::arange(each.size, at::kDouble)).mean().item<double>();
    EXPECT_NEAR(sampling.step, static_cast<double>(Side) / static_cast<double>(each.size), 1e-12);
    EXPECT_NEAR(sampling.offset, each.offset, 1e-12) << each.size;
    EXPECT_NEAR(sampling.offset, mean, 1e-9) << each.size;
    EXPECT_EQ(OperationSchema::Find("interpolate")
                ->getBorder(graph.operations.back(), 0, geometry.GetAxisSizes(graph.GetIndex(graph.output), 0)),
              std::string());
  }
}
