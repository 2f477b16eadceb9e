/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "itkGigapixelUNetImageFilter.h"

#include "TemporaryFolder.h"
#include "UNetTestImages.h"
#include "itkCommand.h"
#include "itkImageSource.h"
#include "itkMeanImageFilter.h"
#include "itkStreamingImageFilter.h"
#include "itkVectorImage.h"

#include <array>
#include <cmath>

using gigapixel_test::ColorImage;
using gigapixel_test::ExpectSamePixels;
using gigapixel_test::GrayImage;
using gigapixel_test::NoiseImage;
using gigapixel_test::NoiseModel;
using FloatImage = itk::Image<float, 2>;

namespace
{

constexpr unsigned Width = 461; // no multiple of anything
constexpr unsigned Height = 610;
constexpr unsigned Tile = 128;
constexpr unsigned Tiles = 4 * 5;
constexpr int      Halo = 64; // of remedios2023

template <typename TOutput = GrayImage, typename TInput = GrayImage>
typename itk::GigapixelUNetImageFilter<TInput, TOutput>::Pointer
MakeFilter(const TInput * image, const gigapixel::Model & model = NoiseModel(Tile))
{
  const auto filter = itk::GigapixelUNetImageFilter<TInput, TOutput>::New();
  filter->SetInput(image);
  filter->SetModel(model);
  return filter;
}

template <typename TImage>
typename TImage::Pointer
Result(itk::ImageSource<TImage> * filter)
{
  filter->UpdateLargestPossibleRegion();
  const typename TImage::Pointer image = filter->GetOutput();
  image->DisconnectPipeline();
  return image;
}

/** Hands on an image's regions, and remembers which ones were asked for. */
class RememberingSource : public itk::ImageSource<GrayImage>
{
public:
  using Self = RememberingSource;
  using Superclass = itk::ImageSource<GrayImage>;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);
  itkTypeMacro(RememberingSource, ImageSource);

  GrayImage::Pointer                 m_Image;
  std::vector<GrayImage::RegionType> m_Asked;

protected:
  void
  GenerateOutputInformation() override
  {
    this->GetOutput()->CopyInformation(m_Image);
    this->GetOutput()->SetLargestPossibleRegion(m_Image->GetLargestPossibleRegion());
  }

  void
  GenerateData() override
  {
    this->AllocateOutputs();
    const auto region = this->GetOutput()->GetBufferedRegion();
    m_Asked.push_back(region);
    itk::ImageAlgorithm::Copy(m_Image.GetPointer(), this->GetOutput(), region, region);
  }
};

RememberingSource::Pointer
Remembering(const GrayImage::Pointer & image)
{
  const auto source = RememberingSource::New();
  source->m_Image = image;
  return source;
}

TEST(GigapixelUNetImageFilter, ProbabilitiesVary)
{
  // All comparisons below would hold for a constant result too.
  const auto image = NoiseImage(Width, Height);
  const auto label = Result(MakeFilter(image.GetPointer()).GetPointer());
  const auto count = std::count(label->GetBufferPointer(), label->GetBufferPointer() + Width * Height, 255);
  EXPECT_GT(count, Width * Height / 20);
  EXPECT_LT(count, Width * Height * 19 / 20);
}

/** Percentiles of two channels, and a convolution of single pixels. */
gigapixel::Model
MakeNormalizingModel()
{
  gigapixel::Model model;
  model.network = gigapixel::NetworkDescription::FromJSON(R"({ "name": "stored values",
    "input": { "normalization": { "type": "percentiles", "low": 1, "high": 99 } }, "operations": [
      { "name": "x", "type": "input", "channels": 2 },
      { "name": "y", "type": "conv2d", "inputs": ["x"], "out_channels": 1, "kernel_size": 1 }],
    "output": "y", "loss": { "type": "binary cross-entropy" } })");
  model.parameters["y.weight"] = { { 1, 2, 1, 1 }, { 3, -2 } };
  model.parameters["y.bias"] = { { 1 }, { -0.5f } };
  model.tileSize = 64;
  model.micronsPerPixel = 0.5;
  return model;
}

