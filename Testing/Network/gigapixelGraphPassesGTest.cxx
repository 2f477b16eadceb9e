/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What the executor promises beside exactness: bits, memory, and what it leaves alone.
#include "RefusalCode.h"
#include "BFloat16.h"
#include "GraphFixture.h"
#include "TestDevice.h"

#include <gtest/gtest.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <thread>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

std::string
AppendBlock(NetworkGraph & graph, const std::string & input, std::int64_t channels)
{
  const auto convolved = AppendConvolution(graph, input, channels, 3, 1);
  return Append(graph, "relu", { Append(graph, "batch_norm", { convolved }) });
}

/** Two poolings, skips by concatenation. */
NetworkGraph
MakeUNet()
{
  constexpr int            Levels = 2;
  NetworkGraph             graph;
  std::vector<std::string> skips;
  std::string              map = Append(graph, "input", {}, { { "channels", std::int64_t(3) } });
  for (int level = 0; level <= Levels; ++level)
  {
    map = level > 0 ? Append(graph, "max_pool2d", { map }, { { "kernel_size", Pair(2, 2) } }) : map;
    map = AppendBlock(graph, AppendBlock(graph, map, 8 << level), 8 << level);
    skips.push_back(map);
  }
  for (int level = Levels; level-- > 0;)
  {
    map =
      Append(graph,
             "conv_transpose2d",
             { map },
             { { "out_channels", std::int64_t(8) << level }, { "kernel_size", Pair(2, 2) }, { "stride", Pair(2, 2) } });
    map = Append(graph, "cat", { skips[level], map });
    map = AppendBlock(graph, AppendBlock(graph, map, 8 << level), 8 << level);
  }
  AppendConvolution(graph, map, 1, 1, 0);
  return graph;
}

/** Strided stem, blocks with sums, nearest upsampling to the skip's size. */
NetworkGraph
MakeResNetUNet()
{
  NetworkGraph graph;
  const auto   input = Append(graph, "input", {}, { { "channels", std::int64_t(3) } });
  const auto   strided = [&](const std::string & map, std::int64_t channels, std::int64_t kernel) {
    const auto convolved = Append(graph,
                                  "conv2d",
                                  { map },
                                  { { "out_channels", channels },
                                    { "kernel_size", Pair(kernel, kernel) },
                                    { "stride", Pair(2, 2) },
                                    { "padding", Pair(kernel / 2, kernel / 2) } });
    return Append(graph, "batch_norm", { convolved });
  };
  const auto stem = Append(graph, "relu", { strided(input, 16, 7) });
  auto       map = Append(graph,
                    "max_pool2d",
                    { stem },
                    { { "kernel_size", Pair(3, 3) }, { "stride", Pair(2, 2) }, { "padding", Pair(1, 1) } });
  const auto add = [&](const std::string & x, const std::string & y) {
    return Append(graph, "relu", { Append(graph, "add", { y, x }) });
  };
  const auto plain = [&](const std::string & x, std::int64_t channels) {
    return Append(graph, "batch_norm", { AppendConvolution(graph, AppendBlock(graph, x, channels), channels, 3, 1) });
  };
  map = add(map, plain(map, 16));
  const auto skip = map;
  const auto first = Append(graph, "relu", { strided(map, 32, 3) });
  const auto second = Append(graph, "batch_norm", { AppendConvolution(graph, first, 32, 3, 1) });
  map = add(strided(map, 32, 1), second);
  map = Append(graph, "interpolate", { map, skip });
  map = AppendBlock(graph, Append(graph, "cat", { map, skip }), 16);
  map = Append(graph, "interpolate", { map, stem });
  map = AppendBlock(graph, Append(graph, "cat", { map, stem }), 16);
  map = AppendBlock(graph, Append(graph, "interpolate", { map, input }), 16);
  AppendConvolution(graph, map, 1, 3, 1);
  return graph;
}

/** A network, an image, and what a step of it takes. */
struct Step
{
  explicit Step(const NetworkGraph & graph, std::int64_t side = 300, Precision precision = Precision::Float)
    : network(MakeNetwork(graph))
    , image(MakeImage({ side, side }, 3, 2, 1))
    , geometry(network.graph, { side, side })
    , passes(MakeTorchGraphPasses(network, { -1, precision }))
  {
    passes->SetParameters(MakeParameters(network.graph, 2));
    terms.weights = { 1, 1 };
  }

  std::shared_ptr<const TileProgram>
  MakeProgram(const Box & core, bool training) const
  {
    return std::make_shared<TileProgram>(TileProgram::Make(geometry, core, training));
  }

  void
  AddGradient(const Box & core, FixedPointSum & sums) const
  {
    TileData data;
    LossSum  loss;
    SetTile(data, image, 3, MakeProgram(core, true));
    passes->AddGradient(data, terms, 1, loss, sums);
  }

  NetworkDescription           network;
  LabeledImage                 image;
  GraphGeometry                geometry;
  std::unique_ptr<GraphPasses> passes;
  LossTerms                    terms;
};

