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

/** How a type of numbers keeps its sign, exponent and digits in bits. */
template <typename T>
struct Layout;

template <>
struct Layout<float>
{
  using Word = std::uint32_t;
  static constexpr int DigitBits = 23; ///< without the leading one
  static constexpr int ExponentBits = 8;
  static constexpr int ExponentOfOne = 127;
};

template <>
struct Layout<double>
{
  using Word = std::uint64_t;
  static constexpr int DigitBits = 52;
  static constexpr int ExponentBits = 11;
  static constexpr int ExponentOfOne = 1023;
};

/** The number as a multiple of 2^-64, if its magnitude is below GreatestAddend; half of one is rounded away from 0. */
template <typename T>
inline Fixed
ToFixed(T number)
{
  using L = Layout<T>;
  using Word = typename L::Word;
  constexpr Word Leading = Word(1) << L::DigitBits;
  Word           bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  const int exponent = static_cast<int>(bits >> L::DigitBits) & ((1 << L::ExponentBits) - 1);
  // Numbers that have no leading one, and get it here, are far below 2^-64.
  const std::uint64_t digits = (bits & (Leading - 1)) | Leading;
  const int           shift = exponent - L::ExponentOfOne - L::DigitBits + FractionBits;
  Bits                magnitude = 0;
  if (shift >= 0)
  {
    magnitude = Bits(digits) << (shift & 127); // greater ones are not added, but come here as well
  }
  else if (shift >= -L::DigitBits - 1)
  {
    magnitude = (digits + (std::uint64_t(1) << (-shift - 1))) >> -shift;
  }
  const Bits negative = -static_cast<Bits>(bits >> (L::DigitBits + L::ExponentBits)); // all ones, or none
  return static_cast<Fixed>((magnitude ^ negative) - negative);
}

inline Fixed
Plus(Fixed sum, Fixed addend)
{
  // As unsigned, whose overflow is defined.
  const auto result = static_cast<Fixed>(static_cast<Bits>(sum) + static_cast<Bits>(addend));
  return IsSum(result) ? result : None;
}

template <bool Once, typename T>
void
AddTo(Fixed * sums, const T * values, std::size_t number, std::int64_t times)
{
  const T greatest = static_cast<T>(GreatestAddend / static_cast<double>(std::max<std::int64_t>(times, 1)));
  for (std::size_t i = 0; i < number; ++i)
  {
    // Also false for what is no number.
    const bool  adds = std::abs(values[i]) < greatest;
    const Fixed addend = ToFixed(values[i]);
    const Fixed sum =
      Plus(sums[i], Once ? addend : static_cast<Fixed>(static_cast<Bits>(addend) * static_cast<Bits>(times)));
    sums[i] = adds ? sum : None;
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
      const auto                        addTo = times == 1 ? &AddTo<true, T> : &AddTo<false, T>;
      addTo(sums.data() + first, values, part, times);
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
  for (std::size_t first = 0; first < sums.size(); first += ValuesPerLock)
  {
    const std::lock_guard<std::mutex> lock(m_Implementation->locks[first / ValuesPerLock]);
    for (std::size_t i = first; i < std::min(first + ValuesPerLock, sums.size()); ++i)
    {
      sums[i] = IsSum(sums[i]) && IsSum(others[i]) ? Plus(sums[i], others[i]) : None;
    }
  }
}

void
FixedPointSum::GetValues(std::size_t first, std::size_t number, double * values) const
{
  constexpr double Unit = 0x1p-64;
  static_assert(FractionBits == 64);
  for (std::size_t i = 0; i < number; ++i)
  {
    const Fixed sum = m_Implementation->sums[first + i];
    const auto  lower = static_cast<std::int64_t>(sum);
    // Most are below 2^63, which the processor converts, to the same double, in place of a function.
    const double value = lower == sum ? static_cast<double>(lower) : static_cast<double>(sum);
    values[i] = IsSum(sum) ? value * Unit : std::numeric_limits<double>::quiet_NaN();
  }
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
