/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelDropoutMask_h
#define gigapixelDropoutMask_h

#include "gigapixelRandom.h"

#include <cmath>
#include <cstdint>

namespace gigapixel
{

/** \class DropoutMask
 * \brief Which values of a map dropout keeps: a hash of the seed, the operation and the value's place in the map of the
 * whole image, so that every division into tiles, and every pass over them, finds the same ones. */
class DropoutMask
{
public:
  /** \param seed of the image in its step \param operation its place in the graph \param probability of a zero */
  DropoutMask(std::uint64_t seed, int operation, double probability)
    : m_Key(Random::Mix(seed + static_cast<std::uint64_t>(operation)))
    , m_Least(static_cast<std::uint64_t>(std::llround(probability * 0x1p53)))
  {}

  /** \param y, x in the map of the whole image */
  bool
  Keeps(std::int64_t y, std::int64_t x, std::int64_t channel) const
  {
    const std::uint64_t row = Random::Mix(m_Key + static_cast<std::uint64_t>(y));
    return Random::Mix(Random::Mix(row + static_cast<std::uint64_t>(x)) + static_cast<std::uint64_t>(channel)) >> 11 >=
           m_Least;
  }

private:
  std::uint64_t m_Key;
  std::uint64_t m_Least;
};

} // namespace gigapixel

#endif
