/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelValueCounts_h
#define gigapixelValueCounts_h

#include "GigapixelImageExport.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gigapixel
{

/** What a set of samples is like. Without samples all figures are NaN. */
struct ValueSummary
{
  static constexpr std::array<int, 5> Percents{ { 5, 25, 50, 75, 95 } }; ///< which percentiles are computed

  std::uint64_t                       count{ 0 };     ///< number of samples
  double                              mean{ 0 };      ///< of all samples
  double                              deviation{ 0 }; ///< standard deviation of these samples: divided by their number
  std::array<double, Percents.size()> percentiles{};  ///< of Percents; between two samples linear
};

/** \class ValueCounts
 * \brief How often each value occurs. Mean, deviation and percentiles follow from that exactly, whatever the order of
 * the samples. As long as there are fewer samples than possible values, the samples themselves are kept: 2 bytes each.
 */
class GigapixelImage_EXPORT ValueCounts
{
public:
  /** \param values how many a sample may have: 256 or 65536 */
  explicit ValueCounts(std::size_t values)
    : m_Values(values)
  {}

  /** Adds \a count samples, of which each lies \a stride behind the one before. Each is below the number of values. */
  template <typename TSample>
  void Add(const TSample * samples, std::size_t count, std::size_t stride = 1);

  /** \param other of as many values */
  void Add(const ValueCounts & other);

  ValueSummary Summarize() const; ///< mean, deviation and percentiles of all samples so far

private:
  void MakeRoom(std::size_t coming);

  std::size_t                m_Values;
  std::vector<std::uint16_t> m_Few;
  std::vector<std::uint64_t> m_Counts; ///< by value; empty as long as samples are few
};

extern template GigapixelImage_EXPORT void ValueCounts::Add(const std::uint8_t *, std::size_t, std::size_t);
extern template GigapixelImage_EXPORT void ValueCounts::Add(const std::uint16_t *, std::size_t, std::size_t);

} // namespace gigapixel

#endif
