/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SyntheticSources.h"
#include "gigapixelExecutor.h"
#include "maps/gigapixelEqualTiles.h"
#include "model/gigapixelInitialWeights.h"
#include "objective/gigapixelLoss.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "schedule/gigapixelTileProgram.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** A slide of which only the middle was scanned: white elsewhere, and a darker stripe. */
template <typename TSource>
class PartlyScanned : public TSource
{
public:
  PartlyScanned(Size size, std::uint8_t outside, std::uint8_t stripe)
    : TSource(size, 1)
    , m_Outside(outside)
    , m_Stripe(stripe)
  {}

  void
  Read(const Region & region, std::uint8_t * values) override
  {
    TSource::Read(region, values);
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      for (std::int64_t x = region.x; x < region.x + region.width; ++x, ++values)
      {
        const bool scanned = x >= 900 && x < 1300 && y >= 700 && y < 1000;
        *values = scanned ? *values : y >= 1700 ? m_Stripe : m_Outside;
      }
    }
  }

private:
  std::uint8_t m_Outside;
  std::uint8_t m_Stripe;
};

} // namespace

// Bit for bit the sum of tiles that are each computed.
TEST(EqualTiles, TheSumHasTheBitsOfComputingEach)
{
  const auto                      network = NetworkDescription::Load("remedios2023");
  const Size                      size{ 2200, 2300 };
  PartlyScanned<ProceduralPixels> pixels(size, 255, 131);
  PartlyScanned<ProceduralLabels> labels(size, 0, 1);
  const std::vector<double>       parameters = MakeInitialWeights(network, 3, { 0.6, 0.4 });
  constexpr std::int64_t          tileSize = 256;

  StreamedNetwork streamed(network, tileSize, 2);
  streamed.SetParameters(parameters);
  LossGradient sum;
  Score        score;
  ASSERT_TRUE(streamed.ComputeGradient(pixels, labels, sum));
  ASSERT_TRUE(streamed.ComputeScore(pixels, labels, score));

  const auto passes = Executor::Of(network).MakePasses(network, {});
  passes->SetParameters(parameters);
  const TileGrid grid(network, size, tileSize);
  LossSum        each;
  FixedPointSum  sums(passes->GetNumberOfSums());
  Score          eachScore;
  TileData       data;
  for (std::int64_t tile = 0; tile < grid.GetNumberOfTiles(); ++tile)
  {
    ReadPixels(pixels, grid.GetTile(tile), data);
    ReadClasses(labels, data.tile, network, data);
    LossSum one;
    passes->AddGradient(data, MakeLossTerms(network), 1, one, sums);
    each.Add(one);
    Score oneScore;
    passes->AddScore(data, MakeLossTerms(network), oneScore);
    eachScore.Add(oneScore);
  }
  EXPECT_EQ(sum.loss, each.loss);
  EXPECT_EQ(sum.pixels, each.pixels);
  EXPECT_EQ(sum.gradient, passes->GetGradient(sums, streamed.GetWorkers()));
  EXPECT_EQ(score.loss, eachScore.loss);
  EXPECT_EQ(score.both, eachScore.both);
}

