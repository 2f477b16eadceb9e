/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelRanks.h"
#include "gigapixelModuleFile.h"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace gigapixel
{

std::shared_ptr<Ranks>
Ranks::Join(const Launch & launch)
{
  if (launch.ranks == 1)
  {
    return std::make_shared<Ranks>();
  }
  using JoinFunction = Ranks * (*)(const Launch *);
  // What goes wrong is said by our own sentences; LibTorch reads this when it is loaded.
  setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0);
  void * join = nullptr;
  try
  {
    join = FindInModule("GigapixelRanks", "GigapixelJoinRanks");
  }
  catch (const std::runtime_error & error)
  {
    throw std::runtime_error("a launcher started " + std::to_string(launch.ranks) +
                             " ranks, but the module that connects them does not load (" + error.what() +
                             "): build with Gloo's headers (Debian: libgloo-dev), or start one process");
  }
  return std::shared_ptr<Ranks>(reinterpret_cast<JoinFunction>(join)(&launch));
}

void
Ranks::Broadcast(int from, void * bytes, std::size_t size)
{
  // A binomial tree: in each round, everyone who has the bytes passes them on to one who has not.
  const int ranks = GetNumberOfRanks();
  const int place = (GetRank() - from + ranks) % ranks;
  for (int reach = 1; reach < ranks; reach *= 2)
  {
    if (place < reach && place + reach < ranks)
    {
      Send((place + reach + from) % ranks, bytes, size);
    }
    else if (place >= reach && place < 2 * reach)
    {
      Receive((place - reach + from) % ranks, bytes, size);
    }
  }
}

void
Ranks::Broadcast(std::string & text)
{
  std::uint64_t size = text.size();
  Broadcast(0, &size, sizeof(size));
  text.resize(size);
  Broadcast(0, text.data(), size);
}

} // namespace gigapixel
