/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Signals to a process that runs a command among other things.
#include "gigapixelInterruption.h"
#include "gigapixelRunCommand.h"

#include <gtest/gtest.h>

#include <csignal>

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

TEST(InterruptionScope, EndsTheProcessWhileItWaitsForOthers)
{
  const auto wait = [] {
    const InterruptionScope scope;
    const EndAtInterruption guard;
    std::raise(SIGINT);
  };
  EXPECT_EXIT(wait(), testing::ExitedWithCode(WasInterrupted), "Interrupted");
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

// Else a file that is read meanwhile would fail, and be told of as damaged: POSIX has a read go on by this flag alone.
TEST(InterruptionScope, ReadingGoesOn)
{
  std::signal(SIGTERM, Hear);
  const InterruptionScope scope;
  struct sigaction        now
  {
  };
  ASSERT_EQ(sigaction(SIGTERM, nullptr, &now), 0);
  EXPECT_TRUE(now.sa_handler != Hear && (now.sa_flags & SA_RESTART) != 0);
}
