/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "MaskImages.h"

#include "itkBinaryAreaOpeningImageFilter.h"
#include "itkBinaryHoleFillImageFilter.h"
#include "itkBinaryMajorityImageFilter.h"

#include "itkBinaryFillholeImageFilter.h"
#include "itkBinaryShapeOpeningImageFilter.h"
#include "itkStreamingImageFilter.h"

using namespace gigapixel_test;

namespace
{

std::vector<MaskType::Pointer>
MakeMasks()
{
  std::vector<MaskType::Pointer> masks;
  unsigned                       seed = 20;
  for (const auto & [width, height] : std::vector<std::pair<int, int>>{
         { 1, 1 }, { 1, 30 }, { 30, 1 }, { 2, 2 }, { 3, 3 }, { 63, 40 }, { 64, 40 }, { 65, 40 }, { 130, 301 } })
  {
    // Near the percolation thresholds of 4- and 8-connection the components are largest and most twisted.
    for (const double density : { 0.0, 0.1, 0.4, 0.5, 0.6, 0.9, 1.0 })
    {
      masks.push_back(MakeNoise(width, height, density, ++seed));
    }
    masks.push_back(MakeBlobs(width, height, ++seed));
  }
  return masks;
}

/** A concentric spiral of rings: background inside foreground inside background ... */
MaskType::Pointer
MakeRings(int side)
{
  auto mask = MakeImage<MaskType>(side, side);
  for (itk::ImageRegionIteratorWithIndex<MaskType> it(mask, mask->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const auto x = it.GetIndex()[0];
    const auto y = it.GetIndex()[1];
    it.Set(std::min({ x, y, side - 1 - x, side - 1 - y }) % 2 != 0 ? 255 : 0);
  }
  return mask;
}

/** Counts how many pixels of upstream work are asked of it. */
class CountingFilter : public itk::ImageToImageFilter<MaskType, MaskType>
{
public:
  using Self = CountingFilter;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);

  itk::SizeValueType pixels{ 0 };
  itk::SizeValueType largest{ 0 };

protected:
  void
  GenerateData() override
  {
    this->AllocateOutputs();
    const auto region = this->GetOutput()->GetRequestedRegion();
    pixels += region.GetNumberOfPixels();
    largest = std::max(largest, region.GetNumberOfPixels());
    itk::ImageRegionConstIterator<MaskType> from(this->GetInput(), region);
    for (itk::ImageRegionIterator<MaskType> to(this->GetOutput(), region); !to.IsAtEnd(); ++to, ++from)
    {
      to.Set(from.Get());
    }
  }
};

MaskType::Pointer
FillWithITK(const MaskType * mask)
{
  auto fill = itk::BinaryFillholeImageFilter<MaskType>::New();
  fill->SetInput(mask);
  fill->SetForegroundValue(255);
  fill->FullyConnectedOff();
  fill->Update();
  return fill->GetOutput();
}

} // namespace

TEST(BinaryHoleFillImageFilter, EqualsITKsFillhole)
{
  auto masks = MakeMasks();
  masks.push_back(MakeRings(41));
  for (const auto & mask : masks)
  {
    auto fill = itk::BinaryHoleFillImageFilter<MaskType>::New();
    fill->SetInput(mask);
    fill->Update();
    ExpectEqual<MaskType>(fill->GetOutput(), FillWithITK(mask), "hole fill");
    ASSERT_FALSE(HasFatalFailure());
  }
}

// A hole that is only open through a corner stays a hole; one that touches the edge is none.
TEST(BinaryHoleFillImageFilter, HolesAreFourConnectedBackground)
{
  auto         mask = MakeImage<MaskType>(5, 4);
  const char * rows[4] = { "#####", "#.##.", "##.##", "#####" };
  const char * filled[4] = { "#####", "####.", "#####", "#####" };
  for (int y = 0; y < 4; ++y)
  {
    for (int x = 0; x < 5; ++x)
    {
      mask->SetPixel({ { x, y } }, rows[y][x] == '#' ? 255 : 0);
    }
  }
  auto fill = itk::BinaryHoleFillImageFilter<MaskType>::New();
  fill->SetInput(mask);
  fill->Update();
  for (int y = 0; y < 4; ++y)
  {
    for (int x = 0; x < 5; ++x)
    {
      EXPECT_EQ(fill->GetOutput()->GetPixel({ { x, y } }), filled[y][x] == '#' ? 255 : 0) << x << " " << y;
    }
  }
}

