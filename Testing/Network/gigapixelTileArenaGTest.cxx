/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "execute/torch/gigapixelTileArena.h"

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

using namespace gigapixel::torchmodule;

namespace
{

constexpr std::int64_t MiB = std::int64_t{ 1 } << 20;

/** \class TileInFlight
 * \brief Holds one map in an arena, by a thread of its own, as long as it lives. */
class TileInFlight
{
public:
  TileInFlight(TileArenas & arenas, std::int64_t bytes)
    : m_Thread([&arenas, bytes, this] {
      const TileArenas::Scope memory(arenas, bytes);
      const at::Tensor        map = at::empty({ bytes - 4096 }, at::kByte).fill_(1);
      m_Begun.set_value();
      m_End.get_future().wait();
    })
  {
    m_Begun.get_future().wait();
  }

  ~TileInFlight()
  {
    m_End.set_value();
    m_Thread.join();
  }

  TileInFlight(const TileInFlight &) = delete;
  TileInFlight & operator=(const TileInFlight &) = delete;

private:
  std::promise<void> m_Begun;
  std::promise<void> m_End;
  std::thread        m_Thread;
};

} // namespace

TEST(TileArenas, KeepWhatTilesNeedTogether)
{
  TileArenas arenas;
  for (int repetition = 0; repetition < 3; ++repetition)
  {
    {
      const TileInFlight large(arenas, 100 * MiB), small(arenas, 10 * MiB);
      EXPECT_NEAR(arenas.GetKept(), 110 * MiB, 4 * MiB);
    }
    const TileInFlight small(arenas, 10 * MiB), large(arenas, 100 * MiB);
    EXPECT_NEAR(arenas.GetKept(), 110 * MiB, 4 * MiB);
  }
}

// The large tile finds the arena that has been large in use by a small one.
TEST(TileArenas, GiveBackWhatASmallTileDoesNotNeed)
{
  TileArenas arenas;
  {
    const TileInFlight large(arenas, 100 * MiB), small(arenas, 10 * MiB);
  }
  auto               first = std::make_unique<TileInFlight>(arenas, 10 * MiB);
  const TileInFlight second(arenas, 10 * MiB);
  EXPECT_NEAR(arenas.GetKept(), 110 * MiB, 4 * MiB); // what is kept takes no time when it is needed again
  first.reset();
  const TileInFlight large(arenas, 100 * MiB);
  EXPECT_NEAR(arenas.GetKept(), 110 * MiB, 4 * MiB);
}

TEST(TileArenas, KeepAnEighthMoreThanWasEstimated)
{
  TileArenas arenas;
  for (int repetition = 0; repetition < 2; ++repetition)
  {
    const TileArenas::Scope memory(arenas, 100 * MiB);
    const at::Tensor        map = at::empty({ 110 * MiB }, at::kByte).fill_(1);
    EXPECT_NEAR(arenas.GetKept(), 110 * MiB, 4 * MiB);
  }
  EXPECT_NEAR(arenas.GetKept(), 110 * MiB, 4 * MiB);
}
