/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Signals to a process that runs a command among other things.
#include "gigapixelInterruption.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

using namespace gigapixel::application;

namespace
{
volatile std::sig_atomic_t heard = 0;

extern "C" void
Hear(int)
{
  heard = heard + 1;
}
} // namespace

TEST(InterruptionScope, HandsTheSignalOn)
{
  struct sigaction own
  {
  };
  own.sa_handler = Hear;
  own.sa_flags = SA_NODEFER;
  ASSERT_EQ(sigaction(SIGTERM, &own, nullptr), 0);
  {
    const InterruptionScope scope;
    std::raise(SIGTERM);
    EXPECT_EQ(heard, 0);
    EXPECT_TRUE(IsInterruptionRequested());
  }
  ForgetInterruption();
  EXPECT_EQ(heard, 1);
  EXPECT_FALSE(IsInterruptionRequested());
  struct sigaction now
  {
  };
  ASSERT_EQ(sigaction(SIGTERM, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, &Hear);
  EXPECT_NE(now.sa_flags & SA_NODEFER, 0);
}

TEST(InterruptionScope, ForkedProcessesHaveTheHandlersBefore)
{
  std::signal(SIGTERM, SIG_DFL);
  int status = 0;
  {
    const InterruptionScope scope;
    const pid_t             child = fork();
    if (child == 0)
    {
      std::raise(SIGTERM);
      _exit(0);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_FALSE(IsInterruptionRequested());
}

// Else a file that is read meanwhile would fail, and be told of as damaged.
TEST(InterruptionScope, ReadingGoesOn)
{
  std::signal(SIGTERM, Hear);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  char letter = 0;
  {
    const InterruptionScope scope;
    const auto              reader = pthread_self();
    std::thread             other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      pthread_kill(reader, SIGTERM);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      EXPECT_EQ(write(ends[1], "a", 1), 1);
    });
    EXPECT_EQ(read(ends[0], &letter, 1), 1);
    other.join();
    EXPECT_TRUE(IsInterruptionRequested());
  }
  ForgetInterruption();
  EXPECT_EQ(letter, 'a');
  close(ends[0]);
  close(ends[1]);
}
