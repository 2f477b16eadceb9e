/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelFileSource.h"

#include "../TestData.h"
#include "TemporaryFolder.h"
#include "UNetTestImages.h"
#include "gigapixelMaskLabelSource.h"
#include "gigapixelReadingMemory.h"
#include "itkGigapixelUNetTrainer.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkSyntheticSlideTruthImageSource.h"
#include "itkWholeSlideImageIO.h"

using gigapixel::Region;
using gigapixel::test::TemporaryFolder;
using gigapixel_test::ColorImage;
using gigapixel_test::GrayImage;

namespace
{

constexpr unsigned Width = 1111;
constexpr unsigned Height = 900;

template <typename TImage>
std::string
WritePyramid(const TImage * image, const std::string & fileName)
{
  const auto writer = itk::ImageFileWriter<TImage>::New();
  writer->SetInput(image);
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetFileName(fileName);
  writer->Update();
  return fileName;
}

std::string
DrawSlide(const TemporaryFolder & folder)
{
  const auto slide = itk::SyntheticSlideImageSource::New();
  slide->SetSize(Width, Height);
  return WritePyramid(slide->GetOutput(), folder.File("slide.tif"));
}

GrayImage::Pointer
DrawTruth()
{
  const auto truth = itk::SyntheticSlideTruthImageSource::New();
  truth->SetSize(Width, Height);
  truth->Update();
  return truth->GetOutput();
}

/** Every eighth pixel, on a grid with the centers that the label filters give. */
GrayImage::Pointer
Eighth(const GrayImage & truth)
{
  const auto mask = GrayImage::New();
  mask->SetRegions(itk::Size<2>{ { (Width + 7) / 8, (Height + 7) / 8 } });
  mask->Allocate();
  gigapixel_test::SetSpacing(*mask, 4.0, 3.5 * 0.0005);
  for (itk::ImageRegionIterator<GrayImage> it(mask, mask->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    it.Set(truth.GetPixel({ { 8 * it.GetIndex()[0], 8 * it.GetIndex()[1] } }));
  }
  return mask;
}

template <typename TImage>
typename TImage::Pointer
ReadWithITK(const std::string & file, unsigned level)
{
  const auto io = itk::WholeSlideImageIO::New();
  io->SetLevel(level);
  io->SetGray(sizeof(typename TImage::PixelType) == 1);
  const auto reader = itk::ImageFileReader<TImage>::New();
  reader->SetImageIO(io);
  reader->SetFileName(file);
  reader->Update();
  return reader->GetOutput();
}

template <typename TImage>
void
ExpectSame(const gigapixel::PhysicalImage & source, const TImage & image)
{
  const auto                grid = itk::GigapixelGridOf(image);
  const auto                size = source.pixels->GetSize();
  std::vector<std::uint8_t> samples(static_cast<std::size_t>(size.width * size.height) *
                                    source.pixels->GetNumberOfChannels());
  ASSERT_EQ(samples.size(), image.GetBufferedRegion().GetNumberOfPixels() * sizeof(typename TImage::PixelType));
  source.pixels->Read(Region{ 0, 0, size.width, size.height }, samples.data());
  EXPECT_EQ(std::memcmp(samples.data(), image.GetBufferPointer(), samples.size()), 0);
  EXPECT_EQ(source.grid.spacing, grid.spacing);
  EXPECT_EQ(source.grid.origin, grid.origin);
}

TEST(GigapixelFileSource, SlidesAreReadAtEveryLevelInColorAndGray)
{
  const TemporaryFolder    folder{ "unet" };
  const std::string        file = DrawSlide(folder);
  itk::GigapixelResolution resolution;
  ExpectSame(itk::GigapixelFileSource(file), *ReadWithITK<ColorImage>(file, 0));
  ExpectSame(itk::GigapixelFileSource(file, resolution, 1), *ReadWithITK<GrayImage>(file, 0));
  resolution.level = 1;
  const auto second = itk::GigapixelFileSource(file, resolution);
  ExpectSame(second, *ReadWithITK<ColorImage>(file, 1));
  EXPECT_EQ(second.downsamples[0], 2);
  resolution.level = 0;
  resolution.micronsPerPixel = 1.0;
  EXPECT_EQ(itk::GigapixelFileSource(file, resolution).downsamples[0], 2);
  resolution.micronsPerPixel = 1.3;
  const auto resampled = itk::GigapixelFileSource(file, resolution);
  EXPECT_DOUBLE_EQ(resampled.grid.GetMicronsPerPixel(), 1.3);
  EXPECT_DOUBLE_EQ(resampled.downsamples[1], 2.6);
  EXPECT_EQ(resampled.pixels->GetSize().width, 428);
  EXPECT_GT(resampled.decodingBytes, 0);
  EXPECT_EQ(second.decodingBytes, 0);
  resolution.micronsPerPixel = 0;
  resolution.level = 9;
  EXPECT_MESSAGE(itk::GigapixelFileSource(file, resolution), file);
}

TEST(GigapixelFileSource, ResamplingTakesTheMemoryThatItsReaderSays)
{
  constexpr std::int64_t   budget = 64 * 1024 * 1024;
  const TemporaryFolder    folder{ "unet" };
  const std::string        file = DrawSlide(folder);
  itk::GigapixelResolution resolution;
  resolution.micronsPerPixel = 1.3;
  gigapixel::ReadingMemory ofImage, ofReader;
  EXPECT_EQ(ofImage.LimitThreads(64, budget), 64);
  ofImage.AddResampling(itk::GigapixelFileSource(file, resolution));
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(file);
  io->SetMicronsPerPixel(1.3);
  io->ReadImageInformation();
  ofReader.AddResampling(*io);
  EXPECT_EQ(ofImage.GetBytes(budget), ofReader.GetBytes(budget));
  EXPECT_EQ(ofImage.LimitThreads(64, budget), ofReader.LimitThreads(64, budget));
  EXPECT_LT(ofImage.LimitThreads(64, budget), 64);
}

TEST(GigapixelFileSource, FurtherReadersOfASlideGiveNoWarnings)
{
  const TemporaryFolder folder{ "unet" };
  const auto            truth = DrawTruth();
  gigapixel_test::SetSpacing(*truth, 25); // no resolution of a slide
  const std::string own = "ITKGigapixel pyramid";
  const std::string file = WritePyramid(truth.GetPointer(), folder.File("slide.tif"));
  std::ifstream     stream(file, std::ios::binary);
  std::string       bytes{ std::istreambuf_iterator<char>(stream), {} };
  ASSERT_NE(bytes.find(own), std::string::npos);
  bytes.replace(bytes.find(own), own.size(), own.size(), 'x'); // whose resolutions are never doubted
  std::ofstream(file, std::ios::binary) << bytes;
  testing::internal::CaptureStderr();
  const auto slide = itk::GigapixelFileSource(file);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("W-SLIDE-RESOLUTION"), std::string::npos);

  const auto writer = itk::ImageFileWriter<GrayImage>::New();
  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetMadeBy("label " + slide.content);
  writer->SetInput(DrawTruth());
  writer->SetImageIO(io);
  writer->SetFileName(folder.File("mask.tif"));
  writer->Update();
  testing::internal::CaptureStderr();
  EXPECT_EQ(itk::GigapixelTissueSource(folder.File("mask.tif"), file).madeOf, slide.content);
  gigapixel::ReadingMemory().AddFile(file, 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("W-"), std::string::npos);
}

TEST(GigapixelFileSource, MaskPyramidAtOneEighthServesEveryLevel)
{
  const TemporaryFolder folder{ "unet" };
  const std::string     file = DrawSlide(folder);
  const auto            truth = DrawTruth();
  const auto            mask = Eighth(*truth);
  const std::string     maskFile = WritePyramid(mask.GetPointer(), folder.File("mask.pyramid.tif"));
  for (unsigned level = 0; level < 2; ++level)
  {
    itk::GigapixelResolution resolution;
    resolution.level = level;
    const auto                 slide = itk::GigapixelFileSource(file, resolution, 1);
    gigapixel::MaskLabelSource labels(itk::GigapixelFileSource(maskFile), slide.grid, slide.name, 2, slide.scanned);
    const auto                 size = labels.GetSize();
    std::vector<std::uint8_t>  classes(static_cast<std::size_t>(size.width * size.height));
    labels.Read(Region{ 0, 0, size.width, size.height }, classes.data());
    std::size_t objects = 0;
    for (std::int64_t y = 0; y < size.height; ++y)
    {
      for (std::int64_t x = 0; x < size.width; ++x)
      {
        const auto expected = mask->GetPixel({ { (x << level) / 8, (y << level) / 8 } }) / 255;
        ASSERT_EQ(classes[static_cast<std::size_t>(y * size.width + x)], expected) << level << ": " << x << ", " << y;
        objects += expected;
      }
    }
    EXPECT_GT(objects, classes.size() / 20);
  }
}

TEST(GigapixelFileSource, TrainingOnSlidesEqualsTrainingOnTheirImages)
{
  const TemporaryFolder folder{ "unet" };
  const std::string     file = DrawSlide(folder);
  const auto            mask = Eighth(*DrawTruth());
  const std::string     maskFile = WritePyramid(mask.GetPointer(), folder.File("mask.pyramid.tif"));
  const auto            image = ReadWithITK<GrayImage>(file, 1);

  const auto slides = itk::GigapixelUNetTrainer::New();
  slides->SetNetwork("remedios2023");
  slides->SetEpochs(2);
  slides->SetMicronsPerPixel(1.0);
  slides->AddTrainingSlide(file, maskFile, Region{ 128, 64, 801, 640 }); // level-0 pixels
  slides->Update();
  const auto images = itk::GigapixelUNetTrainer::New();
  images->SetNetwork("remedios2023");
  images->SetEpochs(2);
  images->AddTrainingImage(
    image.GetPointer(), mask.GetPointer(), itk::ImageRegion<2>({ { 64, 32 } }, { { 401, 320 } }));
  images->Update();
  ASSERT_EQ(slides->GetLastModel().parameters.size(), images->GetLastModel().parameters.size());
  for (const auto & [name, parameter] : slides->GetLastModel().parameters)
  {
    EXPECT_EQ(parameter.values, images->GetLastModel().parameters.at(name).values) << name;
  }
  EXPECT_NEAR(slides->GetLastModel().micronsPerPixel, 1.0, 1e-6);
}

TEST(GigapixelFileSource, RealSlide)
{
  GIGAPIXEL_REAL_SLIDE(file, "slides/cmu-1-small-region.svs");
  const auto slide = itk::GigapixelFileSource(file);
  ExpectSame(slide, *ReadWithITK<ColorImage>(file, 0));
  EXPECT_NEAR(slide.grid.GetMicronsPerPixel(), 0.499, 1e-9);
}

} // namespace
