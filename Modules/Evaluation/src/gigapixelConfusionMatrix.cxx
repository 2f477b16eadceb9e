/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelConfusionMatrix.h"

#include <limits>
#include <numeric>

namespace gigapixel
{
namespace
{

double
Divide(std::int64_t part, std::int64_t whole)
{
  return whole == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(part) / static_cast<double>(whole);
}

} // namespace

ConfusionMatrix::ConfusionMatrix(int classes)
  : m_Classes(classes)
  , m_Counts(static_cast<std::size_t>(classes) * static_cast<std::size_t>(classes))
{}

void
ConfusionMatrix::Add(int truth, int predicted)
{
  ++m_Counts.at(static_cast<std::size_t>(truth) * m_Classes + predicted);
}

std::int64_t
ConfusionMatrix::GetCount(int truth, int predicted) const
{
  return m_Counts.at(static_cast<std::size_t>(truth) * m_Classes + predicted);
}

std::int64_t
ConfusionMatrix::GetTotal() const
{
  return std::accumulate(m_Counts.begin(), m_Counts.end(), std::int64_t{ 0 });
}

std::int64_t
ConfusionMatrix::GetActual(int c) const
{
  std::int64_t sum = 0;
  for (int other = 0; other < m_Classes; ++other)
  {
    sum += this->GetCount(c, other);
  }
  return sum;
}

std::int64_t
ConfusionMatrix::GetPredicted(int c) const
{
  std::int64_t sum = 0;
  for (int other = 0; other < m_Classes; ++other)
  {
    sum += this->GetCount(other, c);
  }
  return sum;
}

double
ConfusionMatrix::GetAccuracy() const
{
  std::int64_t right = 0;
  for (int c = 0; c < m_Classes; ++c)
  {
    right += this->GetCount(c, c);
  }
  return Divide(right, this->GetTotal());
}

double
ConfusionMatrix::GetBalancedAccuracy() const
{
  double       sum = 0;
  std::int64_t classes = 0;
  for (int c = 0; c < m_Classes; ++c)
  {
    if (this->GetActual(c) > 0)
    {
      sum += this->GetSensitivity(c);
      ++classes;
    }
  }
  return classes > 0 ? sum / static_cast<double>(classes) : std::numeric_limits<double>::quiet_NaN();
}

double
ConfusionMatrix::GetQuadraticKappa() const
{
  double observed = 0, expected = 0;
  for (int truth = 0; truth < m_Classes; ++truth)
  {
    for (int predicted = 0; predicted < m_Classes; ++predicted)
    {
      const double distance = static_cast<double>(truth - predicted) * (truth - predicted);
      observed += distance * static_cast<double>(this->GetCount(truth, predicted));
      expected += distance * static_cast<double>(this->GetActual(truth)) *
                  static_cast<double>(this->GetPredicted(predicted)) / static_cast<double>(this->GetTotal());
    }
  }
  return expected > 0 ? 1 - observed / expected : std::numeric_limits<double>::quiet_NaN();
}

double
ConfusionMatrix::GetSensitivity(int c) const
{
  return Divide(this->GetCount(c, c), this->GetActual(c));
}

double
ConfusionMatrix::GetSpecificity(int c) const
{
  const std::int64_t others = this->GetTotal() - this->GetActual(c);
  const std::int64_t taken = this->GetPredicted(c) - this->GetCount(c, c);
  return Divide(others - taken, others);
}

double
ConfusionMatrix::GetPrecision(int c) const
{
  return Divide(this->GetCount(c, c), this->GetPredicted(c));
}

double
ConfusionMatrix::GetF1(int c) const
{
  return Divide(2 * this->GetCount(c, c), this->GetActual(c) + this->GetPredicted(c));
}

} // namespace gigapixel
