/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "itkGigapixelClassifier.h"

#include "TemporaryFolder.h"
#include "UNetTestImages.h"
#include "gigapixelClassifier.h"
#include "itkGigapixelUNetTrainer.h"
#include "itkCastImageFilter.h"
#include "itkImageRegionConstIteratorWithIndex.h"
#include "itkShiftScaleImageFilter.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>

using gigapixel::test::TemporaryFolder;
using gigapixel_test::ColorImage;
using gigapixel_test::GrayImage;
using itk::GigapixelClassifier;
using itk::GigapixelUNetTrainer;

namespace
{

constexpr unsigned Width = 200;
constexpr unsigned Height = 150;

/** Bright noise; a tumor has a dark square, whose middle is at (136, 72). */
ColorImage::Pointer
MakeImage(unsigned seed, bool tumor)
{
  const auto                image = gigapixel_test::NoiseImage<ColorImage>(Width, Height, seed);
  const itk::ImageRegion<2> square({ { 112, 48 } }, { { 48, 48 } });
  using Iterator = itk::ImageRegionIterator<ColorImage>;
  for (Iterator it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    const bool            dark = tumor && square.IsInside(it.GetIndex());
    ColorImage::PixelType pixel = it.Get();
    for (unsigned c = 0; c < 3; ++c)
    {
      pixel[c] = static_cast<unsigned char>((dark ? 20 : 200) + pixel[c] / 6);
    }
    it.Set(pixel);
  }
  return image;
}

GigapixelUNetTrainer::Pointer
MakeTrainer(const std::string & network, int epochs)
{
  const auto trainer = GigapixelUNetTrainer::New();
  trainer->SetNetwork(network);
  trainer->SetEpochs(epochs);
  trainer->SetTileSize(96);
  trainer->SetLearningRate(0.003);
  return trainer;
}

/** That has learnt what a square is. */
const gigapixel::Model &
GetModel()
{
  static const gigapixel::Model model = [] {
    const auto trainer = MakeTrainer("resnet18:width=4", 15);
    for (unsigned i = 0; i < 6; ++i)
    {
      trainer->AddLabeledTrainingImage(MakeImage(i, i % 2 == 1).GetPointer(), i % 2 == 1 ? "tumor" : "normal");
    }
    trainer->Update();
    return trainer->GetBestModel();
  }();
  return model;
}

GigapixelClassifier::Pointer
MakeClassifier(const ColorImage * image)
{
  const auto classifier = GigapixelClassifier::New();
  classifier->SetModel(GetModel());
  classifier->SetImage(image);
  return classifier;
}

TEST(GigapixelClassifier, TellsImagesApart)
{
  EXPECT_EQ(GetModel().network.classNames, (std::vector<std::string>{ "normal", "tumor" }));
  for (const bool tumor : { false, true })
  {
    for (unsigned seed = 20; seed < 23; ++seed)
    {
      const auto classifier = MakeClassifier(MakeImage(seed, tumor));
      classifier->Update();
      EXPECT_EQ(classifier->GetPredictedClass(), tumor ? "tumor" : "normal");
      EXPECT_GT(classifier->GetProbability(classifier->GetPredictedClass()), 0.5);
      const std::vector<double> both = classifier->GetProbabilities();
      EXPECT_NEAR(std::accumulate(both.begin(), both.end(), 0.0), 1, 1e-6);
      EXPECT_EQ(classifier->GetProbabilitiesOutput()->Get(), both);
    }
  }
}

TEST(GigapixelClassifier, ImagesPipelinesFilesAndThreadsGiveTheSameBits)
{
  const TemporaryFolder folder{ "classifier" };
  const auto            image = MakeImage(30, true);
  const std::string     file = gigapixel_test::Write(image.GetPointer(), folder.File("image.mha"));
  GetModel().Save(folder.File("model.safetensors"));

  const auto direct = MakeClassifier(image);
  direct->SetNumberOfWorkUnits(1);
  direct->Update();

  const auto reader = itk::ImageFileReader<ColorImage>::New();
  reader->SetFileName(file);
  const auto piped = MakeClassifier(reader->GetOutput());
  piped->SetNumberOfWorkUnits(3);
  piped->SetMemoryLimit(itk::SizeValueType{ 4 } << 30);
  piped->Update();
  EXPECT_EQ(piped->GetProbabilities(), direct->GetProbabilities());

  const auto fromFile = GigapixelClassifier::New();
  fromFile->SetModelFileName(folder.File("model.safetensors"));
  fromFile->SetSlide(file);
  fromFile->ComputeMapOn();
  fromFile->Update();
  EXPECT_EQ(fromFile->GetProbabilities(), direct->GetProbabilities());

  std::vector<double> engine;
  gigapixel::Classifier(GetModel(), 1).Classify(*itk::GigapixelImageSource(image.GetPointer()).pixels, engine);
  EXPECT_EQ(engine, direct->GetProbabilities());
}

TEST(GigapixelClassifier, TheMapLiesOnTheImage)
{
  const auto            image = MakeImage(31, true);
  ColorImage::PointType origin;
  origin[0] = 3;
  origin[1] = -2;
  image->SetOrigin(origin);
  const auto classifier = MakeClassifier(image);
  classifier->ComputeMapOn();
  classifier->Update();
  const GigapixelClassifier::MapType & map = *classifier->GetMap();
  EXPECT_FALSE(classifier->GetMapIsAttention());
  EXPECT_EQ(classifier->GetClassOfMap(), "tumor");
  EXPECT_EQ(map.GetLargestPossibleRegion().GetSize(), (itk::Size<2>{ { 7, 5 } }));
  EXPECT_NEAR(map.GetSpacing()[0], 32 * image->GetSpacing()[0], 1e-12);
  EXPECT_NEAR(map.GetOrigin()[0], 3, 1e-12); // the middle of the first value is that of the first pixel
  EXPECT_NEAR(map.GetOrigin()[1], -2, 1e-12);
  itk::ImageRegionConstIteratorWithIndex<GigapixelClassifier::MapType> it(&map, map.GetBufferedRegion());
  itk::Index<2>                                                        greatest{};
  for (; !it.IsAtEnd(); ++it)
  {
    EXPECT_GE(it.Get(), 0);
    greatest = it.Get() > map.GetPixel(greatest) ? it.GetIndex() : greatest;
  }
  EXPECT_NEAR(32.0 * static_cast<double>(greatest[0]), 136, 48) << "the square is where it comes from";
  EXPECT_NEAR(32.0 * static_cast<double>(greatest[1]), 72, 48);

  const std::vector<float> tumor(map.GetBufferPointer(), map.GetBufferPointer() + 35);
  classifier->SetMapClass("normal");
  classifier->Update();
  EXPECT_EQ(classifier->GetClassOfMap(), "normal");
  for (std::size_t i = 0; i < tumor.size(); ++i)
  {
    EXPECT_TRUE(tumor[i] == 0 || classifier->GetMap()->GetBufferPointer()[i] == 0)
      << "what speaks for one speaks against the other";
  }
  classifier->ComputeMapOff();
  classifier->Update();
  EXPECT_EQ(classifier->GetMap()->GetBufferedRegion().GetNumberOfPixels(), 0u);
  EXPECT_EQ(classifier->GetMap()->GetLargestPossibleRegion().GetNumberOfPixels(), 0u);
}

TEST(GigapixelClassifier, AFilterBehindTheMapMakesIt)
{
  const auto classifier = MakeClassifier(MakeImage(31, true));
  classifier->ComputeMapOn();
  using ShiftType = itk::ShiftScaleImageFilter<GigapixelClassifier::MapType, GigapixelClassifier::MapType>;
  const auto twice = ShiftType::New();
  twice->SetInput(classifier->GetMap());
  twice->SetScale(2);
  twice->UpdateOutputInformation();
  EXPECT_EQ(twice->GetOutput()->GetLargestPossibleRegion().GetSize(), (itk::Size<2>{ { 7, 5 } }));
  EXPECT_EQ(classifier->GetMap()->GetBufferedRegion().GetNumberOfPixels(), 0u) << "nothing is computed yet";
  twice->Update();
  const auto alone = MakeClassifier(MakeImage(31, true));
  alone->ComputeMapOn();
  alone->Update();
  EXPECT_EQ(classifier->GetProbabilities(), alone->GetProbabilities());
  EXPECT_EQ(twice->GetOutput()->GetSpacing(), alone->GetMap()->GetSpacing());
  EXPECT_EQ(twice->GetOutput()->GetOrigin(), alone->GetMap()->GetOrigin());
  for (int i = 0; i < 35; ++i)
  {
    EXPECT_EQ(twice->GetOutput()->GetBufferPointer()[i], 2 * alone->GetMap()->GetBufferPointer()[i]);
  }
  classifier->ComputeMapOff();
  classifier->UpdateOutputInformation();
  EXPECT_EQ(classifier->GetMap()->GetLargestPossibleRegion().GetNumberOfPixels(), 0u);
}

TEST(GigapixelClassifier, AMapThatIsNotMadeYetIsRefusedByAnother)
{
  const auto before = MakeClassifier(MakeImage(31, true));
  before->ComputeMapOn();
  using CastType = itk::CastImageFilter<GigapixelClassifier::MapType, itk::Image<unsigned char, 2>>;
  const auto cast = CastType::New();
  cast->SetInput(before->GetMap());
  const auto after = MakeClassifier(MakeImage(31, true));
  after->SetImage(cast->GetOutput());
  try
  {
    after->Update();
    FAIL() << "it would wait for itself";
  }
  catch (const itk::ExceptionObject & error)
  {
    EXPECT_EQ(gigapixel::Diagnostic::Of(error).code, "E-CALL-ORDER") << error.GetDescription();
  }
}

TEST(GigapixelClassifier, TellsThatMemoryIsTooLittle)
{
  const auto classifier = MakeClassifier(MakeImage(31, true));
  classifier->SetMemoryLimit(1 << 20);
  try
  {
    classifier->Update();
    FAIL() << "no tile fits";
  }
  catch (const itk::ExceptionObject & error)
  {
    EXPECT_THROW(std::rethrow_if_nested(error), gigapixel::MemoryLimitError);
  }
}

TEST(GigapixelClassifier, AttentionIsItsMap)
{
  const auto trainer = MakeTrainer("resnet18:width=2,pool=attention", 1);
  trainer->AddLabeledTrainingImage(MakeImage(1, false).GetPointer(), "normal");
  trainer->AddLabeledTrainingImage(MakeImage(2, true).GetPointer(), "tumor");
  trainer->Update();
  const auto classifier = MakeClassifier(MakeImage(3, true));
  classifier->SetModel(trainer->GetBestModel());
  classifier->ComputeMapOn();
  classifier->Update();
  EXPECT_TRUE(classifier->GetMapIsAttention());
  const float * const values = classifier->GetMap()->GetBufferPointer();
  EXPECT_NEAR(std::accumulate(values, values + 35, 0.0), 35, 1e-3) << "1 is as much as a pixel has on average";
}

TEST(GigapixelClassifier, FollowsChangesAndElseDoesNothing)
{
  const TemporaryFolder folder{ "classifier" };
  const auto            reader = itk::ImageFileReader<ColorImage>::New();
  reader->SetFileName(gigapixel_test::Write(MakeImage(40, false).GetPointer(), folder.File("normal.mha")));
  const auto classifier = MakeClassifier(reader->GetOutput());
  int        times = 0;
  classifier->AddObserver(itk::StartEvent(), [&times](const itk::EventObject &) { ++times; });
  classifier->Update();
  classifier->SetImage(reader->GetOutput()); // which it has
  classifier->Update();
  EXPECT_EQ(times, 1);
  EXPECT_EQ(classifier->GetPredictedClass(), "normal");
  reader->SetFileName(gigapixel_test::Write(MakeImage(40, true).GetPointer(), folder.File("tumor.mha")));
  classifier->Update();
  EXPECT_EQ(times, 2);
  EXPECT_EQ(classifier->GetPredictedClass(), "tumor");
  classifier->SetTileSize(64);
  classifier->Update();
  EXPECT_EQ(times, 3);
}

TEST(GigapixelClassifier, ProgressRisesAndItCanBeStopped)
{
  const auto         classifier = MakeClassifier(MakeImage(41, true));
  std::vector<float> progress;
  const auto         watch = classifier->AddObserver(
    itk::ProgressEvent(), [&](const itk::EventObject &) { progress.push_back(classifier->GetProgress()); });
  classifier->ComputeMapOn();
  classifier->SetTileSize(32);
  classifier->Update();
  EXPECT_GT(progress.size(), 20u);
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_EQ(progress.back(), 1.0F);
  classifier->RemoveObserver(watch);
  classifier->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { classifier->AbortGenerateDataOn(); });
  classifier->Modified();
  EXPECT_THROW(classifier->Update(), itk::ProcessAborted);
  EXPECT_REFUSAL(classifier->GetProbabilities(), "E-CALL-ORDER");
  classifier->RemoveAllObservers();
  classifier->Update();
  EXPECT_EQ(classifier->GetPredictedClass(), "tumor");
}

