/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelPixelRows.h"
#include "gigapixelInstructionSets.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace gigapixel
{
namespace
{

/** sums[i] = the sum of byte i over the rows. */
GIGAPIXEL_INSTRUCTION_SETS void
SumRows(const unsigned char * rows, std::size_t stride, std::size_t rowCount, std::size_t bytes, std::uint16_t * sums)
{
  // A piece at a time, so that the sums stay in the first-level cache.
  constexpr std::size_t piece = 4096;
  for (std::size_t begin = 0; begin < bytes; begin += piece)
  {
    const std::size_t end = std::min(begin + piece, bytes);
    for (std::size_t i = begin; i < end; ++i)
    {
      sums[i] = rows[i];
    }
    for (std::size_t y = 1; y < rowCount; ++y)
    {
      const unsigned char * row = rows + y * stride;
      for (std::size_t i = begin; i < end; ++i)
      {
        sums[i] = static_cast<std::uint16_t>(sums[i] + row[i]);
      }
    }
  }
}

/** Whole blocks: Factor known when compiled (8), or 0 to take it from the argument. */
template <unsigned Channels, unsigned Factor>
void
MeanOfBlocks(const std::uint16_t * sums,
             std::size_t           blocks,
             unsigned              factor,
             std::size_t           rowCount,
             unsigned char *       output)
{
  const unsigned      side = Factor != 0 ? Factor : factor;
  const std::uint32_t pixels = static_cast<std::uint32_t>(side * rowCount);
  for (std::size_t block = 0; block < blocks; ++block)
  {
    for (unsigned channel = 0; channel < Channels; ++channel)
    {
      std::uint32_t sum = pixels / 2;
      for (unsigned x = 0; x < side; ++x)
      {
        sum += sums[x * Channels + channel];
      }
      output[channel] = static_cast<unsigned char>(Factor == 8 && pixels == 64 ? sum / 64 : sum / pixels);
    }
    sums += side * Channels;
    output += Channels;
  }
}

template <unsigned Channels>
void
MeanOfRow(const std::uint16_t * sums, std::size_t width, unsigned factor, std::size_t rowCount, unsigned char * output)
{
  const std::size_t blocks = width / factor;
  if (factor == 8)
  {
    MeanOfBlocks<Channels, 8>(sums, blocks, factor, rowCount, output);
  }
  else
  {
    MeanOfBlocks<Channels, 0>(sums, blocks, factor, rowCount, output);
  }
  const auto rest = static_cast<unsigned>(width % factor);
  if (rest > 0)
  {
    MeanOfBlocks<Channels, 0>(sums + blocks * factor * Channels, 1, rest, rowCount, output + blocks * Channels);
  }
}

} // namespace

void
BlockMeanRow(const unsigned char * rows,
             std::size_t           stride,
             std::size_t           rowCount,
             std::size_t           width,
             unsigned              channels,
             unsigned              factor,
             unsigned char *       output)
{
  thread_local std::vector<std::uint16_t> sums;
  sums.resize(width * channels);
  SumRows(rows, stride, rowCount, width * channels, sums.data());
  if (channels == 1)
  {
    MeanOfRow<1>(sums.data(), width, factor, rowCount, output);
  }
  else
  {
    MeanOfRow<3>(sums.data(), width, factor, rowCount, output);
  }
}

void
RepeatPixels(const unsigned char * input, std::size_t phase, std::size_t count, unsigned factor, unsigned char * output)
{
  const std::size_t cut = std::min<std::size_t>(phase == 0 ? 0 : factor - phase, count);
  std::memset(output, *input, cut);
  input += cut > 0 ? 1 : 0;
  std::size_t i = cut;
  if (factor == 8)
  {
    for (; i + 8 <= count; i += 8)
    {
      const std::uint64_t block = *input++ * 0x0101010101010101u;
      std::memcpy(output + i, &block, 8);
    }
  }
  for (; i < count; i += factor)
  {
    std::memset(output + i, *input++, std::min<std::size_t>(factor, count - i));
  }
}

} // namespace gigapixel
