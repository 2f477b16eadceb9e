/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef PyramidTesting_h
#define PyramidTesting_h

#include "TemporaryFolder.h"
#include "itkImage.h"
#include "itkImageFileWriter.h"
#include "itkImageSource.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkRGBPixel.h"

#include <gtest/gtest.h>
#include <tiffio.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pyramid_test
{
using LabelImage = itk::Image<unsigned char, 2>;
using ColorImage = itk::Image<itk::RGBPixel<unsigned char>, 2>;

/** Rows of interleaved 8-bit samples. */
struct Raster
{
  long                       width{ 0 }, height{ 0 }, channels{ 1 };
  std::vector<unsigned char> samples;

  unsigned char
  At(long x, long y, long c) const
  {
    return samples[static_cast<std::size_t>((y * width + x) * channels + c)];
  }
};

/** Disc-like labels 0, 7, 255 with ragged rims. */
inline unsigned char
LabelPattern(long x, long y, long)
{
  const long ragged = (x * 31 + y * 17) % 11;
  const long ring = ((x - 150) * (x - 150) + (y - 170) * (y - 170)) / 900 + ragged / 9;
  return ring % 5 == 0 ? 7 : (ring < 40 ? 255 : 0);
}

/** Slow color waves with some texture. */
inline unsigned char
ColorPattern(long x, long y, long c)
{
  const long wave = ((x / 3 + 2 * c * y / 7) % 160) + ((x * 7 + y * 13 + c * 5) % 23);
  return static_cast<unsigned char>(40 + wave);
}

using Pattern = unsigned char (*)(long, long, long);

inline Raster
MakeRaster(long width, long height, long channels, Pattern pattern)
{
  Raster raster{ width, height, channels, {} };
  for (long y = 0; y < height; ++y)
  {
    for (long x = 0; x < width; ++x)
    {
      for (long c = 0; c < channels; ++c)
      {
        raster.samples.push_back(pattern(x, y, c));
      }
    }
  }
  return raster;
}

/** Produces exactly what it is asked for, remembers the most rows that it was asked for at once, and can fail. */
template <typename TImage>
class PatternSource : public itk::ImageSource<TImage>
{
public:
  using Self = PatternSource;
  using Superclass = itk::ImageSource<TImage>;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);

  long    width{ 1 }, height{ 1 }, failingRow{ -1 };
  double  spacing{ 0.0005 };
  Pattern pattern{ nullptr };
  long    mostRows{ 0 };

protected:
  void
  GenerateOutputInformation() override
  {
    typename TImage::RegionType region;
    region.SetSize(0, static_cast<itk::SizeValueType>(width));
    region.SetSize(1, static_cast<itk::SizeValueType>(height));
    this->GetOutput()->SetLargestPossibleRegion(region);
    typename TImage::SpacingType both;
    both.Fill(spacing);
    this->GetOutput()->SetSpacing(both);
    typename TImage::PointType origin;
    origin[0] = 0.00175;
    origin[1] = -0.5;
    this->GetOutput()->SetOrigin(origin);
  }

  void
  GenerateData() override
  {
    this->AllocateOutputs();
    const auto      region = this->GetOutput()->GetBufferedRegion();
    const long      rows = static_cast<long>(region.GetSize(1));
    const long      channels = static_cast<long>(sizeof(typename TImage::PixelType));
    unsigned char * out = reinterpret_cast<unsigned char *>(this->GetOutput()->GetBufferPointer());
    mostRows = std::max(mostRows, rows);
    for (long y = region.GetIndex(1); y < region.GetIndex(1) + rows; ++y)
    {
      if (y == failingRow)
      {
        itkExceptionMacro("the input fails here");
      }
      for (long i = 0; i < width * channels; ++i)
      {
        *out++ = pattern(i / channels, y, i % channels);
      }
    }
  }
};

template <typename TImage>
typename PatternSource<TImage>::Pointer
MakeSource(long width, long height)
{
  auto source = PatternSource<TImage>::New();
  source->width = width;
  source->height = height;
  source->pattern = sizeof(typename TImage::PixelType) == 1 ? LabelPattern : ColorPattern;
  return source;
}

