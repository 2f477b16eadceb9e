/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelClassifier.h"

#include "RefusalCode.h"
#include "TemporaryFolder.h"
#include "UNetTestImages.h"
#include "WholeSlide/TIFFFixture.h"
#include "itkGigapixelUNetTrainer.h"

using gigapixel::test::TemporaryFolder;
using gigapixel_test::ColorImage;

namespace
{
/** Weights that give each image other probabilities. */
gigapixel::Model
MakeModel()
{
  const auto trainer = itk::GigapixelUNetTrainer::New();
  trainer->SetNetwork("resnet18:width=4");
  trainer->SetEpochs(1);
  trainer->SetTileSize(96);
  for (unsigned i = 0; i < 2; ++i)
  {
    const auto image = gigapixel_test::NoiseImage<ColorImage>(200, 150, i);
    trainer->AddLabeledTrainingImage(image.GetPointer(), i == 0 ? "normal" : "tumor");
  }
  trainer->Update();
  return trainer->GetBestModel();
}

/** Writes a slide of one image, or adds the image to those of the slide, as Aperio writes focal planes. */
std::string
WriteImage(const std::string & file, std::uint32_t width, std::uint32_t height, bool append)
{
  const std::string              size = std::to_string(width) + 'x' + std::to_string(height);
  gigapixel_test::PyramidOptions options;
  options.width = width;
  options.height = height;
  options.levels = 1;
  options.append = append;
  options.description = "Aperio Image Library v1\n" + size + " (128x128)|MPP = 0.5|OffsetZ = " + (append ? "1" : "0");
  gigapixel_test::WritePyramid(file, options);
  return file;
}
} // namespace

TEST(GigapixelClassifierSlide, ReadsTheImageThatIsChosen)
{
  const TemporaryFolder folder{ "classifier" };
  const std::string     first = WriteImage(folder.File("first.svs"), 300, 200, false);
  const std::string     second = WriteImage(folder.File("second.svs"), 200, 150, false);
  const std::string     both = WriteImage(folder.File("both.svs"), 300, 200, false);
  WriteImage(both, 200, 150, true);

  const auto classifier = itk::GigapixelClassifier::New();
  classifier->SetModel(MakeModel());
  const auto classify = [&classifier](const std::string & slide, const std::string & image) {
    classifier->SetSlide(slide);
    classifier->SetSlideImage(image);
    classifier->Update();
    return classifier->GetProbabilities();
  };
  const auto ofFirst = classify(first, "");
  const auto ofSecond = classify(second, "");
  ASSERT_NE(ofFirst, ofSecond);
  EXPECT_EQ(classify(both, ""), ofFirst); // the largest
  EXPECT_EQ(classify(both, "2"), ofSecond);
  EXPECT_EQ(classify(both, "1"), ofFirst);
  classifier->SetMemoryLimit(itk::SizeValueType{ 4 } << 30); // the size of the image is read for the plan as well
  EXPECT_EQ(classify(both, "2"), ofSecond);

  const gigapixel::Diagnostic refused = gigapixel_test::FindRefusal([&] { classify(both, "3"); });
  EXPECT_EQ(refused.code, "E-SLIDE-IMAGE");
  EXPECT_EQ(refused.file, both);
  EXPECT_EQ(refused.value, "3");
  EXPECT_EQ(std::string(classifier->GetSlideImage()), "3");
}
