/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelPercentiles_h
#define gigapixelPercentiles_h

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gigapixel
{

/** \class Percentiles
 * \brief Two percentiles of the values of one channel, in three passes over them: counted by the first bits of their
 * numbers, and then by the next bits of those alone among which a percentile lies. Tables take 64 KiB. */
class Percentiles
{
public:
  static constexpr int Passes = 3;

  /** \param low,high percentages */
  Percentiles(double low, double high)
    : m_Percentages{ low, high }
    , m_Tables(1)
  {}

  void
  Count(float value)
  {
    const std::uint64_t number = std::uint64_t{ GetOrder(value) } << 1; // of three times as many bits as a pass has
    const std::uint64_t start = number >> (m_Shift + Bits);
    const auto          is = [start](const Table & table) { return table.start == start; };
    if (const auto table = std::find_if(m_Tables.begin(), m_Tables.end(), is); table != m_Tables.end())
    {
      ++table->counts[number >> m_Shift & (Places - 1)];
    }
  }

  void EndPass();

  /** Whether there was no value. */
  bool
  IsEmpty() const
  {
    return m_Count == 0;
  }

  /** \param which 0: the lower one, 1: the upper one */
  double Get(std::size_t which) const;

private:
  static constexpr int         Bits = 11;
  static constexpr std::size_t Places = 1 << Bits;

  /** A number for each float, in their order. */
  static std::uint32_t
  GetOrder(float value)
  {
    std::uint32_t bits = 0;
    value = value == 0 ? 0.0f : value; // -0 is 0
    std::memcpy(&bits, &value, sizeof(bits));
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
  }

  /** The values whose numbers have these first bits, by the next ones. */
  struct Table
  {
    std::uint64_t             start{ 0 };
    std::vector<std::int64_t> counts = std::vector<std::int64_t>(Places);
  };

  /** A value of those whose numbers have these first bits. */
  struct Rank
  {
    std::uint64_t start{ 0 };
    std::int64_t  before{ 0 }; ///< how many of them are smaller, or stand before it
  };

  /** Among all values in their order. */
  double
  GetPlace(std::size_t which) const
  {
    return static_cast<double>(m_Count - 1) * m_Percentages[which] / 100;
  }

  void FindRanks();

  /** \return the first bits of its number, and the next ones */
  std::uint64_t Narrow(Rank & rank) const;

  std::array<double, 2> m_Percentages;
  std::array<Rank, 4>   m_Ranks{}; ///< below and above each percentage
  std::vector<Table>    m_Tables;
  std::int64_t          m_Count{ 0 };
  int                   m_Shift{ 2 * Bits };
};

} // namespace gigapixel

#endif
