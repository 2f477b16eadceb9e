/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "itkSlideSegmentationImageSource.h"

#include "DamagedTiles.h"
#include "TemporaryFolder.h"
#include "UNetTestImages.h"
#include "gigapixelFollowedSlide.h"
#include "itkBinaryHoleFillImageFilter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkRegionOfInterestImageFilter.h"
#include "itkStreamingImageFilter.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkWholeSlideImageIO.h"

using gigapixel::test::TemporaryFolder;
using gigapixel_test::ColorImage;
using gigapixel_test::ExpectSamePixels;
using gigapixel_test::GrayImage;
using itk::GigapixelUNetOutput;

namespace
{

using FloatImage = itk::Image<float, 2>;

/** 1111 x 900 pixels in color at 0.5 um (or unknown), with levels below. */
std::string
DrawSlide(const TemporaryFolder & folder, double millimeters = 0.0005, const std::string & compressor = "Deflate")
{
  const auto drawn = itk::SyntheticSlideImageSource::New();
  drawn->SetSize(1111, 900);
  drawn->Update();
  const ColorImage::Pointer image = drawn->GetOutput();
  image->DisconnectPipeline();
  const double spacing[2] = { millimeters, millimeters };
  image->SetSpacing(spacing);
  const auto writer = itk::ImageFileWriter<ColorImage>::New();
  writer->SetInput(image);
  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetCompressor(compressor);
  writer->SetImageIO(io);
  writer->SetFileName(folder.File("slide.tif"));
  writer->Update();
  return folder.File("slide.tif");
}

/** remedios2023, or the same for other channels and outputs. */
gigapixel::Model
MakeModel(unsigned channels, double micronsPerPixel, unsigned outputs = 1)
{
  std::string json = gigapixel::NetworkDescription::Load("remedios2023").ToJSON();
  const auto  replace = [&json](const std::string & what, const std::string & with) {
    const auto at = json.find(what);
    ASSERT_NE(at, std::string::npos) << what << " in " << json;
    json.replace(at, what.size(), with);
  };
  auto model = gigapixel_test::NoiseModel(128);
  if (channels != 1 || outputs != 1)
  {
    std::ifstream file(GIGAPIXEL_SOURCE_DIR "/Modules/Network/networks/remedios2023.json");
    json.assign(std::istreambuf_iterator<char>(file), {});
    replace("\"channels\": 1", "\"channels\": " + std::to_string(channels));
    replace("\"in\": 1,", "\"in\": " + std::to_string(channels) + ',');
    if (outputs != 1)
    {
      replace("\"out\": 1,", "\"out\": " + std::to_string(outputs) + ',');
      replace("binary cross-entropy", "softmax cross-entropy");
    }
    model = gigapixel_test::NoiseModel(128, json);
  }
  model.micronsPerPixel = micronsPerPixel;
  return model;
}

itk::WholeSlideImageIO::Pointer
Open(const std::string & file)
{
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(file);
  return slide;
}

template <typename TOutput = GrayImage>
typename itk::SlideSegmentationImageSource<TOutput>::Pointer
MakeSource(const std::string & file, const gigapixel::Model & model)
{
  const auto source = itk::SlideSegmentationImageSource<TOutput>::New();
  source->SetSlide(Open(file));
  source->SetModel(model);
  return source;
}

/** Reader and network alone, with the level and the pixels that the model is made for. */
template <typename TImage>
GrayImage::Pointer
SegmentByHand(const std::string & file, const gigapixel::Model & model, unsigned level)
{
  const auto slide = Open(file);
  slide->SetLevel(level);
  slide->SetGray(std::is_same<TImage, GrayImage>::value);
  const auto reader = itk::ImageFileReader<TImage>::New();
  reader->SetImageIO(slide);
  reader->SetFileName(file);
  const auto network = itk::GigapixelUNetImageFilter<TImage, GrayImage>::New();
  network->SetInput(reader->GetOutput());
  network->SetModel(model);
  network->Update();
  return network->GetOutput();
}

} // namespace

TEST(SlideSegmentationImageSource, ReadsTheChannelsAndTheLevelOfTheModel)
{
  const TemporaryFolder folder{ "unet" };
  const std::string     file = DrawSlide(folder);
  for (const unsigned level : { 0u, 1u })
  {
    const double micrometers = level == 0 ? 0.52 : 0.97; // within 10 % of the level's
    for (const unsigned channels : { 1u, 3u })
    {
      const auto model = MakeModel(channels, micrometers);
      const auto source = MakeSource(file, model);
      source->Update();
      EXPECT_EQ(source->GetLevel(), level);
      ExpectSamePixels(*source->GetOutput(),
                       channels == 1 ? *SegmentByHand<GrayImage>(file, model, level)
                                     : *SegmentByHand<ColorImage>(file, model, level));
    }
  }
}

