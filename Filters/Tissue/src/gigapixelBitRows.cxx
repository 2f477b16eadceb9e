/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelBitRows.h"

#include <array>
#include <cstring>
#if defined(__SSE2__)
#  include <emmintrin.h>
#endif

namespace gigapixel
{
namespace
{

/** 64 pixels to a word: bit i is 1 where pixels[i] is not 0. */
std::uint64_t
Pack64(const unsigned char * pixels)
{
  std::uint64_t word = 0;
#if defined(__SSE2__)
  const __m128i zero = _mm_setzero_si128();
  for (int i = 0; i < 4; ++i)
  {
    const __m128i  bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(pixels + 16 * i));
    const unsigned empty = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, zero)));
    word |= static_cast<std::uint64_t>(~empty & 0xffffu) << (16 * i);
  }
#else
  for (int i = 0; i < 64; ++i)
  {
    word |= static_cast<std::uint64_t>(pixels[i] != 0) << i;
  }
#endif
  return word;
}

/** Byte value -> its 8 bits as 8 bytes of 0 or 255, lowest bit first in memory. */
const std::array<std::array<unsigned char, 8>, 256> &
GetBytesOfBits()
{
  static const auto table = [] {
    std::array<std::array<unsigned char, 8>, 256> bytes;
    for (unsigned value = 0; value < 256; ++value)
    {
      for (unsigned bit = 0; bit < 8; ++bit)
      {
        bytes[value][bit] = (value >> bit) & 1u ? 255 : 0;
      }
    }
    return bytes;
  }();
  return table;
}

} // namespace

void
PackBits(const unsigned char * pixels, std::size_t count, std::uint64_t * bits)
{
  const std::size_t whole = count / 64;
  for (std::size_t i = 0; i < whole; ++i)
  {
    bits[i] = Pack64(pixels + 64 * i);
  }
  if (count % 64 != 0)
  {
    unsigned char rest[64] = {};
    std::memcpy(rest, pixels + 64 * whole, count % 64);
    bits[whole] = Pack64(rest);
  }
}

void
UnpackBits(const std::uint64_t * bits, std::size_t first, std::size_t count, unsigned char * pixels)
{
  const auto & bytes = GetBytesOfBits();
  bits += first / 64;
  const unsigned shift = first % 64;
  std::size_t    x = 0;
  for (; x < count; x += 64, ++bits)
  {
    const std::size_t left = count - x < 64 ? count - x : 64;
    std::uint64_t     word = bits[0] >> shift;
    if (shift != 0 && shift + left > 64)
    {
      word |= bits[1] << (64 - shift);
    }
    std::size_t i = 0;
    for (; i + 8 <= left; i += 8)
    {
      std::memcpy(pixels + x + i, bytes[(word >> i) & 0xff].data(), 8);
    }
    if (i < left)
    {
      std::memcpy(pixels + x + i, bytes[(word >> i) & 0xff].data(), left - i);
    }
  }
}

} // namespace gigapixel
