/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "BasicObjectMethods.h"
#include "RefusalCode.h"
#include "itkSlideTissueImageSource.h"

#include "DamagedTiles.h"
#include "MaskImages.h"
#include "TemporaryFolder.h"

#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkNearestUpsampleImageFilter.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkStreamingImageFilter.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkTissueLabelImageFilter.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>

using namespace gigapixel_test;

namespace
{

/** A slide of odd sides in color at 0.5 um, which is gone after the test. */
class SlideTissueImageSource : public ::testing::Test
{
protected:
  void
  SetUp() override
  {
    this->Draw("Deflate");
  }

  void
  Draw(const std::string & compressor) const
  {
    const auto drawn = itk::SyntheticSlideImageSource::New();
    drawn->SetSize(1501, 1203);
    const auto writer = itk::ImageFileWriter<ColorType>::New();
    writer->SetInput(drawn->GetOutput());
    const auto io = itk::PyramidTIFFImageIO::New();
    io->SetCompressor(compressor);
    writer->SetImageIO(io);
    writer->SetFileName(m_File);
    writer->Update();
  }

  itk::WholeSlideImageIO::Pointer
  Open() const
  {
    const auto slide = itk::WholeSlideImageIO::New();
    slide->SetFileName(m_File);
    return slide;
  }

  itk::SlideTissueImageSource::Pointer
  MakeSource(const std::string & preset, unsigned downsample = 8) const
  {
    const auto source = itk::SlideTissueImageSource::New();
    source->SetSlide(this->Open());
    source->SetPreset(preset);
    source->SetDownsample(downsample);
    return source;
  }

  /** Reader and label filter alone, on the level that the source has read. */
  template <typename TImage>
  MaskType::Pointer
  LabelByHand(const itk::SlideTissueImageSource & source, itk::WholeSlideImageIO * slide) const
  {
    slide->SetLevel(source.GetLevel());
    slide->ReadImageInformation();
    const auto reader = itk::ImageFileReader<TImage>::New();
    reader->SetImageIO(slide);
    reader->SetFileName(m_File);
    const auto label = itk::TissueLabelImageFilter<TImage>::New();
    label->SetInput(reader->GetOutput());
    label->SetPreset(source.GetChosenPreset());
    label->SetShrinkFactor(
      static_cast<unsigned>(std::lround(source.GetDownsample() / slide->GetLevelDownsample(source.GetLevel()))));
    label->Update();
    return label->GetOutput();
  }

  gigapixel::test::TemporaryFolder m_Folder{ "tissue" };
  std::string                      m_File{ m_Folder.File("slide.tif") };
};

} // namespace

TEST_F(SlideTissueImageSource, BasicObjectMethods)
{
  EXPECT_BASIC_OBJECT_METHODS(SlideTissueImageSource, ImageSource, itk::SlideTissueImageSource);
}

TEST_F(SlideTissueImageSource, GivesForEachPresetTheMaskOfTheFilter)
{
  for (const std::string & preset : itk::SlideTissueImageSource::GetPresets())
  {
    for (const unsigned downsample : { 5u, 8u })
    {
      const auto source = this->MakeSource(preset, downsample);
      source->Update();
      const std::string chosen = source->GetChosenPreset();
      const std::string forStain = gigapixel::TissueNetwork::IsBuilt() ? "model" : "robust";
      EXPECT_EQ(chosen, preset == "auto" ? forStain : preset == "rules" ? "robust" : preset);
      ExpectEqual<MaskType>(source->GetOutput(), this->LabelByHand<ColorType>(*source, this->Open()), preset);
      const std::string madeBy = source->GetMadeBy();
      EXPECT_EQ(madeBy.find("label preset=" + chosen + " downsample=" + std::to_string(downsample)), 0u) << madeBy;
      EXPECT_EQ(madeBy.find(" model=tissue-classes hash=") != std::string::npos, chosen == "model") << madeBy;
    }
  }
}

