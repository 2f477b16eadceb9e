/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Volumes that ITK's own writer has written, read as the engine reads them.
#include "RefusalCode.h"
#include "itkGigapixelVolumeSource.h"

#include "TemporaryFolder.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageRegionIteratorWithIndex.h"
#include "itkVectorImage.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

using gigapixel::Region;
using gigapixel::test::ReadAll;
using gigapixel::test::TemporaryFolder;

namespace
{

constexpr itk::SizeValueType Width = 13, Height = 9, Depth = 7;

double
GetValue(const itk::Index<3> & index, unsigned channel)
{
  return static_cast<double>((index[0] * 7 + index[1] * 5 + index[2] * 3 + channel * 11) % 100);
}

/** Turned around z, with three spacings. */
template <typename TImage>
typename TImage::Pointer
MakeImage(TImage * image)
{
  image->SetRegions(itk::Size<3>{ { Width, Height, Depth } });
  const double spacing[] = { 0.5, 0.75, 2 };
  image->SetSpacing(spacing);
  const double origin[] = { 20, -33.5, -7.25 };
  image->SetOrigin(origin);
  auto direction = image->GetDirection();
  direction[0][0] = direction[1][1] = std::cos(0.5);
  direction[1][0] = std::sin(0.5);
  direction[0][1] = -std::sin(0.5);
  image->SetDirection(direction);
  image->Allocate();
  return image;
}

template <typename TValue>
typename itk::Image<TValue, 3>::Pointer
MakeVolume(double offset = 0)
{
  using ImageType = itk::Image<TValue, 3>;
  const auto image = MakeImage(ImageType::New().GetPointer());
  for (itk::ImageRegionIteratorWithIndex<ImageType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    it.Set(static_cast<TValue>(GetValue(it.GetIndex(), 0) + offset));
  }
  return image;
}

template <typename TImage>
std::string
Write(const TImage & image, const std::string & file)
{
  const auto writer =
    itk::ImageFileWriter<std::remove_const_t<std::remove_pointer_t<decltype(image.GetPointer())>>>::New();
  writer->SetInput(image);
  writer->SetFileName(file);
  writer->UseCompressionOn();
  writer->Update();
  return file;
}

std::vector<float>
Read(gigapixel::PixelSource & source, const Region & region)
{
  std::vector<float> samples(
    static_cast<std::size_t>(region.width * region.height * region.depth * source.GetNumberOfChannels()));
  source.Read(region, reinterpret_cast<std::uint8_t *>(samples.data()));
  return samples;
}

void
ExpectValues(gigapixel::PixelSource & source, const Region & region, double offset)
{
  const auto     samples = Read(source, region);
  const unsigned channels = source.GetNumberOfChannels();
  std::size_t    place = 0;
  for (std::int64_t z = region.z; z < region.z + region.depth; ++z)
  {
    for (std::int64_t y = region.y; y < region.y + region.height; ++y)
    {
      for (std::int64_t x = region.x; x < region.x + region.width; ++x)
      {
        for (unsigned c = 0; c < channels; ++c)
        {
          ASSERT_EQ(samples[place++], GetValue({ { x, y, z } }, c) + offset) << x << ' ' << y << ' ' << z << ' ' << c;
        }
      }
    }
  }
}

template <typename T>
class VolumeOfType : public testing::Test
{
};

using Types = testing::Types<unsigned char, signed char, unsigned short, short, int, float, double>;
TYPED_TEST_SUITE(VolumeOfType, Types);

const Region Whole{ 0, 0, Width, Height, 0, Depth };
const Region Box{ 2, 3, 8, 4, 1, 5 };

} // namespace

TYPED_TEST(VolumeOfType, HasItsValuesInAnyBoxOfAnyFormat)
{
  const TemporaryFolder folder("volumes");
  const double          offset = std::is_unsigned_v<TypeParam> ? 0 : -60;
  for (const char * ending : { ".nii", ".nii.gz", ".nrrd", ".mha" })
  {
    const auto file = Write(MakeVolume<TypeParam>(offset), folder.File(std::string("v") + ending));
    const auto volume = itk::GigapixelVolumeSource({ file });
    EXPECT_EQ(volume.voxels->GetSampleType(), gigapixel::SampleType::Float);
    ExpectValues(*volume.voxels, Whole, offset);
    ExpectValues(*volume.voxels, Box, offset);
    EXPECT_EQ(volume.heldBytes,
              static_cast<std::int64_t>(Width * Height * Depth * std::min<std::size_t>(4, sizeof(TypeParam))));
  }
}