TEST(SlideSegmentationImageSource, StreamedRegionsAndHolesAreThoseOfTheWholeSlide)
{
  const TemporaryFolder folder{ "unet" };
  const auto            whole = MakeSource(DrawSlide(folder), MakeModel(1, 1.0));
  whole->Update();
  const auto part = MakeSource(folder.File("slide.tif"), MakeModel(1, 1.0));
  part->SetRegion({ 101, 40, 900, 700 }); // of level 0: whole pixels of level 1 around it, as far as the slide reaches
  const auto streamer = itk::StreamingImageFilter<GrayImage, GrayImage>::New();
  streamer->SetInput(part->GetOutput());
  streamer->SetNumberOfStreamDivisions(5);
  streamer->Update();
  const itk::ImageRegion<2> region({ { 50, 20 } }, { { 451, 350 } });
  EXPECT_EQ(part->GetSlideRegion(), region);
  EXPECT_EQ(streamer->GetOutput()->GetLargestPossibleRegion(), region);
  const auto crop = itk::RegionOfInterestImageFilter<GrayImage, GrayImage>::New();
  crop->SetInput(whole->GetOutput());
  crop->SetRegionOfInterest(region);
  crop->Update();
  const auto pixels = region.GetNumberOfPixels();
  EXPECT_TRUE(std::equal(crop->GetOutput()->GetBufferPointer(),
                         crop->GetOutput()->GetBufferPointer() + pixels,
                         streamer->GetOutput()->GetBufferPointer()));

  part->FillHolesOn();
  part->UpdateLargestPossibleRegion();
  const auto fill = itk::BinaryHoleFillImageFilter<GrayImage>::New();
  fill->SetInput(crop->GetOutput());
  fill->Update();
  EXPECT_TRUE(std::equal(fill->GetOutput()->GetBufferPointer(),
                         fill->GetOutput()->GetBufferPointer() + pixels,
                         part->GetOutput()->GetBufferPointer()));
}

TEST(SlideSegmentationImageSource, ProbabilitiesOfBytesAreThoseOfFloats)
{
  const TemporaryFolder folder{ "unet" };
  const auto            floats = MakeSource<FloatImage>(DrawSlide(folder), MakeModel(3, 1.0));
  floats->Update();
  const auto bytes = MakeSource(folder.File("slide.tif"), MakeModel(3, 1.0));
  bytes->SetOutputMode(GigapixelUNetOutput::Probability);
  bytes->Update();
  const auto label = MakeSource(folder.File("slide.tif"), MakeModel(3, 1.0));
  label->SetThreshold(0.4);
  label->Update();
  const auto  pixels = floats->GetOutput()->GetBufferedRegion().GetNumberOfPixels();
  std::size_t different = 0;
  for (std::size_t i = 0; i < pixels; ++i)
  {
    const auto p = static_cast<double>(floats->GetOutput()->GetBufferPointer()[i]);
    different += std::lround(255 * p) == bytes->GetOutput()->GetBufferPointer()[i] ? 0 : 1;
    different += (p >= 0.4 ? 255 : 0) == label->GetOutput()->GetBufferPointer()[i] ? 0 : 1;
  }
  EXPECT_EQ(different, 0u);
  EXPECT_EQ(floats->GetMadeBy(), bytes->GetMadeBy());
  floats->SetThreshold(0.4);
  EXPECT_EQ(floats->GetMadeBy(GigapixelUNetOutput::Label), label->GetMadeBy());
}

TEST(SlideSegmentationImageSource, MakesAllPixelsAfterAnErrorOrAnAbort)
{
  const TemporaryFolder   folder{ "unet" };
  const std::string       file = DrawSlide(folder, 0.0005, "JPEG");
  const auto              model = MakeModel(1, 1.0);
  const gigapixel::Region region{ 101, 40, 900, 700 };
  gigapixel_test::DamageTiles(file);
  const auto expected = MakeSource(file, model);
  expected->SetRegion(region);
  expected->Update();

  const auto slide = Open(file);
  slide->StrictOn();
  const auto source = MakeSource(file, model);
  source->SetSlide(slide);
  source->SetRegion(region);
  EXPECT_THROW(source->Update(), itk::ExceptionObject);
  EXPECT_THROW(source->ComputeOwnRows(), itk::ExceptionObject);
  EXPECT_GE(source->GetSeconds().pixels, 0.0);
  slide->StrictOff();
  source->Update();
  ExpectSamePixels(*source->GetOutput(), *expected->GetOutput());

  source->Modified();
  const auto observer = source->AddObserver(itk::ProgressEvent(), [&source](const itk::EventObject &) {
    source->SetAbortGenerateData(source->GetProgress() > 0);
  });
  EXPECT_THROW(source->Update(), itk::ProcessAborted);
  source->RemoveObserver(observer);
  source->Update();
  ExpectSamePixels(*source->GetOutput(), *expected->GetOutput());
}