// Inference keeps what repeats in a tile; what a new network makes of a single tile was computed.
TEST(EqualTiles, PredictionsHaveTheBitsOfComputingEach)
{
  Model model;
  model.network = NetworkDescription::Load("remedios2023");
  model.tileSize = 256;
  const Size                      size{ 256 * 6, 2300 };
  const Region                    all{ 0, 0, size.width, size.height };
  PartlyScanned<ProceduralPixels> pixels(size, 255, 131);
  const std::vector<double>       parameters = MakeInitialWeights(model.network, 3, { 0.6, 0.4 });
  const double                    thresholds[] = { 0.5, 0.4 };
  const std::size_t               count = size.width * size.height;
  std::vector<float>              probabilities(count);
  std::vector<std::uint8_t>       labels[] = { std::vector<std::uint8_t>(count), std::vector<std::uint8_t>(count) };

  StreamedNetwork streamed(model.network, model.tileSize, 2);
  streamed.SetParameters(parameters);
  ASSERT_TRUE(streamed.Predict(pixels, all, probabilities.data()));
  for (int i = 0; i < 2; ++i)
  {
    ASSERT_TRUE(streamed.PredictLabels(pixels, all, thresholds[i], labels[i].data()));
  }

  const TileGrid grid(model.network, size, model.tileSize);
  for (std::int64_t tile = 0; tile < grid.GetNumberOfTiles(); ++tile)
  {
    const Region              core = grid.GetTile(tile).core;
    std::vector<float>        p(core.width * core.height);
    std::vector<std::uint8_t> l(core.width * core.height);
    StreamedNetwork           single(model.network, model.tileSize, 1);
    single.SetParameters(parameters);
    const auto expectRows = [&](const auto & found, const auto & truth) {
      for (std::int64_t y = 0; y < core.height; ++y)
      {
        const auto row = found.begin() + (core.y + y) * size.width + core.x;
        ASSERT_TRUE(std::equal(row, row + core.width, truth.begin() + y * core.width)) << tile;
      }
    };
    single.Predict(pixels, core, p.data());
    expectRows(probabilities, p);
    for (int i = 0; i < 2; ++i)
    {
      single.PredictLabels(pixels, core, thresholds[i], l.data());
      expectRows(labels[i], l);
    }
  }
}

TEST(EqualTiles, AreComputedOnceForEachPlaceAtTheEdge)
{
  const auto                      network = NetworkDescription::Load("remedios2023");
  const Size                      size{ 256 * 6, 256 * 5 };
  PartlyScanned<ProceduralPixels> pixels(size, 255, 255);
  const TileGrid                  grid(network, size, 256);
  EqualTiles<int>                 equal;
  TileData                        data;
  int                             computed = 0, mixed = 0;
  for (std::int64_t tile = 0; tile < grid.GetNumberOfTiles(); ++tile)
  {
    ReadPixels(pixels, grid.GetTile(tile), data);
    data.classes.assign(static_cast<std::size_t>(256 * 256), tile % 2 == 0 ? 0 : LabelSource::Ignored);
    const Region & window = data.tile.window;
    const bool     touches =
      window.x < 1300 && window.x + window.width > 900 && window.y < 1000 && window.y + window.height > 700;
    mixed += touches;
    int result = 0;
    equal.Compute(data, 1, result, [&](TileData &, int & value) { value = ++computed; });
    EXPECT_GT(result, 0);
  }
  // Nine places (corners, edges, inside), each with at most two classes; tiles of more than one color are all computed.
  EXPECT_GT(mixed, 0);
  EXPECT_LE(computed, mixed + 18);
  EXPECT_LT(computed, grid.GetNumberOfTiles());
}

// Any pixel that differs counts, and nothing between the rows does.
TEST(EqualTiles, OnePixelOfAnotherColorIsSeen)
{
  for (const std::int64_t channels : { 1, 3 })
  {
    for (const Size size : { Size{ 1, 1 }, Size{ 2, 5 }, Size{ 70, 64 }, Size{ 70, 65 }, Size{ 3, 200 } })
    {
      const std::int64_t        pitch = size.width * channels + 5;
      std::vector<std::uint8_t> samples(size.height * pitch, 77);
      for (std::int64_t y = 0; y < size.height; ++y)
      {
        std::fill_n(samples.begin() + y * pitch, size.width * channels, std::uint8_t{ 250 });
      }
      TileData data;
      data.tile = { { 0, 0, size.width, size.height },
                    { 0, 0, size.width, size.height },
                    std::make_shared<TileProgram>() };
      data.rows = { samples.data(), pitch };
      EXPECT_TRUE(FindTileKey(data, static_cast<int>(channels)));
      for (std::int64_t i = 0; size.width * size.height > 1 && i < size.width * size.height * channels; ++i)
      {
        std::uint8_t & sample = samples[i / (size.width * channels) * pitch + i % (size.width * channels)];
        sample = 251;
        ASSERT_FALSE(FindTileKey(data, static_cast<int>(channels))) << i;
        sample = 250;
      }
    }
  }
}