TEST(Volume, LiesWhereITKsReaderSays)
{
  const TemporaryFolder folder("volumes");
  for (const char * ending : { ".nii.gz", ".nrrd", ".mha" })
  {
    const auto file = Write(MakeVolume<short>(), folder.File(std::string("v") + ending));
    const auto volume = itk::GigapixelVolumeSource({ file });
    const auto reader = itk::ImageFileReader<itk::Image<short, 3>>::New();
    reader->SetFileName(file);
    reader->Update();
    const auto & image = *reader->GetOutput();
    EXPECT_EQ(volume.grid.size.depth, static_cast<std::int64_t>(Depth));
    for (unsigned axis = 0; axis < 3; ++axis)
    {
      constexpr double rounding = 1e-6; // of the floats and texts in headers
      EXPECT_NEAR(volume.grid.spacing[axis], image.GetSpacing()[axis], rounding);
      EXPECT_NEAR(volume.grid.origin[axis], image.GetOrigin()[axis], rounding);
      for (unsigned i = 0; i < 3; ++i)
      {
        EXPECT_NEAR(volume.grid.axes[axis][i], image.GetDirection()[i][axis], rounding);
      }
    }
  }
}

TEST(Volume, HasChannelsOfVectorsAndOfFiles)
{
  const TemporaryFolder folder("volumes");
  using VectorType = itk::VectorImage<float, 3>;
  const auto image = VectorType::New();
  image->SetVectorLength(3);
  MakeImage(image.GetPointer());
  for (itk::ImageRegionIteratorWithIndex<VectorType> it(image, image->GetBufferedRegion()); !it.IsAtEnd(); ++it)
  {
    itk::VariableLengthVector<float> value(3);
    for (unsigned c = 0; c < 3; ++c)
    {
      value[c] = static_cast<float>(GetValue(it.GetIndex(), c));
    }
    it.Set(value);
  }
  const auto scalar = Write(MakeVolume<unsigned char>(), folder.File("scalar.nii.gz"));
  for (const char * ending : { ".nii.gz", ".nrrd", ".mha" })
  {
    const auto vector = Write(image, folder.File(std::string("v") + ending));
    const auto volume = itk::GigapixelVolumeSource({ vector });
    ASSERT_EQ(volume.voxels->GetNumberOfChannels(), 3u);
    ExpectValues(*volume.voxels, Box, 0);
    const auto both = itk::GigapixelVolumeSource({ scalar, vector });
    ASSERT_EQ(both.voxels->GetNumberOfChannels(), 4u);
    const auto samples = Read(*both.voxels, Box), one = Read(*volume.voxels, Box);
    for (std::size_t i = 0; i < samples.size() / 4; ++i)
    {
      EXPECT_EQ(samples[4 * i], one[3 * i]); // its first channel has the same values
      EXPECT_EQ(samples[4 * i + 3], one[3 * i + 2]);
    }
  }
}

TEST(Volume, IsReadFromSeveralThreads)
{
  const TemporaryFolder    folder("volumes");
  const auto               volume = itk::GigapixelVolumeSource({ Write(MakeVolume<short>(), folder.File("v.nii.gz")) });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
  {
    threads.emplace_back([&volume] { ExpectValues(*volume.voxels, Box, 0); });
  }
  for (std::thread & thread : threads)
  {
    thread.join();
  }
}

TEST(Volume, ThatChangesAfterItsHeaderWasReadIsRefused)
{
  const TemporaryFolder folder("volumes");
  for (const char * ending : { ".nii", ".nii.gz", ".nrrd", ".mha" })
  {
    const auto file = Write(MakeVolume<short>(), folder.File(std::string("v") + ending));
    const auto type = itk::GigapixelVolumeSource({ file }), size = itk::GigapixelVolumeSource({ file });
    Write(MakeVolume<double>(), file);
    EXPECT_REFUSAL(Read(*type.voxels, Box), "E-FILE-CHANGED");
    const auto large = itk::Image<short, 3>::New();
    large->SetRegions(itk::Size<3>{ { Width, Height, Depth + 20 } });
    large->Allocate(true);
    Write(large, file);
    EXPECT_REFUSAL(Read(*size.voxels, Box), "E-FILE-CHANGED");
  }
}

