/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// A process that runs one command after another: what a command leaves behind.
#include "gigapixelRunCommand.h"

#include "Doubt.h"
#include "gigapixelUsableCores.h"

#include "itkMultiThreaderBase.h"
#include "itkObjectFactoryBase.h"
#include "itkOutputWindow.h"
#include "itkWholeSlideImageIO.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using namespace gigapixel;
using namespace gigapixel::application;

namespace
{
/** Counts what it is shown, and keeps the window that ITK has meanwhile. */
class Counter : public FrontEnd
{
public:
  void
  ShowProgress(double, const std::string &) override
  {}
  void
  EndProgress(const std::string &) override
  {}
  void
  ShowMessage(const std::string &) override
  {}
  void
  ShowDiagnostic(const Diagnostic &) override
  {
    ++diagnostics;
  }
  void
  ShowFailures(const std::string &) override
  {}
  void
  ShowResult(const std::string &, const std::string & json) override
  {
    window = itk::OutputWindow::GetInstance();
    cores = CountUsableCores();
    cacheLimit = itk::WholeSlideImageIO::GetTileCacheLimit();
    window->DisplayText("a warning");
    result = json;
  }

  int                        diagnostics{ 0 };
  itk::OutputWindow::Pointer window;
  std::size_t                cacheLimit{ 0 };
  int                        cores{ 0 };
  std::string                result;
};

int
RunWords(const std::vector<std::string> & words, FrontEnd & frontEnd)
{
  const std::vector<std::string> others(words.begin() + 1, words.end());
  return RunCommand(ArgumentValues::Parse(*FindCommand(words.front()), others), frontEnd);
}

const std::vector<std::string> networks{ "networks", "--threads", "1" };
} // namespace

TEST(RunCommand, RegistersFormatsOnce)
{
  Counter frontEnd;
  ASSERT_EQ(RunWords(networks, frontEnd), Success);
  const std::size_t factories = itk::ObjectFactoryBase::GetRegisteredFactories().size();
  ASSERT_EQ(RunWords(networks, frontEnd), Success);
  EXPECT_EQ(itk::ObjectFactoryBase::GetRegisteredFactories().size(), factories);
}

TEST(RunCommand, LeavesITKAsItWas)
{
  const auto window = itk::OutputWindow::GetInstance();
  const auto threads = itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads();
  const auto most = itk::MultiThreaderBase::GetGlobalMaximumNumberOfThreads();
  Counter    frontEnd;
  ASSERT_EQ(RunWords(networks, frontEnd), Success);
  EXPECT_NE(frontEnd.window, window);
  EXPECT_EQ(itk::OutputWindow::GetInstance(), window);
  EXPECT_EQ(itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads(), threads);
  EXPECT_EQ(itk::MultiThreaderBase::GetGlobalMaximumNumberOfThreads(), most);
}

// Another thread may have found the window just before the command ends.
TEST(RunCommand, WindowOutlivesTheFrontEnd)
{
  auto frontEnd = std::make_unique<Counter>();
  ASSERT_EQ(RunWords(networks, *frontEnd), Success);
  EXPECT_EQ(frontEnd->diagnostics, 1);
  const auto window = frontEnd->window;
  frontEnd.reset();
  testing::internal::CaptureStderr();
  window->DisplayText("a late warning");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "a late warning");
}

TEST(RunCommand, HasNoDoubtOfAFailedCommand)
{
  KeepDoubt({ "W-DOUBT-MASK-EMPTY", 0, 0, "other.tif" });
  Counter frontEnd;
  ASSERT_EQ(RunWords({ "plan", "--size", "1024x1024", "--threads", "1" }, frontEnd), Success);
  EXPECT_EQ(frontEnd.result.find("other.tif"), std::string::npos) << frontEnd.result;
}

TEST(RunCommand, BoundsTheTileCacheMeanwhile)
{
  const std::size_t limit = itk::WholeSlideImageIO::GetTileCacheLimit();
  Counter           frontEnd;
  const int         code = RunWords({ "plan", "--size", "4096x4096", "--memory", "256M", "--threads", "1" }, frontEnd);
  ASSERT_EQ(code, Success);
  EXPECT_LT(frontEnd.cacheLimit, limit);
  EXPECT_EQ(itk::WholeSlideImageIO::GetTileCacheLimit(), limit);
}

TEST(RunCommand, KeepsToTheCoresOfItsRankMeanwhile)
{
  const int cores = CountUsableCores();
  if (cores < 2)
  {
    GTEST_SKIP() << "one core only";
  }
  for (const char * const variable : { "WORLD_SIZE", "LOCAL_WORLD_SIZE" })
  {
    setenv(variable, "2", 1);
  }
  for (const char * const variable : { "RANK", "LOCAL_RANK" })
  {
    setenv(variable, "0", 1);
  }
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", "29500", 1);
  Counter   frontEnd;
  const int code = RunWords(networks, frontEnd);
  for (const char * const variable :
       { "WORLD_SIZE", "LOCAL_WORLD_SIZE", "RANK", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT" })
  {
    unsetenv(variable);
  }
  ASSERT_EQ(code, Success);
  EXPECT_EQ(frontEnd.cores, cores / 2);
  EXPECT_EQ(CountUsableCores(), cores);
}
