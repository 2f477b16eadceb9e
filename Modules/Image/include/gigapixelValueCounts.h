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
 * \brief How often each value occurs. Mean, deviation and percentiles of integers follow from that exactly, whatever
 * the order of the samples. As long as they take fewer bytes than counts do, the samples themselves are kept.
 *
 * Floats have too many values. Up to 65536 samples are kept. Of more, those count together that share their sign, their
 * exponent and 7 bits of their fraction: mean and deviation go on to be of all samples, and percentiles are off by less
 * than 1/128 of their value. Samples that are not finite do not count. */
class GigapixelImage_EXPORT ValueCounts
{
public:
  static constexpr std::size_t Floats = 0; ///< in place of a number of values

  /** \param values how many a sample may have: 256, 65536 or Floats */
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
  /** Floats that are alike. */
  struct Bucket
  {
    std::uint64_t count{ 0 };
    double        sum{ 0 };
  };

  void MakeRoom(std::size_t coming);
  void AddFloat(float sample);
  void AddFloats(const ValueCounts & other);

  std::size_t                m_Values;
  std::vector<std::uint16_t> m_Few;
  std::vector<std::uint64_t> m_Counts; ///< by value; empty as long as samples are few
  std::vector<float>         m_FewFloats;
  std::vector<Bucket>        m_Buckets;      ///< in the order of their floats; empty as long as samples are few
  double                     m_Mean{ 0 };    ///< of all floats
  double                     m_Squares{ 0 }; ///< of their distances from the mean
  std::uint64_t              m_Number{ 0 };  ///< of floats
};

extern template GigapixelImage_EXPORT void ValueCounts::Add(const std::uint8_t *, std::size_t, std::size_t);
extern template GigapixelImage_EXPORT void ValueCounts::Add(const std::uint16_t *, std::size_t, std::size_t);
extern template GigapixelImage_EXPORT void ValueCounts::Add(const float *, std::size_t, std::size_t);

} // namespace gigapixel

#endif
