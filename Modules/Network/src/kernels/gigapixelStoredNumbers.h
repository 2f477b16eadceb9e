/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// How a precision stores what layers multiply: maps, the maps' gradients and weights. Sums are floats or doubles in
// every precision. Plain C++, for the CPU and, compiled by nvcc, for a GPU; the same bits on both.
#ifndef gigapixelStoredNumbers_h
#define gigapixelStoredNumbers_h

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#  include <cuda_fp16.h>
#  define GIGAPIXEL_DEVICE __host__ __device__
#else
#  define GIGAPIXEL_DEVICE
#endif

namespace gigapixel
{

GIGAPIXEL_DEVICE inline std::uint32_t
GetBits(float value)
{
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

GIGAPIXEL_DEVICE inline float
FromBits(std::uint32_t bits)
{
  float value = 0;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

/** The bits without the last `Dropped` ones, to the nearest value, of two equally near ones the even one; beyond the
 * greatest one infinity. Not for NaN, which carrying could make a number. */
template <unsigned Dropped>
GIGAPIXEL_DEVICE constexpr std::uint32_t
RoundBits(std::uint32_t bits)
{
  constexpr std::uint32_t half = (std::uint32_t{ 1 } << (Dropped - 1)) - 1;
  return (bits + half + (bits >> Dropped & 1)) >> Dropped;
}

GIGAPIXEL_DEVICE constexpr bool
IsNaN(std::uint32_t bits)
{
  return (bits & 0x7fffffff) > 0x7f800000;
}

/** bf16: the upper half of a float, 8 significant bits, a float's range. */
struct BFloat16
{
  std::uint16_t bits;

  BFloat16() = default;
  GIGAPIXEL_DEVICE explicit BFloat16(float value)
    : bits(IsNaN(GetBits(value)) ? 0x7fff : static_cast<std::uint16_t>(RoundBits<16>(GetBits(value))))
  {}
  GIGAPIXEL_DEVICE explicit operator float() const { return FromBits(std::uint32_t{ bits } << 16); }
};

/** tf32, what tensor cores read of a float: 11 significant bits, a float's range; it takes a float's place. */
struct TensorFloat32
{
  float value;

  TensorFloat32() = default;
  GIGAPIXEL_DEVICE explicit TensorFloat32(float number)
    : value(IsNaN(GetBits(number)) ? number : FromBits(RoundBits<13>(GetBits(number)) << 13))
  {}
  GIGAPIXEL_DEVICE explicit operator float() const { return value; }
};

/** fp16, binary16 of IEEE 754: 11 significant bits from 2^-14 to 65504, multiples of 2^-24 below. */
struct Float16
{
  std::uint16_t bits;

  Float16() = default;
#ifdef __CUDA_ARCH__
  __device__ explicit Float16(float value)
    : bits(__half_as_ushort(__float2half_rn(value)))
  {}
  __device__ explicit operator float() const
  {
    return __half2float(__ushort_as_half(bits));
  }
#else
  GIGAPIXEL_DEVICE explicit Float16(float value)
  {
    const std::uint32_t sign = GetBits(value) >> 16 & 0x8000;
    const std::uint32_t size = GetBits(value) & 0x7fffffff;
    std::uint32_t       rounded = 0;
    if (IsNaN(size))
    {
      rounded = 0x7fff;
    }
    else if (size >= 0x47800000) // 2^16
    {
      rounded = 0x7c00;
    }
    else if (size >= 0x38800000) // 2^-14
    {
      rounded = RoundBits<13>(size - 0x38000000); // 112 less in the exponent; from 65520 on it carries to infinity
    }
    else
    {
      rounded = GetBits(FromBits(size) + 0.5f) - 0x3f000000; // floats from 0.5 to 1 are multiples of 2^-24
    }
    bits = static_cast<std::uint16_t>(sign | rounded);
  }
  GIGAPIXEL_DEVICE explicit operator float() const
  {
    const std::uint32_t sign = std::uint32_t{ bits & 0x8000u } << 16;
    const std::uint32_t size = bits & 0x7fffu;
    if (size < 0x400)
    {
      return FromBits(sign | GetBits(static_cast<float>(size) * 0x1p-24f));
    }
    return FromBits(sign | (size < 0x7c00 ? (size << 13) + 0x38000000 : (size << 13) | 0x7f800000));
  }
#endif
};

/** What a T keeps of the values. */
template <typename T>
void
RoundTo(float * values, std::size_t number)
{
  for (std::size_t i = 0; i < number; ++i)
  {
    values[i] = static_cast<float>(T(values[i]));
  }
}

} // namespace gigapixel

#endif
