/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TileDecoder.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include <libdeflate.h>
#include <zstd.h>

namespace gigapixel
{

std::size_t
DecodeDeflate(ByteSpan stream, unsigned char * out, std::size_t size, std::size_t * used)
{
  struct Free
  {
    void
    operator()(libdeflate_decompressor * decompressor) const
    {
      libdeflate_free_decompressor(decompressor);
    }
  };
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> decompressor(libdeflate_alloc_decompressor());
  if (!decompressor)
  {
    throw std::bad_alloc();
  }
  std::size_t written = 0;
  switch (libdeflate_zlib_decompress_ex(decompressor.get(), stream.data, stream.size, out, size, used, &written))
  {
    case LIBDEFLATE_SUCCESS:
      return written;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      throw Refusal(Diagnostic("E-CODEC-DATA", "its deflate stream is longer than the tile"));
    default:
      throw Refusal(Diagnostic("E-CODEC-DATA", "its deflate stream is damaged"));
  }
}

std::size_t
DecodeZstandard(ByteSpan stream, unsigned char * out, std::size_t size, std::size_t * used)
{
  struct Free
  {
    void
    operator()(ZSTD_DCtx * context) const
    {
      ZSTD_freeDCtx(context);
    }
  };
  thread_local const std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
  if (!context)
  {
    throw std::bad_alloc();
  }
  std::size_t read = 0;
  std::size_t written = 0;
  // Frame by frame: ZSTD_decompress() takes bytes behind the last frame for damage.
  while (read < stream.size && written < size)
  {
    const std::size_t frame = ZSTD_findFrameCompressedSize(stream.data + read, stream.size - read);
    const std::size_t found =
      ZSTD_isError(frame)
        ? frame
        : ZSTD_decompressDCtx(context.get(), out + written, size - written, stream.data + read, frame);
    if (ZSTD_isError(found))
    {
      throw Refusal(Diagnostic("E-CODEC-DATA", std::string("its zstd stream is damaged: ") + ZSTD_getErrorName(found)));
    }
    read += frame;
    written += found;
  }
  if (used != nullptr)
  {
    *used = read;
  }
  return written;
}

namespace
{

/** Codes of 9 to 12 bits, most significant bit first. */
class LZWCodes
{
public:
  explicit LZWCodes(ByteSpan stream)
    : m_Stream(stream)
  {}

  static constexpr unsigned end = 257;

  unsigned
  Next(unsigned bits)
  {
    while (m_Held < bits)
    {
      if (m_Position == m_Stream.size)
      {
        return end; // many writers leave the last code out
      }
      m_Buffer = (m_Buffer << 8) | m_Stream.data[m_Position++];
      m_Held += 8;
    }
    m_Held -= bits;
    return (m_Buffer >> m_Held) & ((1u << bits) - 1u);
  }