bool
HaveSameBits(const FixedPointSum & a, const FixedPointSum & b)
{
  return std::memcmp(a.GetData(), b.GetData(), a.GetBytes()) == 0;
}

/** Of a network of one convolution, sums over an image in one tile. */
struct LossOfImage
{
  LossOfImage(int channels, Size size, const LossTerms & terms)
  {
    NetworkGraph graph;
    AppendConvolution(graph, Append(graph, "input", {}, { { "channels", std::int64_t(1) } }), channels, 3, 1);
    const NetworkDescription network = MakeNetwork(graph);
    const LabeledImage       image = MakeImage(size, 1, std::max(2, channels), 5);
    const GraphGeometry      geometry(network.graph, { size.height, size.width });
    const auto               passes = MakeTorchGraphPasses(network, { -1, Precision::Double });
    passes->SetParameters(MakeParameters(network.graph, 2));
    FixedPointSum sums(passes->GetNumberOfSums());
    TileData      data;
    const Box     core{ Interval{ 0, size.height }, { 0, size.width } };
    SetTile(data, image, 1, std::make_shared<TileProgram>(TileProgram::Make(geometry, core, true)));
    passes->AddGradient(data, terms, 1, loss, sums);
    Workers workers(1);
    gradient = passes->GetGradient(sums, workers);
  }

  LossSum             loss;
  std::vector<double> gradient;
};

class GraphMemory : public testing::TestWithParam<std::tuple<bool, Precision>>
{
};

} // namespace

// What a GPU computes itself; of many pixels band by band.
TEST(GraphPasses, LossOfAnyTermsIsThatOfTheCPU)
{
  const std::vector<double>              weights{ 0.5, 2, 1 }, slopes{ -0.7, 0.2, -1.1 }, offsets{ 0.3, 0.1, 0.4 };
  const std::tuple<int, Size, LossTerms> cases[] = {
    { 1, { 37, 41 }, { { 0.5, 2 }, {}, {} } },
    { 3, { 37, 41 }, { weights, {}, {} } },
    { 1, { 37, 41 }, { {}, { -0.7, 0.2 }, { 0.3, 0.1 } } },
    { 3, { 37, 41 }, { {}, slopes, offsets } },
    { 1, { 37, 41 }, { { 0.5, 2 }, { -0.7, 0.2 }, { 0.3, 0.1 } } },
    { 3, { 37, 41 }, { weights, slopes, offsets } },
    { 3, { 1300, 1100 }, { weights, {}, {} } },
  };
  for (const auto & [channels, size, terms] : cases)
  {
    SCOPED_TRACE(std::to_string(channels) + " channels, " + (terms.HasSums() ? "Dice " : "") +
                 (terms.HasCrossEntropy() ? "cross-entropy" : ""));
    const LossOfImage wanted(channels, size, terms);
    ForEachOperators([&, number = channels, of = size, by = terms](GraphOperators) {
      const LossOfImage found(number, of, by);
      EXPECT_NEAR(found.loss.loss, wanted.loss.loss, 1e-12 * wanted.loss.loss);
      EXPECT_NEAR(found.loss.weight, wanted.loss.weight, 1e-12 * wanted.loss.weight);
      EXPECT_EQ(found.loss.pixels, wanted.loss.pixels);
      ASSERT_EQ(found.gradient.size(), wanted.gradient.size());
      for (std::size_t i = 0; i < wanted.gradient.size(); ++i)
      {
        EXPECT_NEAR(found.gradient[i], wanted.gradient[i], 1e-10 * (1 + std::abs(wanted.gradient[i])));
      }
    });
  }
}

