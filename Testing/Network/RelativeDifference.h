/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef RelativeDifference_h
#define RelativeDifference_h

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace gigapixel
{
namespace test
{

/** ||a - b|| / ||b|| of two gradients of one length. */
inline double
GetRelativeDifference(const std::vector<double> & a, const std::vector<double> & b)
{
  double difference = 0, norm = 0;
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
  {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

} // namespace test
} // namespace gigapixel

#endif
