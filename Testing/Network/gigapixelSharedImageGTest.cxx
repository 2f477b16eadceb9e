/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SyntheticSources.h"
#include "training/gigapixelOrientedSource.h"
#include "execute/gigapixelSharedImage.h"
#include "maps/gigapixelTileData.h"

#include <gtest/gtest.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** An RGB image whose label 1 is ignored, on the CPU. */
class SharedImageTest : public testing::Test
{
protected:
  const Size         size{ 300, 700 };
  NetworkDescription network = [] {
    NetworkDescription description = NetworkDescription::Load("remedios2023");
    description.ignoredLabel = 1;
    return description;
  }();
  ProceduralPixels pixels{ size, 3, 3 };
  ProceduralLabels labels{ size, 3, 2, true };
  Workers          workers{ 2 };

  std::unique_ptr<SharedImage>
  Read(
    LabelSource &                 classes,
    const std::function<bool()> & goesOn = [] { return true; })
  {
    return SharedImage::Read(Device{}, network, pixels, classes, workers, goesOn);
  }

  std::unique_ptr<SharedImage> image{ Read(labels) };
};

/** A class that the network does not have. */
struct Sevens : ProceduralLabels
{
  using ProceduralLabels::ProceduralLabels;
  void
  Read(const Region & region, std::uint8_t * classes) override
  {
    std::fill_n(classes, region.width * region.height, std::uint8_t{ 7 });
  }
};

/** All of a source. */
template <typename TSource>
std::vector<std::uint8_t>
ReadAll(TSource & source, std::int64_t channels)
{
  const Size                size = source.GetSize();
  std::vector<std::uint8_t> values(size.width * size.height * channels);
  source.Read({ 0, 0, size.width, size.height }, values.data());
  return values;
}

/** The same by its place in memory. */
template <typename TSource>
std::vector<std::uint8_t>
CollectAll(const TSource & source, std::int64_t channels)
{
  const SamplesInMemory     samples = source.GetInMemory();
  const Size                size = source.GetSize();
  std::vector<std::uint8_t> values;
  for (std::int64_t y = 0; y < size.height; ++y)
  {
    for (std::int64_t x = 0; x < size.width; ++x)
    {
      const std::uint8_t * first = samples.first + y * samples.row + x * samples.column;
      values.insert(values.end(), first, first + channels);
    }
  }
  return values;
}

} // namespace

TEST_F(SharedImageTest, HoldsTheSources)
{
  EXPECT_EQ(ReadAll(image->GetPixels(), 3), ReadAll(pixels, 3));
  std::vector<std::uint8_t> classes = ReadAll(labels, 1);
  std::replace(classes.begin(), classes.end(), std::uint8_t{ 1 }, std::uint8_t{ LabelSource::Ignored });
  EXPECT_EQ(ReadAll(image->GetLabels(), 1), classes);

  const Region              part{ 17, 250, 90, 33 };
  std::vector<std::uint8_t> found(part.width * part.height * 3), wanted(found.size());
  image->GetPixels().Read(part, found.data());
  pixels.Read(part, wanted.data());
  EXPECT_EQ(found, wanted);
}

TEST_F(SharedImageTest, LiesInMemoryInEveryOrientation)
{
  for (int i = 0; i < Orientation::Number; ++i)
  {
    OrientedPixelSource turned(image->GetPixels(), i);
    OrientedLabelSource turnedLabels(image->GetLabels(), i);
    EXPECT_EQ(CollectAll(turned, 3), ReadAll(turned, 3)) << i;
    EXPECT_EQ(CollectAll(turnedLabels, 1), ReadAll(turnedLabels, 1)) << i;
    EXPECT_EQ(OrientedPixelSource(pixels, i).GetInMemory().first, nullptr);
  }
}

