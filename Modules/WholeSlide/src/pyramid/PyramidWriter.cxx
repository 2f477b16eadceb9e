/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidWriter.h"
#include "PyramidOMEXML.h"
#include "PyramidReduction.h"
#include "PyramidTileCompressor.h"

#include "gigapixelDiagnostic.h"

#include "itkMultiThreaderBase.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <type_traits>

namespace gigapixel
{
namespace
{
std::uint64_t
DivideUp(std::uint64_t n, std::uint64_t divisor)
{
  return (n + divisor - 1) / divisor;
}

/** A rectangle of pixels in memory, whatever their type. */
struct Block
{
  const std::uint8_t * bytes;
  std::size_t          rowBytes; // from a row to the next
  std::size_t          width;
  std::size_t          height;
  std::size_t          pixelBytes;
};

/** True if all pixels of the block are its first one. */
bool
IsConstant(const Block & block)
{
  const std::size_t widthBytes = block.width * block.pixelBytes;
  if (std::memcmp(block.bytes, block.bytes + block.pixelBytes, widthBytes - block.pixelBytes) != 0)
  {
    return false;
  }
  for (std::size_t y = 1; y < block.height; ++y)
  {
    if (std::memcmp(block.bytes, block.bytes + y * block.rowBytes, widthBytes) != 0)
    {
      return false;
    }
  }
  return true;
}

/** Copies the block into a tile, whose rest repeats the last column and row. */
void
FillTile(const Block & block, std::size_t tileSize, std::uint8_t * tile)
{
  const std::size_t tileRowBytes = tileSize * block.pixelBytes;
  const std::size_t widthBytes = block.width * block.pixelBytes;
  for (std::size_t y = 0; y < tileSize; ++y)
  {
    std::uint8_t * row = tile + y * tileRowBytes;
    std::memcpy(row, block.bytes + std::min(y, block.height - 1) * block.rowBytes, widthBytes);
    for (std::size_t at = widthBytes; at < tileRowBytes; at += block.pixelBytes)
    {
      std::memcpy(row + at, row + at - block.pixelBytes, block.pixelBytes);
    }
  }
}

/** Every sample that lies \a step bytes behind the one before. */
void
TakeChannel(const std::uint8_t * from, std::size_t step, std::size_t sampleBytes, std::vector<std::uint8_t> & samples)
{
  for (std::size_t at = 0; at < samples.size(); at += sampleBytes, from += step)
  {
    std::memcpy(samples.data() + at, from, sampleBytes);
  }
}

/** Levels of half the sides follow as long as no side is below the tile: OpenSlide 3.4 misreads such. */
void
AppendLevels(std::vector<PyramidPage> & levels, const PyramidFormat & format)
{
  const PyramidPage & last = levels.back();
  std::uint64_t       width = DivideUp(last.width, 2);
  std::uint64_t       height = DivideUp(last.height, 2);
  for (double downsample = 2 * last.downsample; std::min(width, height) >= format.tileSize; downsample *= 2)
  {
    PyramidPage level = PyramidPage::Make(format, width, height);
    level.role = PyramidPage::Role::Reduced;
    level.downsample = downsample;
    levels.push_back(std::move(level));
    width = DivideUp(width, 2);
    height = DivideUp(height, 2);
  }
}

/** Whether offsets could need more than 32 bit: no codec makes more than twice of what it gets. */
bool
MayNeedBigTIFF(const std::vector<PyramidPage> & levels, unsigned planes)
{
  double raw = 0;
  for (const PyramidPage & level : levels)
  {
    raw += level.GetRawBytes();
  }
  return raw * planes > 2147483647.0;
}
} // namespace

/** What a thread keeps from tile to tile. */
struct PyramidWriter::Worker
{
  /** As many different constant tiles as 8-bit, one-channel images can have. */
  static constexpr std::size_t MaximumConstantTiles = 256;
  /** A pixel's bytes: up to three floats. */
  using Pixel = std::array<std::uint8_t, 12>;

  explicit Worker(const PyramidFormat & format)
    : compressor(PyramidTileCompressor::New(format))
    , tile(std::size_t{ format.tileSize } * format.tileSize * format.GetPixelBytes())
  {}