  /** Bytes of the stream that codes were read from. */
  std::size_t
  GetUsed() const
  {
    return m_Position;
  }

private:
  ByteSpan    m_Stream;
  std::size_t m_Position{ 0 };
  unsigned    m_Buffer{ 0 };
  unsigned    m_Held{ 0 };
};

/** A string of the table is one that was written before: where it starts in the output, and its length. */
struct LZWString
{
  std::size_t start;
  std::size_t length;
};

} // namespace

std::size_t
DecodeLZW(ByteSpan stream, unsigned char * out, std::size_t size, std::size_t * used)
{
  constexpr unsigned     clear = 256;
  constexpr unsigned     tableSize = 4096;
  thread_local LZWString table[tableSize];
  if (stream.size >= 2 && stream.data[0] == 0 && (stream.data[1] & 1) != 0)
  {
    throw Refusal(Diagnostic("E-TIFF-CODEC", "its LZW stream is of the kind before TIFF 5.0, which is not read"));
  }
  LZWCodes    codes(stream);
  std::size_t written = 0;
  unsigned    next = 258;
  unsigned    bits = 9;
  bool        first = true;
  LZWString   previous{ 0, 0 };
  while (written < size)
  {
    const unsigned code = codes.Next(bits);
    if (code == LZWCodes::end)
    {
      break;
    }
    if (code == clear)
    {
      next = 258;
      bits = 9;
      first = true;
      continue;
    }
    LZWString current{ written, 0 };
    if (code < 256)
    {
      current.length = 1;
      out[written++] = static_cast<unsigned char>(code);
    }
    else if (first || code > next || (code == next && next >= tableSize))
    {
      throw Refusal(Diagnostic("E-CODEC-DATA", "its LZW stream is damaged"));
    }
    else
    {
      // The code that is about to be defined is the previous string and its own first byte, which stands behind it.
      const LZWString source = code == next ? LZWString{ previous.start, previous.length + 1 } : table[code];
      current.length = std::min(source.length, size - written);
      for (std::size_t i = 0; i < current.length; ++i)
      {
        out[written + i] = out[source.start + i];
      }
      written += current.length;
    }
    if (!first && next < tableSize)
    {
      table[next++] = { previous.start, previous.length + 1 };
    }
    first = false;
    previous = current;
    if (next + 1 >= (1u << bits) && bits < 12)
    {
      ++bits;
    }
  }
  if (used != nullptr)
  {
    *used = codes.GetUsed();
    if (written == size)
    {
      // The code of the end may follow, or one that clears a full table and then that of the end.
      unsigned code = codes.Next(bits);
      code = code == clear ? codes.Next(9) : code;
      *used = code == LZWCodes::end ? codes.GetUsed() : *used;
    }
  }
  return written;
}

std::size_t
DecodePackBits(ByteSpan stream, unsigned char * out, std::size_t size, std::size_t * used)
{
  std::size_t read = 0;
  std::size_t written = 0;
  while (read < stream.size && written < size)
  {
    const unsigned code = stream.data[read++];
    if (code < 128)
    {
      const std::size_t count = std::min<std::size_t>(code + 1, size - written);
      if (stream.size - read < count)
      {
        throw Refusal(Diagnostic("E-CODEC-DATA", "its PackBits stream ends early"));
      }
      std::memcpy(out + written, stream.data + read, count);
      read += count;
      written += count;
    }
    else if (code > 128)
    {
      if (read == stream.size)
      {
        throw Refusal(Diagnostic("E-CODEC-DATA", "its PackBits stream ends early"));
      }
      const std::size_t count = std::min<std::size_t>(257 - code, size - written);
      std::memset(out + written, stream.data[read++], count);
      written += count;
    }
  }
  if (used != nullptr)
  {
    *used = read;
  }
  return written;
}

bool
IsBigEndianMachine()
{
  const std::uint16_t one = 1;
  unsigned char       first = 0;
  std::memcpy(&first, &one, 1);
  return first == 0;
}

void
SwapBytes(unsigned char * samples, std::size_t size, unsigned sampleBytes)
{
  for (std::size_t i = 0; i + sampleBytes <= size; i += sampleBytes)
  {
    std::reverse(samples + i, samples + i + sampleBytes);
  }
}

namespace
{

template <typename TSample>
void
SumUp(unsigned char * pixels, std::uint32_t height, std::size_t count, unsigned samples)
{
  for (std::uint32_t y = 0; y < height; ++y)
  {
    unsigned char * const row = pixels + y * count * sizeof(TSample);
    for (std::size_t i = samples; i < count; ++i)
    {
      TSample value = 0;
      TSample before = 0;
      std::memcpy(&value, row + sizeof(TSample) * i, sizeof(TSample));
      std::memcpy(&before, row + sizeof(TSample) * (i - samples), sizeof(TSample));
      value = static_cast<TSample>(value + before);
      std::memcpy(row + sizeof(TSample) * i, &value, sizeof(TSample));
    }
  }
}

} // namespace

void
UndoHorizontalDifferencing(unsigned char * pixels,
                           std::uint32_t   width,
                           std::uint32_t   height,
                           unsigned        samples,
                           unsigned        sampleBytes)
{
  const std::size_t count = std::size_t{ width } * samples;
  switch (sampleBytes)
  {
    case 1:
      return SumUp<std::uint8_t>(pixels, height, count, samples);
    case 2:
      return SumUp<std::uint16_t>(pixels, height, count, samples);
    case 4:
      return SumUp<std::uint32_t>(pixels, height, count, samples);
    default:
      return SumUp<std::uint64_t>(pixels, height, count, samples);
  }
}

void
UndoFloatDifferencing(unsigned char * pixels,
                      std::uint32_t   width,
                      std::uint32_t   height,
                      unsigned        samples,
                      unsigned        sampleBytes)
{
  const std::size_t          count = std::size_t{ width } * samples;
  const std::size_t          rowBytes = count * sampleBytes;
  const bool                 isBig = IsBigEndianMachine();
  std::vector<unsigned char> bytes(rowBytes);
  for (std::uint32_t y = 0; y < height; ++y)
  {
    unsigned char * const row = pixels + y * rowBytes;
    SumUp<std::uint8_t>(row, 1, rowBytes, samples);
    std::memcpy(bytes.data(), row, rowBytes);
    for (std::size_t i = 0; i < count; ++i)
    {
      for (unsigned b = 0; b < sampleBytes; ++b)
      {
        row[i * sampleBytes + (isBig ? b : sampleBytes - 1 - b)] = bytes[b * count + i];
      }
    }
  }
}

float
ToFloat(std::uint16_t half)
{
  const int    exponent = half >> 10 & 31;
  const int    fraction = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31)
  {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : static_cast<float>(sign * std::numeric_limits<double>::infinity());
  }
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  return static_cast<float>(sign * magnitude);
}

} // namespace gigapixel