TEST_F(SharedImageTest, RefusesOtherClasses)
{
  network.ignoredLabel = LabelSource::Ignored;
  EXPECT_NO_THROW(Read(labels));
  Sevens sevens(size, 3);
  EXPECT_THROW(Read(sevens), LabelError);
}

// Bands of 256 rows: three of the pixels, three of the labels.
TEST_F(SharedImageTest, StopsAtAnyBand)
{
  for (int last = 1; last <= 7; ++last)
  {
    int bands = 0;
    EXPECT_EQ(Read(labels, [&] { return ++bands < last; }) != nullptr, last == 7) << last;
    EXPECT_EQ(bands, std::min(last, 6));
  }
}

// A source of the image's size, of which a region is there: in memory and by reading.
TEST_F(SharedImageTest, HoldsARegion)
{
  const Region region{ 40, 270, 200, 300 }, part{ 100, 500, 140, 70 };
  const auto   shared = SharePixels(Device{}, pixels, region, workers);
  EXPECT_EQ(shared->GetSize().height, size.height);
  std::vector<std::uint8_t> found(part.width * part.height * 3), wanted(found.size());
  shared->Read(part, found.data());
  pixels.Read(part, wanted.data());
  EXPECT_EQ(found, wanted);
  const SamplesInMemory samples = shared->GetInMemory();
  for (std::int64_t y = 0; y < part.height; ++y)
  {
    const auto * const row = samples.first + (part.y + y) * samples.row + part.x * samples.column;
    EXPECT_TRUE(std::equal(row, row + part.width * 3, wanted.begin() + y * part.width * 3)) << y;
  }
}

// All bytes of this row of tiles and the next one, and no others, whichever way the rows run.
TEST_F(SharedImageTest, RowsOfTilesComeBeforeTheyAreNeeded)
{
  const std::uint8_t * const begin = image->GetPixels().GetInMemory().first;
  const TileGrid             grid(network, size, 128);
  for (const int i : { 0, 1, 2, 3 })
  {
    const OrientedPixelSource turned(image->GetPixels(), i);
    const Tile                tile = grid.GetTile(3); // the second row's first
    ASSERT_EQ(tile.core.x, 0);
    const BytesInMemory bytes = GetComingRows(turned, tile, 128);
    const std::int64_t  first = tile.window.y, end = tile.window.y + tile.window.height + 128;
    const bool          mirrored = (i & 2) != 0;
    EXPECT_EQ(bytes.first - begin, (mirrored ? size.height - end : first) * size.width * 3) << i;
    EXPECT_EQ(bytes.size, static_cast<std::size_t>((end - first) * size.width * 3)) << i;
    EXPECT_EQ(GetComingRows(turned, grid.GetTile(4), 128).size, 0u);
  }
  EXPECT_EQ(GetComingRows(OrientedPixelSource(image->GetPixels(), 4), grid.GetTile(3), 128).size, 0u);
}

TEST_F(SharedImageTest, TellsOfTissueWhatItsSourceDoes)
{
  struct Halves : ProceduralPixels
  {
    using ProceduralPixels::ProceduralPixels;
    bool
    ReadTissue(const Region & region, std::uint8_t * tissue) const override
    {
      for (std::int64_t y = region.y; y < region.y + region.height; ++y, tissue += region.width)
      {
        std::fill_n(tissue, region.width, static_cast<std::uint8_t>(y < 350));
      }
      return true;
    }
  } halves(size, 3, 3);
  std::vector<std::uint8_t> tissue(40, 7);
  EXPECT_FALSE(image->GetPixels().ReadTissue({ 5, 340, 2, 20 }, tissue.data()));
  const auto shared = SharedImage::Read(Device{}, network, halves, labels, workers, [] { return true; });
  ASSERT_TRUE(shared->GetPixels().ReadTissue({ 5, 340, 2, 20 }, tissue.data()));
  for (int i = 0; i < 40; ++i)
  {
    EXPECT_EQ(tissue[i], i < 20 ? 1 : 0) << i;
  }
}