// 1501 x 1203 pixels of 0.5 um: a coarse grid holds what a fine one does, in the place that the slide gives it.
TEST_F(SlideTissueImageSource, JudgesFinerPixelsThanThoseOfACoarseGrid)
{
  const auto getShare = [](const MaskType * mask) {
    const auto * const pixels = mask->GetBufferPointer();
    const auto         all = static_cast<std::ptrdiff_t>(mask->GetBufferedRegion().GetNumberOfPixels());
    return static_cast<double>(std::count(pixels, pixels + all, 255)) / static_cast<double>(all);
  };
  const auto fine = this->MakeSource("robust", 8);
  fine->Update();
  const double share = getShare(fine->GetOutput());
  ASSERT_GT(share, 0.05);
  for (const unsigned downsample : { 16u, 32u })
  {
    const auto coarse = this->MakeSource("robust", downsample);
    coarse->Update();
    EXPECT_NEAR(getShare(coarse->GetOutput()), share, 0.015) << downsample;
    ExpectEqual<MaskType>(
      coarse->GetOutput(), this->LabelByHand<ColorType>(*coarse, this->Open()), std::to_string(downsample));
    EXPECT_NE(coarse->GetMadeBy(), fine->GetMadeBy());
  }
  // 1501 / 32.6262 is 46.006: what the reader leaves out of its last column, the mask leaves out, too.
  for (const double resolution : { 13.7, 16.3131 })
  {
    const auto resampled = this->MakeSource("robust");
    resampled->SetMicronsPerPixel(resolution);
    resampled->Update();
    EXPECT_NEAR(getShare(resampled->GetOutput()), share, 0.015) << resolution;
    const auto slide = this->Open();
    slide->SetMicronsPerPixel(resolution);
    slide->ReadImageInformation();
    EXPECT_EQ(resampled->GetOutput()->GetBufferedRegion().GetSize(0), slide->GetDimensions(0));
    EXPECT_EQ(resampled->GetOutput()->GetBufferedRegion().GetSize(1), slide->GetDimensions(1));
    for (unsigned axis = 0; axis < 2; ++axis)
    {
      EXPECT_NEAR(resampled->GetOutput()->GetSpacing()[axis], slide->GetSpacing(axis), 1e-12);
      EXPECT_NEAR(resampled->GetOutput()->GetOrigin()[axis], slide->GetOrigin(axis), 1e-12);
      EXPECT_NEAR(resampled->GetGridDownsamples()[axis], 2 * resolution, 1e-9);
    }
  }
}

TEST_F(SlideTissueImageSource, LabelsGrayAsGray)
{
  const auto slide = this->Open();
  slide->SetGray(true);
  const auto source = this->MakeSource("robust");
  source->SetSlide(slide);
  source->Update();
  const auto again = this->Open();
  again->SetGray(true);
  ExpectEqual<MaskType>(source->GetOutput(), this->LabelByHand<MaskType>(*source, again), "gray");
}

TEST_F(SlideTissueImageSource, StreamsAndEnlarges)
{
  const auto grid = this->MakeSource("robust");
  grid->Update();
  const auto full = this->MakeSource("robust");
  full->FullResolutionOn();
  const auto streamer = itk::StreamingImageFilter<MaskType, MaskType>::New();
  streamer->SetInput(full->GetOutput());
  streamer->SetNumberOfStreamDivisions(7);
  streamer->Update();
  const auto upsample = itk::NearestUpsampleImageFilter<MaskType>::New();
  upsample->SetInput(grid->GetOutput());
  upsample->SetOutputSize({ { 1501, 1203 } });
  upsample->Update();
  ExpectEqual<MaskType>(streamer->GetOutput(), upsample->GetOutput(), "full resolution");
}

