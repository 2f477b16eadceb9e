/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "PyramidWriter.h"
#include "PyramidReduction.h"

#include "itkMultiThreaderBase.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>

namespace gigapixel
{
namespace
{
std::uint64_t
DivideUp(std::uint64_t n, std::uint64_t divisor)
{
  return (n + divisor - 1) / divisor;
}

/** True if all pixels of the block are its first one. */
bool
IsConstant(const PixelBlock<const std::uint8_t> & block)
{
  const std::uint8_t * first = block.samples;
  const std::size_t    rowBytes = block.width * block.channels;
  if (std::memcmp(first, first + block.channels, rowBytes - block.channels) != 0)
  {
    return false;
  }
  for (std::size_t y = 1; y < block.height; ++y)
  {
    if (std::memcmp(first, first + y * block.rowBytes, rowBytes) != 0)
    {
      return false;
    }
  }
  return true;
}

/** Copies the block into a tile, whose rest repeats the last column and row. */
void
FillTile(const PixelBlock<const std::uint8_t> & block, std::size_t tileSize, std::uint8_t * tile)
{
  const std::size_t rowBytes = tileSize * block.channels;
  for (std::size_t y = 0; y < tileSize; ++y)
  {
    std::uint8_t * row = tile + y * rowBytes;
    std::memcpy(row, block.samples + std::min(y, block.height - 1) * block.rowBytes, block.width * block.channels);
    for (std::size_t x = block.width; x < tileSize; ++x)
    {
      std::memcpy(row + x * block.channels, row + (x - 1) * block.channels, block.channels);
    }
  }
}
} // namespace

/** What a thread keeps from tile to tile. */
struct PyramidWriter::Worker
{
  /** As many different constant tiles as one-channel images can have. */
  static constexpr std::size_t MaximumConstantTiles = 256;