TEST(GigapixelClassifier, OnlyTissueCounts)
{
  const TemporaryFolder folder{ "classifier" };
  const auto            image = MakeImage(42, true);
  const auto            mask = GrayImage::New();
  mask->SetRegions(itk::Size<2>{ { Width, Height } });
  mask->Allocate();
  gigapixel_test::SetSpacing(*mask, 0.5);
  for (itk::ImageRegionIterator<GrayImage> it(mask, mask->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    it.Set(it.GetIndex()[0] < 60 ? 255 : 0); // where no square is
  }
  const auto classifier = MakeClassifier(image);
  classifier->SetTissue(gigapixel_test::Write(mask.GetPointer(), folder.File("mask.mha")));
  classifier->Update();
  EXPECT_EQ(classifier->GetPredictedClass(), "normal");
  classifier->SetTissue("");
  classifier->Update();
  EXPECT_EQ(classifier->GetPredictedClass(), "tumor");
}

TEST(GigapixelClassifier, WhatDoesNotFitIsRefused)
{
  const auto image = MakeImage(43, true);
  EXPECT_REFUSAL(GigapixelClassifier::New()->Update(), "E-CALL-ORDER");
  const auto classifier = GigapixelClassifier::New();
  classifier->SetModel(GetModel());
  EXPECT_REFUSAL(classifier->Update(), "E-CALL-ORDER");
  EXPECT_REFUSAL(classifier->GetPredictedClass(), "E-CALL-ORDER");
  classifier->SetSlide("no.svs");
  EXPECT_MESSAGE(classifier->Update(), "no.svs");
  classifier->SetImage(image.GetPointer());
  classifier->SetMapClass("cancer");
  EXPECT_REFUSAL(classifier->Update(), "E-OPTION-VALUE");
  classifier->SetMapClass("");
  gigapixel_test::SetSpacing(*image, 2);
  EXPECT_REFUSAL(classifier->Update(), "E-SLIDE-RESOLUTION");
  gigapixel_test::SetSpacing(*image, 0.5);
  classifier->Update();
  EXPECT_REFUSAL(classifier->GetProbability("cancer"), "E-OPTION-VALUE");
  classifier->SetModel(gigapixel_test::NoiseModel());
  EXPECT_REFUSAL(classifier->Update(), "E-MODEL-OUTPUT");
}

/** As slides are, by their labels. */
TEST(GigapixelUNetTrainer, LearnsLabelsOfImagesAndOfTheirFilesToTheSameBits)
{
  const TemporaryFolder folder{ "classifier" };
  const auto            images = MakeTrainer("resnet18:width=2", 1), files = MakeTrainer("resnet18:width=2", 1);
  for (unsigned i = 0; i < 3; ++i)
  {
    const auto        image = MakeImage(i, i == 1);
    const std::string label = i == 1 ? "tumor" : "normal";
    const std::string file = gigapixel_test::Write(image.GetPointer(), folder.File(std::to_string(i) + ".mha"));
    if (i == 2)
    {
      images->AddLabeledValidationImage(image.GetPointer(), label);
      files->AddLabeledValidationSlide(file, label);
      continue;
    }
    images->AddLabeledTrainingImage(image.GetPointer(), label);
    files->AddLabeledTrainingSlide(file, label);
  }
  images->Update();
  files->Update();
  EXPECT_EQ(images->GetBestModel().GetIdentity(), files->GetBestModel().GetIdentity());
  files->SetSeed(2);
  files->Update();
  EXPECT_NE(images->GetBestModel().GetIdentity(), files->GetBestModel().GetIdentity());
}

/** As a table's columns do; what is wrong is said when it is trained. */
TEST(GigapixelUNetTrainer, LearnsOtherTruthsOfImagesAndOfTheirFilesToTheSameBits)
{
  using gigapixel::ImageTruth;
  using gigapixel::Objective;
  using gigapixel::ObjectiveKind;
  constexpr double      unknown = std::numeric_limits<double>::quiet_NaN();
  const TemporaryFolder folder{ "classifier" };
  struct Case
  {
    Objective               objective;
    std::string             header;
    std::vector<ImageTruth> truths;
  };
  const std::vector<Case> cases{
    { { ObjectiveKind::Find("findings"), { "square", "red" }, {}, {} },
      "label:square,label:red",
      { { 0, 1 }, { 1, unknown }, { 1, 0 } } },
    { { ObjectiveKind::Find("grades"), {}, {}, {} }, "grade", { { 0 }, { 2 }, { 2 } } },
    { { ObjectiveKind::Find("values"), { "side" }, {}, {} }, "value:side", { { 0.5 }, { 24 }, { 12 } } },
  };
  for (const Case & each : cases)
  {
    SCOPED_TRACE(each.header);
    const auto  images = MakeTrainer("resnet18:width=2", 1), files = MakeTrainer("resnet18:width=2", 1);
    const auto  table = MakeTrainer("resnet18:width=2", 1);
    std::string rows = "slide,split," + each.header + '\n';
    images->SetObjective(each.objective);
    files->SetObjective(each.objective);
    for (unsigned i = 0; i < 3; ++i)
    {
      const auto         image = MakeImage(i, i > 0);
      const ImageTruth & truth = each.truths[i];
      const std::string  file = gigapixel_test::Write(image.GetPointer(), folder.File(std::to_string(i) + ".mha"));
      i == 2 ? images->AddLabeledValidationImage(image.GetPointer(), truth)
              : images->AddLabeledTrainingImage(image.GetPointer(), truth);
      i == 2 ? files->AddLabeledValidationSlide(file, truth) : files->AddLabeledTrainingSlide(file, truth);
      rows += file + (i == 2 ? ",validation" : ",train");
      for (const double value : truth)
      {
        rows += ',' + (std::isnan(value) ? std::string() : gigapixel::FormatTruth(value));
      }
      rows += '\n';
    }
    std::ofstream(folder.File("cohort.csv")) << rows;
    table->AddCohort(gigapixel::Cohort::Load(folder.File("cohort.csv")));
    for (const auto & trainer : { images, files, table })
    {
      trainer->Update();
      EXPECT_EQ(trainer->GetBestModel().GetIdentity(), images->GetBestModel().GetIdentity());
      EXPECT_EQ(trainer->GetBestModel().network.objective.kind, each.objective.kind);
    }
    // Truths of another kind do not go with them.
    EXPECT_REFUSAL(images->SetObjective(Objective()), "E-SAMPLE-TRUTH");
  }
  const auto refuse = [&](const Objective & objective, const ImageTruth & truth) {
    const auto trainer = MakeTrainer("resnet18:width=2", 1);
    trainer->SetObjective(objective);
    trainer->AddLabeledTrainingImage(MakeImage(0, false).GetPointer(), truth);
    return trainer;
  };
  EXPECT_REFUSAL(refuse(cases[0].objective, { 1 })->Update(), "E-SAMPLE-TRUTH");
  EXPECT_REFUSAL(refuse(cases[0].objective, { 1, 2 })->Update(), "E-SAMPLE-TRUTH");
  EXPECT_REFUSAL(refuse(cases[0].objective, { unknown, unknown })->Update(), "E-SAMPLE-TRUTH");
  EXPECT_REFUSAL(refuse(cases[1].objective, { 1.5 })->Update(), "E-SAMPLE-TRUTH");
  EXPECT_REFUSAL(refuse(cases[1].objective, { unknown })->Update(), "E-SAMPLE-TRUTH");
  EXPECT_REFUSAL(refuse({ ObjectiveKind::Find("findings"), {}, {}, {} }, { 1 })->Update(), "E-SAMPLE-TRUTH");
  EXPECT_REFUSAL(refuse(Objective(), { 1 }), "E-CALL-ORDER");
}

} // namespace