TEST(SlideSegmentationImageSource, LeavesTheSlideAsItIsAndFollowsIt)
{
  const TemporaryFolder folder{ "unet" };
  const TemporaryFolder other{ "unet" };
  const std::string     file = DrawSlide(folder, 1.0);
  const auto            slide = Open(file);
  slide->SetLevel(1);
  const auto source = MakeSource(file, MakeModel(3, 0));
  source->SetSlide(slide);
  const auto gray = MakeSource(file, MakeModel(1, 0));
  gray->SetSlide(slide);
  gray->SetLevel(0);
  source->UpdateOutputInformation();
  gray->Update();
  EXPECT_GT(gray->GetSeconds().network, 0.0);
  EXPECT_EQ(slide->GetLevel(), 1u);
  EXPECT_FALSE(slide->GetGray());
  EXPECT_EQ(source->GetLevel(), 1u);
  source->Update();
  ExpectSamePixels(*source->GetOutput(), *SegmentByHand<ColorImage>(file, MakeModel(3, 0), 1));
  gray->ClearLevel();
  gray->UpdateLargestPossibleRegion();
  ExpectSamePixels(*gray->GetOutput(), *SegmentByHand<GrayImage>(file, MakeModel(1, 0), 1));

  const auto time = source->GetMTime();
  source->UpdateOutputInformation();
  EXPECT_EQ(source->GetMTime(), time); // the other source's update changes nothing for this one
  slide->SetFileName(DrawSlide(other, 0.0005));
  slide->SetLevel(0);
  source->UpdateLargestPossibleRegion();
  ExpectSamePixels(*source->GetOutput(), *SegmentByHand<ColorImage>(other.File("slide.tif"), MakeModel(3, 0), 0));
}

