/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "execute/gigapixelFixedPointSum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

using gigapixel::FixedPointSum;

namespace
{

std::vector<float>
MakeNumbers(std::size_t number, unsigned seed)
{
  std::mt19937       engine(seed);
  std::vector<float> values;
  for (std::size_t i = 0; i < number; ++i)
  {
    const int exponent = static_cast<int>(engine() % 60) - 40;
    values.push_back(static_cast<float>(std::ldexp(static_cast<double>(engine()) / 4294967296.0 - 0.5, exponent)));
  }
  return values;
}

bool
HaveSameBits(const FixedPointSum & a, const FixedPointSum & b)
{
  return a.GetBytes() == b.GetBytes() && std::memcmp(a.GetData(), b.GetData(), a.GetBytes()) == 0;
}

double
GetSum(const std::vector<double> & values)
{
  FixedPointSum sum(1);
  for (const double value : values)
  {
    sum.Add(0, &value, 1);
  }
  return sum.GetValue(0);
}

} // namespace

TEST(FixedPointSum, KeepsWhatFloatsHave)
{
  const std::vector<float> values = MakeNumbers(1000, 1);
  FixedPointSum            sum(values.size());
  sum.Add(0, values.data(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
  {
    // All digits of those from 2^-40 upwards; the nearest multiple of 2^-64 of smaller ones.
    const double error = std::abs(values[i]) >= std::ldexp(1.0, -40) ? 0.0 : std::ldexp(0.5, -64);
    EXPECT_LE(std::abs(sum.GetValue(i) - values[i]), error) << values[i];
  }
}

TEST(FixedPointSum, IsTheExactSum)
{
  EXPECT_EQ(GetSum({ 1e15, 1.0, -1e15 }), 1.0);
  const auto multiples = [](double value) { return std::round(std::ldexp(static_cast<long double>(value), 64)); };
  EXPECT_EQ(GetSum({ 0.1, 0.2, -0.3 }),
            static_cast<double>(std::ldexp(multiples(0.1) + multiples(0.2) - multiples(0.3), -64)));
  EXPECT_EQ(GetSum({ std::ldexp(1.0, -64), std::ldexp(1.0, -65), -std::ldexp(1.0, -66) }), std::ldexp(2.0, -64));
  EXPECT_EQ(GetSum({ -0.0, 5e-324 }), 0.0);
  EXPECT_EQ(GetSum(std::vector<double>(128, std::ldexp(1.0, 53))), std::ldexp(1.0, 60));
  // A long double has 64 digits: enough for all of these, so that its sum is exact as well.
  long double         exact = 0;
  std::vector<double> values;
  for (const float value : MakeNumbers(4000, 2))
  {
    values.push_back(std::ldexp(std::nearbyint(std::ldexp(value, 30)), -30));
    exact += values.back();
  }
  EXPECT_EQ(GetSum(values), static_cast<double>(exact));
}

TEST(FixedPointSum, DoesNotDependOnOrderOrThreads)
{
  constexpr std::size_t           Size = 70000; // more than one lock's
  std::vector<std::vector<float>> parts;
  for (unsigned i = 0; i < 24; ++i)
  {
    parts.push_back(MakeNumbers(Size, i));
  }
  FixedPointSum reference(Size);
  for (const auto & part : parts)
  {
    reference.Add(0, part.data(), Size);
  }
  std::mt19937 engine(3);
  for (const unsigned threads : { 1u, 4u })
  {
    std::shuffle(parts.begin(), parts.end(), engine);
    FixedPointSum            sum(Size);
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < threads; ++t)
    {
      workers.emplace_back([&, t] {
        for (std::size_t i = t; i < parts.size(); i += threads)
        {
          const std::size_t cut = 1000 * i + 1;
          sum.Add(cut, parts[i].data() + cut, Size - cut);
          sum.Add(0, parts[i].data(), cut);
        }
      });
    }
    for (std::thread & worker : workers)
    {
      worker.join();
    }
    EXPECT_TRUE(HaveSameBits(sum, reference)) << threads << " threads";
  }
}

TEST(FixedPointSum, MultiplesAreRepeatedSums)
{
  const std::vector<float> values = MakeNumbers(100, 7);
  FixedPointSum            once(values.size()), repeated(values.size());
  once.Add(0, values.data(), values.size(), 1000);
  for (int i = 0; i < 1000; ++i)
  {
    repeated.Add(0, values.data(), values.size());
  }
  EXPECT_TRUE(HaveSameBits(once, repeated));
}

TEST(FixedPointSum, AddsSums)
{
  const std::vector<float> a = MakeNumbers(100, 8), b = MakeNumbers(100, 9);
  FixedPointSum            both(100), first(100), second(100);
  both.Add(0, a.data(), a.size());
  both.Add(0, b.data(), b.size());
  first.Add(0, a.data(), a.size());
  second.Add(0, b.data(), b.size());
  first.Add(second);
  EXPECT_TRUE(HaveSameBits(first, both));
  first.Clear();
  EXPECT_TRUE(HaveSameBits(first, FixedPointSum(100)));
}

TEST(FixedPointSum, WhatIsNoNumberStaysNone)
{
  const double none = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  for (const double bad : { none, infinite, -infinite, 1e300, -1e300, std::ldexp(1.0, 54) })
  {
    EXPECT_TRUE(std::isnan(GetSum({ bad }))) << bad;
    EXPECT_TRUE(std::isnan(GetSum({ bad, 1.0, -1e15 }))) << bad;
    EXPECT_TRUE(std::isnan(GetSum({ -1.0, bad, -bad }))) << bad;
    FixedPointSum a(2), b(2), c(2);
    const double  values[] = { bad, 1.0 }, others[] = { bad, 2.0 };
    a.Add(0, values, 2);
    b.Add(0, others, 2);
    a.Add(b); // none and none is none
    EXPECT_TRUE(std::isnan(a.GetValue(0))) << bad;
    EXPECT_EQ(a.GetValue(1), 3.0);
    c.Add(a);
    EXPECT_TRUE(HaveSameBits(a, c)) << bad;
  }
}

TEST(FixedPointSum, TooGreatSumsAreNone)
{
  EXPECT_FALSE(std::isnan(GetSum(std::vector<double>(511, std::ldexp(1.0, 53)))));
  EXPECT_TRUE(std::isnan(GetSum(std::vector<double>(512, std::ldexp(1.0, 53)))));
  EXPECT_TRUE(std::isnan(GetSum(std::vector<double>(100000, std::ldexp(1.0, 53)))));
  const double  great = std::ldexp(1.0, 40);
  FixedPointSum sum(1);
  sum.Add(0, &great, 1, std::int64_t(1) << 20);
  EXPECT_TRUE(std::isnan(sum.GetValue(0)));
}