/** As NumPy's. */
double
GetPercentile(std::vector<float> values, double percentile)
{
  std::sort(values.begin(), values.end());
  const double rank = static_cast<double>(values.size() - 1) * percentile / 100;
  const auto   below = static_cast<std::size_t>(rank);
  const double least = values[below], next = values[std::min(below + 1, values.size() - 1)];
  return least + (next - least) * (rank - static_cast<double>(below));
}

TEST(GigapixelUNetImageFilter, NormalizesFloatsByTheWholeInput)
{
  using VectorType = itk::VectorImage<float, 2>;
  constexpr unsigned Sides[] = { 150, 131 };
  const auto         image = VectorType::New();
  image->SetRegions(itk::Size<2>{ { Sides[0], Sides[1] } });
  image->SetNumberOfComponentsPerPixel(2);
  image->Allocate();
  gigapixel_test::SetSpacing(*image, 0.5);
  std::mt19937                      random(3);
  std::array<std::vector<float>, 2> values;
  for (std::size_t i = 0; i < 2 * Sides[0] * Sides[1]; ++i)
  {
    const float value = static_cast<float>(random() % 60000) * (i % 2 == 0 ? 1.0f : -0.25f);
    image->GetBufferPointer()[i] = value;
    values[i % 2].push_back(value);
  }
  std::array<double, 2> low{}, high{};
  for (std::size_t c = 0; c < 2; ++c)
  {
    low[c] = GetPercentile(values[c], 1);
    high[c] = GetPercentile(values[c], 99);
  }
  const auto filter = MakeFilter<FloatImage>(image.GetPointer(), MakeNormalizingModel());
  const auto streamer = itk::StreamingImageFilter<FloatImage, FloatImage>::New();
  streamer->SetInput(filter->GetOutput());
  streamer->SetNumberOfStreamDivisions(5);
  const auto result = Result(streamer.GetPointer());
  for (std::size_t i = 0; i < values[0].size(); ++i)
  {
    const auto show = [&](std::size_t c) {
      return (std::clamp<double>(values[c][i], low[c], high[c]) - low[c]) / (high[c] - low[c]);
    };
    const double logit = 3 * show(0) - 2 * show(1) - 0.5;
    ASSERT_NEAR(result->GetBufferPointer()[i], 1 / (1 + std::exp(-logit)), 1e-6) << i;
  }
}

TEST(GigapixelUNetImageFilter, TakesFloatsWithANormalizationAlone)
{
  const auto image = FloatImage::New();
  image->SetRegions(itk::Size<2>{ { Tile, Tile } });
  image->Allocate(true);
  gigapixel_test::SetSpacing(*image, 0.5);
  EXPECT_REFUSAL(MakeFilter<FloatImage>(image.GetPointer())->Update(), "E-MODEL-INPUT");
}

TEST(GigapixelUNetImageFilter, StreamedEqualsWholeAndComputesEachTileOnce)
{
  const auto image = NoiseImage(Width, Height);
  const auto whole = Result(MakeFilter<FloatImage>(image.GetPointer()).GetPointer());
  for (const unsigned divisions : { 1, 2, 3, 7, 16, 33, 64 })
  {
    for (const unsigned units : { 1, 2, 5 })
    {
      const auto filter = MakeFilter<FloatImage>(image.GetPointer());
      filter->SetNumberOfWorkUnits(units);
      const auto streamer = itk::StreamingImageFilter<FloatImage, FloatImage>::New();
      streamer->SetInput(filter->GetOutput());
      streamer->SetNumberOfStreamDivisions(divisions);
      ExpectSamePixels(*Result(streamer.GetPointer()), *whole);
      EXPECT_EQ(filter->GetNumberOfComputedTiles(), Tiles) << divisions << " divisions";
    }
  }
}