TEST(SlideSegmentationImageSource, FollowsAllThatACopyTakes)
{
  using Slide = itk::WholeSlideImageIO;
  const TemporaryFolder folder{ "unet" };
  const auto            writer = itk::ImageFileWriter<GrayImage>::New();
  writer->SetInput(gigapixel_test::NoiseImage(1111, 900));
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetFileName(folder.File("gray.tif"));
  writer->Update();
  const auto               slide = Open(folder.File("gray.tif"));
  gigapixel::FollowedSlide followed;
  followed.Set(slide);
  const std::vector<std::function<void(Slide &)>> changes{
    [](Slide & it) { it.SetLevel(1); },
    [](Slide & it) { it.SetMicronsPerPixel(1.06); },
    [](Slide & it) { it.SetMicronsPerPixel(1.3); },
    [](Slide & it) { it.SetMicronsPerPixel(1.06, 0.1); },
    [](Slide & it) { it.SetLevelZeroMicronsPerPixel(0.5); },
    [](Slide & it) { it.GrayOn(); },
    [](Slide & it) { it.GrayFromRGBOn(); },
    [](Slide & it) { it.ConvertToSRGBOn(); },
    [](Slide & it) { it.SetChannels({ "1" }); },
    [](Slide & it) { it.SetWindow("0,200"); },
    [](Slide & it) { it.AsPictureOn(); },
    [](Slide & it) { it.SetContent({}); },
    [](Slide & it) { it.StoredValuesOn(); },
    [](Slide & it) { it.PickPixelsOn(); },
    [](Slide & it) { it.UnscannedAsBackgroundOn(); },
    [](Slide & it) { it.SetStrict(!it.GetStrict()); },
    [](Slide & it) { it.SetImage("1"); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i)
  {
    followed.Copy();
    EXPECT_FALSE(followed.HasChanged()) << i;
    changes[i](*slide);
    EXPECT_TRUE(followed.HasChanged()) << i;
  }
}

TEST(SlideSegmentationImageSource, TheSameValueChangesNothing)
{
  const auto source = itk::SlideSegmentationImageSource<>::New();
  const auto changes = [&](const auto & set) {
    const auto before = source->GetMTime();
    set();
    return source->GetMTime() != before;
  };
  EXPECT_FALSE(changes([&] { source->ClearThreshold(); }));
  EXPECT_TRUE(changes([&] { source->SetThreshold(0.5); })); // which refuses a network of several outputs
  EXPECT_FALSE(changes([&] { source->SetThreshold(0.5); }));
  EXPECT_TRUE(changes([&] { source->SetThreshold(0.25); }));
  EXPECT_EQ(source->GetThreshold(), 0.25);
  EXPECT_TRUE(changes([&] { source->ClearThreshold(); }));
  EXPECT_EQ(source->GetThreshold(), 0.5);
  EXPECT_FALSE(changes([&] { source->ClearPatches(); }));
  EXPECT_TRUE(changes([&] { source->SetPatches({ 128, 0.5 }); }));
  EXPECT_FALSE(changes([&] { source->SetPatches({ 128, 0.5 }); }));
  EXPECT_TRUE(changes([&] { source->SetPatches({ 128, 0.25 }); }));
  EXPECT_TRUE(changes([&] { source->SetPatches({ 128, 0.25, gigapixel::Patches::Blending::Constant }); }));
  EXPECT_TRUE(changes([&] { source->SetPatches({ 128, 0.25, gigapixel::Patches::Blending::Constant, true }); }));
  EXPECT_EQ(source->GetPatchSize(), 128);
  EXPECT_EQ(source->GetBlending(), "constant");
  EXPECT_TRUE(source->GetMirror());
  EXPECT_TRUE(changes([&] { source->ClearPatches(); }));
  EXPECT_EQ(source->GetPatchSize(), 512);
  EXPECT_FALSE(source->GetSlidingWindow());
  EXPECT_FALSE(changes([&] { source->ClearLevel(); }));
  EXPECT_TRUE(changes([&] { source->SetLevel(0); }));
  EXPECT_FALSE(changes([&] { source->SetLevel(0); }));
  EXPECT_TRUE(changes([&] { source->ClearLevel(); }));
}

TEST(SlideSegmentationImageSource, RefusesInASentence)
{
  EXPECT_REFUSAL(itk::SlideSegmentationImageSource<>::New()->GetMadeBy(), "E-CALL-ORDER");
  const TemporaryFolder folder{ "unet" };
  const std::string     file = DrawSlide(folder);
  EXPECT_REFUSAL(MakeSource(file, MakeModel(1, 0.1))->Update(), "E-SLIDE-RESOLUTION");
  EXPECT_MESSAGE(MakeSource(file, MakeModel(2, 0.5))->Update(), file);
  const auto three = MakeSource(file, MakeModel(1, 0.5, 3));
  three->FillHolesOn();
  EXPECT_REFUSAL(three->Update(), "E-OPTION-APPLIES");
  three->FillHolesOff();
  three->SetThreshold(0.4);
  EXPECT_REFUSAL(three->Update(), "E-OPTION-APPLIES");
  three->SetThreshold(7);
  EXPECT_REFUSAL(three->Update(), "E-OPTION-VALUE");
  three->ClearThreshold();
  three->SetPatchSize(128);
  EXPECT_REFUSAL(three->Update(), "E-OPTION-NEEDS");
  three->ClearPatchSize();
  three->UpdateLargestPossibleRegion();
  three->SetOutputMode(GigapixelUNetOutput::Probability);
  EXPECT_REFUSAL(three->Update(), "E-MODEL-OUTPUT");
  for (const auto & [network, code] : { std::pair("resnet18:width=2,channels=1", "E-MODEL-OUTPUT"),
                                        std::pair("unet3d:base=2,depth=1", "E-MODEL-INPUT") })
  {
    const auto other = gigapixel_test::NoiseModel(64, gigapixel::NetworkDescription::Load(network).ToJSON());
    const auto source = MakeSource(file, other);
    EXPECT_REFUSAL(source->Update(), code);
    EXPECT_THROW(source->Update(), itk::ExceptionObject) << network;
  }
  const auto outside = MakeSource(file, MakeModel(1, 0.5));
  outside->SetRegion({ 5000, 0, 100, 100 });
  EXPECT_REFUSAL(outside->Update(), "E-REGION");
  EXPECT_REFUSAL(itk::SlideSegmentationImageSource<>::New()->Update(), "E-CALL-ORDER");

  const auto blind = MakeSource(DrawSlide(folder, 1.0), MakeModel(1, 0.5));
  EXPECT_REFUSAL(blind->Update(), "E-SLIDE-RESOLUTION");
  blind->SetLevel(1);
  blind->Update();
  EXPECT_EQ(blind->GetOutput()->GetLargestPossibleRegion().GetSize(0), 556u);
}
