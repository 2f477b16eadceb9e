/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelWorkers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <vector>

using gigapixel::Workers;

TEST(Workers, TakesEveryResultInOrder)
{
  for (const int threads : { 1, 2, 5 })
  {
    Workers          workers(threads);
    std::vector<int> results(workers.GetNumberOfPlaces());
    std::atomic<int> ahead{ 0 }, taken{ 0 };
    for (int run = 0; run < 3; ++run)
    {
      taken = 0;
      std::vector<int> order;
      EXPECT_TRUE(workers.Run(
        1000,
        [&](int worker, std::int64_t item) {
          EXPECT_LT(worker, threads);
          if (item - taken >= workers.GetNumberOfPlaces())
          {
            ++ahead;
          }
          results[item % results.size()] = static_cast<int>(item);
        },
        [&](std::int64_t item) {
          order.push_back(results[item % results.size()]);
          ++taken;
          return true;
        }));
      for (int i = 0; i < 1000; ++i)
      {
        ASSERT_EQ(order.at(i), i);
      }
    }
    EXPECT_EQ(ahead, 0);
  }
}

TEST(Workers, PassesOnExceptionsAndWorksOn)
{
  Workers    workers(3);
  const auto nothing = [](int, std::int64_t) {};
  EXPECT_THROW(workers.Run(
                 100,
                 [](int, std::int64_t item) {
                   if (item == 40)
                   {
                     throw std::out_of_range("computed");
                   }
                 },
                 [](std::int64_t) { return true; }),
               std::out_of_range);
  EXPECT_THROW(
    workers.Run(
      100, nothing, [](std::int64_t item) -> bool { return item < 3 ? true : throw std::length_error("taken"); }),
    std::length_error);
  int taken = 0;
  EXPECT_FALSE(workers.Run(100, nothing, [&](std::int64_t) { return ++taken < 10; }));
  EXPECT_EQ(taken, 10);
  EXPECT_TRUE(workers.Run(0, nothing, [](std::int64_t) { return false; }));
  EXPECT_TRUE(workers.Run(7, nothing, [](std::int64_t) { return true; }));
}

TEST(Workers, EachValueIsInOnePart)
{
  for (const int threads : { 1, 3 })
  {
    Workers workers(threads);
    for (const std::size_t size : { 0u, 1u, 65536u, 65537u, 200001u })
    {
      std::vector<int> visits(size);
      workers.ForEachPart(size, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
        {
          ++visits[i];
        }
      });
      EXPECT_EQ(std::count(visits.begin(), visits.end(), 1), static_cast<std::ptrdiff_t>(size)) << threads;
    }
    EXPECT_THROW(workers.ForEachPart(100000, [](std::size_t, std::size_t) { throw std::length_error("computed"); }),
                 std::length_error);
  }
}
