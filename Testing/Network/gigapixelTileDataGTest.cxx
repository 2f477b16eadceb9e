/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SyntheticSources.h"
#include "model/gigapixelInitialWeights.h"
#include "training/gigapixelOrientedSource.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "graph/gigapixelLayerChain.h"
#include "schedule/gigapixelCanvasWindows.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** \param fused whether the kernels read the first layer's pixels themselves: they do for a plain convolution */
NetworkDescription
MakeNetwork(int channels, bool fused)
{
  NetworkDescription network = NetworkDescription::Load("remedios2023");
  network.channels = channels;
  network.layers.front().inputChannels = channels;
  if (!fused)
  {
    Layer before;
    before.name = "before";
    before.kind = Layer::Kind::TransposedConvolution;
    before.inputChannels = channels;
    before.outputChannels = channels;
    before.kernel = 1;
    before.stride = 1;
    network.layers.insert(network.layers.begin(), before);
  }
  ExpandLayers(network);
  return network;
}

} // namespace

TEST(TileData, PixelsAreLeftWhereTheWholeWindowLies)
{
  const NetworkDescription network = MakeNetwork(3, true);
  const Size               size{ 1000, 640 }; // no multiple of the stride: the last tile of a row reaches beyond
  ProceduralPixels         slide(size, 5, 3);
  RowsInMemoryOf           pixels(slide);
  pixels.Fill({ 0, 0, size.width, size.height });
  const TileGrid grid(network, size, 256);
  TileData       data, copied;
  int            inPlace = 0;
  for (std::int64_t index = 0; index < grid.GetNumberOfTiles(); ++index)
  {
    const Tile   tile = grid.GetTile(index);
    const Region window = tile.window;
    FindPixels(pixels, tile, data);
    ReadPixels(slide, tile, copied);
    inPlace += data.rows.first == pixels.FindRows(window).first;
    for (std::int64_t y = 0; y < window.height; ++y)
    {
      const std::uint8_t * row = data.rows.first + y * data.rows.pitch;
      ASSERT_TRUE(std::equal(row, row + 3 * window.width, copied.rows.first + y * copied.rows.pitch)) << index;
    }
  }
  EXPECT_EQ(inPlace, 3 * 3); // of 4 columns and 3 rows, all but those whose windows reach the right edge
}

TEST(TileData, OnlyAnUnturnedPictureIsLeftInItsPlace)
{
  ProceduralPixels slide({ 64, 48 }, 5);
  RowsInMemoryOf   pixels(slide);
  pixels.Fill({ 0, 0, 64, 48 });
  const Region region{ 8, 8, 16, 16 };
  EXPECT_EQ(OrientedPixelSource(pixels, 0).FindRows(region).first, pixels.FindRows(region).first);
  for (int orientation = 1; orientation < 8; ++orientation)
  {
    EXPECT_EQ(OrientedPixelSource(pixels, orientation).FindRows(region).first, nullptr);
  }
}

// Halos of 64 pixels: less than a tile's side, as much, and more.
TEST(CanvasWindows, GreatestWindowIsThatOfNoOtherTile)
{
  const NetworkDescription network = NetworkDescription::Load("remedios2023");
  ASSERT_EQ(network.GetHalo(), 64);
  for (const std::int64_t tileSize : { 32, 64, 128, 512 })
  {
    for (const std::int64_t side : { 1, 50, 64, 100, 130, 190, 260, 700, 1300 })
    {
      const TileGrid grid(network, { side, 2 * side }, tileSize);
      const Size     greatest = CanvasWindows(network, { side, 2 * side }, tileSize).GetGreatestWindow();
      std::int64_t   width = 0, height = 0;
      for (std::int64_t index = 0; index < grid.GetNumberOfTiles(); ++index)
      {
        const Tile tile = grid.GetTile(index);
        width = std::max(width, tile.window.width);
        height = std::max(height, tile.window.height);
        EXPECT_EQ(tile.greatestWindow, greatest.width * greatest.height);
      }
      EXPECT_EQ(greatest.width, width) << side << " pixels in tiles of " << tileSize;
      EXPECT_EQ(greatest.height, height) << side << " pixels in tiles of " << tileSize;
    }
  }
}

class TileDataInPlace : public testing::TestWithParam<std::tuple<int, bool, Precision>>
{
};

// The same bits as from pixels that are copied to tiles, for every kernel that reads them.
TEST_P(TileDataInPlace, HasTheBitsOfCopies)
{
  const auto [channels, fused, precision] = GetParam();
  const NetworkDescription network = MakeNetwork(channels, fused);
  for (const Size size : { Size{ 1030, 768 }, Size{ 1024, 768 }, Size{ 32, 32 } }) // the last end with the memory
  {
    const Region     all{ 0, 0, size.width, size.height };
    ProceduralPixels slide(size, 5, channels);
    ProceduralLabels labels(size, 5);
    RowsInMemoryOf   pixels(slide);
    pixels.Fill(all);
    StreamedNetwork streamed(network, 256, 2, { -1, precision });
    streamed.SetParameters(MakeInitialWeights(network, 3, { 0.6, 0.4 }));
    std::vector<float> copied(size.width * size.height), inPlace(copied.size());
    LossGradient       copiedSum, sum;
    ASSERT_TRUE(streamed.Predict(slide, all, copied.data()) && streamed.Predict(pixels, all, inPlace.data()));
    ASSERT_TRUE(streamed.ComputeGradient(slide, labels, copiedSum) && streamed.ComputeGradient(pixels, labels, sum));
    EXPECT_EQ(inPlace, copied);
    EXPECT_EQ(sum.loss, copiedSum.loss);
    EXPECT_EQ(sum.gradient, copiedSum.gradient);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels,
                         TileDataInPlace,
                         testing::Combine(testing::Values(1, 3),
                                          testing::Bool(),
                                          testing::Values(Precision::Float, Precision::Double)),
                         [](const auto & info) {
                           return std::string(std::get<0>(info.param) == 1 ? "Gray" : "RGB") +
                                  (std::get<1>(info.param) ? "" : "BehindAnotherLayer") +
                                  (std::get<2>(info.param) == Precision::Float ? "Fused" : "Graph");
                         });