// The network sees each patch by itself. That no pixel is read that was not asked for is an error of the filter's
// source.
TEST(GigapixelUNetImageFilter, PatchesHaveTheSameBitsForAnyDivision)
{
  const auto image = NoiseImage(Width, Height);
  const auto make = [&](unsigned units) {
    const auto filter = MakeFilter<FloatImage>(image.GetPointer());
    filter->SetPatches({ 96, 0.3 });
    filter->SetNumberOfWorkUnits(units);
    return filter;
  };
  const auto                 whole = Result(make(1).GetPointer());
  gigapixel::Predictor       predictor(NoiseModel(Tile), 2, {}, gigapixel::Patches{ 96, 0.3 });
  itk::GigapixelBufferSource pixels(image->GetBufferPointer(), { 0, 0, Width, Height }, { Width, Height }, 1);
  std::vector<float>         wanted(Width * Height);
  ASSERT_TRUE(predictor.Predict(pixels, { 0, 0, Width, Height }, wanted.data()));
  ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), whole->GetBufferPointer()));
  for (const unsigned divisions : { 2, 7, 33, 64 })
  {
    const auto filter = make(divisions % 5 + 1);
    const auto streamer = itk::StreamingImageFilter<FloatImage, FloatImage>::New();
    streamer->SetInput(filter->GetOutput());
    streamer->SetNumberOfStreamDivisions(divisions);
    ExpectSamePixels(*Result(streamer.GetPointer()), *whole);
  }
  EXPECT_MESSAGE(
    [&] {
      const auto filter = make(1);
      filter->SetPatches({ 100, 0.3 });
      filter->Update();
    }(),
    "take 128");
}

// What is set to the same value again is not computed again; and the filter knows the same rule of thresholds as
// SlideSegmentationImageSource.
TEST(GigapixelUNetImageFilter, ThresholdAndPatchesAreSetAndTakenBack)
{
  const auto image = NoiseImage(Width, Height);
  const auto filter = MakeFilter(image.GetPointer());
  filter->SetThreshold(0.25);
  filter->SetPatches({ 128, 0.25 });
  filter->UpdateLargestPossibleRegion();
  const auto computed = filter->GetMTime();
  filter->SetThreshold(0.25);
  filter->SetPatches({ 128, 0.25 });
  EXPECT_EQ(filter->GetMTime(), computed);
  filter->ClearThreshold();
  filter->ClearPatches();
  EXPECT_EQ(filter->GetThreshold(), 0.5);
  ExpectSamePixels(*Result(filter.GetPointer()), *Result(MakeFilter(image.GetPointer()).GetPointer()));
  const auto cleared = filter->GetMTime();
  filter->ClearThreshold();
  filter->ClearPatches();
  EXPECT_EQ(filter->GetMTime(), cleared);

  const auto classes = MakeFilter(image.GetPointer(), gigapixel::Model::Load("tissue-classes"));
  EXPECT_EQ(classes->GetThreshold(), 0.5);
  classes->SetThreshold(0.5);
  EXPECT_REFUSAL(classes->Update(), "E-OPTION-APPLIES");
}

// The pixels of some tiles at a time go through shared memory, which on a CPU is plain memory.
TEST(GigapixelUNetImageFilter, SharedMemoryChangesNoBit)
{
  const auto image = NoiseImage(Width, Height);
  const auto streamed = Result(MakeFilter<FloatImage>(image.GetPointer()).GetPointer());
  const auto filter = MakeFilter<FloatImage>(image.GetPointer());
  EXPECT_FALSE(filter->GetSharedMemory());
  filter->SharedMemoryOn();
  const auto streamer = itk::StreamingImageFilter<FloatImage, FloatImage>::New();
  streamer->SetInput(filter->GetOutput());
  streamer->SetNumberOfStreamDivisions(7);
  ExpectSamePixels(*Result(streamer.GetPointer()), *streamed);
}