TEST_P(GraphMemory, IsAsEstimated)
{
  const auto [training, precision] = GetParam();
  const std::pair<std::string, NetworkGraph> networks[] = { { "U-Net", MakeUNet() },
                                                            { "ResNet-U-Net", MakeResNetUNet() } };
  const Box inner{ Interval{ 200, 456 }, { 240, 496 } }, corner{ Interval{ 0, 256 }, { 0, 256 } };
  for (const auto & [name, graph] : networks)
  {
    for (const Box & core : { inner, corner })
    {
      SCOPED_TRACE(name + (core == inner ? ", inner tile" : ", corner"));
      const Step    run(graph, 700, precision);
      const auto    program = run.MakeProgram(core, training);
      FixedPointSum sums(run.passes->GetNumberOfSums());
      if (training)
      {
        run.AddGradient(core, sums);
      }
      else
      {
        TileData           data;
        std::vector<float> probabilities(GetNumberOfPixels(core));
        SetTile(data, run.image, 3, program);
        run.passes->Predict(data, PixelValue::Probability, probabilities.data(), core[1].GetLength());
      }
      const double measured = static_cast<double>(run.passes->GetPeakBytes());
      const double estimated =
        static_cast<double>(program->GetPeakBytes(run.network.graph, training, GetValueBytes(precision)));
      // In bf16 oneDNN takes scratch memory of its own, most for maps of few channels as these.
      EXPECT_NEAR(estimated / measured, 1, precision == Precision::Float ? 0.05 : 0.12)
        << estimated << " estimated, " << measured << " taken";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Passes,
                         GraphMemory,
                         testing::Combine(testing::Bool(), testing::ValuesIn(GetGraphPrecisions())),
                         [](const auto & info) {
                           return (std::get<0>(info.param) ? "training_" : "inference_") +
                                  GetName(std::get<1>(info.param));
                         });

class GraphBits : public testing::TestWithParam<Precision>
{
};

TEST_P(GraphBits, DependOnTheTileAlone)
{
  const Step    run(MakeUNet(), 300, GetParam());
  const auto    cores = MakeCores(run.image.size, 70, 90);
  FixedPointSum reference(run.passes->GetNumberOfSums());
  for (const Box & core : cores)
  {
    run.AddGradient(core, reference);
  }
  FixedPointSum            sums(run.passes->GetNumberOfSums());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t)
  {
    threads.emplace_back([&, t] {
      for (std::size_t i = cores.size(); i-- > 0;)
      {
        if (i % 3 == t)
        {
          run.AddGradient(cores[i], sums);
        }
      }
    });
  }
  for (std::thread & thread : threads)
  {
    thread.join();
  }
  EXPECT_TRUE(HaveSameBits(sums, reference));
}

INSTANTIATE_TEST_SUITE_P(Precisions, GraphBits, testing::ValuesIn(GetGraphPrecisions()), [](const auto & info) {
  return GetName(info.param);
});

TEST(GraphPasses, TimesIsSoManyTiles)
{
  const Step    run(MakeUNet(), 64);
  const Box     core{ Interval{ 0, 64 }, { 0, 64 } };
  FixedPointSum once(run.passes->GetNumberOfSums()), thrice(run.passes->GetNumberOfSums());
  for (int i = 0; i < 3; ++i)
  {
    run.AddGradient(core, once);
  }
  TileData data;
  LossSum  loss;
  SetTile(data, run.image, 3, run.MakeProgram(core, true));
  run.passes->AddGradient(data, run.terms, 3, loss, thrice);
  EXPECT_TRUE(HaveSameBits(once, thrice));
}

TEST(GraphPasses, LeaveLibTorchToTheProgramAsItWas)
{
  c10::Allocator * const before = c10::GetCPUAllocator();
  const int              threads = at::get_num_threads();
  const at::Tensor       x = at::arange(90000, at::kFloat).view({ 1, 1, 300, 300 }).mul(1e-5);
  const at::Tensor       expected = at::conv2d(x, at::ones({ 4, 1, 3, 3 }));
  at::Tensor             during;
  {
    const Step    run(MakeUNet(), 100);
    FixedPointSum sums(run.passes->GetNumberOfSums());
    std::thread([&] { run.AddGradient({ Interval{ 0, 100 }, { 0, 100 } }, sums); }).join();
    EXPECT_EQ(at::get_num_threads(), threads);
    during = at::conv2d(x, at::ones({ 4, 1, 3, 3 }));
    // What the program allocates meanwhile is freed as it was allocated.
    EXPECT_EQ(during.storage().data_ptr().get_deleter(), expected.storage().data_ptr().get_deleter());
  }
  EXPECT_EQ(c10::GetCPUAllocator(), before);
  EXPECT_EQ(at::get_num_threads(), threads);
  EXPECT_TRUE(at::equal(during, expected));
  EXPECT_TRUE(at::equal(at::conv2d(x, at::ones({ 4, 1, 3, 3 })), expected));
}

TEST(GraphPasses, WeightsThatAreNoNumbersAreRefused)
{
  ForEachOperators([](GraphOperators) {
    const Step          run(MakeUNet(), 40);
    std::vector<double> parameters = MakeParameters(run.network.graph, 2);
    parameters.front() = std::nan("");
    run.passes->SetParameters(parameters);
    FixedPointSum sums(run.passes->GetNumberOfSums());
    EXPECT_THROW(run.AddGradient({ Interval{ 0, 40 }, { 0, 40 } }, sums), NotFiniteError);
  });
}

// As the plan does, but before a tile of any size that nobody planned is computed.
TEST(GraphPasses, RefuseMapsWithTooManyValues)
{
  const NetworkDescription network = MakeNetwork(MakeUNet());
  const GraphGeometry      geometry(network.graph, { 16384, 16384 });
  TileData                 data;
  data.tile.program =
    std::make_shared<TileProgram>(TileProgram::Make(geometry, geometry.GetWhole(geometry.GetOutput()), false));
  std::vector<float> probabilities;
  const auto         predict = [&] {
    MakeTorchGraphPasses(network, {})->Predict(data, PixelValue::Probability, probabilities.data(), 0);
  };
  EXPECT_EQ(gigapixel_test::FindRefusal(predict).code, "E-MEMORY-BUDGET");
}