  void
  Compress(const Block & block, std::size_t tileSize, std::vector<std::uint8_t> & compressed)
  {
    if (block.width == tileSize && block.height == tileSize)
    {
      compressor->Compress(block.bytes, block.rowBytes, compressed);
      return;
    }
    FillTile(block, tileSize, tile.data());
    compressor->Compress(tile.data(), tileSize * block.pixelBytes, compressed);
  }

  std::unique_ptr<PyramidTileCompressor>     compressor;
  std::vector<std::uint8_t>                  tile; // at the edges
  std::map<Pixel, std::vector<std::uint8_t>> constantTiles;
};

PyramidWriter::PyramidWriter(const std::string &      fileName,
                             std::uint64_t            width,
                             std::uint64_t            height,
                             const PyramidFormat &    format,
                             const PyramidMetadata &  metadata,
                             std::vector<PyramidPage> copied,
                             bool                     mayReplace)
  : m_Format(format)
  , m_Metadata(metadata)
  , m_File(fileName, mayReplace)
{
  m_Metadata.isOME = IsOMETIFFName(fileName);
  m_FirstCompressed = copied.size();
  Plane plane{ std::move(copied), {} };
  if (plane.levels.empty())
  {
    plane.levels.push_back(PyramidPage::Make(format, width, height));
  }
  m_FedLevel = plane.levels.size() - 1;
  AppendLevels(plane.levels, format);
  plane.bands.resize(plane.levels.size());
  m_Directory =
    std::make_unique<PyramidDirectory>(m_File, metadata.isBig || MayNeedBigTIFF(plane.levels, format.planes));
  m_Planes.assign(format.planes, plane);
}

PyramidWriter::~PyramidWriter() = default;

std::size_t
PyramidWriter::GetRowBytes(std::size_t level) const
{
  return GetLevels()[level].width * m_Format.GetPixelBytes();
}

std::uint64_t
PyramidWriter::GetRowsOfTileRow(std::size_t level, std::uint64_t index) const
{
  return std::min<std::uint64_t>(m_Format.tileSize, GetLevels()[level].height - index * m_Format.tileSize);
}

std::uint64_t
PyramidWriter::GetColumns(std::size_t level) const
{
  return DivideUp(GetLevels()[level].width, m_Format.tileSize);
}

std::uint64_t
PyramidWriter::GetNumberOfWantedRows() const
{
  const bool nothingRemains = m_FirstCompressed == GetLevels().size();
  return nothingRemains ? 0 : GetLevels()[m_FedLevel].height;
}

void
PyramidWriter::Append(PyramidPage & page, const std::vector<std::uint8_t> & tile)
{
  page.offsets.push_back(m_File.Append(tile.data(), tile.size()));
  page.byteCounts.push_back(tile.size());
}

void
PyramidWriter::CopyTile(std::size_t level, const std::vector<std::uint8_t> & bytes)
{
  Append(m_Planes.front().levels[level], bytes);
}

void
PyramidWriter::AddPicture(const std::string & name, std::uint64_t width, std::uint64_t height, const std::uint8_t * rgb)
{
  PyramidFormat format;
  format.channels = 3;
  format.labels = false;
  PyramidPage page = PyramidPage::Make(format, width, height);
  page.role = PyramidPage::Role::Associated;
  page.description = name;
  Worker                    worker(format);
  std::vector<std::uint8_t> compressed;
  for (std::uint64_t y = 0; y < height; y += format.tileSize)
  {
    for (std::uint64_t x = 0; x < width; x += format.tileSize)
    {
      worker.Compress({ rgb + (y * width + x) * 3,
                        width * 3,
                        std::min<std::uint64_t>(format.tileSize, width - x),
                        std::min<std::uint64_t>(format.tileSize, height - y),
                        3 },
                      format.tileSize,
                      compressed);
      Append(page, compressed);
    }
  }
  m_Pictures.push_back(std::move(page));
}

void
PyramidWriter::WriteRows(const std::uint8_t * rows, std::uint64_t count)
{
  if (m_Planes.size() == 1)
  {
    WriteRowsOfPlane(0, rows, count);
    return;
  }
  const std::size_t         sampleBytes = m_Format.GetSampleBytes();
  const std::size_t         pixelBytes = m_Planes.size() * sampleBytes;
  std::vector<std::uint8_t> samples;
  while (count > 0)
  {
    // No further than to the end of a row of tiles, so that the file is the same however many rows come at once.
    const std::uint64_t filled = GetNumberOfRows() % m_Format.tileSize;
    const std::uint64_t taken = std::min(count, m_Format.tileSize - filled);
    const std::size_t   pixels = taken * GetLevels()[m_FedLevel].width;
    samples.resize(pixels * sampleBytes);
    for (std::size_t plane = 0; plane < m_Planes.size(); ++plane)
    {
      TakeChannel(rows + plane * sampleBytes, pixelBytes, sampleBytes, samples);
      WriteRowsOfPlane(plane, samples.data(), taken);
    }
    rows += pixels * pixelBytes;
    count -= taken;
  }
}

void
PyramidWriter::WriteRowsOfPlane(std::size_t plane, const std::uint8_t * rows, std::uint64_t count)
{
  if (count == 0)
  {
    return;
  }
  Plane & to = m_Planes[plane];
  if (count > GetLevels()[m_FedLevel].height - to.numberOfRows)
  {
    throw Refusal(Diagnostic("E-INTERNAL", "a pyramid was given more rows than its image has"));
  }
  Band &            band = to.bands[m_FedLevel];
  const std::size_t rowBytes = GetRowBytes(m_FedLevel);
  while (count > 0)
  {
    const std::uint64_t index = to.numberOfRows / m_Format.tileSize;
    const std::uint64_t needed = GetRowsOfTileRow(m_FedLevel, index);
    const std::uint64_t taken = std::min(count, needed - band.filled);
    to.numberOfRows += taken;
    if (taken == needed) // nothing waits: no copy
    {
      WriteTileRow({ plane, m_FedLevel, index, rows, needed });
    }
    else
    {
      band.rows.resize(rowBytes * m_Format.tileSize);
      std::memcpy(band.rows.data() + band.filled * rowBytes, rows, taken * rowBytes);
      band.filled += taken;
      if (band.filled == needed)
      {
        WriteTileRow({ plane, m_FedLevel, index, band.rows.data(), needed });
        band.filled = 0;
      }
    }
    rows += taken * rowBytes;
    count -= taken;
  }
  if (to.numberOfRows == GetLevels()[m_FedLevel].height)
  {
    to.bands.clear(); // whose memory the next plane needs
  }
}

void
PyramidWriter::WriteTileRow(const TileRow & row)
{
  const bool        compress = row.level >= m_FirstCompressed;
  const std::size_t below = row.level + 1;
  Plane &           plane = m_Planes[row.plane];
  if (below < plane.levels.size())
  {
    plane.bands[below].rows.resize(GetRowBytes(below) * m_Format.tileSize);
  }
  ProcessTiles(row, compress);
  for (std::uint64_t column = 0; compress && column < GetColumns(row.level); ++column)
  {
    Append(plane.levels[row.level], m_Compressed[column]);
  }
  if (below == plane.levels.size())
  {
    return;
  }
  Band & band = plane.bands[below];
  band.filled += DivideUp(row.height, 2);
  if (band.filled == GetRowsOfTileRow(below, row.index / 2))
  {
    WriteTileRow({ row.plane, below, row.index / 2, band.rows.data(), band.filled });
    band.filled = 0;
  }
}

void
PyramidWriter::ProcessTiles(const TileRow & row, bool compress)
{
  const std::uint64_t columns = GetColumns(row.level);
  const auto          threader = itk::MultiThreaderBase::New();
  const std::uint64_t workers = std::min<std::uint64_t>(threader->GetMaximumNumberOfThreads(), columns);
  const std::uint64_t share = DivideUp(columns, workers);
  std::vector<std::atomic<std::uint64_t>> next(workers);
  std::exception_ptr                      failure;
  std::mutex                              failureMutex;

  m_Compressed.resize(std::max<std::size_t>(m_Compressed.size(), columns));
  while (m_Workers.size() < workers)
  {
    m_Workers.push_back(std::make_unique<Worker>(m_Format));
  }
  const auto work = [&](itk::SizeValueType workerIndex) {
    try
    {
      // A share of its own, then the others': neighbors would write side by side.
      for (std::uint64_t other = 0; other < workers; ++other)
      {
        const std::uint64_t owner = (workerIndex + other) % workers;
        const std::uint64_t end = std::min((owner + 1) * share, columns);
        for (std::uint64_t column = owner * share + next[owner]++; column < end; column = owner * share + next[owner]++)
        {
          ReduceTile(row, column); // first: it is quickest to bring the pixels near
          if (compress)
          {
            CompressTile(row, column, *m_Workers[workerIndex], m_Compressed[column]);
          }
        }
      }
    }
    catch (...)
    {
      const std::lock_guard<std::mutex> lock(failureMutex);
      failure = std::current_exception();
    }
  };
  threader->ParallelizeArray(0, workers, work, nullptr);
  if (failure)
  {
    std::rethrow_exception(failure);
  }
}

void
PyramidWriter::CompressTile(const TileRow &             row,
                            std::uint64_t               column,
                            Worker &                    worker,
                            std::vector<std::uint8_t> & compressed)
{
  const std::size_t left = column * m_Format.tileSize;
  const std::size_t pixelBytes = m_Format.GetPixelBytes();
  const std::size_t width = std::min<std::size_t>(m_Format.tileSize, GetLevels()[row.level].width - left);
  const Block       block{ row.rows + left * pixelBytes, GetRowBytes(row.level), width, row.height, pixelBytes };
  if (!IsConstant(block))
  {
    worker.Compress(block, m_Format.tileSize, compressed);
    return;
  }
  Worker::Pixel value{};
  std::memcpy(value.data(), block.bytes, pixelBytes);
  if (worker.constantTiles.size() >= Worker::MaximumConstantTiles && worker.constantTiles.count(value) == 0)
  {
    worker.constantTiles.clear();
  }
  std::vector<std::uint8_t> & known = worker.constantTiles[value];
  if (known.empty())
  {
    worker.Compress(block, m_Format.tileSize, known);
  }
  compressed = known;
}

void
PyramidWriter::ReduceTile(const TileRow & row, std::uint64_t column)
{
  if (row.level + 1 == GetLevels().size())
  {
    return;
  }
  switch (m_Format.sample)
  {
    case PyramidFormat::Sample::Bit:
    case PyramidFormat::Sample::UInt8:
      return ReduceSamples<std::uint8_t>(row, column);
    case PyramidFormat::Sample::UInt16:
      return ReduceSamples<std::uint16_t>(row, column);
    case PyramidFormat::Sample::UInt32:
      return ReduceSamples<std::uint32_t>(row, column);
    case PyramidFormat::Sample::Float:
      return ReduceSamples<float>(row, column);
  }
}

template <typename TSample>
void
PyramidWriter::ReduceSamples(const TileRow & row, std::uint64_t column)
{
  const std::size_t               channels = m_Format.channels;
  const std::size_t               below = row.level + 1;
  const std::size_t               fromRow = GetLevels()[row.level].width * channels;
  const std::size_t               toRow = GetLevels()[below].width * channels;
  const std::size_t               left = column * m_Format.tileSize;
  const std::size_t               width = std::min<std::size_t>(m_Format.tileSize, GetLevels()[row.level].width - left);
  Band &                          waiting = m_Planes[row.plane].bands[below];
  auto * const                    band = reinterpret_cast<TSample *>(waiting.rows.data()) + waiting.filled * toRow;
  const PixelBlock<const TSample> from{
    reinterpret_cast<const TSample *>(row.rows) + left * channels, fromRow, width, row.height, channels
  };
  const PixelBlock<TSample> to{
    band + left / 2 * channels, toRow, DivideUp(width, 2), DivideUp(row.height, 2), channels
  };
  if constexpr (std::is_same_v<TSample, std::uint32_t>) // labels alone have 32 bit
  {
    ReduceByUpperLeft(from, to);
  }
  else
  {
    m_Format.labels ? ReduceByUpperLeft(from, to) : ReduceByMean(from, to);
  }
}

void
PyramidWriter::Finish(const PyramidDescription & description)
{
  std::vector<PyramidPage> pages;
  for (Plane & plane : m_Planes)
  {
    std::move(plane.levels.begin(), plane.levels.end(), std::back_inserter(pages));
  }
  pages.insert(pages.end(), m_Pictures.begin(), m_Pictures.end());
  pages.front().description = m_Metadata.isOME ? ComposeOMEXML(pages, m_Metadata, description) : description.Compose();
  m_Directory->Write(pages, m_Metadata);
  m_File.Commit();
}

} // namespace gigapixel