TEST(GigapixelUNetImageFilter, PixelsAreAskedForOnce)
{
  const auto source = Remembering(NoiseImage(Width, Height));
  const auto filter = MakeFilter(source->GetOutput());
  const auto streamer = itk::StreamingImageFilter<GrayImage, GrayImage>::New();
  streamer->SetInput(filter->GetOutput());
  streamer->SetNumberOfStreamDivisions(61); // ten rows each: twelve or thirteen strips for a row of tiles
  ExpectSamePixels(*Result(streamer.GetPointer()),
                   *Result(MakeFilter(NoiseImage(Width, Height).GetPointer()).GetPointer()));
  std::size_t pixels = 0;
  for (const auto & region : source->m_Asked)
  {
    pixels += region.GetNumberOfPixels() > 1 ? region.GetNumberOfPixels() : 0;
  }
  // Five rows of tiles, with the halo between them read twice; the first strip is as high as the next ones.
  EXPECT_EQ(pixels, Width * (Height + 4 * 2 * Halo + Halo));
  EXPECT_EQ(filter->GetNumberOfComputedTiles(), Tiles);
}

TEST(GigapixelUNetImageFilter, RandomRegionsEqualTheWhole)
{
  const auto   source = Remembering(NoiseImage(Width, Height));
  const auto   whole = Result(MakeFilter<FloatImage>(source->GetOutput()).GetPointer());
  const auto   filter = MakeFilter<FloatImage>(source->GetOutput());
  std::mt19937 random(11);
  for (int i = 0; i < 15; ++i)
  {
    itk::ImageRegion<2> region;
    region.SetIndex({ { static_cast<int>(random() % Width), static_cast<int>(random() % Height) } });
    region.SetSize({ { 1 + random() % std::min<unsigned long>(200, Width - region.GetIndex(0)),
                       1 + random() % std::min<unsigned long>(200, Height - region.GetIndex(1)) } });
    filter->GetOutput()->SetRequestedRegion(region);
    filter->Update();
    for (itk::ImageRegionConstIterator<FloatImage> it(filter->GetOutput(), region); !it.IsAtEnd(); ++it)
    {
      ASSERT_EQ(it.Get(), whole->GetPixel(it.GetIndex()));
    }
  }
}

TEST(GigapixelUNetImageFilter, AsksForItsTilesAndTheirHaloOnly)
{
  const auto image = NoiseImage(Width, Height);
  image->SetRegions(itk::ImageRegion<2>({ { 1000, -50 } }, { { Width, Height } }));
  image->Allocate();
  std::copy_n(NoiseImage(Width, Height)->GetBufferPointer(), Width * Height, image->GetBufferPointer());
  const auto source = Remembering(image);
  const auto filter = MakeFilter(source->GetOutput());
  filter->GetOutput()->UpdateOutputInformation();
  // Pixels (200, 300) to (299, 329) from the first one: tile columns 1 and 2, tile row 2.
  const itk::ImageRegion<2> region({ { 1200, 250 } }, { { 100, 30 } });
  filter->GetOutput()->SetRequestedRegion(region);
  filter->Update();
  ASSERT_EQ(source->m_Asked.size(), 1u);
  EXPECT_EQ(
    source->m_Asked[0],
    itk::ImageRegion<2>({ { 1000 + 128 - Halo, -50 + 256 - Halo } }, { { 2 * 128 + 2 * Halo, 128 + 2 * Halo } }));
  const auto whole = Result(MakeFilter(NoiseImage(Width, Height).GetPointer()).GetPointer());
  for (itk::ImageRegionConstIterator<GrayImage> it(filter->GetOutput(), region); !it.IsAtEnd(); ++it)
  {
    const auto index = it.GetIndex();
    ASSERT_EQ(it.Get(), whole->GetPixel({ { index[0] - 1000, index[1] + 50 } }));
  }
}