// Holes up to a size: what ITK fills, less what ITK keeps of that as 4-connected objects larger than the size.
TEST(BinaryHoleFillImageFilter, LargerHolesStayAsITKsShapeOpeningOfTheHolesSays)
{
  for (const auto & mask : MakeMasks())
  {
    const auto filled = FillWithITK(mask);
    auto       holes = MakeImage<MaskType>(mask->GetBufferedRegion().GetSize(0), mask->GetBufferedRegion().GetSize(1));
    const auto pixels = mask->GetBufferedRegion().GetNumberOfPixels();
    for (itk::SizeValueType i = 0; i < pixels; ++i)
    {
      holes->GetBufferPointer()[i] = filled->GetBufferPointer()[i] - mask->GetBufferPointer()[i];
    }
    for (const itk::SizeValueType maximum : { 0, 1, 4, 30 })
    {
      auto large = itk::BinaryShapeOpeningImageFilter<MaskType>::New();
      large->SetInput(holes);
      large->SetForegroundValue(255);
      large->SetBackgroundValue(0);
      large->FullyConnectedOff();
      large->SetAttribute(itk::BinaryShapeOpeningImageFilter<MaskType>::LabelObjectType::NUMBER_OF_PIXELS);
      large->SetLambda(static_cast<double>(maximum + 1));
      large->Update();
      auto fill = itk::BinaryHoleFillImageFilter<MaskType>::New();
      fill->SetInput(mask);
      fill->SetMaximumArea(maximum);
      fill->Update();
      for (itk::SizeValueType i = 0; i < pixels; ++i)
      {
        ASSERT_EQ(fill->GetOutput()->GetBufferPointer()[i],
                  filled->GetBufferPointer()[i] - large->GetOutput()->GetBufferPointer()[i])
          << maximum << " at " << i;
      }
    }
  }
}