TEST_F(SlideTissueImageSource, MakesAllPixelsAfterAnErrorOrAnAbort)
{
  this->Draw("JPEG");
  DamageTiles(m_File);
  for (const std::string preset : { "remedios2023", "robust", "auto" }) // streams; counts all pixels first; a network
  {
    for (const bool isFull : { false, true })
    {
      const auto expected = this->MakeSource(preset, 5);
      expected->SetFullResolution(isFull);
      expected->Update();

      const auto slide = this->Open();
      slide->StrictOn();
      const auto source = this->MakeSource(preset, 5);
      source->SetSlide(slide);
      source->SetFullResolution(isFull);
      EXPECT_THROW(source->Update(), itk::ExceptionObject);
      EXPECT_THROW(source->MakeGrid(), itk::ExceptionObject);
      slide->StrictOff();
      source->Update();
      ExpectEqual<MaskType>(source->GetOutput(), expected->GetOutput(), preset + " after an error");

      source->Modified();
      const auto observer = source->AddObserver(itk::ProgressEvent(), [&source](const itk::EventObject &) {
        source->SetAbortGenerateData(source->GetProgress() > 0);
      });
      EXPECT_THROW(source->Update(), itk::ProcessAborted);
      source->RemoveObserver(observer);
      source->Update();
      ExpectEqual<MaskType>(source->GetOutput(), expected->GetOutput(), preset + " after an abort");
    }
  }
}

TEST_F(SlideTissueImageSource, LeavesTheSlideAsItIsAndFollowsIt)
{
  const auto slide = this->Open();
  slide->SetLevel(1);
  const auto fine = this->MakeSource("robust", 5);
  const auto coarse = this->MakeSource("robust", 8);
  fine->SetSlide(slide);
  coarse->SetSlide(slide);
  fine->UpdateOutputInformation();
  coarse->Update();
  fine->Update();
  EXPECT_EQ(slide->GetLevel(), 1u);
  const auto expected = this->MakeSource("robust", 5);
  expected->Update();
  ExpectEqual<MaskType>(fine->GetOutput(), expected->GetOutput(), "two sources of one slide");

  slide->SetGray(true);
  fine->Update();
  const auto again = this->Open();
  again->SetGray(true);
  ExpectEqual<MaskType>(fine->GetOutput(), this->LabelByHand<MaskType>(*fine, again), "gray");
  EXPECT_EQ(slide->GetNumberOfDamagedTiles(), 0u);
}

TEST_F(SlideTissueImageSource, RefusesResolutionsThatAreNone)
{
  const auto source = this->MakeSource("remedios2023");
  for (const double none : { -1.0, std::nan(""), HUGE_VAL })
  {
    EXPECT_REFUSAL(source->SetMicronsPerPixel(none), "E-OPTION-VALUE");
    EXPECT_EQ(source->GetMicronsPerPixel(), 0.0);
  }
}

TEST_F(SlideTissueImageSource, SaysThatItHasToBeUpdatedFirst)
{
  const auto source = itk::SlideTissueImageSource::New();
  EXPECT_REFUSAL(source->GetAdvice(), "E-CALL-ORDER");
  EXPECT_REFUSAL(source->MakeGrid(), "E-CALL-ORDER");
}

TEST_F(SlideTissueImageSource, SaysWhichPresetsThereAreAndWhichDoesNotSuit)
{
  const auto source = this->MakeSource("fluorescence");
  source->UpdateOutputInformation();
  EXPECT_NE(source->GetAdvice().find("fluorescence"), std::string::npos);
  source->SetPreset("robust");
  source->UpdateOutputInformation();
  EXPECT_EQ(source->GetAdvice(), "");
  const auto names = itk::SlideTissueImageSource::GetPresets();
  EXPECT_EQ(names, itk::TissueLabelImageFilter<ColorType>::GetPresets());
  EXPECT_EQ(names.front(), "auto");
  EXPECT_EQ(names.back(), "rules");
  EXPECT_REFUSAL(source->SetPreset("no such preset"), "E-TISSUE-PRESET");
  EXPECT_REFUSAL(itk::SlideTissueImageSource::New()->Update(), "E-CALL-ORDER");
}