TEST(GigapixelUNetImageFilter, WorksInTheMiddleOfAPipeline)
{
  const gigapixel::test::TemporaryFolder folder{ "unet" };
  const auto                             image = NoiseImage(Width, Height);
  using Mean = itk::MeanImageFilter<GrayImage, GrayImage>;

  const auto reader = itk::ImageFileReader<GrayImage>::New();
  reader->SetFileName(gigapixel_test::Write(image.GetPointer(), folder.File("image.mha")));
  const auto mean = Mean::New();
  mean->SetInput(reader->GetOutput());
  const auto filter = MakeFilter(mean->GetOutput());
  const auto writer = itk::ImageFileWriter<GrayImage>::New();
  writer->SetInput(filter->GetOutput());
  writer->SetFileName(folder.File("label.mha"));
  writer->SetNumberOfStreamDivisions(17);
  writer->Update();
  EXPECT_EQ(filter->GetNumberOfComputedTiles(), Tiles);
  EXPECT_LT(reader->GetOutput()->GetBufferedRegion().GetSize(1), Height);

  const auto wholeMean = Mean::New();
  wholeMean->SetInput(image);
  const auto written = itk::ImageFileReader<GrayImage>::New();
  written->SetFileName(folder.File("label.mha"));
  ExpectSamePixels(*Result(written.GetPointer()),
                   *Result(MakeFilter(Result(wholeMean.GetPointer()).GetPointer()).GetPointer()));
}

TEST(GigapixelUNetImageFilter, ColorsAreMadeGrayByRec601)
{
  const auto color = NoiseImage<ColorImage>(Width, Height);
  const auto gray = GrayImage::New();
  gray->SetRegions(color->GetBufferedRegion());
  gray->CopyInformation(color);
  gray->Allocate();
  gigapixel::AdaptChannels(itk::GigapixelImageSource(color.GetPointer()).pixels, 1, "color")
    ->Read(gigapixel::Region{ 0, 0, Width, Height }, gray->GetBufferPointer());
  ExpectSamePixels(*Result(MakeFilter<FloatImage>(color.GetPointer()).GetPointer()),
                   *Result(MakeFilter<FloatImage>(gray.GetPointer()).GetPointer()));
}

TEST(GigapixelUNetImageFilter, LabelsAndBytesComeFromTheProbabilities)
{
  const auto image = NoiseImage(Width, Height);
  const auto probability = Result(MakeFilter<FloatImage>(image.GetPointer()).GetPointer());
  const auto bytes = MakeFilter(image.GetPointer());
  bytes->SetOutputMode(itk::GigapixelUNetOutput::Probability);
  const auto labels = MakeFilter(image.GetPointer());
  labels->SetThreshold(0.25);
  const auto byteImage = Result(bytes.GetPointer());
  const auto labelImage = Result(labels.GetPointer());
  for (std::size_t i = 0; i < Width * Height; ++i)
  {
    const float p = probability->GetBufferPointer()[i];
    ASSERT_GE(p, 0.0f);
    ASSERT_LE(p, 1.0f);
    ASSERT_EQ(byteImage->GetBufferPointer()[i], std::lround(255.0 * p));
    ASSERT_EQ(labelImage->GetBufferPointer()[i], p >= 0.25f ? 255 : 0);
  }
}

TEST(GigapixelUNetImageFilter, SeveralClasses)
{
  const std::string json = R"({ "name": "three", "input": { "channels": 1, "invert": true }, "layers": [
    { "name": "A", "type": "convolution", "in": 1, "out": 4, "kernel": 4, "stride": 2, "padding": 1, "activation": "relu" },
    { "name": "B", "type": "transposed convolution", "in": 4, "out": 3, "kernel": 2, "stride": 2, "activation": "none" } ],
    "loss": { "type": "softmax cross-entropy" } })";
  const auto        model = NoiseModel(64, json);
  const auto        image = NoiseImage(150, 90);
  using Vectors = itk::VectorImage<float, 2>;
  const auto probabilities = Result(MakeFilter<Vectors>(image.GetPointer(), model).GetPointer());
  const auto labels = Result(MakeFilter(image.GetPointer(), model).GetPointer());
  ASSERT_EQ(probabilities->GetNumberOfComponentsPerPixel(), 3u);
  std::array<int, 3> counts{};
  for (std::size_t i = 0; i < 150 * 90; ++i)
  {
    const float * p = probabilities->GetBufferPointer() + 3 * i;
    ASSERT_NEAR(p[0] + p[1] + p[2], 1, 1e-5); // a softmax
    ASSERT_EQ(labels->GetBufferPointer()[i], std::max_element(p, p + 3) - p);
    ++counts[labels->GetBufferPointer()[i]];
  }
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 0);
  EXPECT_REFUSAL(MakeFilter<FloatImage>(image.GetPointer(), model)->Update(), "E-MODEL-OUTPUT");
}

