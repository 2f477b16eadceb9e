/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Bounds of values against the values of random graphs, as PyTorch computes them.
#include "GraphFixture.h"
#include "RandomGraph.h"

#include "graph/gigapixelValueBounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

using namespace gigapixel;
using namespace gigapixel::test;

/** All values of all maps lie within their bounds, and so do the sums of their channels. */
TEST(ValueBoundsOfGraphs, HoldForAllValues)
{
  constexpr unsigned Seeds = 250;
  const Size         size{ 13, 11 };
  int                checked = 0;
  for (unsigned seed = 0; seed < Seeds; ++seed)
  {
    const NetworkDescription                  network = MakeNetwork(RandomGraph(seed, size).Get());
    const NetworkGraph &                      graph = network.graph;
    const std::vector<double>                 parameters = MakeParameters(graph, seed);
    std::map<std::string, std::vector<float>> arrays;
    auto                                      next = parameters.begin();
    for (const ParameterDescription & parameter : graph.GetParameters())
    {
      const auto end = next + parameter.GetNumberOfValues();
      arrays[parameter.name].assign(next, end);
      next = end;
    }
    ValueBounds        bounds(graph, [&arrays](const std::string & name) {
      const auto found = arrays.find(name);
      return found == arrays.end() ? nullptr : &found->second;
    });
    const LabeledImage image = MakeImage(size, graph.GetInputChannels(), network.GetNumberOfClasses(), seed);
    for (const Operation & operation : graph.operations)
    {
      const ValueForms forms = bounds.Get(operation.name);
      if (forms.empty())
      {
        continue;
      }
      const std::vector<double>     values = ComputeMap(network, parameters, image, operation.name);
      const std::vector<ValueRange> ranges = bounds.GetRanges(forms);
      const ValueRange              ofSum = bounds.GetRange(bounds.GetSum(forms));
      const std::size_t             pixels = values.size() / forms.size();
      constexpr double              tolerance = 1e-6;
      const auto                    expectInside = [&](double value, const ValueRange & range) {
        const double slack = tolerance * (1 + std::abs(value));
        EXPECT_TRUE(value >= range.least - slack && value <= range.greatest + slack)
          << "seed " << seed << ", " << operation.type << ' ' << operation.name << ": " << value << " is not from "
          << range.least << " to " << range.greatest;
        checked += std::isfinite(range.least) || std::isfinite(range.greatest) ? 1 : 0;
      };
      for (std::size_t pixel = 0; pixel < pixels; ++pixel)
      {
        double sum = 0;
        for (std::size_t channel = 0; channel < forms.size(); ++channel)
        {
          expectInside(values[channel * pixels + pixel], ranges[channel]);
          sum += values[channel * pixels + pixel];
        }
        expectInside(sum, ofSum);
      }
    }
  }
  EXPECT_GT(checked, 10000);
}
