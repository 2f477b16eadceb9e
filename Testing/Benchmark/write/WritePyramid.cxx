/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// What compare_writers.py runs of ours:
//   WritePyramid draw    mask|picture RAW WIDTH HEIGHT       pixels for everybody: a synthetic slide, or its truth
//   WritePyramid pyramid mask|picture RAW WIDTH HEIGHT OUT   itk::PyramidTIFFImageIO, deflate or JPEG of quality 80:
//                                                            prints the seconds of writing alone, without reading
//   WritePyramid read    mask|picture RAW WIDTH HEIGHT       reads the pixels, and does nothing with them
//   WritePyramid codec   mask|picture RAW WIDTH HEIGHT       the codec alone, on each tile of each level: prints
//                                                            its seconds
#include "pyramid/PyramidReduction.h"
#include "pyramid/PyramidTileCompressor.h"

#include "itkPyramidTIFFImageIO.h"
#include "itkRGBPixel.h"
#include "itkSyntheticSlideImageSource.h"
#include "itkSyntheticSlideTruthImageSource.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{
constexpr std::size_t TileSize = 256;

struct Picture
{
  bool        isMask;
  std::string raw;
  std::size_t width;
  std::size_t height;

  std::size_t
  GetChannels() const
  {
    return isMask ? 1 : 3;
  }
  std::size_t
  GetRowBytes() const
  {
    return width * GetChannels();
  }
};

template <typename TSource>
void
Draw(const Picture & picture)
{
  std::ofstream file(picture.raw, std::ios::binary);
  const auto    source = TSource::New();
  source->SetSize(picture.width, picture.height);
  for (std::size_t y = 0; y < picture.height; y += TileSize)
  {
    auto region = source->GetOutput()->GetLargestPossibleRegion();
    region.SetSize(0, picture.width);
    region.SetIndex(1, static_cast<itk::IndexValueType>(y));
    region.SetSize(1, std::min(TileSize, picture.height - y));
    source->UpdateOutputInformation();
    source->GetOutput()->SetRequestedRegion(region);
    source->Update();
    file.write(reinterpret_cast<const char *>(source->GetOutput()->GetBufferPointer()),
               static_cast<std::streamsize>(region.GetSize(1) * picture.GetRowBytes()));
  }
  if (!file)
  {
    throw std::runtime_error(picture.raw + " could not be written");
  }
}

/** Bands of whole rows of tiles, one after the other. */
template <typename TTake>
void
ReadBands(const Picture & picture, std::size_t rowsPerBand, const TTake & take)
{
  std::FILE * const file = std::fopen(picture.raw.c_str(), "rb");
  if (!file)
  {
    throw std::runtime_error(picture.raw + " cannot be read");
  }
  std::setvbuf(file, nullptr, _IONBF, 0);
  std::vector<unsigned char> band(rowsPerBand * picture.GetRowBytes());
  for (std::size_t y = 0; y < picture.height; y += rowsPerBand)
  {
    const std::size_t rows = std::min(rowsPerBand, picture.height - y);
    if (std::fread(band.data(), picture.GetRowBytes(), rows, file) != rows)
    {
      throw std::runtime_error(picture.raw + " is too short");
    }
    take(y, rows, band.data());
  }
  std::fclose(file);
}