/** Two classes are background and object, whether they have one output channel or one each. */
TEST(GigapixelUNetImageFilter, TwoClassesWithAnOutputEach)
{
  const std::string json = R"({ "name": "two", "input": { "channels": 1, "invert": true }, "layers": [
    { "name": "A", "type": "convolution", "in": 1, "out": 4, "kernel": 4, "stride": 2, "padding": 1, "activation": "relu" },
    { "name": "B", "type": "transposed convolution", "in": 4, "out": 2, "kernel": 2, "stride": 2, "activation": "none" } ],
    "loss": { "type": "softmax cross-entropy" } })";
  const auto        model = NoiseModel(64, json);
  const auto        image = NoiseImage(150, 90);
  using Vectors = itk::VectorImage<float, 2>;
  const auto probability = Result(MakeFilter<FloatImage>(image.GetPointer(), model).GetPointer());
  const auto components = Result(MakeFilter<Vectors>(image.GetPointer(), model).GetPointer());
  const auto labels = Result(MakeFilter(image.GetPointer(), model).GetPointer());
  const auto floats = MakeFilter<FloatImage>(image.GetPointer(), model);
  floats->SetOutputMode(itk::GigapixelUNetOutput::Label);
  const auto bytes = MakeFilter(image.GetPointer(), model);
  bytes->SetOutputMode(itk::GigapixelUNetOutput::Probability);
  const auto floatLabels = Result(floats.GetPointer());
  const auto byteImage = Result(bytes.GetPointer());
  ASSERT_EQ(components->GetNumberOfComponentsPerPixel(), 1u);
  std::array<int, 2> counts{};
  for (std::size_t i = 0; i < 150 * 90; ++i)
  {
    const float p = probability->GetBufferPointer()[i];
    const bool  object = p > 0.5f;
    ASSERT_EQ(components->GetBufferPointer()[i], p);
    ASSERT_EQ(byteImage->GetBufferPointer()[i], std::lround(255.0 * p));
    if (std::abs(p - 0.5f) > 1e-6f)
    {
      ASSERT_EQ(labels->GetBufferPointer()[i], object ? 255 : 0);
    }
    ASSERT_EQ(floatLabels->GetBufferPointer()[i], labels->GetBufferPointer()[i]);
    ++counts[object];
  }
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 0);
}

// A pipeline sets the bytes while it updates: tiles that are remembered stay, unless there is less room for the rest.
TEST(GigapixelUNetImageFilter, BytesBesideItArePlannedAnewOnlyWhereTheyGrow)
{
  const auto filter = MakeFilter<FloatImage>(NoiseImage(Width, Height).GetPointer());
  filter->SetMemoryLimit(4000000000);
  filter->SetBesideBytes([](std::int64_t) { return 20000000; });
  const auto output = filter->GetOutput();
  const auto update = [&](unsigned y, unsigned rows) {
    output->SetRequestedRegion(FloatImage::RegionType({ { 0, itk::IndexValueType(y) } }, { { Width, rows } }));
    output->Update();
  };
  output->UpdateOutputInformation();
  update(0, 10);
  const auto time = filter->GetMTime();
  const auto tiles = filter->GetNumberOfComputedTiles();
  EXPECT_GT(tiles, 0u);
  filter->SetBesideBytes([](std::int64_t) { return 10000000; });
  update(5, 10); // of the same tiles
  EXPECT_EQ(filter->GetNumberOfComputedTiles(), tiles);
  EXPECT_EQ(filter->GetMTime(), time);
  filter->SetBesideBytes([](std::int64_t) { return 3999999999; });
  EXPECT_REFUSAL(update(Height - 10, 10), "E-MEMORY-BUDGET");
}

TEST(GigapixelUNetImageFilter, MemoryLimitChangesNothing)
{
  const auto image = NoiseImage(Width, Height);
  const auto limited = MakeFilter<FloatImage>(image.GetPointer());
  limited->SetMemoryLimit(4000000000);
  ExpectSamePixels(*Result(limited.GetPointer()), *Result(MakeFilter<FloatImage>(image.GetPointer()).GetPointer()));
}

