/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// OpenSlide's process: what becomes of a slide some of whose tiles end it, of its process, and of ours. Pixels are
// compared with OpenSlide's own, exactly.
#include "OpenSlideTesting.h"
#include "ReaderTesting.h"

#include "itkMultiThreaderBase.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gigapixel_test;

namespace
{

constexpr std::uint32_t tile = 256; // of the grid that OpenSlide is asked for, where the file's tiles are of 128

/** An OpenSlide that runs into the troubles (see TroubledOpenSlide.cxx), as long as this is there. */
class Trouble
{
public:
  explicit Trouble(const std::string & what)
  {
    std::remove(m_File.c_str());
    setenv("GIGAPIXEL_OPENSLIDE", TROUBLED_OPENSLIDE, 1);
    setenv("GIGAPIXEL_TROUBLE", what.c_str(), 1);
    setenv("GIGAPIXEL_TROUBLES", m_File.c_str(), 1);
  }
  Trouble(const Trouble &) = delete;
  Trouble & operator=(const Trouble &) = delete;
  ~Trouble()
  {
    unsetenv("GIGAPIXEL_OPENSLIDE");
    unsetenv("GIGAPIXEL_TROUBLE");
    unsetenv("GIGAPIXEL_TROUBLES");
  }

  /** How often it has happened. */
  std::ptrdiff_t
  Count() const
  {
    std::ifstream      file(m_File);
    std::ostringstream text;
    text << file.rdbuf();
    const std::string lines = text.str();
    return std::count(lines.begin(), lines.end(), '\n');
  }

private:
  const std::string m_File = TemporaryFile("troubles.txt");
};

/** The children that we have, be they alive or to be waited for. */
std::vector<pid_t>
GetChildren()
{
  std::vector<pid_t> children;
  std::ifstream      file("/proc/self/task/" + std::to_string(getpid()) + "/children");
  for (pid_t child = 0; file >> child;)
  {
    children.push_back(child);
  }
  return children;
}

/** One tile of level 0; the sentence in which it is refused, or "other pixels" where they are not OpenSlide's. */
std::string
ReadTile(const itk::WholeSlideImageIO & io, const Picture & whole, std::uint32_t column, std::uint32_t row)
{
  const std::uint32_t        left = column * tile;
  const std::uint32_t        top = row * tile;
  const std::uint32_t        width = std::min(tile, whole.width - left);
  const std::uint32_t        height = std::min(tile, whole.height - top);
  std::vector<unsigned char> pixels(std::size_t{ width } * height * 3);
  const std::string failure = GetFailure([&] { io.ReadRegion(0, left, top, width, height, 3, pixels.data()); });
  for (std::uint32_t y = 0; failure.empty() && y < height; ++y)
  {
    if (!std::equal(pixels.begin() + std::size_t{ y } * width * 3,
                    pixels.begin() + std::size_t{ y + 1 } * width * 3,
                    whole.pixels.begin() + (std::size_t{ top + y } * whole.width + left) * 3))
    {
      return "other pixels";
    }
  }
  return failure;
}

std::string
Refusal(const std::string & path, std::uint32_t column, std::uint32_t row, const std::string & what)
{
  return path + ": the tile at " + std::to_string(column) + ',' + std::to_string(row) +
         " of level 0 cannot be decoded: " + what +
         "; get the file again from where it came, or leave that region out.";
}

} // namespace

