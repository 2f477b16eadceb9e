/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SegmentationFile.h"

#include "TemporaryFolder.h"
#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkMetaDataObject.h"
#include "itkNrrdImageIO.h"
#include "itkPyramidTIFFImageIO.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace
{
using gigapixel::slicer::MaskPlace;
using gigapixel::slicer::WriteSegmentation;
using MaskType = itk::Image<unsigned char, 2>;
using LabelsType = itk::Image<unsigned char, 3>;

/** Background, class 1 on the left, class 3 below, the last row to be ignored. */
unsigned char
GetClass(itk::IndexValueType x, itk::IndexValueType y)
{
  return y == 199 ? 255 : y > 120 ? 3 : x < 100 ? 1 : 0;
}

itk::WholeSlideImageIO::Pointer
WriteClasses(const std::string & file)
{
  const auto mask = MaskType::New();
  mask->SetRegions(MaskType::SizeType{ { 300, 200 } });
  mask->Allocate();
  for (itk::IndexValueType y = 0; y < 200; ++y)
  {
    for (itk::IndexValueType x = 0; x < 300; ++x)
    {
      mask->SetPixel({ { x, y } }, GetClass(x, y));
    }
  }
  const auto writer = itk::ImageFileWriter<MaskType>::New();
  writer->SetImageIO(itk::PyramidTIFFImageIO::New());
  writer->SetInput(mask);
  writer->SetFileName(file);
  writer->Update();
  auto pyramid = itk::WholeSlideImageIO::New();
  pyramid->SetFileName(file);
  pyramid->ReadImageInformation();
  return pyramid;
}

std::string
GetText(const LabelsType & image, const std::string & key)
{
  std::string text;
  itk::ExposeMetaData(image.GetMetaDataDictionary(), key, text);
  return text;
}
} // namespace

TEST(SegmentationFile, ClassNumbersBecomeSegments)
{
  const gigapixel::test::TemporaryFolder folder("segmentation");
  const std::string                      maskFile = folder.File("mask.tif");
  const std::string                      file = folder.File("mask.seg.nrrd");
  const auto                             mask = WriteClasses(maskFile);
  // A mask of the level with downsample 4 that begins at the level-0 pixel (40, 80) of a slide with 0.5 um pixels.
  const MaskPlace place{ { { 0.0005, 0.0005 } }, { { 0, 0 } }, { { 4, 4 } }, { { 40, 80 } } };
  const auto      result = WriteSegmentation(*mask, place, 0, "Object", file);

  const auto reader = itk::ImageFileReader<LabelsType>::New();
  reader->SetImageIO(itk::NrrdImageIO::New());
  reader->SetFileName(file);
  reader->Update();
  const LabelsType & labels = *reader->GetOutput();
  std::int64_t       objects = 0;
  for (itk::IndexValueType y = 0; y < 200; ++y)
  {
    for (itk::IndexValueType x = 0; x < 300; ++x)
    {
      const int expected = GetClass(x, y) == 255 ? 0 : GetClass(x, y);
      ASSERT_EQ(labels.GetPixel({ { x, y, 0 } }), expected) << x << ' ' << y;
      objects += expected != 0;
    }
  }
  EXPECT_EQ(GetText(labels, "Segment0_Name"), "Class 1");
  EXPECT_EQ(GetText(labels, "Segment0_LabelValue"), "1");
  EXPECT_EQ(GetText(labels, "Segment1_Name"), "Class 3");
  EXPECT_EQ(GetText(labels, "Segment1_LabelValue"), "3");
  EXPECT_EQ(GetText(labels, "Segment1_Extent"), "0 299 0 199 0 0");
  EXPECT_NE(GetText(labels, "Segment0_Color"), GetText(labels, "Segment1_Color"));
  EXPECT_EQ(GetText(labels, "Segment2_Name"), "");
  EXPECT_NEAR(labels.GetSpacing()[0], 0.002, 1e-12);
  // The center of the first pixel: level-0 pixels 40 to 43.
  EXPECT_NEAR(labels.GetOrigin()[0], 41.5 * 0.0005, 1e-12);
  EXPECT_NEAR(labels.GetOrigin()[1], 81.5 * 0.0005, 1e-12);
  EXPECT_NEAR(result.objectFraction, static_cast<double>(objects) / 60000, 1e-12);
  EXPECT_NEAR(result.objectMm2, static_cast<double>(objects) * 4e-6, 1e-12);
  EXPECT_THROW(WriteSegmentation(*mask, place, 9, "Object", file), std::runtime_error);
}

// Where the volume lies, whichever way its axes run, with the classes' names.
TEST(SegmentationFile, LabelVolumesBecomeSegments)
{
  const gigapixel::test::TemporaryFolder folder("volume");
  const auto                             labels = LabelsType::New();
  labels->SetRegions(LabelsType::SizeType{ { 5, 4, 3 } });
  labels->Allocate(true);
  labels->SetPixel({ { 1, 2, 0 } }, 1);
  labels->SetPixel({ { 4, 3, 2 } }, 3);
  labels->SetPixel({ { 3, 3, 2 } }, 3);
  const double spacing[]{ 0.5, 2, 3 }, origin[]{ 10, -20, 30 };
  labels->SetSpacing(spacing);
  labels->SetOrigin(origin);
  LabelsType::DirectionType direction;
  direction.Fill(0);
  direction[0][1] = -1;
  direction[1][0] = direction[2][2] = 1;
  labels->SetDirection(direction);
  const auto writer = itk::ImageFileWriter<LabelsType>::New();
  writer->SetImageIO(itk::NrrdImageIO::New());
  writer->SetInput(labels);
  writer->SetFileName(folder.File("labels.nrrd"));
  writer->Update();

  const auto found = gigapixel::slicer::WriteVolumeSegmentation(
    folder.File("labels.nrrd"), { "nothing", "grey", "white" }, folder.File("labels.seg.nrrd"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, "grey");
  EXPECT_NEAR(found[0].second, 0.003, 1e-12);
  EXPECT_EQ(found[1].first, "Class 3");
  EXPECT_NEAR(found[1].second, 0.006, 1e-12);
  const auto reader = itk::ImageFileReader<LabelsType>::New();
  reader->SetImageIO(itk::NrrdImageIO::New());
  reader->SetFileName(folder.File("labels.seg.nrrd"));
  reader->Update();
  const LabelsType & made = *reader->GetOutput();
  EXPECT_TRUE(std::equal(made.GetBufferPointer(), made.GetBufferPointer() + 60, labels->GetBufferPointer()));
  EXPECT_EQ(made.GetDirection(), direction);
  EXPECT_EQ(GetText(made, "Segment0_Name"), "grey");
  EXPECT_EQ(GetText(made, "Segment1_LabelValue"), "3");
  EXPECT_EQ(GetText(made, "Segment1_Extent"), "0 4 0 3 0 2");
  // Rows of the matrix from indices to RAS: x and y are turned from LPS.
  EXPECT_NE(GetText(made, "Segmentation_ConversionParameters").find("|0;2;0;-10;-0.5;0;0;20;0;0;3;30;0;0;0;1;"),
            std::string::npos)
    << GetText(made, "Segmentation_ConversionParameters");
}