TEST(GigapixelUNetImageFilter, ChangedPixelsAreComputedAnew)
{
  const auto                image = NoiseImage(Width, Height);
  const auto                filter = MakeFilter<FloatImage>(image.GetPointer());
  const itk::ImageRegion<2> top({ { 0, 0 } }, { { Width, 10 } });
  filter->GetOutput()->SetRequestedRegion(top);
  filter->Update();
  const float before = filter->GetOutput()->GetPixel({ { 5, 5 } });
  image->FillBuffer(0);
  image->Modified();
  filter->GetOutput()->SetRequestedRegion(top);
  filter->Update();
  EXPECT_NE(filter->GetOutput()->GetPixel({ { 5, 5 } }), before);
}

TEST(GigapixelUNetImageFilter, ProgressRisesToOneAndAbortStops)
{
  const auto         image = NoiseImage(Width, Height);
  const auto         filter = MakeFilter(image.GetPointer());
  std::vector<float> progress;
  const auto         tag = filter->AddObserver(itk::ProgressEvent(),
                                       [&](const itk::EventObject &) { progress.push_back(filter->GetProgress()); });
  filter->Update();
  EXPECT_GE(progress.size(), 5u);
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_EQ(progress.back(), 1.0f);
  filter->RemoveObserver(tag);

  const auto aborted = MakeFilter(image.GetPointer());
  const auto abort = aborted->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
    aborted->SetAbortGenerateData(aborted->GetProgress() > 0.3);
  });
  EXPECT_THROW(aborted->Update(), itk::ProcessAborted);
  EXPECT_LT(aborted->GetNumberOfComputedTiles(), Tiles);
  aborted->RemoveObserver(abort);
  ExpectSamePixels(*Result(aborted.GetPointer()), *Result(filter.GetPointer()));
}

TEST(GigapixelUNetImageFilter, ModelsOfAnotherResolutionAreRefused)
{
  const auto image = NoiseImage(200, 100);
  gigapixel_test::SetSpacing(*image, 0.25);
  auto model = NoiseModel(Tile);
  model.micronsPerPixel = 0.5;
  EXPECT_REFUSAL(MakeFilter(image.GetPointer(), model)->Update(), "E-SLIDE-RESOLUTION");
  model.micronsPerPixel = 0.26; // 4 %
  MakeFilter(image.GetPointer(), model)->Update();
  EXPECT_TRUE(itk::GigapixelCheckResolution(0.5, 0.51).IsEmpty());
  EXPECT_EQ(itk::GigapixelCheckResolution(0.5, 0).code, "W-SLIDE-RESOLUTION");
  EXPECT_NE(itk::GigapixelCheckResolution(0.5, 0).why.find("0.5"), std::string::npos);
  EXPECT_EQ(itk::GigapixelCheckResolution(0, 0).code, "W-SLIDE-RESOLUTION");
}

TEST(GigapixelUNetImageFilter, ModelFilesGiveWhatTheirModelsGive)
{
  const gigapixel::test::TemporaryFolder folder{ "unet" };
  const auto                             image = NoiseImage(Width, Height);
  NoiseModel(Tile).Save(folder.File("model.safetensors"));
  const auto filter = itk::GigapixelUNetImageFilter<GrayImage, FloatImage>::New();
  filter->SetInput(image);
  EXPECT_REFUSAL(filter->Update(), "E-CALL-ORDER");
  filter->SetModelFileName(folder.File("none.safetensors"));
  EXPECT_MESSAGE(filter->Update(), folder.File("none.safetensors"));
  filter->SetModelFileName(folder.File("model.safetensors"));
  ExpectSamePixels(*Result(filter.GetPointer()), *Result(MakeFilter<FloatImage>(image.GetPointer()).GetPointer()));
}