template <typename TImage>
void
Write(PatternSource<TImage> * source, itk::PyramidTIFFImageIO * io, const std::string & file, unsigned divisions = 1)
{
  auto writer = itk::ImageFileWriter<TImage>::New();
  writer->SetInput(source->GetOutput());
  writer->SetImageIO(io);
  writer->SetFileName(file);
  writer->SetNumberOfStreamDivisions(divisions);
  writer->Update();
}

/** A folder of its own, gone after the test. */
class PyramidTIFFImageIOTest : public ::testing::Test
{
protected:
  std::string
  File(const std::string & name) const
  {
    return m_Folder.File(name);
  }
  long
  CountFiles() const
  {
    return std::distance(std::filesystem::directory_iterator(m_Folder.path), std::filesystem::directory_iterator());
  }

  gigapixel::test::TemporaryFolder m_Folder{ "pyramid" };
};

inline std::string
ReadBytes(const std::string & file)
{
  std::ifstream stream(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

using TIFFPointer = std::unique_ptr<TIFF, decltype(&TIFFClose)>;

inline TIFFPointer
OpenTIFF(const std::string & file)
{
  return TIFFPointer(TIFFOpen(file.c_str(), "r"), &TIFFClose);
}

template <typename T>
T
GetTag(TIFF * tiff, std::uint32_t tag)
{
  T value{};
  TIFFGetFieldDefaulted(tiff, tag, &value);
  return value;
}

/** All tiles of the current directory, by libtiff; JPEG as RGB. */
inline Raster
ReadDirectory(TIFF * tiff)
{
  if (GetTag<std::uint16_t>(tiff, TIFFTAG_COMPRESSION) == COMPRESSION_JPEG)
  {
    TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
  }
  Raster raster;
  raster.width = GetTag<std::uint32_t>(tiff, TIFFTAG_IMAGEWIDTH);
  raster.height = GetTag<std::uint32_t>(tiff, TIFFTAG_IMAGELENGTH);
  raster.channels = GetTag<std::uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL);
  raster.samples.resize(static_cast<std::size_t>(raster.width * raster.height * raster.channels));
  const long                 tile = GetTag<std::uint32_t>(tiff, TIFFTAG_TILEWIDTH);
  std::vector<unsigned char> buffer(static_cast<std::size_t>(TIFFTileSize(tiff)));
  for (long y = 0; y < raster.height; y += tile)
  {
    for (long x = 0; x < raster.width; x += tile)
    {
      EXPECT_GT(TIFFReadTile(tiff, buffer.data(), static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), 0, 0),
                0);
      for (long row = 0; row < std::min(tile, raster.height - y); ++row)
      {
        std::memcpy(&raster.samples[static_cast<std::size_t>(((y + row) * raster.width + x) * raster.channels)],
                    &buffer[static_cast<std::size_t>(row * tile * raster.channels)],
                    static_cast<std::size_t>(std::min(tile, raster.width - x) * raster.channels));
      }
    }
  }
  return raster;
}

/** Half the sides, rounded up, written without regard to speed. */
inline Raster
Reduce(const Raster & from, bool labels)
{
  Raster to{ (from.width + 1) / 2, (from.height + 1) / 2, from.channels, {} };
  for (long y = 0; y < to.height; ++y)
  {
    for (long x = 0; x < to.width; ++x)
    {
      for (long c = 0; c < to.channels; ++c)
      {
        double sum = 0.0;
        double count = 0.0;
        for (long j = 2 * y; j < std::min(2 * y + 2, from.height); ++j)
        {
          for (long i = 2 * x; i < std::min(2 * x + 2, from.width); ++i)
          {
            sum += from.At(i, j, c);
            count += 1.0;
          }
        }
        to.samples.push_back(labels ? from.At(2 * x, 2 * y, c) : static_cast<unsigned char>(sum / count + 0.5));
      }
    }
  }
  return to;
}

} // namespace pyramid_test

#endif
