/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFixedPointSum_h
#define gigapixelFixedPointSum_h

#include "GigapixelNetworkExport.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace gigapixel
{

/** \class FixedPointSum
 * \brief Sums of many numbers whose bits do not depend on the order in which they are added: by any number of threads
 * and ranks, tiles in any order.
 *
 * Each number is rounded to a whole multiple of 2^-64, and these are added exactly, in 128 bits. A float's 24 digits
 * are all kept from 2^-40 upwards; sums may come to 2^62. One object for all threads of a process: 16 bytes for each
 * sum, however many threads there are. */
class GigapixelNetwork_EXPORT FixedPointSum
{
public:
  static constexpr std::int64_t BytesOfSum = 16;

  explicit FixedPointSum(std::size_t size);
  ~FixedPointSum();

  std::size_t GetSize() const;

  void Clear();

  /** Adds `times` times the values to the sums from `first` on. May be called by several threads at once. A number that
   * is not finite, or too great, makes the sums it belongs to no numbers. */
  void Add(std::size_t first, const float * values, std::size_t number, std::int64_t times = 1);
  void Add(std::size_t first, const double * values, std::size_t number, std::int64_t times = 1);

  /** The same for sums of as many numbers. */
  void Add(const FixedPointSum & other);

  /** Sums from `first` on, rounded; NaN for what is none. */
  void GetValues(std::size_t first, std::size_t number, double * values) const;

  double
  GetValue(std::size_t index) const
  {
    double value = 0;
    GetValues(index, 1, &value);
    return value;
  }

  // As a message between ranks: GetBytes() bytes.
  std::size_t  GetBytes() const;
  const void * GetData() const;
  void *       GetData();

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif
