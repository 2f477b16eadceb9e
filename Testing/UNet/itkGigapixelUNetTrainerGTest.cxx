/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "itkGigapixelUNetTrainer.h"

#include "TemporaryFolder.h"
#include "UNetTestImages.h"
#include "itkCommand.h"
#include "itkExtractImageFilter.h"
#include "itkGigapixelFileSource.h"
#include "itkVectorImage.h"

#include <atomic>
#include <exception>
#include <fstream>
#include <map>

using gigapixel::test::TemporaryFolder;
using gigapixel_test::DiscsImage;
using gigapixel_test::GrayImage;
using gigapixel_test::Write;
using itk::GigapixelUNetTrainer;

namespace
{

constexpr unsigned Width = 250;
constexpr unsigned Height = 190;
constexpr double   Mpp = 0.5;

/** An image of discs and its mask on a grid of a quarter of the resolution. */
struct Pair
{
  explicit Pair(unsigned seed, unsigned width = Width, unsigned height = Height)
    : image(DiscsImage(width, height, seed))
    , mask(GrayImage::New())
  {
    gigapixel_test::SetSpacing(*image, Mpp);
    mask->SetRegions(itk::Size<2>{ { (width + 3) / 4, (height + 3) / 4 } });
    mask->Allocate();
    gigapixel_test::SetSpacing(*mask, 4 * Mpp, 1.5 * Mpp / 1000);
    for (itk::ImageRegionIterator<GrayImage> it(mask, mask->GetBufferedRegion()); !it.IsAtEnd(); ++it)
    {
      it.Set(image->GetPixel({ { 4 * it.GetIndex()[0], 4 * it.GetIndex()[1] } }) < 128 ? 255 : 0);
    }
  }

  GrayImage::Pointer image;
  GrayImage::Pointer mask;
};

GigapixelUNetTrainer::Pointer
MakeTrainer(int epochs = 3)
{
  const auto trainer = GigapixelUNetTrainer::New();
  trainer->SetNetwork("remedios2023");
  trainer->SetEpochs(epochs);
  trainer->SetTileSize(128);
  return trainer;
}

std::vector<float>
Weights(const gigapixel::Model & model)
{
  std::vector<float> all;
  for (const auto & [name, parameter] : model.parameters)
  {
    all.insert(all.end(), parameter.values.begin(), parameter.values.end());
  }
  return all;
}

itk::ImageFileReader<GrayImage>::Pointer
Reader(const std::string & file)
{
  const auto reader = itk::ImageFileReader<GrayImage>::New();
  reader->SetFileName(file);
  return reader;
}

TEST(GigapixelUNetTrainer, Learns)
{
  const Pair          a(1), b(2), c(3);
  const auto          trainer = MakeTrainer(25);
  std::vector<double> losses;
  std::vector<double> validationLosses;
  trainer->SetLearningRate(0.01); // few and small steps: the paper's rate needs hundreds
  trainer->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  trainer->AddTrainingImage(b.image.GetPointer(), b.mask.GetPointer());
  trainer->AddValidationImage(c.image.GetPointer(), c.mask.GetPointer());
  trainer->AddObserver(itk::IterationEvent(), [&](const itk::EventObject &) {
    losses.push_back(trainer->GetTrainingProgress().loss);
    validationLosses.push_back(trainer->GetTrainingProgress().validationLoss);
  });
  trainer->Update();
  ASSERT_EQ(losses.size(), 25u);
  EXPECT_LT(losses.back(), 0.7 * losses.front());
  EXPECT_LT(*std::min_element(validationLosses.begin(), validationLosses.end()), 0.9 * validationLosses.front());
  EXPECT_NEAR(trainer->GetBestModel().micronsPerPixel, Mpp, 1e-9);
  EXPECT_EQ(trainer->GetBestModel().tileSize, 128);
}

TEST(GigapixelUNetTrainer, ImagesPipelinesFilesAndWorkUnitsGiveTheSameBits)
{
  const TemporaryFolder folder{ "unet" };
  const Pair            a(1), b(2);
  const std::string     imageFile = Write(a.image.GetPointer(), folder.File("a.mha"));
  const std::string     maskFile = Write(a.mask.GetPointer(), folder.File("a-mask.mha"));
  const std::string     imageFileB = Write(b.image.GetPointer(), folder.File("b.mha"));
  const std::string     maskFileB = Write(b.mask.GetPointer(), folder.File("b-mask.mha"));

  const auto images = MakeTrainer();
  images->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  images->AddValidationImage(b.image.GetPointer(), b.mask.GetPointer());
  images->SetNumberOfWorkUnits(1);
  images->Update();

  const auto pipelines = MakeTrainer();
  pipelines->AddTrainingImage(Reader(imageFile)->GetOutput(), Reader(maskFile)->GetOutput());
  pipelines->AddValidationImage(Reader(imageFileB)->GetOutput(), Reader(maskFileB)->GetOutput());
  pipelines->SetNumberOfWorkUnits(2);
  pipelines->Update();

  const auto files = MakeTrainer();
  files->AddTrainingSlide(imageFile, maskFile);
  files->AddValidationSlide(imageFileB, maskFileB);
  files->Update();

  std::ofstream(folder.File("cohort.csv")) << "slide,mask,split\na.mha,a-mask.mha,train\nb.mha,b-mask.mha,validation\n";
  const auto cohort = MakeTrainer();
  cohort->AddCohort(gigapixel::Cohort::Load(folder.File("cohort.csv")));
  cohort->Update();

  const auto weights = Weights(images->GetBestModel());
  EXPECT_EQ(Weights(pipelines->GetBestModel()), weights);
  EXPECT_EQ(Weights(files->GetBestModel()), weights);
  EXPECT_EQ(Weights(cohort->GetBestModel()), weights);
}

TEST(GigapixelUNetTrainer, RegionEqualsTheImageCutOut)
{
  const TemporaryFolder     folder{ "unet" };
  const Pair                a(1, 500, 400);
  const itk::ImageRegion<2> region({ { 100, 60 } }, { { 192, 200 } });
  const auto                cut = MakeTrainer();
  const auto                extract = itk::ExtractImageFilter<GrayImage, GrayImage>::New();
  extract->SetInput(a.image);
  extract->SetExtractionRegion(region);
  extract->SetDirectionCollapseToIdentity();
  const auto extractMask = itk::ExtractImageFilter<GrayImage, GrayImage>::New();
  extractMask->SetInput(a.mask);
  extractMask->SetExtractionRegion(itk::ImageRegion<2>({ { 25, 15 } }, { { 48, 50 } }));
  extractMask->SetDirectionCollapseToIdentity();
  cut->AddTrainingImage(extract->GetOutput(), extractMask->GetOutput());
  cut->Update();

  const auto inside = MakeTrainer();
  inside->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer(), region);
  inside->Update();
  EXPECT_EQ(Weights(inside->GetLastModel()), Weights(cut->GetLastModel()));

  const auto file = MakeTrainer();
  file->AddTrainingSlide(Write(a.image.GetPointer(), folder.File("a.mha")),
                         Write(a.mask.GetPointer(), folder.File("m.mha")),
                         gigapixel::Region{ 100, 60, 192, 200 });
  file->Update();
  EXPECT_EQ(Weights(file->GetLastModel()), Weights(cut->GetLastModel()));
}

TEST(GigapixelUNetTrainer, ProgressRisesAndEventsCountStepsAndEpochs)
{
  const Pair         a(1), b(2);
  const auto         trainer = MakeTrainer(4);
  std::vector<float> progress;
  int                epochs = 0;
  int                steps = 0;
  trainer->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  trainer->AddTrainingImage(b.image.GetPointer(), b.mask.GetPointer());
  trainer->AddObserver(itk::ProgressEvent(),
                       [&](const itk::EventObject &) { progress.push_back(trainer->GetProgress()); });
  trainer->AddObserver(itk::IterationEvent(),
                       [&](const itk::EventObject &) { EXPECT_EQ(trainer->GetTrainingProgress().epoch, ++epochs); });
  trainer->AddObserver(itk::GigapixelStepEvent(), [&](const itk::EventObject &) {
    EXPECT_EQ(trainer->GetTrainingProgress().step, steps++ % 2 + 1);
  });
  trainer->Update();
  EXPECT_EQ(epochs, 4);
  EXPECT_EQ(steps, 8);
  EXPECT_GE(progress.size(), 8u);
  EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
  EXPECT_EQ(progress.back(), 1.0f);
  trainer->Update(); // up to date
  EXPECT_EQ(epochs, 4);
  epochs = 0;
  trainer->SetSeed(2);
  trainer->Update();
  EXPECT_EQ(epochs, 4);
}

