/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "gigapixelMaskLabelSource.h"

#include "UNetTestImages.h"
#include "gigapixelGridMatch.h"
#include "gigapixelRegionSource.h"

using namespace gigapixel;
using gigapixel_test::GrayImage;

namespace
{

constexpr double mm = 0.0005; // spacing of the pixels in all tests

/** Spacing and center of the first pixel as every level of a pyramid has them. */
Grid
PixelGrid(std::int64_t width, std::int64_t height, double spacing = mm)
{
  Grid grid;
  grid.size = Size{ width, height };
  grid.spacing = { { spacing, spacing } };
  return grid;
}

/** A mask of random values 0 and `object`. */
GrayImage::Pointer
RandomMask(unsigned width, unsigned height, double spacing, double originX, double originY, unsigned char object = 255)
{
  auto mask = gigapixel_test::NoiseImage(width, height, 3);
  for (itk::ImageRegionIterator<GrayImage> it(mask, mask->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    it.Set(it.Get() > 127 ? object : 0);
  }
  const double spacings[] = { spacing, spacing };
  const double origin[] = { originX, originY };
  mask->SetSpacing(spacings);
  mask->SetOrigin(origin);
  return mask;
}

std::vector<std::uint8_t>
ReadAll(LabelSource & labels)
{
  const Size                size = labels.GetSize();
  std::vector<std::uint8_t> classes(static_cast<std::size_t>(size.width * size.height));
  labels.Read(Region{ 0, 0, size.width, size.height }, classes.data());
  return classes;
}

/** What ITK says: the mask pixel nearest to each pixel's center, by its own transform. */
std::vector<std::uint8_t>
Reference(const GrayImage & mask, const Grid & pixels)
{
  std::vector<std::uint8_t> classes;
  for (std::int64_t y = 0; y < pixels.size.height; ++y)
  {
    for (std::int64_t x = 0; x < pixels.size.width; ++x)
    {
      GrayImage::PointType point;
      point[0] = pixels.origin[0] + static_cast<double>(x) * pixels.spacing[0];
      point[1] = pixels.origin[1] + static_cast<double>(y) * pixels.spacing[1];
      GrayImage::IndexType index;
      const bool           inside = mask.TransformPhysicalPointToIndex(point, index);
      classes.push_back(!inside ? LabelSource::Ignored : mask.GetPixel(index) != 0 ? 1 : 0);
    }
  }
  return classes;
}

PhysicalImage
Source(const GrayImage::Pointer & mask)
{
  return itk::GigapixelImageSource(mask.GetPointer(), "mask.png");
}

TEST(MaskLabelSource, MaskAtOneEighthEqualsBlownUpMask)
{
  for (const auto & size : { std::array<unsigned, 2>{ { 1001, 499 } }, { { 1000, 504 } }, { { 7, 9 } } })
  {
    const auto      mask = RandomMask((size[0] + 7) / 8, (size[1] + 7) / 8, 8 * mm, 3.5 * mm, 3.5 * mm);
    const Grid      pixels = PixelGrid(size[0], size[1]);
    MaskLabelSource labels(Source(mask), pixels, "slide", 2);
    const auto      whole = ReadAll(labels);
    for (unsigned y = 0; y < size[1]; ++y)
    {
      for (unsigned x = 0; x < size[0]; ++x)
      {
        const auto value = mask->GetPixel({ { x / 8, y / 8 } });
        ASSERT_EQ(whole[y * size[0] + x], value / 255) << x << ", " << y;
      }
    }
  }
}

TEST(MaskLabelSource, RegionsEqualTheWhole)
{
  const auto   mask = RandomMask(126, 63, 8 * mm, 3.5 * mm, 3.5 * mm);
  const auto   labels = std::make_shared<MaskLabelSource>(Source(mask), PixelGrid(1001, 499), "slide", 2);
  const auto   whole = ReadAll(*labels);
  std::mt19937 random(5);
  for (int i = 0; i < 100; ++i)
  {
    Region region;
    region.x = random() % 1001;
    region.y = random() % 499;
    region.width = 1 + random() % (1001 - region.x);
    region.height = 1 + random() % (499 - region.y);
    const auto part = ReadAll(*MakeRegionSource(std::shared_ptr<LabelSource>(labels), region));
    for (std::int64_t y = 0; y < region.height; ++y)
    {
      ASSERT_EQ(0,
                std::memcmp(part.data() + y * region.width,
                            whole.data() + (region.y + y) * 1001 + region.x,
                            static_cast<std::size_t>(region.width)));
    }
  }
}

TEST(MaskLabelSource, AnyRatioAndOriginEqualITK)
{
  struct Case
  {
    double ratio, offsetX, offsetY; // of the mask's first center, in pixels
  };
  // Offsets that put no pixel's center exactly between two mask pixels, where rounding may go either way.
  for (const Case & c : { Case{ 8, 3.5, 3.5 },
                          { 8, 0.3, -0.3 },
                          { 3.3, 1.137, 1.261 },
                          { 1, 0, 0 },
                          { 1, 0.3, -0.4 },
                          { 0.29, 0, 0.1 },
                          { 0.25, -0.3, -0.35 },
                          { 16, 10.7, 4.2 } })
  {
    const auto      width = static_cast<unsigned>(std::ceil(200 / c.ratio));
    const auto      height = static_cast<unsigned>(std::ceil(130 / c.ratio));
    const auto      mask = RandomMask(width, height, c.ratio * mm, c.offsetX * mm, c.offsetY * mm);
    const Grid      pixels = PixelGrid(200, 130);
    MaskLabelSource labels(Source(mask), pixels, "slide", 2);
    EXPECT_EQ(ReadAll(labels), Reference(*mask, pixels)) << c.ratio << " " << c.offsetX;
  }
}

TEST(MaskLabelSource, MirroredMasksEqualITK)
{
  const Grid pixels = PixelGrid(200, 130);
  for (const double ratio : { 8.0, 1.0, 3.3, 0.29 })
  {
    for (const auto & signs : { std::array<double, 2>{ { -1, 1 } }, { { 1, -1 } }, { { -1, -1 } } })
    {
      const auto width = static_cast<unsigned>(std::ceil(200 / ratio));
      const auto height = static_cast<unsigned>(std::ceil(130 / ratio));
      const auto mask = RandomMask(width, height, ratio * mm, 0, 0);
      // The first pixel lies where the last one of a mask with offsets of 0.137 and 0.061 pixels would.
      GrayImage::PointType     origin;
      GrayImage::DirectionType direction;
      origin[0] = 0.137 * mm + (signs[0] < 0 ? (width - 1) * ratio * mm : 0);
      origin[1] = 0.061 * mm + (signs[1] < 0 ? (height - 1) * ratio * mm : 0);
      direction.SetIdentity();
      direction(0, 0) = signs[0];
      direction(1, 1) = signs[1];
      mask->SetOrigin(origin);
      mask->SetDirection(direction);
      MaskLabelSource labels(Source(mask), pixels, "slide", 2);
      EXPECT_EQ(ReadAll(labels), Reference(*mask, pixels)) << ratio << " " << signs[0] << " " << signs[1];
    }
  }
}

TEST(MaskLabelSource, MirroredMasksOfUnknownSpacingAreMatchedByExtent)
{
  const auto               mask = RandomMask(100, 50, 1, 0, 0);
  GrayImage::DirectionType direction;
  direction.SetIdentity();
  direction(0, 0) = -1;
  mask->SetDirection(direction);
  MaskLabelSource labels(Source(mask), PixelGrid(200, 100), "slide", 2);
  const auto      classes = ReadAll(labels);
  for (unsigned x = 0; x < 200; ++x)
  {
    ASSERT_EQ(classes[x], mask->GetPixel({ { 99 - x / 2, 0 } }) / 255);
  }
}

TEST(MaskLabelSource, MaskFilesWithoutAnOriginBeginAtTheImagesEdge)
{
  // What a mask at 1/8 of a slide comes back as from a TIFF or a PNG; the slide may be read at a lower level too.
  const auto mask = RandomMask(126, 63, 8 * mm, 0, 0);
  for (const int level : { 1, 2 })
  {
    Grid pixels = PixelGrid(1001 / level, 499 / level, level * mm);
    pixels.origin = { { (level - 1) * mm / 2, (level - 1) * mm / 2 } };
    MaskLabelSource labels(Source(mask), pixels, "slide", 2);
    const auto      classes = ReadAll(labels);
    for (std::int64_t x = 0; x < pixels.size.width; ++x)
    {
      ASSERT_EQ(classes[static_cast<std::size_t>(x)], mask->GetPixel({ { x * level / 8, 0 } }) / 255);
    }
  }
}

TEST(MaskLabelSource, MaskFilesWithoutAnOriginBeginAtTheImagesEdgeAtAnyRatio)
{
  const auto      mask = RandomMask(80, 40, 2.5 * mm, 0, 0);
  MaskLabelSource labels(Source(mask), PixelGrid(200, 100), "slide", 2);
  const auto      classes = ReadAll(labels);
  for (unsigned x = 0; x < 200; ++x)
  {
    ASSERT_EQ(classes[x], mask->GetPixel({ { static_cast<unsigned>((x + 0.5) / 2.5), 0 } }) / 255);
  }
}

TEST(GridMatch, PartsLieWhereTheirOriginSays)
{
  const auto place = [](const GrayImage::Pointer & mask, const Grid & image, PartOf part) {
    const auto axes = GridMatch::Make(Source(mask), image, "a.svs", part).axes;
    return std::array<double, 4>{ { axes[0].ratio, axes[0].shift, axes[1].ratio, axes[1].shift } };
  };
  using Place = std::array<double, 4>;
  // Of a region that begins at (80, 160) of the image, at 1/8.
  const auto part = RandomMask(20, 10, 8 * mm, (80 + 3.5) * mm, (160 + 3.5) * mm);
  const Grid image = PixelGrid(1000, 500);
  EXPECT_EQ(place(part, image, PartOf::Image), (Place{ { 8, -80, 8, -160 } }));
  EXPECT_REFUSAL(place(part, image, PartOf::None), "E-MASK-GRID");
  EXPECT_REFUSAL(place(part, image, PartOf::Mask), "E-MASK-GRID");
  // An image of a region at level 1, on a mask of the whole slide that has no origin.
  Grid region = PixelGrid(100, 50, 2 * mm);
  region.origin = { { (40 + 0.5) * mm, (20 + 0.5) * mm } };
  EXPECT_EQ(place(RandomMask(125, 63, 8 * mm, 0, 0), region, PartOf::Mask), (Place{ { 4, 20, 4, 10 } }));
  try
  {
    place(part, image, PartOf::None);
  }
  catch (const GridMismatch & error)
  {
    EXPECT_EQ(error.GetPart(), PartOf::Image);
  }
  EXPECT_REFUSAL(place(RandomMask(20, 10, 1, 0, 0), image, PartOf::Image), "E-SLIDE-RESOLUTION");
}

TEST(MaskLabelSource, PixelsOutsideTheMaskAreIgnored)
{
  // floor(100 / 8) mask pixels cover 96 pixels.
  const auto      mask = RandomMask(12, 12, 8 * mm, 3.5 * mm, 3.5 * mm);
  MaskLabelSource labels(Source(mask), PixelGrid(100, 100), "slide", 2);
  const auto      classes = ReadAll(labels);
  EXPECT_NE(classes[95], LabelSource::Ignored);
  EXPECT_EQ(classes[96], LabelSource::Ignored);
  EXPECT_EQ(classes[96 * 100], LabelSource::Ignored);
  EXPECT_EQ(std::count(classes.begin(), classes.end(), LabelSource::Ignored), 100 * 100 - 96 * 96);
}

TEST(MaskLabelSource, TheIgnoredLabelTakesNoPart)
{
  const auto         mask = RandomMask(8, 1, 1, 0, 0);
  const std::uint8_t values[] = { 0, 1, 2, 3, 7, 255, 0, 1 };
  std::copy_n(values, 8, mask->GetBufferPointer());
  MaskLabelSource four(Source(mask), PixelGrid(8, 1), "slide", 4, {}, 7);
  EXPECT_EQ(ReadAll(four), (std::vector<std::uint8_t>{ 0, 1, 2, 3, 255, 255, 0, 1 }));
  MaskLabelSource unknown(Source(mask), PixelGrid(8, 1), "slide", 4);
  EXPECT_THROW(ReadAll(unknown), std::runtime_error);
  std::fill_n(mask->GetBufferPointer() + 2, 3, 128);
  MaskLabelSource two(Source(mask), PixelGrid(8, 1), "slide", 2, {}, 128);
  EXPECT_EQ(ReadAll(two), (std::vector<std::uint8_t>{ 0, 1, 255, 255, 255, 1, 0, 1 }));
}

TEST(MaskLabelSource, SpacingsNearlyIntegerAreIntegers)
{
  // A resolution tag keeps six digits or so; over a wide slide that must not move the mask.
  const auto      mask = RandomMask(2001, 5, 8.00005 * mm, 3.5 * mm, 3.5 * mm);
  MaskLabelSource labels(Source(mask), PixelGrid(16004, 40), "slide", 2);
  const auto      classes = ReadAll(labels);
  for (std::int64_t x = 0; x < 16004; ++x)
  {
    ASSERT_EQ(classes[static_cast<std::size_t>(x)], mask->GetPixel({ { x / 8, 0 } }) / 255);
  }
}

TEST(MaskLabelSource, UnknownSpacingIsMatchedByExtent)
{
  for (const unsigned cut : { 7u, 0u }) // ceil and floor
  {
    const auto      mask = RandomMask((1001 + cut) / 8, (499 + cut) / 8, 1, 0, 0);
    MaskLabelSource labels(Source(mask), PixelGrid(1001, 499), "slide", 2);
    const auto      classes = ReadAll(labels);
    for (unsigned x = 0; x < 1000; ++x)
    {
      ASSERT_EQ(classes[x], mask->GetPixel({ { x / 8, 0 } }) / 255);
    }
    EXPECT_EQ(classes[1000] == LabelSource::Ignored, cut == 0);
  }
  // No common integer: each axis has the ratio of its sizes.
  const auto      mask = RandomMask(40, 20, 1, 0, 0);
  MaskLabelSource labels(Source(mask), PixelGrid(100, 50, 1), "slide", 2);
  const auto      classes = ReadAll(labels);
  for (unsigned x = 0; x < 100; ++x)
  {
    ASSERT_EQ(classes[x], mask->GetPixel({ { static_cast<unsigned>((x + 0.5) / 2.5), 0 } }) / 255);
  }
}

TEST(MaskLabelSource, OnlyTheRegionOfTheMaskIsReadAndInItsResolution)
{
  class Counting : public PixelSource
  {
  public:
    Size
    GetSize() const override
    {
      return Size{ 12500, 12500 };
    }
    unsigned
    GetNumberOfChannels() const override
    {
      return 1;
    }
    void
    Read(const Region & region, std::uint8_t * samples) override
    {
      m_Samples += region.width * region.height;
      std::fill_n(samples, region.width * region.height, std::uint8_t(1));
    }
    std::int64_t m_Samples{ 0 };
  };
  const auto    counting = std::make_shared<Counting>();
  PhysicalImage mask;
  mask.name = "mask";
  mask.pixels = counting;
  mask.grid = PixelGrid(12500, 12500, 8 * mm);
  mask.grid.origin = { { 3.5 * mm, 3.5 * mm } };
  MaskLabelSource           labels(mask, PixelGrid(100000, 100000), "slide", 2);
  std::vector<std::uint8_t> classes(2048 * 2048);
  labels.Read(Region{ 50000, 70000, 2048, 2048 }, classes.data());
  EXPECT_EQ(counting->m_Samples, 256 * 256);
  EXPECT_EQ(std::count(classes.begin(), classes.end(), 1), 2048 * 2048);
}

TEST(MaskLabelSource, ValuesMeanClasses)
{
  const auto mask = RandomMask(4, 1, mm, 0, 0);
  const auto read = [&](std::vector<unsigned char> values, int classes) {
    std::copy(values.begin(), values.end(), mask->GetBufferPointer());
    MaskLabelSource labels(Source(mask), PixelGrid(4, 1), "slide", classes);
    return ReadAll(labels);
  };
  using Classes = std::vector<std::uint8_t>;
  EXPECT_EQ(read({ 0, 255, 0, 255 }, 2), (Classes{ 0, 1, 0, 1 }));
  EXPECT_EQ(read({ 0, 1, 1, 0 }, 2), (Classes{ 0, 1, 1, 0 }));
  EXPECT_EQ(read({ 0, 1, 2, 255 }, 3), (Classes{ 0, 1, 2, LabelSource::Ignored }));
  EXPECT_MESSAGE(read({ 0, 1, 2, 0 }, 2), "mask.png has the value 2; for 2 classes it may have 0 and 1, or 0 and 255");
  EXPECT_MESSAGE(read({ 0, 3, 2, 0 }, 3), "mask.png has the value 3; for 3 classes it may have 0 to 2");
}

TEST(MaskLabelSource, UnscannedPixelsAreIgnored)
{
  const auto mask = RandomMask(4, 2, mm, 0, 0);
  std::fill_n(mask->GetBufferPointer(), 8, 255);
  const auto leftHalf = [](const Region & region, std::uint8_t * scanned) {
    if (region.x + region.width <= 2)
    {
      return true;
    }
    for (std::int64_t i = 0; i < region.width * region.height; ++i)
    {
      scanned[i] = region.x + i % region.width < 2 ? 255 : 0;
    }
    return false;
  };
  MaskLabelSource labels(Source(mask), PixelGrid(4, 2), "slide", 2, leftHalf);
  EXPECT_EQ(ReadAll(labels), (std::vector<std::uint8_t>{ 1, 1, 255, 255, 1, 1, 255, 255 }));
  std::vector<std::uint8_t> left(4);
  labels.Read(Region{ 0, 0, 2, 2 }, left.data());
  EXPECT_EQ(left, (std::vector<std::uint8_t>{ 1, 1, 1, 1 }));
}

TEST(MaskLabelSource, MasksOfOtherImagesAreRefused)
{
  const Grid pixels = PixelGrid(1000, 500);
  const auto match = [&](const GrayImage::Pointer & mask) { MaskLabelSource(Source(mask), pixels, "a.svs", 2); };
  match(RandomMask(125, 63, 8 * mm, 3.5 * mm, 3.5 * mm));
  match(RandomMask(126, 63, 8 * mm, 3.5 * mm, 3.5 * mm)); // 8 pixels more: one of the mask
  EXPECT_REFUSAL(match(RandomMask(128, 63, 8 * mm, 3.5 * mm, 3.5 * mm)), "E-MASK-GRID");
  EXPECT_REFUSAL(match(RandomMask(125, 63, 4 * mm, 3.5 * mm, 3.5 * mm)), "E-MASK-GRID");
  EXPECT_REFUSAL(match(RandomMask(125, 63, 8 * mm, 30 * mm, 3.5 * mm)), "E-MASK-GRID");
  EXPECT_REFUSAL(match(RandomMask(63, 125, 1, 0, 0)), "E-MASK-GRID");
  const auto               turned = RandomMask(125, 63, 8 * mm, 3.5 * mm, 3.5 * mm);
  GrayImage::DirectionType direction;
  direction(0, 0) = 0;
  direction(0, 1) = 1;
  direction(1, 0) = 1;
  direction(1, 1) = 0;
  turned->SetDirection(direction);
  EXPECT_REFUSAL(match(turned), "E-MASK-GRID");
  EXPECT_REFUSAL(match(RandomMask(1, 1, 1, 0, 0)), "E-MASK-GRID");
  EXPECT_REFUSAL(MaskLabelSource(Source(RandomMask(2, 1, 1, 0, 0)), PixelGrid(5000, 2500), "a.svs", 2), "E-MASK-GRID");
  const auto color = gigapixel_test::NoiseImage<gigapixel_test::ColorImage>(125, 63);
  EXPECT_REFUSAL(MaskLabelSource(itk::GigapixelImageSource(color.GetPointer(), "rgb.png"), pixels, "a.svs", 2),
                 "E-MASK-FORMAT");
}

TEST(RegionSource, RegionsOutsideAreRefused)
{
  const auto image = itk::GigapixelImageSource(gigapixel_test::NoiseImage(10, 20).GetPointer()).pixels;
  EXPECT_REFUSAL(MakeRegionSource(image, Region{ 0, 0, 11, 20 }), "E-REGION");
  EXPECT_REFUSAL(MakeRegionSource(image, Region{ -1, 0, 5, 5 }), "E-REGION");
  EXPECT_REFUSAL(MakeRegionSource(image, Region{ 0, 0, 5, 0 }), "E-REGION");
}

} // namespace
