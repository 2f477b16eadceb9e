/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// MeasureRanks: one rank of a job; rank 0 prints how long the sum of a network of 4492 parameters takes from one rank
// to the next, and from one to all, as "hop_us <us> broadcast_us <us>": the least of ten rounds.
#include "gigapixelJoinRanks.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <vector>

using namespace gigapixel;

namespace
{

constexpr int Repetitions = 100;
constexpr int Rounds = 10;

template <typename TWork>
double
GetMicroseconds(const TWork & work)
{
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < Rounds; ++round)
  {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < Repetitions; ++i)
    {
      work();
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    least = std::min(least, time.count() / Repetitions);
  }
  return least;
}

} // namespace

int
main()
{
  const auto          ranks = JoinRanks(Launch::Find());
  const int           rank = ranks->GetRank(), number = ranks->GetNumberOfRanks();
  std::vector<double> sum(4495);
  const std::size_t   bytes = sum.size() * sizeof(double);
  const double        ring = GetMicroseconds([&] {
    if (rank > 0)
    {
      ranks->Receive(rank - 1, sum.data(), bytes);
    }
    ranks->Send((rank + 1) % number, sum.data(), bytes);
    if (rank == 0)
    {
      ranks->Receive(number - 1, sum.data(), bytes);
    }
  });
  const double        broadcast = GetMicroseconds([&] { ranks->Broadcast(0, sum.data(), bytes); });
  if (rank == 0)
  {
    std::cout << "hop_us " << ring / number << " broadcast_us " << broadcast << std::endl;
  }
  return 0;
}