double
GetCPUSeconds(clockid_t clock)
{
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void
WritePyramid(const Picture & picture, const std::string & out)
{
  const auto io = itk::PyramidTIFFImageIO::New();
  io->SetFileName(out);
  io->SetDimensions(0, picture.width);
  io->SetDimensions(1, picture.height);
  io->SetNumberOfComponents(static_cast<unsigned>(picture.GetChannels()));
  io->SetPixelType(picture.isMask ? itk::IOPixelEnum::SCALAR : itk::IOPixelEnum::RGB);
  io->SetComponentType(itk::IOComponentEnum::UCHAR);
  io->SetCompressor(picture.isMask ? "DEFLATE" : "JPEG");
  const std::size_t tileRows = std::max<std::size_t>((8 << 20) / (picture.GetRowBytes() * TileSize), 1);
  double            seconds = 0;
  ReadBands(picture, tileRows * TileSize, [&](std::size_t y, std::size_t rows, const unsigned char * pixels) {
    itk::ImageIORegion region(2);
    region.SetSize(0, picture.width);
    region.SetIndex(1, static_cast<itk::IndexValueType>(y));
    region.SetSize(1, rows);
    io->SetIORegion(region);
    const double before = GetCPUSeconds(CLOCK_PROCESS_CPUTIME_ID);
    io->Write(pixels);
    seconds += GetCPUSeconds(CLOCK_PROCESS_CPUTIME_ID) - before;
  });
  std::cout << "{\"writing_cpu_seconds\": " << seconds << "}\n";
}

/** Of the codec's calls alone; a constant tile counts once. */
class Codec
{
public:
  explicit Codec(const Picture & picture)
  {
    gigapixel::PyramidFormat format;
    format.channels = static_cast<unsigned>(picture.GetChannels());
    format.labels = picture.isMask;
    format.compression =
      picture.isMask ? gigapixel::PyramidFormat::Compression::Deflate : gigapixel::PyramidFormat::Compression::JPEG;
    format.compressionLevel = picture.isMask ? 6 : 80;
    m_Compressor = gigapixel::PyramidTileCompressor::New(format);
    m_Channels = format.channels;
    m_Tile.resize(TileSize * TileSize * m_Channels);
  }

  /** A row of tiles of a level; tiles at the right edge are filled up by what stands there. */
  void
  Take(const std::vector<unsigned char> & rows, std::size_t width)
  {
    for (std::size_t x = 0; x < width; x += TileSize)
    {
      const std::size_t tileBytes = std::min(TileSize, width - x) * m_Channels;
      for (std::size_t y = 0; y < TileSize; ++y)
      {
        std::memcpy(&m_Tile[y * TileSize * m_Channels], &rows[(y * width + x) * m_Channels], tileBytes);
      }
      const bool isConstant = std::memcmp(m_Tile.data(), m_Tile.data() + m_Channels, m_Tile.size() - m_Channels) == 0;
      const std::string pixel(m_Tile.begin(), m_Tile.begin() + static_cast<std::ptrdiff_t>(m_Channels));
      if (isConstant && !m_Constant.insert(pixel).second)
      {
        continue;
      }
      const double before = GetCPUSeconds(CLOCK_THREAD_CPUTIME_ID);
      m_Compressor->Compress(m_Tile.data(), TileSize * m_Channels, m_Compressed);
      m_Seconds += GetCPUSeconds(CLOCK_THREAD_CPUTIME_ID) - before;
    }
  }

  double
  GetSeconds() const
  {
    return m_Seconds;
  }

private:
  std::unique_ptr<gigapixel::PyramidTileCompressor> m_Compressor;
  std::size_t                                       m_Channels;
  std::vector<unsigned char>                        m_Tile;
  std::vector<unsigned char>                        m_Compressed;
  std::set<std::string>                             m_Constant; // their pixels
  double                                            m_Seconds{ 0 };
};

void
MeasureCodec(const Picture & picture)
{
  struct Level
  {
    std::size_t                width;
    std::vector<unsigned char> rows; // of a row of tiles
    std::size_t                filled{ 0 };
  };
  const std::size_t  channels = picture.GetChannels();
  std::vector<Level> levels;
  for (std::size_t w = picture.width, h = picture.height; std::min(w, h) >= TileSize; w = (w + 1) / 2, h = (h + 1) / 2)
  {
    levels.push_back({ w, std::vector<unsigned char>(w * TileSize * channels) });
  }
  Codec codec(picture);
  ReadBands(picture, TileSize, [&](std::size_t, std::size_t rows, const unsigned char * pixels) {
    std::copy_n(pixels, rows * picture.GetRowBytes(), levels[0].rows.data());
    levels[0].filled = TileSize; // the last row of tiles repeats what stood there before
    for (std::size_t i = 0; i < levels.size() && levels[i].filled == TileSize; ++i)
    {
      Level & level = levels[i];
      codec.Take(level.rows, level.width);
      level.filled = 0;
      if (i + 1 < levels.size())
      {
        Level &                                         below = levels[i + 1];
        const gigapixel::PixelBlock<const std::uint8_t> from{
          level.rows.data(), level.width * channels, level.width, TileSize, channels
        };
        const gigapixel::PixelBlock<std::uint8_t> to{ &below.rows[below.filled * below.width * channels],
                                                      below.width * channels,
                                                      below.width,
                                                      TileSize / 2,
                                                      channels };
        picture.isMask ? gigapixel::ReduceByUpperLeft(from, to) : gigapixel::ReduceByMean(from, to);
        below.filled += TileSize / 2;
      }
    }
  });
  std::cout << "{\"cpu_seconds\": " << codec.GetSeconds() << "}\n";
}
} // namespace

int
main(int argc, char ** argv)
{
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 5)
  {
    std::cerr << "WritePyramid draw|pyramid|read|codec mask|picture RAW WIDTH HEIGHT [OUT]\n";
    return 2;
  }
  const Picture picture{ words[1] == "mask", words[2], std::stoul(words[3]), std::stoul(words[4]) };
  try
  {
    if (words[0] == "draw")
    {
      picture.isMask ? Draw<itk::SyntheticSlideTruthImageSource>(picture)
                     : Draw<itk::SyntheticSlideImageSource>(picture);
    }
    else if (words[0] == "read")
    {
      ReadBands(picture, TileSize, [](std::size_t, std::size_t, const unsigned char *) {});
    }
    else if (words[0] == "pyramid")
    {
      WritePyramid(picture, words.at(5));
    }
    else
    {
      MeasureCodec(picture);
    }
  }
  catch (const std::exception & error)
  {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