// Of the four channels the network is given, one is the image and the others are black.
TEST(GigapixelUNetTrainer, TakesAUNetInRGBForMasksByDefault)
{
  const Pair a(1);
  const auto trainer = GigapixelUNetTrainer::New();
  trainer->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  EXPECT_EQ(trainer->LoadNetwork().name, "unet");
  EXPECT_EQ(trainer->LoadNetwork().channels, 3);
  EXPECT_TRUE(trainer->TakesDefaultForMasks());
  EXPECT_REFUSAL(trainer->Update(), "E-MODEL-INPUT"); // the image is gray
  trainer->SetNetwork("unet");
  EXPECT_FALSE(trainer->TakesDefaultForMasks());

  const auto ofLabels = GigapixelUNetTrainer::New();
  ofLabels->AddLabeledTrainingImage(a.image.GetPointer(), "one");
  ofLabels->AddLabeledTrainingImage(a.image.GetPointer(), "two");
  EXPECT_FALSE(ofLabels->TakesDefaultForMasks());

  // A run that was begun with the former default goes on with it.
  const TemporaryFolder folder{ "unet" };
  const auto            begun = MakeTrainer(1);
  begun->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  begun->SetRunFolder(folder.File("run"));
  begun->Update();
  const auto resumed = GigapixelUNetTrainer::New();
  resumed->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  resumed->SetRunFolder(folder.File("run"));
  resumed->SetResume(true);
  EXPECT_FALSE(resumed->TakesDefaultForMasks());
  EXPECT_EQ(resumed->LoadNetwork().name, "remedios2023");
}

TEST(GigapixelUNetTrainer, LearnsFromImagesOfFourChannels)
{
  const Pair a(1);
  const auto vectors = itk::VectorImage<unsigned char, 2>::New();
  vectors->CopyInformation(a.image);
  vectors->SetRegions(a.image->GetLargestPossibleRegion());
  vectors->SetNumberOfComponentsPerPixel(4);
  vectors->Allocate(true);
  for (std::size_t i = 0; i < std::size_t{ Width } * Height; ++i)
  {
    vectors->GetBufferPointer()[4 * i + 2] = a.image->GetBufferPointer()[i];
  }
  const TemporaryFolder folder("four-channels");
  std::string           json = gigapixel::NetworkDescription::Load("remedios2023").ToJSON();
  for (const auto & [old, now] : std::map<std::string, std::string>{
         { "remedios2023", "four" }, { "\"channels\": 1", "\"channels\": 4" }, { "\"in\": 1,", "\"in\": 4," } })
  {
    json.replace(json.find(old), old.size(), now);
  }
  std::ofstream(folder.File("four.json")) << json;
  const auto trainer = MakeTrainer(40);
  trainer->SetNetwork(folder.File("four.json"));
  trainer->AddTrainingImage(vectors.GetPointer(), a.mask.GetPointer());
  double first = 0;
  trainer->AddObserver(itk::IterationEvent(), [&](const itk::EventObject &) {
    first = trainer->GetTrainingProgress().epoch == 1 ? trainer->GetTrainingProgress().loss : first;
  });
  trainer->Update();
  EXPECT_LT(trainer->GetTrainingProgress().loss, 0.7 * first);

  const auto gray = MakeTrainer();
  gray->SetNetwork(folder.File("four.json"));
  gray->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  EXPECT_REFUSAL(gray->Update(), "E-MODEL-INPUT");
}

