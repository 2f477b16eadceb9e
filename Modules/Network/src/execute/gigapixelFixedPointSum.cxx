/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelFixedPointSum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace gigapixel
{
namespace
{

__extension__ using Fixed = __int128;
__extension__ using Bits = unsigned __int128;

constexpr int         FractionBits = 64;
constexpr std::size_t ValuesPerLock = 65536;

/** No number: it stays out of the range of sums whatever number is added to it. */
constexpr Fixed None = static_cast<Fixed>(Bits(1) << 127);

/** Greatest number that may be added, as a power of two: far below the range, so that one that is added to None, or to
 * a sum at the range's end, does not come back into the range from the other side. */
constexpr double GreatestAddend = 18014398509481984.0; // 2^54

/** Sums are from -2^62 to below 2^62: looked up in the upper half alone. */
inline bool
IsSum(Fixed value)
{
  const auto upper = static_cast<std::uint64_t>(static_cast<Bits>(value) >> 64);
  return upper + (std::uint64_t(1) << 62) < std::uint64_t(1) << 63;
}

/** The number, whose magnitude is below GreatestAddend, as a multiple of 2^-64; half of one is rounded away from 0. */
inline Fixed
ToFixed(double number)
{
  constexpr int MantissaBits = 52, ExponentBias = 1075;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  const int exponent = static_cast<int>(bits >> MantissaBits & 0x7ff);
  // Without the leading one of numbers that have none, which are far below 2^-64.
  const std::uint64_t digits = (bits & ((std::uint64_t(1) << MantissaBits) - 1)) | std::uint64_t(1) << MantissaBits;
  const int           shift = exponent - ExponentBias + FractionBits;
  Fixed               magnitude = 0;
  if (shift >= 0)
  {
    magnitude = static_cast<Fixed>(Bits(digits) << shift);
  }
  else if (shift >= -MantissaBits - 1)
  {
    magnitude = static_cast<Fixed>((digits + (std::uint64_t(1) << (-shift - 1))) >> -shift);
  }
  return bits >> 63 ? -magnitude : magnitude;
}

inline Fixed
Plus(Fixed sum, Fixed addend)
{
  // As unsigned, whose overflow is defined.
  const auto result = static_cast<Fixed>(static_cast<Bits>(sum) + static_cast<Bits>(addend));
  return IsSum(result) ? result : None;
}

template <typename T>
void
AddTo(Fixed * sums, const T * values, std::size_t number, std::int64_t times)
{
  const double greatest = GreatestAddend / static_cast<double>(std::max<std::int64_t>(times, 1));
  for (std::size_t i = 0; i < number; ++i)
  {
    const double value = values[i];
    // Also false for what is no number.
    sums[i] = std::abs(value) < greatest ? Plus(sums[i], ToFixed(value) * times) : None;
  }
}

} // namespace

struct FixedPointSum::Implementation
{
  std::vector<Fixed>      sums;
  std::vector<std::mutex> locks;

  explicit Implementation(std::size_t size)
    : sums(size)
    , locks(size / ValuesPerLock + 1)
  {}

  template <typename T>
  void
  Add(std::size_t first, const T * values, std::size_t number, std::int64_t times)
  {
    while (number > 0)
    {
      const std::size_t                 part = std::min(number, ValuesPerLock - first % ValuesPerLock);
      const std::lock_guard<std::mutex> lock(locks[first / ValuesPerLock]);
      AddTo(sums.data() + first, values, part, times);
      first += part;
      values += part;
      number -= part;
    }
  }
};

FixedPointSum::FixedPointSum(std::size_t size)
  : m_Implementation(std::make_unique<Implementation>(size))
{}

FixedPointSum::~FixedPointSum() = default;

std::size_t
FixedPointSum::GetSize() const
{
  return m_Implementation->sums.size();
}

void
FixedPointSum::Clear()
{
  std::fill(m_Implementation->sums.begin(), m_Implementation->sums.end(), Fixed(0));
}

void
FixedPointSum::Add(std::size_t first, const float * values, std::size_t number, std::int64_t times)
{
  m_Implementation->Add(first, values, number, times);
}

void
FixedPointSum::Add(std::size_t first, const double * values, std::size_t number, std::int64_t times)
{
  m_Implementation->Add(first, values, number, times);
}

void
FixedPointSum::Add(const FixedPointSum & other)
{
  auto &       sums = m_Implementation->sums;
  const auto & others = other.m_Implementation->sums;
  for (std::size_t i = 0; i < sums.size(); ++i)
  {
    sums[i] = IsSum(sums[i]) && IsSum(others[i]) ? Plus(sums[i], others[i]) : None;
  }
}

std::vector<double>
FixedPointSum::GetValues() const
{
  std::vector<double> values;
  values.reserve(GetSize());
  for (const Fixed sum : m_Implementation->sums)
  {
    values.push_back(IsSum(sum) ? std::ldexp(static_cast<double>(sum), -FractionBits)
                                : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

std::size_t
FixedPointSum::GetBytes() const
{
  return GetSize() * sizeof(Fixed);
}

const void *
FixedPointSum::GetData() const
{
  return m_Implementation->sums.data();
}

void *
FixedPointSum::GetData()
{
  return m_Implementation->sums.data();
}

} // namespace gigapixel
