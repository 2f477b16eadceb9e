/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A memory limit of a filter is the peak of the process: what a slide takes on its way is in it.
#include "gigapixelMemoryPlan.h"
#include "gigapixelProcessMemory.h"
#include "gigapixelSlideMemory.h"
#include "itkGigapixelException.h"
#include "itkGigapixelUNetTrainer.h"
#include "itkSlideSegmentationImageSource.h"

#include "Sanitized.h"
#include "TemporaryFolder.h"
#include "UNetTestImages.h"
#include "itkImageFileWriter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkWholeSlideImageIO.h"

#include <fstream>
#include <memory>
#include <thread>
#include <vector>

using gigapixel::test::TemporaryFolder;
using gigapixel_test::ColorImage;
using gigapixel_test::GrayImage;

namespace
{

constexpr std::int64_t MiB = 1 << 20;

std::int64_t
GetPeakBytes()
{
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
  {
    if (line.rfind("VmHWM:", 0) == 0)
    {
      return std::stoll(line.substr(6)) * 1024;
    }
  }
  return 0;
}

/** Makes the system forget the peak until now. \return whether it does that */
bool
ForgetPeak()
{
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file.good();
}

template <typename TImage>
std::string
Write(TImage * image, const std::string & file)
{
  const auto writer = itk::ImageFileWriter<TImage>::New();
  writer->SetInput(image);
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetFileName(file);
  writer->Update();
  return file;
}

/** 4000 x 3000 pixels in color, 36 MB when decoded. */
std::string
DrawSlide(const TemporaryFolder & folder)
{
  const auto drawn = itk::SyntheticSlideImageSource::New();
  drawn->SetSize(4000, 3000);
  return Write<ColorImage>(drawn->GetOutput(), folder.File("slide.tif"));
}

/** Runs with limits that are refused until one is not. \param run sets the limit and updates
 * \return the limit that was enough */
template <typename TRun>
std::int64_t
FindLeastLimit(const TRun & run)
{
  std::int64_t limit = 1;
  for (int i = 0; i < 20; ++i)
  {
    try
    {
      ForgetPeak();
      run(limit);
      return limit;
    }
    catch (const itk::ExceptionObject & error)
    {
      const gigapixel::Diagnostic refusal = gigapixel::Diagnostic::Of(error);
      if (refusal.code != "E-MEMORY-BUDGET")
      {
        throw;
      }
      EXPECT_NE(refusal.remedy.find("tile_size"), std::string::npos) << refusal.remedy;
      EXPECT_NE(refusal.why.find("holds"), std::string::npos) << refusal.why;
      const std::int64_t least = std::stoll(refusal.value);
      EXPECT_GT(least, limit);
      // The refusal has brought pages of libraries into memory, which the next plan counts.
      EXPECT_TRUE(i == 0 || least <= limit + 8 * MiB) << least << " after " << limit;
      limit = std::max(least, limit + MiB / 4);
    }
  }
  return 0;
}

} // namespace

TEST(SlideMemory, TheLeastBoundOfTheTileCacheHoldsWhileItExists)
{
  using IO = itk::WholeSlideImageIO;
  const std::size_t before = IO::GetTileCacheLimit();
  IO::SetTileCacheLimit(200 * MiB);
  {
    const auto bind = [](std::int64_t bytes) { return std::make_unique<gigapixel::TileCacheBound>(16 * bytes); };
    auto       large = bind(100 * MiB);
    EXPECT_EQ(IO::GetTileCacheLimit(), static_cast<std::size_t>(100 * MiB));
    EXPECT_EQ(gigapixel::SlideMemory::GetCacheBytes(0), 200 * MiB); // nobody's bound is the base
    auto small = bind(50 * MiB);
    EXPECT_EQ(IO::GetTileCacheLimit(), static_cast<std::size_t>(50 * MiB));
    large.reset(); // the other one still exists
    EXPECT_EQ(IO::GetTileCacheLimit(), static_cast<std::size_t>(50 * MiB));
    const gigapixel::TileCacheBound none(0);
    EXPECT_EQ(IO::GetTileCacheLimit(), static_cast<std::size_t>(50 * MiB));
    small.reset();
    EXPECT_EQ(IO::GetTileCacheLimit(), static_cast<std::size_t>(200 * MiB));
    const auto more = bind(300 * MiB);
    EXPECT_EQ(IO::GetTileCacheLimit(), static_cast<std::size_t>(200 * MiB));
    IO::SetTileCacheLimit(80 * MiB); // of the caller, which stays
  }
  EXPECT_EQ(IO::GetTileCacheLimit(), static_cast<std::size_t>(80 * MiB));
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i)
  {
    threads.emplace_back([i] {
      for (int turn = 0; turn < 1000; ++turn)
      {
        const gigapixel::TileCacheBound bound(16 * i * MiB);
        EXPECT_LE(IO::GetTileCacheLimit(), static_cast<std::size_t>(i * MiB));
      }
    });
  }
  for (std::thread & thread : threads)
  {
    thread.join();
  }
  EXPECT_EQ(IO::GetTileCacheLimit(), static_cast<std::size_t>(80 * MiB));
  IO::SetTileCacheLimit(before);
}

