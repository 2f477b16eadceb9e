/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// ReadSlide FILE ours|floor|itk rgb|gray|eighth THREADS ROWS: reads level 0 once, ours in strips of so many rows of
// tiles, and prints what it took as JSON.
#include "itkImageFileReader.h"
#include "itkMultiThreaderBase.h"
#include "itkRGBPixel.h"
#include "itkTIFFImageIO.h"
#include "itkWholeSlideImageIO.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <sys/resource.h>
#include <tiffio.h>
#include <zlib.h>

#include <jpeglib.h>

namespace
{

double
GetCPUSeconds()
{
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/** Times work; what lies between is not counted. */
class Watch
{
public:
  void
  Run(const std::function<void()> & work)
  {
    const auto   wall = std::chrono::steady_clock::now();
    const double cpu = GetCPUSeconds();
    work();
    m_CPU += GetCPUSeconds() - cpu;
    m_Wall += std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
  }
  /** `pixels` of level 0. */
  void
  Print(double pixels, unsigned long checksum) const
  {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("{\"pixels\": %.0f, \"cpu\": %.4f, \"wall\": %.4f, \"rss\": %ld, \"checksum\": %lu}\n",
                pixels,
                m_CPU,
                m_Wall,
                usage.ru_maxrss * 1024,
                checksum);
  }

private:
  double m_CPU = 0.0;
  double m_Wall = 0.0;
};

/** Rows of a tile of the first page: strips that fit the tiles are what streams are made of. */
itk::SizeValueType
GetTileRows(const char * file)
{
  std::uint32_t rows = 256;
  if (TIFF * const tiff = TIFFOpen(file, "r"))
  {
    TIFFGetField(tiff, TIFFTAG_TILELENGTH, &rows);
    TIFFClose(tiff);
  }
  return rows;
}

void
ReadWithOurs(const char * file, const std::string & what, unsigned threads, unsigned tileRows)
{
  itk::MultiThreaderBase::SetGlobalMaximumNumberOfThreads(threads);
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(file);
  io->SetGray(what == "gray");
  Watch watch;
  watch.Run([&io] { io->ReadImageInformation(); });
  const auto full = io->GetLevelSize(0);
  if (what == "eighth")
  {
    // 1/8 of level 0 itself, though the pyramid has such a level: what the codec does.
    unsigned level = io->GetNumberOfLevels();
    while (level < io->GetNumberOfLevels() + io->GetNumberOfReducedLevels() && io->GetLevelDownsample(level) != 8)
    {
      ++level;
    }
    if (level == io->GetNumberOfLevels() + io->GetNumberOfReducedLevels())
    {
      throw std::runtime_error("stored as a level");
    }
    io->SetLevel(level);
    watch.Run([&io] { io->ReadImageInformation(); });
  }
  const auto                 width = io->GetDimensions(0);
  const auto                 height = io->GetDimensions(1);
  const itk::SizeValueType   strip = GetTileRows(file) * tileRows / (what == "eighth" ? 8 : 1);
  std::vector<unsigned char> pixels(width * strip * io->GetNumberOfComponents());
  unsigned long              checksum = crc32(0, nullptr, 0);
  for (itk::SizeValueType top = 0; top < height; top += strip)
  {
    itk::ImageIORegion region(2);
    region.SetIndex(1, static_cast<itk::IndexValueType>(top));
    region.SetSize(0, width);
    region.SetSize(1, std::min(strip, height - top));
    io->SetIORegion(region);
    watch.Run([&] { io->Read(pixels.data()); });
    // One core that looks at all pixels takes their memory from the other's cache, which is no part of reading.
    if (threads == 1)
    {
      checksum =
        crc32(checksum, pixels.data(), static_cast<uInt>(region.GetNumberOfPixels() * io->GetNumberOfComponents()));
    }
  }
  watch.Print(static_cast<double>(full[0]) * static_cast<double>(full[1]), checksum);
}

void
ReadWithITK(const char * file)
{
  using ImageType = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  const auto reader = itk::ImageFileReader<ImageType>::New();
  reader->SetImageIO(itk::TIFFImageIO::New());
  reader->SetFileName(file);
  Watch watch;
  watch.Run([&reader] { reader->Update(); });
  const auto    size = reader->GetOutput()->GetLargestPossibleRegion().GetSize();
  unsigned long checksum = crc32(0, nullptr, 0);
  for (itk::SizeValueType y = 0; y < size[1]; ++y)
  {
    const auto * const row = reader->GetOutput()->GetBufferPointer() + y * size[0];
    checksum = crc32(checksum, row->GetDataPointer(), static_cast<uInt>(size[0] * 3));
  }
  watch.Print(static_cast<double>(size[0] * size[1]), checksum);
}

/** The tiles one after the other, each to the same memory: what no reader can be faster than. */
void
ReadWithLibJPEG(const char * file, const std::string & what)
{
  TIFF * const  tiff = TIFFOpen(file, "r");
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t tileWidth = 0;
  std::uint32_t tileHeight = 0;
  std::uint16_t photometric = 0;
  std::uint32_t tablesSize = 0;
  void *        tables = nullptr;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
  TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &tileWidth);
  TIFFGetField(tiff, TIFFTAG_TILELENGTH, &tileHeight);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
  TIFFGetField(tiff, TIFFTAG_JPEGTABLES, &tablesSize, &tables);
  jpeg_decompress_struct info;
  jpeg_error_mgr         errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  const unsigned             channels = what == "gray" ? 1 : 3;
  const std::uint32_t        across = (width + tileWidth - 1) / tileWidth;
  const std::size_t          stride = std::size_t{ tileWidth } * channels;
  std::vector<unsigned char> stream;
  // A strip is kept for the checksum, as readers give it.
  std::vector<unsigned char> strip(stride * across * tileHeight);
  unsigned long              checksum = crc32(0, nullptr, 0);
  Watch                      watch;
  for (std::uint32_t tile = 0; tile < TIFFNumberOfTiles(tiff); ++tile)
  {
    watch.Run([&] {
      stream.resize(TIFFGetStrileByteCount(tiff, tile));
      TIFFReadRawTile(tiff, tile, stream.data(), static_cast<tmsize_t>(stream.size()));
      if (tablesSize > 0)
      {
        jpeg_mem_src(&info, static_cast<unsigned char *>(tables), tablesSize);
        jpeg_read_header(&info, FALSE);
      }
      jpeg_mem_src(&info, stream.data(), stream.size());
      jpeg_read_header(&info, TRUE);
      info.jpeg_color_space = photometric == PHOTOMETRIC_YCBCR ? JCS_YCbCr : JCS_RGB;
      info.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      info.scale_num = 1;
      info.scale_denom = what == "eighth" ? 8 : 1;
      jpeg_start_decompress(&info);
      while (info.output_scanline < info.output_height)
      {
        JSAMPROW rows[16];
        for (std::uint32_t i = 0; i < 16; ++i)
        {
          rows[i] = strip.data() + (std::size_t{ info.output_scanline + i } * across + tile % across) * stride;
        }
        jpeg_read_scanlines(&info, rows, std::min<JDIMENSION>(16, info.output_height - info.output_scanline));
      }
      jpeg_finish_decompress(&info);
    });
    if (tile % across == across - 1 && what != "eighth")
    {
      for (std::uint32_t y = 0; y < std::min(tileHeight, height - tile / across * tileHeight); ++y)
      {
        checksum = crc32(checksum, strip.data() + y * stride * across, static_cast<uInt>(width * channels));
      }
    }
  }
  jpeg_destroy_decompress(&info);
  TIFFClose(tiff);
  watch.Print(static_cast<double>(width) * height, what == "eighth" ? 0 : checksum);
}

} // namespace

int
main(int argc, char ** argv)
{
  if (argc != 6)
  {
    std::cerr << "Usage: ReadSlide FILE ours|floor|itk rgb|gray|eighth THREADS ROWS\n";
    return 2;
  }
  const std::string reader = argv[2];
  try
  {
    if (reader == "ours")
    {
      ReadWithOurs(
        argv[1], argv[3], static_cast<unsigned>(std::stoul(argv[4])), static_cast<unsigned>(std::stoul(argv[5])));
    }
    else if (reader == "itk")
    {
      ReadWithITK(argv[1]);
    }
    else
    {
      ReadWithLibJPEG(argv[1], argv[3]);
    }
  }
  catch (const std::exception & error)
  {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
