/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "itkGigapixelNetworkImageFilter.h"

#include "TemporaryFolder.h"
#include "gigapixelNormalization.h"
#include "gigapixelPredictor.h"
#include "itkCommand.h"
#include "itkImage.h"
#include "itkVectorImage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>

namespace
{

using ShortVolume = itk::Image<short, 3>;
using FloatVolume = itk::Image<float, 3>;
using Modalities = itk::VectorImage<float, 3>;
using LabelVolume = itk::Image<unsigned char, 3>;

const gigapixel::Size TheSize{ 37, 29, 23 };

/** Of weights that are drawn, whose values vary over the volume. */
gigapixel::Model
MakeModel(int channels, int classes)
{
  gigapixel::Model model;
  model.network = gigapixel::NetworkDescription::Load("unet3d:base=2,depth=2,channels=" + std::to_string(channels) +
                                                      ",classes=" + std::to_string(classes));
  model.network.normalization.resize(1);
  model.network.normalization.front().kind = gigapixel::Normalization::Kind::ZScore;
  model.tileSize = 16;
  std::mt19937                    random(3);
  std::normal_distribution<float> normal(0, 0.4f);
  for (const gigapixel::ParameterDescription & parameter : model.network.GetParameters())
  {
    std::vector<float> values(static_cast<std::size_t>(parameter.GetNumberOfValues()));
    for (float & value : values)
    {
      value = parameter.name.find("running_var") != std::string::npos ? 1 : normal(random);
    }
    model.parameters[parameter.name] = { parameter.shape, values };
  }
  return model;
}

/** Noise on a grid that is turned. */
template <typename TVolume>
typename TVolume::Pointer
MakeVolume(unsigned channels = 1)
{
  const auto volume = TVolume::New();
  volume->SetRegions(typename TVolume::RegionType(
    { { 5, -2, 7 } },
    { { itk::SizeValueType(TheSize.width), itk::SizeValueType(TheSize.height), itk::SizeValueType(TheSize.depth) } }));
  volume->SetNumberOfComponentsPerPixel(channels);
  volume->Allocate();
  const double spacing[]{ 0.5, 0.75, 2.0 }, origin[]{ -3.0, 4.0, 5.0 };
  volume->SetSpacing(spacing);
  volume->SetOrigin(origin);
  typename TVolume::DirectionType direction;
  direction.Fill(0);
  direction[0][1] = direction[1][0] = direction[2][2] = 1;
  volume->SetDirection(direction);
  std::mt19937 random(1);
  const auto   samples = volume->GetBufferedRegion().GetNumberOfPixels() * channels;
  for (std::size_t i = 0; i < samples; ++i)
  {
    volume->GetBufferPointer()[i] = static_cast<typename TVolume::InternalPixelType>(random() % 1000) - 300;
  }
  return volume;
}

template <typename TOutput, typename TVolume>
typename itk::GigapixelNetworkImageFilter<TVolume, TOutput>::Pointer
MakeFilter(const typename TVolume::Pointer & volume, const gigapixel::Model & model)
{
  const auto filter = itk::GigapixelNetworkImageFilter<TVolume, TOutput>::New();
  filter->SetInput(volume);
  filter->SetModel(model);
  return filter;
}

/** What the engine gives for the volume in one tile. */
std::vector<float>
Predict(const gigapixel::Model & model, const std::shared_ptr<gigapixel::PixelSource> & voxels)
{
  const auto           source = Normalize(voxels, model.network.normalization);
  gigapixel::Predictor predictor(model, 1, {}, {}, gigapixel::WholeImage);
  std::vector<float>   probabilities(TheSize.width * TheSize.height * TheSize.depth *
                                   predictor.GetNumberOfOutputChannels());
  EXPECT_TRUE(
    predictor.Predict(*source, { 0, 0, TheSize.width, TheSize.height, 0, TheSize.depth }, probabilities.data()));
  return probabilities;
}

template <typename TFilter>
std::string
GetRefusal(TFilter & filter)
{
  try
  {
    filter.Update();
  }
  catch (const itk::ExceptionObject & error)
  {
    return error.GetDescription();
  }
  return "";
}

} // namespace

