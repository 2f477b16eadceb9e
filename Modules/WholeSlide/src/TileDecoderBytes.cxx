/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TileDecoder.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

#include <libdeflate.h>
#include <zstd.h>

namespace gigapixel
{

std::size_t
DecodeDeflate(ByteSpan stream, unsigned char * out, std::size_t size)
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
  switch (libdeflate_zlib_decompress(decompressor.get(), stream.data, stream.size, out, size, &written))
  {
    case LIBDEFLATE_SUCCESS:
      return written;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      throw std::runtime_error("its deflate stream is longer than the tile");
    default:
      throw std::runtime_error("its deflate stream is damaged");
  }
}

std::size_t
DecodeZstandard(ByteSpan stream, unsigned char * out, std::size_t size)
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
  const std::size_t written = ZSTD_decompressDCtx(context.get(), out, size, stream.data, stream.size);
  if (ZSTD_isError(written))
  {
    throw std::runtime_error(std::string("its zstd stream is damaged: ") + ZSTD_getErrorName(written));
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
DecodeLZW(ByteSpan stream, unsigned char * out, std::size_t size)
{
  constexpr unsigned     clear = 256;
  constexpr unsigned     tableSize = 4096;
  thread_local LZWString table[tableSize];
  if (stream.size >= 2 && stream.data[0] == 0 && (stream.data[1] & 1) != 0)
  {
    throw std::runtime_error("its LZW stream is of the kind before TIFF 5.0, which is not read");
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
      throw std::runtime_error("its LZW stream is damaged");
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
  return written;
}

std::size_t
DecodePackBits(ByteSpan stream, unsigned char * out, std::size_t size)
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
        throw std::runtime_error("its PackBits stream ends early");
      }
      std::memcpy(out + written, stream.data + read, count);
      read += code + 1 <= stream.size - read ? code + 1 : stream.size - read;
      written += count;
    }
    else if (code > 128)
    {
      if (read == stream.size)
      {
        throw std::runtime_error("its PackBits stream ends early");
      }
      const std::size_t count = std::min<std::size_t>(257 - code, size - written);
      std::memset(out + written, stream.data[read++], count);
      written += count;
    }
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

void
UndoHorizontalDifferencing(unsigned char * pixels,
                           std::uint32_t   width,
                           std::uint32_t   height,
                           unsigned        samples,
                           unsigned        sampleBytes)
{
  const std::size_t count = std::size_t{ width } * samples;
  for (std::uint32_t y = 0; y < height; ++y)
  {
    unsigned char * const row = pixels + y * count * sampleBytes;
    for (std::size_t i = samples; i < count; ++i)
    {
      if (sampleBytes == 1)
      {
        row[i] = static_cast<unsigned char>(row[i] + row[i - samples]);
        continue;
      }
      std::uint16_t value = 0;
      std::uint16_t before = 0;
      std::memcpy(&value, row + 2 * i, 2);
      std::memcpy(&before, row + 2 * (i - samples), 2);
      value = static_cast<std::uint16_t>(value + before);
      std::memcpy(row + 2 * i, &value, 2);
    }
  }
}

} // namespace gigapixel
