/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRandom_h
#define gigapixelRandom_h

#include <cmath>
#include <cstdint>
#include <random>

namespace gigapixel
{

/** \class Random
 * \brief Numbers that depend on the seed and on what they are for, not on what was drawn before.
 *
 * Each purpose and index (epoch, step) starts a sequence of its own, so that a run can be resumed anywhere without a
 * saved state. The engine's sequence is fixed by the C++ standard; the distributions are ours because the standard's
 * are not. */
class Random
{
public:
  enum class Purpose : std::uint64_t
  {
    Weights = 1,
    Order = 2,
    Augmentation = 3,
    Jitter = 4,
    Dropout = 5
  };

  Random(std::uint64_t seed, Purpose purpose, std::uint64_t index = 0)
    : m_Engine(Mix(Mix(Mix(seed) + static_cast<std::uint64_t>(purpose)) + index))
  {}

  /** In [0, 1). */
  double
  Uniform()
  {
    return static_cast<double>(m_Engine() >> 11) * 0x1p-53;
  }

  /** In [0, number). */
  std::uint64_t
  Below(std::uint64_t number)
  {
    return static_cast<std::uint64_t>(Uniform() * static_cast<double>(number));
  }

  /** Mean 0, variance 1 (Box and Muller). */
  double
  Normal()
  {
    constexpr double Pi = 3.14159265358979323846;
    const double     radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(2 * Pi * Uniform());
  }

  /** Any 64 bits. */
  std::uint64_t
  Bits()
  {
    return m_Engine();
  }

  /** The finalizer of SplitMix64 (Steele, Lea, Flood 2014). */
  static std::uint64_t
  Mix(std::uint64_t x)
  {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

private:
  std::mt19937_64 m_Engine;
};

} // namespace gigapixel

#endif