TEST(Volume, OfLabelsIsNotWrittenWhereNIfTIWouldMoveIt)
{
  gigapixel::VolumeGrid grid;
  grid.size = { 100, 100, 50 };
  EXPECT_NO_THROW(itk::GigapixelRequireLabelPlace("l.nii.gz", grid));
  gigapixel::VolumeGrid rounded = grid;
  rounded.axes[1] = { 1e-5, 1, 0 }; // as of a header with six digits: corners move by less than a hundredth of a voxel
  EXPECT_NO_THROW(itk::GigapixelRequireLabelPlace("l.nii.gz", rounded));
  gigapixel::VolumeGrid tilted = grid, far = grid, large = grid;
  tilted.axes[2] = { 0, std::sin(0.01), std::cos(0.01) };
  far.origin[1] = 987654321.125;
  large.size.width = 32768;
  for (const auto & other : { tilted, far, large })
  {
    for (const char * file : { "l.nii.gz", "a/l.nii", "l.hdr", "l.img" })
    {
      EXPECT_REFUSAL(itk::GigapixelRequireLabelPlace(file, other), "E-OUTPUT-ENDING");
    }
    EXPECT_NO_THROW(itk::GigapixelRequireLabelPlace("l.nrrd", other));
  }
  EXPECT_NEAR(tilted.GetShear(), std::sin(0.01), 1e-12);
  tilted.spacing = { 2, 3, 4 };
  EXPECT_NEAR(tilted.GetVoxelVolume(), 24 * std::cos(0.01), 1e-12);
}

TEST(Volume, OfLabelsIsWrittenAndReadByITKAlike)
{
  const TemporaryFolder     folder("volumes");
  const auto                like = itk::GigapixelVolumeSource({ Write(MakeVolume<short>(), folder.File("v.nii.gz")) });
  std::vector<std::uint8_t> labels(Width * Height * Depth);
  for (std::size_t i = 0; i < labels.size(); ++i)
  {
    labels[i] = static_cast<std::uint8_t>(i % 251);
  }
  for (const char * ending : { ".nii", ".nii.gz", ".nrrd", ".mha" })
  {
    const std::string file = folder.File(std::string("labels") + ending);
    const std::string madeBy(23, 'm');
    itk::GigapixelWriteLabelVolume(file, labels, like.grid, false, madeBy);
    EXPECT_EQ(itk::GigapixelGetMadeBy(file), madeBy);
    EXPECT_EQ(itk::GigapixelReadLabelVolume(file, like.grid), labels);
    const auto reader = itk::ImageFileReader<itk::Image<unsigned char, 3>>::New();
    reader->SetFileName(file);
    reader->Update();
    EXPECT_TRUE(std::equal(labels.begin(), labels.end(), reader->GetOutput()->GetBufferPointer()));
    EXPECT_EQ(like.grid.DescribeDifference(itk::GigapixelVolumeSource({ file }).grid), "");
    const std::string before = ReadAll(file);
    EXPECT_THROW(itk::GigapixelWriteLabelVolume(file, labels, like.grid, false), std::runtime_error);
    EXPECT_EQ(ReadAll(file), before);
    EXPECT_NO_THROW(itk::GigapixelWriteLabelVolume(file, labels, like.grid, true));
    EXPECT_EQ(itk::GigapixelGetMadeBy(file), "");
    gigapixel::VolumeGrid moved = like.grid;
    moved.origin[0] += moved.spacing[0];
    EXPECT_REFUSAL(itk::GigapixelReadLabelVolume(file, moved), "E-VOLUME-GEOMETRY");
  }
  EXPECT_REFUSAL(itk::GigapixelWriteLabelVolume(folder.File("labels.xyz"), labels, like.grid, false),
                 "E-OUTPUT-ENDING");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path), std::filesystem::directory_iterator()), 5);
}

TEST(Volume, NamesAreTold)
{
  for (const char * name : { "a.nii", "a.b.nii.gz", "/x/y.nrrd", "a.mha", "a.mhd", "a.nhdr", "a.hdr" })
  {
    EXPECT_TRUE(itk::GigapixelIsVolumeName(name)) << name;
  }
  for (const char * name : { "a.svs", "a.gz", ".nii", "nii", "a.nii.tif", "" })
  {
    EXPECT_FALSE(itk::GigapixelIsVolumeName(name)) << name;
  }
  EXPECT_EQ(itk::GigapixelSplitModalities("a.nii,b.nii").size(), 2u);
  EXPECT_EQ(itk::GigapixelSplitModalities("a.nii,").size(), 2u);
  const TemporaryFolder folder("volumes");
  const auto            file = Write(MakeVolume<short>(), folder.File("a,b.nii"));
  EXPECT_EQ(itk::GigapixelSplitModalities(file), std::vector<std::string>{ file });
}