TEST(GigapixelUNetImageFilter, OnePieceGivesWhatTilesGive)
{
  const auto image = NoiseImage(Width, Height);
  const auto whole = MakeFilter<GrayImage>(image.GetPointer());
  whole->SetTileSize(gigapixel::WholeImage);
  ExpectSamePixels(*Result(whole.GetPointer()), *Result(MakeFilter<GrayImage>(image.GetPointer()).GetPointer()));
}

TEST(GigapixelUNetImageFilter, WhatDoesNotSuitTheNetworkIsRefused)
{
  const auto image = NoiseImage(Width, Height);
  const auto filter = MakeFilter<GrayImage>(image.GetPointer());
  filter->SetTileSize(100);
  EXPECT_MESSAGE(filter->Update(), "100");
  filter->SetPatches(gigapixel::Patches{ 128 });
  EXPECT_REFUSAL(filter->Update(), "E-OPTION-CONFLICT");
  gigapixel::Model model;
  model.network = gigapixel::NetworkDescription::FromJSON(R"({ "name": "volumes", "operations": [
    { "name": "image", "type": "input", "channels": 1, "axes": 3 },
    { "name": "logit", "type": "conv3d", "inputs": ["image"], "out_channels": 1, "kernel_size": 1 } ],
    "output": "logit" })");
  model.parameters = { { "logit.weight", { { 1, 1, 1, 1, 1 }, { 1 } } }, { "logit.bias", { { 1 }, { 0 } } } };
  model.tileSize = 64;
  EXPECT_REFUSAL(MakeFilter<GrayImage>(image.GetPointer(), model)->Update(), "E-MODEL-INPUT");
}

TEST(GigapixelUNetImageFilter, ChannelsThatDoNotFitAreRefused)
{
  const auto vectors = itk::VectorImage<unsigned char, 2>::New();
  vectors->SetRegions(itk::Size<2>{ { 100, 80 } });
  vectors->SetNumberOfComponentsPerPixel(4);
  vectors->Allocate(true);
  EXPECT_REFUSAL((MakeFilter<GrayImage>(vectors.GetPointer())->Update()), "E-MODEL-INPUT");
}

// A 1x1 convolution: the logit of a pixel is a sum over its own channels.
TEST(GigapixelUNetImageFilter, ImagesOfFourChannelsAreVectorImages)
{
  constexpr std::array<float, 4> Weights{ 1.5F, -2, 0.5F, 3 };
  constexpr float                Bias = -1.25F;
  gigapixel::Model               model;
  model.network = gigapixel::NetworkDescription::FromJSON(
    R"({ "name": "sum", "input": { "channels": 4, "invert": false }, "layers": [
         { "name": "S", "type": "convolution", "in": 4, "out": 1, "kernel": 1, "activation": "none" } ] })");
  model.parameters["S.weight"] = { { 1, 4, 1, 1 }, { Weights.begin(), Weights.end() } };
  model.parameters["S.bias"] = { { 1 }, { Bias } };
  model.tileSize = 32;

  const auto vectors = itk::VectorImage<unsigned char, 2>::New();
  vectors->SetRegions(itk::Size<2>{ { 83, 70 } });
  vectors->SetNumberOfComponentsPerPixel(4);
  vectors->Allocate();
  const auto noise = NoiseImage(4 * 83, 70);
  std::copy_n(noise->GetBufferPointer(), 4 * 83 * 70, vectors->GetBufferPointer());
  const auto probabilities = Result(MakeFilter<FloatImage>(vectors.GetPointer(), model).GetPointer());
  float      greatest = 0;
  for (std::size_t i = 0; i < 83 * 70; ++i)
  {
    double logit = Bias;
    for (std::size_t c = 0; c < 4; ++c)
    {
      logit += Weights[c] * noise->GetBufferPointer()[4 * i + c] / 255.0;
    }
    const double expected = 1 / (1 + std::exp(-logit));
    greatest = std::max(greatest, std::abs(static_cast<float>(expected) - probabilities->GetBufferPointer()[i]));
  }
  EXPECT_LT(greatest, 1e-6);
  EXPECT_REFUSAL(MakeFilter(NoiseImage(83, 70).GetPointer(), model)->Update(), "E-MODEL-INPUT");
}

} // namespace
