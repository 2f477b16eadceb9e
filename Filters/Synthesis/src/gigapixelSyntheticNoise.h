/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSyntheticNoise_h
#define gigapixelSyntheticNoise_h

#include <cmath>
#include <cstdint>

namespace gigapixel
{

/** Fixed-point length: 1/65536 micrometer, so that a lattice of 2^k micrometers is found by a shift of 16 + k bits. */
using FixedLength = std::int64_t;
constexpr int FixedBitsPerMicrometer = 16;

/** The number times 2^bits, also of one below zero, whose shift C++17 leaves undefined. */
constexpr std::int64_t
ShiftLeft(std::int64_t number, int bits)
{
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(number) << bits);
}

/** 32 well mixed bits of a lattice point: all chance in the scene comes from here, so no pixel depends on another. */
inline std::uint32_t
HashPoint(std::uint32_t seed, std::int32_t x, std::int32_t y)
{
  std::uint32_t bits = seed + static_cast<std::uint32_t>(x) * 0x9E3779B1u;
  bits = (bits ^ (bits >> 15)) * 0x2C1B3C6Du;
  bits += static_cast<std::uint32_t>(y) * 0x85EBCA77u;
  bits = (bits ^ (bits >> 12)) * 0x297A2D39u;
  bits = (bits ^ (bits >> 15)) * 0x9E3779B1u;
  return bits ^ (bits >> 14);
}

/** Uniform in [0, 1). */
inline double
HashUnit(std::uint32_t seed, std::int32_t x, std::int32_t y = 0)
{
  return HashPoint(seed, x, y) * (1.0 / 4294967296.0);
}

/** Uniform in [low, high). */
inline double
HashBetween(std::uint32_t seed, std::int32_t x, double low, double high)
{
  return low + (high - low) * HashUnit(seed, x);
}

/** Value noise in integers, 0..4095 with mean 2048: random values at the points of a lattice of 2^shiftX by 2^shiftY
 * units, interpolated with the cubic 3t^2 - 2t^3. */
inline int
ValueNoise(std::uint32_t seed, FixedLength x, FixedLength y, int shiftX, int shiftY)
{
  const auto         column = static_cast<std::int32_t>(x >> shiftX);
  const auto         row = static_cast<std::int32_t>(y >> shiftY);
  const std::int32_t fractionX = static_cast<std::int32_t>(x >> (shiftX - 10)) & 1023;
  const std::int32_t fractionY = static_cast<std::int32_t>(y >> (shiftY - 10)) & 1023;
  const std::int32_t weightX = (fractionX * fractionX * (3072 - 2 * fractionX)) >> 20;
  const std::int32_t weightY = (fractionY * fractionY * (3072 - 2 * fractionY)) >> 20;
  const auto         a = static_cast<std::int32_t>(HashPoint(seed, column, row) >> 20);
  const auto         b = static_cast<std::int32_t>(HashPoint(seed, column + 1, row) >> 20);
  const auto         c = static_cast<std::int32_t>(HashPoint(seed, column, row + 1) >> 20);
  const auto         d = static_cast<std::int32_t>(HashPoint(seed, column + 1, row + 1) >> 20);
  const std::int32_t upper = a * 1024 + (b - a) * weightX;
  const std::int32_t lower = c * 1024 + (d - c) * weightX;
  return (upper + (((lower - upper) >> 10) * weightY)) >> 10;
}

/** Value noise in -1..1 on the unit lattice, with the quintic 6t^5 - 15t^4 + 10t^3 (smooth second derivative: outlines
 * show no lattice). Only + - * and floor: the same on every machine with IEEE doubles. */
inline double
SmoothNoise(std::uint32_t seed, double x, double y)
{
  const double floorX = std::floor(x);
  const double floorY = std::floor(y);
  const double tx = x - floorX;
  const double ty = y - floorY;
  const double wx = tx * tx * tx * (tx * (tx * 6.0 - 15.0) + 10.0);
  const double wy = ty * ty * ty * (ty * (ty * 6.0 - 15.0) + 10.0);
  const auto   column = static_cast<std::int32_t>(floorX);
  const auto   row = static_cast<std::int32_t>(floorY);
  const double a = HashUnit(seed, column, row);
  const double b = HashUnit(seed, column + 1, row);
  const double c = HashUnit(seed, column, row + 1);
  const double d = HashUnit(seed, column + 1, row + 1);
  const double upper = a + (b - a) * wx;
  const double lower = c + (d - c) * wx;
  return 2.0 * (upper + (lower - upper) * wy) - 1.0;
}

/** Sum of octaves of SmoothNoise, each of half the size and \a gain times the amplitude of the one before. */
inline double
FractalNoise(std::uint32_t seed, double x, double y, int octaves, double gain = 0.5)
{
  double sum = 0.0;
  double amplitude = 1.0;
  for (int octave = 0; octave < octaves; ++octave)
  {
    sum += amplitude * SmoothNoise(seed + static_cast<std::uint32_t>(octave) * 0x632BE5ABu, x, y);
    amplitude *= gain;
    // The lattices of two octaves must not share points, or these would stand out.
    x = 2.0 * x + 17.31;
    y = 2.0 * y + 5.77;
  }
  return sum;
}

/** Between four nodes a b / c d that are 2^shift pixels apart, at pixel (x, y) from a. */
inline std::int32_t
InterpolateNodes(std::int32_t a, std::int32_t b, std::int32_t c, std::int32_t d, int x, int y, int shift)
{
  const std::int64_t upper = ShiftLeft(a, shift) + std::int64_t{ b - a } * x;
  const std::int64_t lower = ShiftLeft(c, shift) + std::int64_t{ d - c } * x;
  return static_cast<std::int32_t>((ShiftLeft(upper, shift) + (lower - upper) * y) >> (2 * shift));
}

} // namespace gigapixel

#endif