// Whatever the tiles are, and the numbers that a volume is stored in.
TEST(GigapixelNetworkImageFilter, GivesWhatTheNetworkGivesForTheWholeVolume)
{
  const auto               model = MakeModel(1, 2);
  const auto               volume = MakeVolume<ShortVolume>();
  const auto               voxels = std::make_shared<itk::GigapixelVolumeBuffer<ShortVolume>>(*volume, TheSize);
  const std::vector<float> wanted = Predict(model, voxels);
  const auto [least, most] = std::minmax_element(wanted.begin(), wanted.end());
  EXPECT_GT(*most - *least, 0.1f);
  for (const std::int64_t tileSize : { std::int64_t{ 0 }, std::int64_t{ 16 }, gigapixel::WholeImage })
  {
    const auto filter = MakeFilter<FloatVolume, ShortVolume>(volume, model);
    filter->SetTileSize(tileSize);
    filter->Update();
    const FloatVolume & output = *filter->GetOutput();
    for (std::size_t i = 0; i < wanted.size(); ++i)
    {
      ASSERT_NEAR(output.GetBufferPointer()[i], wanted[i], 2e-6) << "tiles of " << tileSize;
    }
    EXPECT_EQ(output.GetLargestPossibleRegion(), volume->GetLargestPossibleRegion());
    EXPECT_EQ(output.GetSpacing(), volume->GetSpacing());
    EXPECT_EQ(output.GetOrigin(), volume->GetOrigin());
    EXPECT_EQ(output.GetDirection(), volume->GetDirection());
  }
  const auto  filter = MakeFilter<LabelVolume, ShortVolume>(volume, model);
  const float threshold = (*least + *most) / 2;
  filter->SetThreshold(threshold);
  filter->Update();
  for (std::size_t i = 0; i < wanted.size(); ++i)
  {
    if (std::abs(wanted[i] - threshold) > 1e-5f)
    {
      ASSERT_EQ(filter->GetOutput()->GetBufferPointer()[i], wanted[i] >= threshold);
    }
  }
}

TEST(GigapixelNetworkImageFilter, TakesModalitiesAndGivesClasses)
{
  const auto               model = MakeModel(2, 3);
  const auto               volume = MakeVolume<Modalities>(2);
  const auto               voxels = std::make_shared<itk::GigapixelVolumeBuffer<Modalities>>(*volume, TheSize);
  const std::vector<float> wanted = Predict(model, voxels);
  const auto               all = MakeFilter<Modalities, Modalities>(volume, model);
  all->Update();
  ASSERT_EQ(all->GetOutput()->GetNumberOfComponentsPerPixel(), 3u);
  const auto labels = MakeFilter<LabelVolume, Modalities>(volume, model);
  labels->Update();
  std::vector<int> counts(3);
  for (std::size_t i = 0; i < wanted.size() / 3; ++i)
  {
    for (std::size_t c = 0; c < 3; ++c)
    {
      ASSERT_NEAR(all->GetOutput()->GetBufferPointer()[3 * i + c], wanted[3 * i + c], 2e-6);
    }
    const float * const first = wanted.data() + 3 * i;
    const unsigned char label = labels->GetOutput()->GetBufferPointer()[i];
    ASSERT_GE(first[label] + 1e-5f, *std::max_element(first, first + 3));
    ++counts[label];
  }
  EXPECT_GT(std::count_if(counts.begin(), counts.end(), [](int count) { return count > 0; }), 1);
}

// Its first axis points to the back, and that of the training to the front.
TEST(GigapixelNetworkImageFilter, BringsVolumesToTheOrientationOfTheTraining)
{
  auto       model = MakeModel(1, 2);
  const auto volume = MakeVolume<ShortVolume>(), mirrored = MakeVolume<ShortVolume>();
  for (std::int64_t row = 0; row < TheSize.height * TheSize.depth; ++row)
  {
    short * const first = mirrored->GetBufferPointer() + row * TheSize.width;
    std::reverse(first, first + TheSize.width);
  }
  const auto expected = MakeFilter<FloatVolume, ShortVolume>(mirrored, model);
  expected->Update();
  model.network.orientation = "ALS";
  const auto filter = MakeFilter<FloatVolume, ShortVolume>(volume, model);
  const auto labels = MakeFilter<LabelVolume, ShortVolume>(volume, model);
  filter->Update();
  labels->Update();
  for (std::int64_t row = 0; row < TheSize.height * TheSize.depth; ++row)
  {
    for (std::int64_t x = 0; x < TheSize.width; ++x)
    {
      const std::int64_t here = row * TheSize.width + x, there = (row + 1) * TheSize.width - 1 - x;
      ASSERT_EQ(filter->GetOutput()->GetBufferPointer()[here], expected->GetOutput()->GetBufferPointer()[there]);
      ASSERT_EQ(labels->GetOutput()->GetBufferPointer()[here], filter->GetOutput()->GetBufferPointer()[here] >= 0.5F);
    }
  }
}

// A volume of 512 MiB of labels is planned, and not computed.
TEST(GigapixelNetworkImageFilter, ItsLimitCountsResultsInBothOrders)
{
  auto                  model = MakeModel(1, 3);
  gigapixel::VolumeGrid grid;
  grid.size = { 1024, 1024, 512 };
  const auto findLeast = [&](bool givesLabels) {
    constexpr std::int64_t Step = std::int64_t{ 16 } << 20;
    std::int64_t           refused = 0, enough = 4096;
    while (enough - refused > 1)
    {
      const std::int64_t   middle = (refused + enough) / 2;
      gigapixel::VolumeRun run;
      run.threads = 1;
      try
      {
        itk::GigapixelPlanVolume(model, grid, middle * Step, 16, givesLabels, run);
        enough = middle;
      }
      catch (const gigapixel::MemoryLimitError &)
      {
        refused = middle;
      }
    }
    return static_cast<double>(enough * Step);
  };
  const double voxels = 1024.0 * 1024 * 512;
  model.network.orientation = gigapixel::GetOrientation(grid);
  const double labels = findLeast(true), probabilities = findLeast(false);
  EXPECT_NEAR(probabilities - labels, (3 * 4 - 2) * voxels, 0.1 * voxels);
  model.network.orientation = "RAS";
  EXPECT_NEAR(findLeast(true) - labels, voxels, 0.1 * voxels);
  EXPECT_NEAR(findLeast(false) - probabilities, 3 * 4 * voxels, 0.1 * voxels);
}