TEST(GigapixelUNetTrainer, PlanIsKnownBeforeTheFirstStep)
{
  const Pair a(1);
  const auto trainer = MakeTrainer();
  int        plans = 0;
  trainer->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  trainer->AddObserver(itk::GigapixelPlanEvent(), [&](const itk::EventObject &) {
    ++plans;
    EXPECT_EQ(trainer->GetTrainingProgress().epoch, 0);
    EXPECT_EQ(trainer->GetMemoryPlan().tileSize, 128);
    EXPECT_EQ(trainer->GetMemoryPlan().numberOfTiles, 4);
    EXPECT_GT(trainer->GetMemoryPlan().peakBytes, 0);
  });
  trainer->Update();
  EXPECT_EQ(plans, 1);
}

TEST(GigapixelUNetTrainer, MemoryLimitThatIsTooSmallTellsWhatWouldDo)
{
  const Pair a(1);
  const auto trainer = MakeTrainer();
  trainer->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  trainer->SetMemoryLimit(1);
  try
  {
    trainer->Update();
    ADD_FAILURE() << "a byte is enough";
  }
  catch (const itk::ExceptionObject & error)
  {
    EXPECT_EQ(gigapixel::Diagnostic::Of(error).code, "E-MEMORY-BUDGET");
    try
    {
      std::rethrow_if_nested(error);
      ADD_FAILURE() << "it is not known how much";
    }
    catch (const gigapixel::MemoryLimitError & refusal)
    {
      EXPECT_GT(refusal.least, 1 << 20);
    }
  }
}

TEST(GigapixelUNetTrainer, AbortStopsAndKeepsTheLastFullStep)
{
  const Pair a(1);
  const auto trainer = MakeTrainer(100);
  trainer->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  EXPECT_REFUSAL(trainer->GetBestModel(), "E-CALL-ORDER");
  int steps = 0;
  trainer->AddObserver(itk::GigapixelStepEvent(),
                       [&](const itk::EventObject &) { trainer->SetAbortGenerateData(++steps == 2); });
  EXPECT_THROW(trainer->Update(), itk::ProcessAborted);
  EXPECT_EQ(steps, 2);
  const auto twoSteps = Weights(trainer->GetLastModel());

  const auto reference = MakeTrainer(2);
  reference->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  reference->Update();
  EXPECT_EQ(twoSteps, Weights(reference->GetLastModel()));
}

TEST(GigapixelUNetTrainer, AbortInsideAStepStopsWithinATile)
{
  /** Aborts when it is read from for the third time. */
  class Aborting : public gigapixel::PixelSource
  {
  public:
    Aborting(std::shared_ptr<gigapixel::PixelSource> pixels, GigapixelUNetTrainer & trainer)
      : m_Pixels(std::move(pixels))
      , m_Trainer(trainer)
    {}
    gigapixel::Size
    GetSize() const override
    {
      return m_Pixels->GetSize();
    }
    unsigned
    GetNumberOfChannels() const override
    {
      return 1;
    }
    void
    Read(const gigapixel::Region & region, std::uint8_t * samples) override
    {
      m_Pixels->Read(region, samples);
      if (++m_Reads == 3)
      {
        m_Trainer.AbortGenerateDataOn();
      }
    }
    std::shared_ptr<gigapixel::PixelSource> m_Pixels;
    GigapixelUNetTrainer &                  m_Trainer;
    std::atomic<int>                        m_Reads{ 0 };
  };
  const Pair a(1, 1300, 1300); // more than a hundred tiles
  const auto trainer = MakeTrainer(1);
  auto       pixels = itk::GigapixelImageSource(a.image.GetPointer());
  const auto aborting = std::make_shared<Aborting>(pixels.pixels, *trainer);
  pixels.pixels = aborting;
  trainer->AddTrainingSample(pixels, itk::GigapixelImageSource(a.mask.GetPointer()));
  trainer->SetNumberOfWorkUnits(1);
  EXPECT_THROW(trainer->Update(), itk::ProcessAborted);
  // The worker may be eight tiles ahead, each of which is read in up to two bands.
  EXPECT_LT(aborting->m_Reads, 2 * (3 + 8));
}