TEST(BinaryAreaOpeningImageFilter, EqualsITKsShapeOpeningByNumberOfPixels)
{
  for (const auto & mask : MakeMasks())
  {
    for (const itk::SizeValueType minimum : { 0, 1, 2, 5, 40, 1000 })
    {
      auto opening = itk::BinaryAreaOpeningImageFilter<MaskType>::New();
      opening->SetInput(mask);
      opening->SetMinimumArea(minimum);
      opening->Update();
      auto reference = itk::BinaryShapeOpeningImageFilter<MaskType>::New();
      reference->SetInput(mask);
      reference->SetForegroundValue(255);
      reference->SetBackgroundValue(0);
      reference->FullyConnectedOn();
      reference->SetAttribute(itk::BinaryShapeOpeningImageFilter<MaskType>::LabelObjectType::NUMBER_OF_PIXELS);
      reference->SetLambda(static_cast<double>(minimum));
      reference->Update();
      ExpectEqual<MaskType>(opening->GetOutput(), reference->GetOutput(), "minimum " + std::to_string(minimum));
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

TEST(RunLengthMaskImageFilter, StreamedEqualsWholeForAnyDivisionAndRegion)
{
  const auto mask = MakeBlobs(203, 157, 30);
  const auto whole = FillWithITK(mask);
  for (const unsigned divisions : { 1, 2, 5, 64, 157 })
  {
    auto fill = itk::BinaryHoleFillImageFilter<MaskType>::New();
    fill->SetInput(mask);
    auto streamer = itk::StreamingImageFilter<MaskType, MaskType>::New();
    streamer->SetInput(fill->GetOutput());
    streamer->SetNumberOfStreamDivisions(divisions);
    streamer->Update();
    ExpectEqual<MaskType>(streamer->GetOutput(), whole, std::to_string(divisions) + " divisions");
  }
  auto         fill = itk::BinaryHoleFillImageFilter<MaskType>::New();
  std::mt19937 random(31);
  fill->SetInput(mask);
  for (int i = 0; i < 40; ++i)
  {
    MaskType::RegionType region;
    for (unsigned d = 0; d < 2; ++d)
    {
      const auto length = mask->GetBufferedRegion().GetSize(d);
      region.SetIndex(d, random() % length);
      region.SetSize(d, 1 + random() % (length - region.GetIndex(d)));
    }
    fill->UpdateOutputInformation();
    fill->GetOutput()->SetRequestedRegion(region);
    fill->Update();
    itk::ImageRegionConstIterator<MaskType> it(fill->GetOutput(), region);
    itk::ImageRegionConstIterator<MaskType> expected(whole, region);
    for (; !it.IsAtEnd(); ++it, ++expected)
    {
      ASSERT_EQ(it.Get(), expected.Get());
    }
  }
}

TEST(RunLengthMaskImageFilter, ReadsItsInputOnceInStripsAndAgainOnlyWhenSomethingUpstreamChanged)
{
  const auto mask = MakeBlobs(4099, 1201, 32);
  auto       counter = CountingFilter::New();
  counter->SetInput(mask);
  auto majority = itk::BinaryMajorityImageFilter<MaskType>::New();
  majority->SetInput(counter->GetOutput());
  majority->SetRadius(1);
  auto fill = itk::BinaryHoleFillImageFilter<MaskType>::New();
  fill->SetInput(majority->GetOutput());

  auto streamer = itk::StreamingImageFilter<MaskType, MaskType>::New();
  streamer->SetInput(fill->GetOutput());
  streamer->SetNumberOfStreamDivisions(10);
  streamer->Update();
  const auto pixels = mask->GetBufferedRegion().GetNumberOfPixels();
  const auto once = counter->pixels;
  EXPECT_GE(once, pixels);
  // Strips of 256 rows, each with one row more above and below, and the last one asked for again at most.
  EXPECT_LE(once, pixels + 4099 * (2 * 5 + 258));
  EXPECT_LE(counter->largest, 4099u * 258);
  const MaskType::Pointer first = streamer->GetOutput();
  first->DisconnectPipeline();

  // Another consumer reads other regions of the same pipeline: no reason to begin anew.
  counter->GetOutput()->SetRequestedRegion(MaskType::RegionType({ { 5, 5 } }, { { 3, 3 } }));
  counter->GetOutput()->Update();
  fill->GetOutput()->ReleaseData();
  streamer->Update();
  EXPECT_LE(counter->pixels, once + 1000);
  ExpectEqual<MaskType>(streamer->GetOutput(), first, "second time");

  counter->Modified();
  streamer->Update();
  EXPECT_GE(counter->pixels, 2 * pixels);

  mask->FillBuffer(255);
  mask->Modified();
  streamer->Update();
  EXPECT_EQ(streamer->GetOutput()->GetPixel({ { 2000, 600 } }), 255);
  itk::ImageRegionConstIterator<MaskType> it(streamer->GetOutput(), mask->GetBufferedRegion());
  for (; !it.IsAtEnd(); ++it)
  {
    ASSERT_EQ(it.Get(), 255);
  }
}

TEST(RunLengthMaskImageFilter, ReportsProgressAndStopsWhenAborted)
{
  auto fill = itk::BinaryHoleFillImageFilter<MaskType>::New();
  fill->SetInput(MakeNoise(4096, 2048, 0.5, 33));
  std::vector<float> progress;
  const auto         observer =
    fill->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { progress.push_back(fill->GetProgress()); });
  fill->Update();
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_GE(progress.size(), 9u);
  EXPECT_EQ(progress.back(), 1.0f);

  fill->RemoveObserver(observer);
  fill->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { fill->AbortGenerateDataOn(); });
  fill->Modified();
  EXPECT_THROW(fill->Update(), itk::ProcessAborted);
}
