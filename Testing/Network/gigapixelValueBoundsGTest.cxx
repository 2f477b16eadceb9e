/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Bounds of values against bounds that follow from the operations' definitions.
#include "GraphFixture.h"

#include "graph/gigapixelValueBounds.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

using Kind = OutputValues::Kind;

/** A convolution to two channels, and what is appended to it. */
template <typename TAppend>
OutputValues
FindValues(const TAppend & append)
{
  NetworkGraph      graph;
  const std::string input = Append(graph, "input", {}, { { "channels", std::int64_t{ 3 } } });
  append(graph, AppendConvolution(graph, input, 2, 1, 0));
  graph.Validate();
  return FindOutputValues(graph);
}

} // namespace

TEST(ValueBounds, KnowsWhatCancels)
{
  const auto softmax = [](NetworkGraph & graph, const std::string & map) { return Append(graph, "softmax", { map }); };
  EXPECT_EQ(FindValues([](NetworkGraph &, const std::string &) {}).kind, Kind::Logits);
  // The mean of a softmax's channels is a constant: nothing.
  const OutputValues mean = FindValues(
    [&](NetworkGraph & graph, const std::string & map) { Append(graph, "channel_mean", { softmax(graph, map) }); });
  EXPECT_EQ(mean.kind, Kind::Probabilities);
  EXPECT_DOUBLE_EQ(mean.range.least, 0.5);
  EXPECT_DOUBLE_EQ(mean.range.greatest, 0.5);
  // Shares stay shares where they are moved, and not where zeros come in.
  for (const bool isPadded : { false, true })
  {
    const OutputValues moved = FindValues([&](NetworkGraph & graph, const std::string & map) {
      Append(
        graph,
        "avg_pool2d",
        { softmax(graph, map) },
        { { "kernel_size", Pair(3, 3) }, { "stride", Pair(1, 1) }, { "padding", isPadded ? Pair(1, 1) : Pair(0, 0) } });
    });
    EXPECT_EQ(moved.kind, Kind::Probabilities);
    EXPECT_EQ(moved.areShares, !isPadded);
  }
  // p - q + q, of the same pixel.
  const OutputValues same = FindValues([](NetworkGraph & graph, const std::string & map) {
    const std::string p = Append(graph, "sigmoid", { map }), q = Append(graph, "tanh", { map });
    Append(graph, "add", { Append(graph, "sub", { p, q }), q });
  });
  EXPECT_EQ(same.kind, Kind::Probabilities);
  EXPECT_DOUBLE_EQ(same.range.greatest, 1);
  // What is moved is of another pixel: it does not cancel.
  const OutputValues other = FindValues([](NetworkGraph & graph, const std::string & map) {
    const std::string p = Append(graph, "sigmoid", { map });
    const std::string moved =
      Append(graph,
             "avg_pool2d",
             { p },
             { { "kernel_size", Pair(3, 3) }, { "stride", Pair(1, 1) }, { "padding", Pair(1, 1) } });
    Append(graph, "sub", { p, moved });
  });
  EXPECT_EQ(other.kind, Kind::Unclear);
  EXPECT_DOUBLE_EQ(other.range.least, -1);
}

TEST(ValueBounds, AreNoLargerThanNeeded)
{
  const OutputValues product = FindValues([](NetworkGraph & graph, const std::string & map) {
    const std::string t = Append(graph, "tanh", { map }), s = Append(graph, "sigmoid", { map });
    Append(graph, "mul", { t, Append(graph, "mul", { s }, { { "other", -3.0 } }) });
  });
  EXPECT_EQ(product.kind, Kind::Unclear);
  EXPECT_DOUBLE_EQ(product.range.least, -3);
  EXPECT_DOUBLE_EQ(product.range.greatest, 3);
  const OutputValues capped = FindValues([](NetworkGraph & graph, const std::string & map) {
    Append(graph, "minimum", { Append(graph, "relu", { map }) }, { { "other", 1.0 } });
  });
  EXPECT_EQ(capped.kind, Kind::Probabilities);
}