// The box around what is not 0, at the model's spacing: as the engine does it.
TEST(GigapixelNetworkImageFilter, ShowsWhatTheModelWasTrainedOn)
{
  auto model = MakeModel(1, 3);
  model.network.cropsToNonZero = true;
  model.network.spacing = { 2, 0.6, 0.6 };
  const auto volume = MakeVolume<ShortVolume>();
  std::fill_n(volume->GetBufferPointer(), TheSize.width * TheSize.height * 3, short{ 0 });
  const auto filter = MakeFilter<LabelVolume, ShortVolume>(volume, model);
  filter->SetTileSize(16);
  filter->Update();
  const unsigned char * const labels = filter->GetOutput()->GetBufferPointer();
  const auto                  number = TheSize.width * TheSize.height * TheSize.depth;
  gigapixel::VolumeRun        run;
  run.tileSize = 16;
  gigapixel::VolumeGrid grid;
  grid.size = TheSize;
  grid.spacing = { 0.5, 0.75, 2 };
  const auto wanted = gigapixel::PredictVolume(
    std::make_shared<itk::GigapixelVolumeBuffer<ShortVolume>>(*volume, TheSize), grid, model, run, [](double) {
      return true;
    });
  EXPECT_EQ(
    wanted->steps,
    "cropped to the 37 x 29 x 20 voxels around what is not 0, resampled from 0.5 x 0.75 x 2 mm to 0.6 x 0.6 x 2 "
    "mm (31 x 36 x 20 voxels)");
  EXPECT_TRUE(std::equal(labels, labels + number, wanted->labels.begin(), wanted->labels.end()));
  EXPECT_TRUE(std::all_of(labels, labels + TheSize.width * TheSize.height * 3, [](int label) { return label == 0; }));
  EXPECT_TRUE(std::any_of(labels, labels + number, [](int label) { return label != 0; }));
  const auto probabilities = MakeFilter<Modalities, ShortVolume>(volume, model);
  EXPECT_REFUSAL(probabilities->Update(), "E-MODEL-OUTPUT");
}

TEST(GigapixelNetworkImageFilter, RefusesWhatDoesNotSuit)
{
  const auto volume = MakeVolume<ShortVolume>();
  const auto none = itk::GigapixelNetworkImageFilter<ShortVolume, LabelVolume>::New();
  none->SetInput(volume);
  EXPECT_REFUSAL(none->Update(), "E-CALL-ORDER");
  none->SetModelFileName("nowhere.safetensors");
  EXPECT_NE(GetRefusal(*none).find("nowhere.safetensors"), std::string::npos);

  const auto two = MakeFilter<LabelVolume, ShortVolume>(volume, MakeModel(2, 2));
  EXPECT_REFUSAL(two->Update(), "E-MODEL-INPUT");
  const auto ofImages = MakeFilter<LabelVolume, ShortVolume>(volume, gigapixel::Model::Load("tissue"));
  EXPECT_REFUSAL(ofImages->Update(), "E-MODEL-INPUT");
  const auto classes = MakeFilter<FloatVolume, ShortVolume>(volume, MakeModel(1, 3));
  EXPECT_REFUSAL(classes->Update(), "E-MODEL-OUTPUT");
  const auto threshold = MakeFilter<LabelVolume, ShortVolume>(volume, MakeModel(1, 3));
  threshold->SetThreshold(0.5);
  EXPECT_REFUSAL(threshold->Update(), "E-OPTION-APPLIES");
  const auto room = MakeFilter<LabelVolume, ShortVolume>(volume, MakeModel(1, 2));
  room->SetMemoryLimit(1 << 20);
  EXPECT_REFUSAL(room->Update(), "E-MEMORY-BUDGET");

  const auto infinite = MakeVolume<FloatVolume>();
  infinite->GetBufferPointer()[TheSize.width * (3 * TheSize.height + 4)] = std::numeric_limits<float>::infinity();
  const auto filter = MakeFilter<LabelVolume, FloatVolume>(infinite, MakeModel(1, 2));
  EXPECT_REFUSAL(filter->Update(), "E-NOT-FINITE");
}

TEST(GigapixelNetworkImageFilter, IsStopped)
{
  const auto filter = MakeFilter<LabelVolume, ShortVolume>(MakeVolume<ShortVolume>(), MakeModel(1, 2));
  filter->SetTileSize(16);
  filter->SetNumberOfWorkUnits(1);
  float reached = 0;
  filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
    reached = filter->GetProgress();
    filter->SetAbortGenerateData(reached > 0.3f);
  });
  EXPECT_THROW(filter->Update(), itk::ProcessAborted);
  EXPECT_GT(reached, 0.3f);
  EXPECT_LT(reached, 0.9f);
}
