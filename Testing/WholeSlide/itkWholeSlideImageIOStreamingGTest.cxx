/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Streamed equals whole, to the bit: random regions, any division, several threads, with and without a cache.
#include "ReaderTesting.h"

#include "TestData.h"

#include "itkExtractImageFilter.h"
#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkMultiThreaderBase.h"
#include "itkRGBPixel.h"
#include "itkStreamingImageFilter.h"

#include <atomic>
#include <random>
#include <thread>

#include <gtest/gtest.h>

using namespace gigapixel_test;

namespace
{

std::string
GetYCbCrSlide()
{
  PyramidOptions options;
  options.width = 1100;
  options.height = 900;
  options.compression = COMPRESSION_JPEG;
  options.photometric = PHOTOMETRIC_YCBCR;
  const std::string path = TemporaryFile("streamed.tif");
  WritePyramid(path, options);
  return path;
}

Picture
Crop(const Picture & picture, std::uint32_t x, std::uint32_t y, std::uint32_t width, std::uint32_t height)
{
  Picture part{ width, height, picture.channels, {} };
  for (std::uint32_t row = y; row < y + height; ++row)
  {
    const auto from =
      picture.pixels.begin() + static_cast<std::ptrdiff_t>((std::size_t{ row } * picture.width + x) * picture.channels);
    part.pixels.insert(part.pixels.end(), from, from + static_cast<std::ptrdiff_t>(width * picture.channels));
  }
  return part;
}

/** Counts random regions that are not as the whole picture is. */
unsigned
CountWrongRegions(const itk::WholeSlideImageIO & io,
                  unsigned                       level,
                  const Picture &                whole,
                  unsigned                       regions,
                  unsigned                       seed)
{
  std::mt19937 random(seed);
  const auto   below = [&random](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  unsigned     wrong = 0;
  for (unsigned i = 0; i < regions; ++i)
  {
    const std::uint32_t x = below(whole.width);
    const std::uint32_t y = below(whole.height);
    Picture             part{ 1 + below(whole.width - x), 1 + below(whole.height - y), whole.channels, {} };
    part.pixels.resize(std::size_t{ part.width } * part.height * part.channels);
    io.ReadRegion(level, x, y, part.width, part.height, part.channels, part.pixels.data());
    wrong += part == Crop(whole, x, y, part.width, part.height) ? 0 : 1;
  }
  return wrong;
}

/** Sets the process' cache limit for a scope. */
struct CacheLimit
{
  explicit CacheLimit(std::size_t bytes)
    : before(itk::WholeSlideImageIO::GetTileCacheLimit())
  {
    itk::WholeSlideImageIO::SetTileCacheLimit(bytes);
  }
  ~CacheLimit() { itk::WholeSlideImageIO::SetTileCacheLimit(before); }
  std::size_t before;
};

TEST(WholeSlideImageIOStreaming, RegionsAreAsTheWhole)
{
  const std::string path = GetYCbCrSlide();
  const auto        io = OpenSlideFile(path);
  for (const std::size_t limit : { std::size_t{ 0 }, std::size_t{ 200000 }, std::size_t{ 1 } << 27 })
  {
    const CacheLimit cache(limit);
    EXPECT_EQ(itk::WholeSlideImageIO::GetTileCacheLimit(), limit);
    for (unsigned level = 0; level < 3; ++level)
    {
      EXPECT_EQ(CountWrongRegions(*io, level, ReadWithLibTIFF(path, level), 30, level), 0u) << limit;
      EXPECT_EQ(CountWrongRegions(*io, level, ReadLevel(*io, level, 1), 30, level), 0u) << limit;
    }
  }
}

TEST(WholeSlideImageIOStreaming, RegionsThroughOpenSlideAreAsTheWhole)
{
  GIGAPIXEL_REAL_SLIDE(path, "slides/fluorescence-dapi.ndpi");
  const auto io = OpenSlideFile(path);
  for (const unsigned level : { 2u, 5u })
  {
    EXPECT_EQ(CountWrongRegions(*io, level, ReadLevel(*io, level, 3), 20, level), 0u);
  }
}

TEST(WholeSlideImageIOStreaming, ManyThreadsReadOneSlide)
{
  const std::string path = GetYCbCrSlide();
  const Picture     whole = ReadWithLibTIFF(path, 0);
  for (const std::size_t limit : { std::size_t{ 0 }, std::size_t{ 1 } << 27 })
  {
    const CacheLimit         cache(limit);
    const auto               shared = OpenSlideFile(path);
    std::atomic<unsigned>    wrong{ 0 };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 6; ++i)
    {
      threads.emplace_back([&, i] {
        const auto own = OpenSlideFile(path);
        wrong += CountWrongRegions(i % 2 == 0 ? *own : *shared, 0, whole, 40, i / 2);
      });
    }
    for (auto & thread : threads)
    {
      thread.join();
    }
    EXPECT_EQ(wrong, 0u);
  }
}

template <typename TPixel>
void
ExpectDivisionsEqual(const std::string & path, unsigned level, bool gray)
{
  using ImageType = itk::Image<TPixel, 2>;
  const auto io = itk::WholeSlideImageIO::New();
  io->SetLevel(level);
  io->SetGray(gray);
  const auto reader = itk::ImageFileReader<ImageType>::New();
  reader->SetImageIO(io);
  reader->SetFileName(path);
  reader->Update();
  const typename ImageType::Pointer whole = reader->GetOutput();
  whole->DisconnectPipeline();
  const std::size_t bytes = whole->GetLargestPossibleRegion().GetNumberOfPixels() * sizeof(TPixel);
  for (const unsigned divisions : { 1u, 2u, 3u, 7u, 16u, 33u, 64u })
  {
    reader->Modified();
    const auto streamer = itk::StreamingImageFilter<ImageType, ImageType>::New();
    streamer->SetInput(reader->GetOutput());
    streamer->SetNumberOfStreamDivisions(divisions);
    streamer->Update();
    EXPECT_EQ(std::memcmp(streamer->GetOutput()->GetBufferPointer(), whole->GetBufferPointer(), bytes), 0) << divisions;
  }
}

TEST(WholeSlideImageIOStreaming, AnyDivisionGivesTheSameImage)
{
  const std::string path = GetYCbCrSlide();
  const auto        threads = itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads();
  for (const unsigned count : { 1u, 4u })
  {
    itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(count);
    ExpectDivisionsEqual<itk::RGBPixel<unsigned char>>(path, 0, false);
    ExpectDivisionsEqual<unsigned char>(path, 1, true);
  }
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
}

TEST(WholeSlideImageIOStreaming, AnyDivisionOfARealSlideGivesTheSameImage)
{
  GIGAPIXEL_REAL_SLIDE(svs, "slides/cmu-1-small-region.svs");
  ExpectDivisionsEqual<itk::RGBPixel<unsigned char>>(svs, 0, false);
  GIGAPIXEL_REAL_SLIDE(ndpi, "slides/fluorescence-dapi.ndpi");
  ExpectDivisionsEqual<itk::RGBPixel<unsigned char>>(ndpi, 2, false);
}

TEST(WholeSlideImageIOStreaming, ReadsOnlyTheRegionAskedFor)
{
  using ImageType = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  const std::string path = GetYCbCrSlide();
  const auto        reader = itk::ImageFileReader<ImageType>::New();
  reader->SetImageIO(itk::WholeSlideImageIO::New());
  reader->SetFileName(path);
  const ImageType::RegionType region({ { 333, 111 } }, { { 77, 55 } });
  const auto                  extract = itk::ExtractImageFilter<ImageType, ImageType>::New();
  extract->SetInput(reader->GetOutput());
  extract->SetExtractionRegion(region);
  extract->SetDirectionCollapseToIdentity();
  extract->Update();
  EXPECT_EQ(reader->GetOutput()->GetBufferedRegion(), region);
  const Picture expected = Crop(ReadWithLibTIFF(path, 0), 333, 111, 77, 55);
  EXPECT_EQ(std::memcmp(extract->GetOutput()->GetBufferPointer(), expected.pixels.data(), expected.pixels.size()), 0);
}

} // namespace