TEST(GigapixelUNetTrainer, RunFolderGivesModelsForTheFilter)
{
  const TemporaryFolder folder{ "unet" };
  const Pair            a(1);
  const auto            trainer = MakeTrainer(2);
  trainer->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  trainer->SetRunFolder(folder.File("run"));
  trainer->Update();
  EXPECT_EQ(Weights(gigapixel::Model::Load(folder.File("run"))), Weights(trainer->GetBestModel()));
  const auto again = MakeTrainer(2);
  again->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  again->SetRunFolder(folder.File("run"));
  EXPECT_MESSAGE(again->Update(), folder.File("run"));
}

TEST(GigapixelUNetTrainer, ErrorsAreOneSentence)
{
  const Pair a(1), b(2);
  const auto empty = MakeTrainer();
  EXPECT_REFUSAL(empty->Update(), "E-CALL-ORDER");
  empty->SetNetwork("none.json");
  EXPECT_MESSAGE(empty->Update(), "none.json");

  const auto missing = MakeTrainer();
  missing->AddTrainingSlide("/no/slide.svs", "/no/mask.png");
  EXPECT_REFUSAL(missing->Update(), "E-FILE-MISSING");

  const auto resolutions = MakeTrainer();
  gigapixel_test::SetSpacing(*b.image, 0.25);
  gigapixel_test::SetSpacing(*b.mask, 1.0, 0.375 / 1000);
  resolutions->AddTrainingImage(a.image.GetPointer(), a.mask.GetPointer());
  resolutions->AddValidationImage(b.image.GetPointer(), b.mask.GetPointer());
  EXPECT_REFUSAL(resolutions->Update(), "E-SLIDE-RESOLUTION");

  const auto mismatch = MakeTrainer();
  mismatch->AddTrainingImage(a.image.GetPointer(), b.mask.GetPointer());
  EXPECT_REFUSAL(mismatch->Update(), "E-MASK-GRID");

  const auto outside = MakeTrainer();
  outside->AddTrainingImage(
    a.image.GetPointer(), a.mask.GetPointer(), itk::ImageRegion<2>({ { 200, 0 } }, { { 100, 10 } }));
  EXPECT_REFUSAL(outside->Update(), "E-REGION");
}

std::string
WriteVolume(const std::string & file, unsigned depth, unsigned seed)
{
  const auto volume = itk::Image<unsigned char, 3>::New();
  volume->SetRegions(itk::Size<3>{ { 20, 18, depth } });
  volume->Allocate();
  std::mt19937 random(seed);
  std::generate_n(volume->GetBufferPointer(), 20 * 18 * depth, [&random] { return random() % 2; });
  const auto writer = itk::ImageFileWriter<itk::Image<unsigned char, 3>>::New();
  writer->SetInput(volume);
  writer->SetFileName(file);
  writer->Update();
  return file;
}

TEST(GigapixelUNetTrainer, LabelsOfVolumesThatChangeMeanwhileAreRefused)
{
  const TemporaryFolder folder{ "unet" };
  const auto            trainer = MakeTrainer(3);
  trainer->SetNetwork("unet3d:base=2,depth=1");
  trainer->SetTileSize(0);
  for (const char * name : { "a", "b" })
  {
    trainer->AddTrainingSlide(WriteVolume(folder.File(std::string(name) + ".nii"), 12, 1),
                              WriteVolume(folder.File(std::string(name) + ".labels.nii"), 12, 2));
  }
  // Of two volumes one is in memory, so that both are read anew in their turns.
  trainer->AddObserver(itk::GigapixelStepEvent(), [&](const itk::EventObject &) {
    WriteVolume(folder.File("a.labels.nii"), 6, 2);
    WriteVolume(folder.File("b.labels.nii"), 6, 2);
  });
  EXPECT_REFUSAL(trainer->Update(), "E-FILE-CHANGED");
}

} // namespace
