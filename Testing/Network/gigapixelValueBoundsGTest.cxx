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

TEST(ValueBounds, KnowsProductsOfTheSameValues)
{
  using Names = std::vector<std::string>;
  const auto find = [](const auto & append) {
    return FindValues([&](NetworkGraph & graph, const std::string & map) {
      const auto squash = [&](const char * type) {
        return Append(graph, type, { AppendConvolution(graph, map, 2, 1, 0) });
      };
      const auto combine = [&](const char * type, const Names & names) { return Append(graph, type, names); };
      append(squash, combine);
    });
  };
  const auto expectUnit = [](const OutputValues & values, bool areShares = false) {
    EXPECT_EQ(values.kind, Kind::Probabilities);
    EXPECT_NEAR(values.range.least, 0, 1e-12);
    EXPECT_NEAR(values.range.greatest, 1, 1e-12);
    EXPECT_EQ(values.areShares, areShares);
  };
  // p + q - p q = 1 - (1 - p)(1 - q).
  expectUnit(find([](const auto & squash, const auto & combine) {
    const std::string p = squash("sigmoid"), q = squash("sigmoid");
    combine("sub", { combine("add", { p, q }), combine("mul", { p, q }) });
  }));
  // q + g (p - q) lies between p and q, and of softmaxes stays one.
  for (const char * type : { "sigmoid", "softmax" })
  {
    const bool isSoftmax = std::string(type) == "softmax";
    expectUnit(find([=](const auto & squash, const auto & combine) {
                 const std::string p = squash(type), q = squash(type);
                 const std::string gate = combine("channel_mean", { squash("sigmoid") });
                 combine("add", { q, combine("mul", { combine("sub", { p, q }), gate }) });
               }),
               isSoftmax);
  }
  // 3 p^2 - 2 p^3 rises from 0 to 1.
  expectUnit(FindValues([](NetworkGraph & graph, const std::string & map) {
    const std::string p = Append(graph, "sigmoid", { map }), square = Append(graph, "mul", { p, p });
    const std::string first = Append(graph, "mul", { square }, { { "other", 3.0 } });
    const std::string second = Append(graph, "mul", { Append(graph, "mul", { square, p }) }, { { "other", 2.0 } });
    Append(graph, "sub", { first, second });
  }));
  // A square is not negative.
  expectUnit(find([](const auto & squash, const auto & combine) {
    const std::string t = squash("tanh");
    combine("mul", { t, t });
  }));
  // Nor does a product have wider bounds than its factors say where it has too many terms.
  expectUnit(find([](const auto & squash, const auto & combine) {
    std::string product = squash("sigmoid");
    for (int i = 0; i < 12; ++i)
    {
      const std::string p = squash("sigmoid");
      product = combine("sub", { combine("add", { product, p }), combine("mul", { product, p }) });
    }
  }));
}

TEST(ValueBounds, KnowsMixtures)
{
  // The mean of softmaxes with weights of a softmax: experts of a gate.
  const OutputValues values = FindValues([](NetworkGraph & graph, const std::string & map) {
    const std::string gate = Append(graph, "softmax", { AppendConvolution(graph, map, 3, 1, 0) });
    std::string       sum;
    for (std::int64_t i = 0; i < 3; ++i)
    {
      const std::string weight =
        Append(graph, "slice_channels", { gate }, { { "start", i }, { "channels", std::int64_t{ 1 } } });
      const std::string expert = Append(graph, "softmax", { AppendConvolution(graph, map, 4, 1, 0) });
      const std::string part = Append(graph, "mul", { expert, weight });
      sum = sum.empty() ? part : Append(graph, "add", { sum, part });
    }
  });
  EXPECT_EQ(values.kind, Kind::Probabilities);
  EXPECT_DOUBLE_EQ(values.greatest, 1);
  EXPECT_TRUE(values.areShares);
}