  std::unique_ptr<PyramidTileCompressor>             compressor;
  std::vector<std::uint8_t>                          tile;
  std::map<std::uint32_t, std::vector<std::uint8_t>> constantTiles; // by pixel value
};

PyramidWriter::PyramidWriter(const std::string &   fileName,
                             std::uint64_t         width,
                             std::uint64_t         height,
                             const PyramidFormat & format)
  : m_Format(format)
  , m_File(fileName)
{
  while (m_Levels.empty() || std::min(width, height) >= format.tileSize)
  {
    PyramidLevel level;
    level.width = width;
    level.height = height;
    m_Levels.push_back(level);
    width = DivideUp(width, 2);
    height = DivideUp(height, 2);
  }
  m_Bands.resize(m_Levels.size());
  for (std::size_t level = 1; level < m_Levels.size(); ++level)
  {
    m_Bands[level].rows.resize(GetRowBytes(level) * format.tileSize);
  }
  WriteHeader(m_File);
}

PyramidWriter::~PyramidWriter() = default;

std::size_t
PyramidWriter::GetRowBytes(std::size_t level) const
{
  return m_Levels[level].width * m_Format.channels;
}

std::uint64_t
PyramidWriter::GetRowsOfNextTileRow(std::size_t level) const
{
  const PyramidLevel & at = m_Levels[level];
  const std::uint64_t  written = at.offsets.size() / DivideUp(at.width, m_Format.tileSize) * m_Format.tileSize;
  return std::min<std::uint64_t>(m_Format.tileSize, at.height - written);
}

void
PyramidWriter::WriteRows(const std::uint8_t * rows, std::uint64_t count)
{
  if (count > m_Levels[0].height - m_NumberOfRows)
  {
    throw std::runtime_error("a pyramid was given more rows than its image has");
  }
  Band & band = m_Bands[0];
  while (count > 0)
  {
    const std::uint64_t needed = GetRowsOfNextTileRow(0);
    const std::uint64_t taken = std::min(count, needed - band.filled);
    const std::uint64_t index = m_NumberOfRows / m_Format.tileSize;
    m_NumberOfRows += taken;
    if (taken == needed) // nothing waits: no copy
    {
      WriteTileRow({ 0, index, rows, needed });
    }
    else
    {
      band.rows.resize(GetRowBytes(0) * m_Format.tileSize);
      std::memcpy(band.rows.data() + band.filled * GetRowBytes(0), rows, taken * GetRowBytes(0));
      band.filled += taken;
      if (band.filled == needed)
      {
        WriteTileRow({ 0, index, band.rows.data(), needed });
        band.filled = 0;
      }
    }
    rows += taken * GetRowBytes(0);
    count -= taken;
  }
  if (m_NumberOfRows == m_Levels[0].height)
  {
    Finish();
  }
}

void
PyramidWriter::WriteTileRow(const TileRow & row)
{
  CompressTiles(row);
  PyramidLevel & level = m_Levels[row.level];
  for (std::uint64_t column = 0; column < DivideUp(level.width, m_Format.tileSize); ++column)
  {
    const std::vector<std::uint8_t> & tile = m_Compressed[column];
    level.offsets.push_back(m_File.Append(tile.data(), tile.size()));
    level.byteCounts.push_back(static_cast<std::uint32_t>(tile.size()));
  }
  const std::size_t below = row.level + 1;
  if (below == m_Levels.size())
  {
    return;
  }
  Band & band = m_Bands[below];
  band.filled += DivideUp(row.height, 2);
  if (band.filled == GetRowsOfNextTileRow(below))
  {
    WriteTileRow({ below, row.index / 2, band.rows.data(), band.filled });
    band.filled = 0;
  }
}

void
PyramidWriter::CompressTiles(const TileRow & row)
{
  const std::uint64_t        columns = DivideUp(m_Levels[row.level].width, m_Format.tileSize);
  const auto                 threader = itk::MultiThreaderBase::New();
  const std::uint64_t        workers = std::min<std::uint64_t>(threader->GetMaximumNumberOfThreads(), columns);
  std::atomic<std::uint64_t> next{ 0 };
  std::exception_ptr         failure;
  std::mutex                 failureMutex;

  m_Compressed.resize(std::max<std::size_t>(m_Compressed.size(), columns));
  while (m_Workers.size() < workers)
  {
    auto worker = std::make_unique<Worker>();
    worker->compressor = PyramidTileCompressor::New(m_Format);
    worker->tile.resize(std::size_t{ m_Format.tileSize } * m_Format.tileSize * m_Format.channels);
    m_Workers.push_back(std::move(worker));
  }
  const auto work = [&](itk::SizeValueType workerIndex) {
    try
    {
      for (std::uint64_t column = next++; column < columns; column = next++)
      {
        CompressTile(row, column, *m_Workers[workerIndex], m_Compressed[column]);
        ReduceTile(row, column);
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
  const std::size_t width = std::min<std::size_t>(m_Format.tileSize, m_Levels[row.level].width - left);
  const PixelBlock<const std::uint8_t> block{
    row.rows + left * m_Format.channels, GetRowBytes(row.level), width, row.height, m_Format.channels
  };
  if (!IsConstant(block))
  {
    FillTile(block, m_Format.tileSize, worker.tile.data());
    worker.compressor->Compress(worker.tile.data(), compressed);
    return;
  }
  std::uint32_t value = 0;
  std::memcpy(&value, block.samples, m_Format.channels);
  if (worker.constantTiles.size() >= Worker::MaximumConstantTiles && worker.constantTiles.count(value) == 0)
  {
    worker.constantTiles.clear();
  }
  std::vector<std::uint8_t> & known = worker.constantTiles[value];
  if (known.empty())
  {
    FillTile(block, m_Format.tileSize, worker.tile.data());
    worker.compressor->Compress(worker.tile.data(), known);
  }
  compressed = known;
}

void
PyramidWriter::ReduceTile(const TileRow & row, std::uint64_t column)
{
  const std::size_t below = row.level + 1;
  if (below == m_Levels.size())
  {
    return;
  }
  const std::size_t left = column * m_Format.tileSize;
  const std::size_t width = std::min<std::size_t>(m_Format.tileSize, m_Levels[row.level].width - left);
  const PixelBlock<const std::uint8_t> from{
    row.rows + left * m_Format.channels, GetRowBytes(row.level), width, row.height, m_Format.channels
  };
  std::uint8_t *                 target = m_Bands[below].rows.data() + m_Bands[below].filled * GetRowBytes(below);
  const PixelBlock<std::uint8_t> to{ target + left / 2 * m_Format.channels,
                                     GetRowBytes(below),
                                     DivideUp(width, 2),
                                     DivideUp(row.height, 2),
                                     m_Format.channels };
  m_Format.labels ? ReduceByUpperLeft(from, to) : ReduceByMean(from, to);
}

void
PyramidWriter::Finish()
{
  WriteDirectories(m_File, m_Format, PyramidTileCompressor::New(m_Format)->GetTables(), m_Levels);
  m_File.Commit();
}

} // namespace gigapixel