TEST(SlideMemory, SegmentationStaysBelowItsLimit)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  if (!ForgetPeak())
  {
    GTEST_SKIP() << "the system does not forget the peak";
  }
  gigapixel::ReturnFreedMemory();
  const std::vector<char> held(64 * MiB, 1); // as Python holds: a plan counts what a process has, beyond a small one's
  const TemporaryFolder   folder("slide-memory");
  const std::string       slide = DrawSlide(folder);
  const gigapixel::Model  model = gigapixel_test::NoiseModel(512);
  const std::size_t       cache = itk::WholeSlideImageIO::GetTileCacheLimit();
  const auto              limit = FindLeastLimit([&](std::int64_t bytes) {
    const auto source = itk::SlideSegmentationImageSource<GrayImage>::New();
    const auto io = itk::WholeSlideImageIO::New();
    io->SetFileName(slide);
    source->SetSlide(io);
    source->SetModel(model);
    source->SetMemoryLimit(static_cast<itk::SizeValueType>(bytes));
    source->Update(); // all of it, 12 MB
  });
  const std::int64_t      peak = GetPeakBytes();
  EXPECT_EQ(held.back(), 1);
  EXPECT_LE(peak, limit);
  EXPECT_GT(peak, limit / 2) << "the limit is no measure of what is needed";
  EXPECT_EQ(itk::WholeSlideImageIO::GetTileCacheLimit(), cache);
}

TEST(SlideMemory, TrainingStaysBelowItsLimit)
{
  SKIP_WHERE_MEMORY_IS_SANITIZED();
  if (!ForgetPeak())
  {
    GTEST_SKIP() << "the system does not forget the peak";
  }
  gigapixel::ReturnFreedMemory();
  const std::vector<char> held(64 * MiB, 1); // as Python holds: a plan counts what a process has, beyond a small one's
  const TemporaryFolder   folder("slide-memory");
  const std::string       slide = DrawSlide(folder);
  const auto              mask = GrayImage::New();
  mask->SetRegions(itk::Size<2>{ { 500, 375 } });
  mask->Allocate();
  mask->FillBuffer(0);
  for (itk::IndexValueType i = 0; i < 200 * 500; ++i)
  {
    mask->GetBufferPointer()[i] = 255;
  }
  const double spacing[2] = { 0.004, 0.004 }, origin[2] = { 0.00175, 0.00175 };
  mask->SetSpacing(spacing);
  mask->SetOrigin(origin);
  const std::string  labels = Write<GrayImage>(mask.GetPointer(), folder.File("mask.tif"));
  const auto         limit = FindLeastLimit([&](std::int64_t bytes) {
    const auto trainer = itk::GigapixelUNetTrainer::New();
    trainer->SetNetwork("remedios2023");
    trainer->SetEpochs(1);
    trainer->SetTileSize(512);
    trainer->AddTrainingSlide(slide, labels);
    trainer->SetMemoryLimit(static_cast<itk::SizeValueType>(bytes));
    trainer->Update();
  });
  const std::int64_t peak = GetPeakBytes();
  EXPECT_EQ(held.back(), 1);
  EXPECT_LE(peak, limit);
  EXPECT_GT(peak, limit / 2);
}