TEST(WholeSlideImageIOOpenSlideProcess, TilesThatEndItAreRefusedAndAllOthersAreRead)
{
  const std::string path = WriteTrestle("fatal-tiles.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const Trouble     trouble("crash 300,10;memory 700,300;exit 1190,790");
  const auto        io = OpenSlideFile(path);
  for (std::uint32_t row = 0; row < 4; ++row)
  {
    for (std::uint32_t column = 0; column < 5; ++column)
    {
      const bool        isOne = (column == 1 && row == 0) || (column == 4 && row == 3);
      const bool        isOther = column == 2 && row == 1;
      const std::string refusal = isOne ? Refusal(path, column, row, "OpenSlide crashes on it")
                                  : isOther
                                    ? Refusal(path, column, row, "OpenSlide takes more than 1 GiB of memory for it")
                                    : "";
      EXPECT_EQ(ReadTile(*io, whole, column, row), refusal) << column << ',' << row;
    }
  }
  EXPECT_TRUE(GetChildren().empty()); // the last one has ended it
}

TEST(WholeSlideImageIOOpenSlideProcess, TilesThatEndItAreNotTriedAgain)
{
  const std::string path = WriteTrestle("fatal-tile.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const Trouble     trouble("crash 300,10");
  const auto        io = OpenSlideFile(path);
  EXPECT_EQ(ReadTile(*io, whole, 0, 0), "");
  for (unsigned i = 0; i < 4; ++i)
  {
    EXPECT_EQ(ReadTile(*io, whole, 1, 0), Refusal(path, 1, 0, "OpenSlide crashes on it"));
    EXPECT_EQ(ReadTile(*io, whole, i, 1), "");
  }
  EXPECT_EQ(trouble.Count(), 2); // the second time in a process that has read nothing else
}

TEST(WholeSlideImageIOOpenSlideProcess, OfManyThreadsThoseWithOtherTilesReadThem)
{
  const std::string path = WriteTrestle("fatal-tiles-threads.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const Trouble     trouble("crash 300,10;crash 600,700;crash 1100,300");
  const auto        io = OpenSlideFile(path);
  const auto        threads = itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads();
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(8);
  const auto sentences = io->FindUndecodableTiles(0, 0, 800);
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
  ASSERT_EQ(sentences.size(), 3u);
  EXPECT_EQ(sentences[0], Refusal(path, 1, 0, "OpenSlide crashes on it"));
  EXPECT_EQ(sentences[1], Refusal(path, 4, 1, "OpenSlide crashes on it"));
  EXPECT_EQ(sentences[2], Refusal(path, 2, 2, "OpenSlide crashes on it"));
  for (std::uint32_t number = 0; number < 20; ++number)
  {
    if (number != 1 && number != 9 && number != 12)
    {
      EXPECT_EQ(ReadTile(*io, whole, number % 5, number / 5), "") << number;
    }
  }
}

TEST(WholeSlideImageIOOpenSlideProcess, EndsWithTheSlide)
{
  const std::string path = WriteTrestle("process-ends.tif");
  ASSERT_TRUE(GetChildren().empty());
  auto io = OpenSlideFile(path);
  ASSERT_EQ(GetChildren().size(), 1u);
  EXPECT_EQ(getpgid(GetChildren().front()), GetChildren().front()); // the keyboard's interruption is not for it
  io = nullptr;
  EXPECT_TRUE(GetChildren().empty());
  EXPECT_FALSE(itk::WholeSlideImageIO::GetOpenSlideVersion().empty());
  EXPECT_TRUE(GetChildren().empty());
}

TEST(WholeSlideImageIOOpenSlideProcess, IsStartedAnewWhereSomebodyEndsIt)
{
  const std::string path = WriteTrestle("process-killed.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const auto        io = OpenSlideFile(path);
  EXPECT_EQ(ReadTile(*io, whole, 0, 0), "");
  const pid_t first = GetChildren().front();
  kill(first, SIGKILL);
  EXPECT_EQ(ReadTile(*io, whole, 1, 0), "");
  ASSERT_EQ(GetChildren().size(), 1u);
  EXPECT_NE(GetChildren().front(), first);
}

TEST(WholeSlideImageIOOpenSlideProcess, MayBeWaitedForByOthers)
{
  const std::string path = WriteTrestle("process-waited-for.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const Trouble     trouble("crash 300,10");
  const auto        before = signal(SIGCHLD, SIG_IGN); // the system waits for all children, and tells nobody
  {
    const auto io = OpenSlideFile(path);
    EXPECT_EQ(ReadTile(*io, whole, 1, 0), Refusal(path, 1, 0, "OpenSlide crashes on it"));
    EXPECT_EQ(ReadTile(*io, whole, 2, 0), "");
  }
  signal(SIGCHLD, before);
  {
    const auto io = OpenSlideFile(path);
    kill(GetChildren().front(), SIGKILL);
    EXPECT_GT(waitpid(-1, nullptr, 0), 0);
    EXPECT_EQ(ReadTile(*io, whole, 3, 0), "");
  }
  EXPECT_TRUE(GetChildren().empty());
}

TEST(WholeSlideImageIOOpenSlideProcess, IsAnotherOneAfterAFork)
{
  const std::string path = WriteTrestle("process-fork.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const auto        io = OpenSlideFile(path);
  EXPECT_EQ(ReadTile(*io, whole, 0, 0), "");
  std::vector<pid_t> forked;
  for (std::uint32_t row = 1; row < 4; ++row)
  {
    forked.push_back(fork());
    if (forked.back() == 0)
    {
      bool isRight = true;
      for (std::uint32_t column = 0; column < 5; ++column)
      {
        isRight = isRight && ReadTile(*io, whole, column, row).empty();
      }
      _exit(isRight && GetChildren().size() == 1 ? 0 : 1);
    }
  }
  for (std::uint32_t column = 1; column < 5; ++column)
  {
    EXPECT_EQ(ReadTile(*io, whole, column, 0), "");
  }
  for (const pid_t child : forked)
  {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}
