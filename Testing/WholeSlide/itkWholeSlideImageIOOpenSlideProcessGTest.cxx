/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// OpenSlide's process: what becomes of a slide some of whose tiles end it, of its process, and of ours. Pixels are
// compared with OpenSlide's own, exactly.
#include "OpenSlideTesting.h"
#include "ReaderTesting.h"
#include "RefusalCode.h"

#include "itkMultiThreaderBase.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
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
  std::set<pid_t> children;
  for (const auto & thread : std::filesystem::directory_iterator("/proc/self/task"))
  {
    std::ifstream file(thread.path() / "children");
    for (pid_t child = 0; file >> child;)
    {
      children.insert(child);
    }
  }
  return { children.begin(), children.end() };
}

/** Returns when the child does nothing more: a signal alone may come after its next answer. */
void
Stop(pid_t child)
{
  siginfo_t info;
  kill(child, SIGSTOP);
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT), 0);
}

/** How many of our descriptors are OpenSlide's processes' sockets, and memory that is shared with them. */
std::ptrdiff_t
CountDescriptors()
{
  std::ptrdiff_t count = 0;
  for (const auto & file : std::filesystem::directory_iterator("/proc/self/fd"))
  {
    std::error_code   ignored;
    const std::string what = std::filesystem::read_symlink(file, ignored).string();
    count += what.find("socket:") == 0 || what.find("/memfd:pixels") == 0 ? 1 : 0;
  }
  return count;
}

constexpr std::size_t mostProcesses = 16; // as Documentation/explanation/reader-processes.md states

/** One tile of level 0; the text in which it is refused, or "other pixels" where they are not OpenSlide's. */
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

/** Whether a text is the refusal of a tile with a code, for a reason. */
testing::AssertionResult
RefusesTile(const std::string & text,
            const std::string & path,
            std::uint32_t       column,
            std::uint32_t       row,
            const std::string & code,
            const std::string & reason)
{
  const auto        found = gigapixel::Diagnostic::OfText(text, "");
  const std::string place = "tile at " + std::to_string(column) + ',' + std::to_string(row) + " of level 0";
  const bool        isRight = found.code == code && found.file == path && !found.remedy.empty() &&
                       found.why.find(place) != std::string::npos && found.why.find(reason) != std::string::npos;
  return isRight ? testing::AssertionSuccess()
                 : testing::AssertionFailure() << '"' << text << "\" is not " << code << " of the " << place;
}

const std::string crash = "crashes";

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
      const std::string text = ReadTile(*io, whole, column, row);
      if (isOne || isOther)
      {
        EXPECT_TRUE(RefusesTile(text, path, column, row, "E-CODEC-DATA", isOne ? crash : "1 GiB of memory"));
        continue;
      }
      EXPECT_EQ(text, "") << column << ',' << row;
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
    EXPECT_TRUE(RefusesTile(ReadTile(*io, whole, 1, 0), path, 1, 0, "E-CODEC-DATA", crash));
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
  const auto errors = io->FindUndecodableTiles(0, 0, 800);
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
  ASSERT_EQ(errors.size(), 3u);
  EXPECT_TRUE(RefusesTile(errors[0].GetText(), path, 1, 0, "E-CODEC-DATA", crash));
  EXPECT_TRUE(RefusesTile(errors[1].GetText(), path, 4, 1, "E-CODEC-DATA", crash));
  EXPECT_TRUE(RefusesTile(errors[2].GetText(), path, 2, 2, "E-CODEC-DATA", crash));
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

TEST(WholeSlideImageIOOpenSlideProcess, IsNotStartedAnewForAnotherFile)
{
  const std::string path = WriteTrestle("process-other-file.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const auto        io = OpenSlideFile(path);
  kill(GetChildren().front(), SIGKILL);
  std::filesystem::rename(WriteTrestle("process-other-file-2.tif"), path);
  EXPECT_TRUE(RefusesTile(ReadTile(*io, whole, 1, 0), path, 1, 0, "E-FILE-CHANGED", "replaced"));
  EXPECT_EQ(ReadTile(*OpenSlideFile(path), whole, 1, 0), "");
  std::filesystem::remove(path);
  EXPECT_TRUE(RefusesTile(ReadTile(*io, whole, 1, 0), path, 1, 0, "E-FILE-CHANGED", "replaced"));
}

TEST(WholeSlideImageIOOpenSlideProcess, MayBeWaitedForByOthers)
{
  const std::string path = WriteTrestle("process-waited-for.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const Trouble     trouble("crash 300,10");
  const auto        before = signal(SIGCHLD, SIG_IGN); // the system waits for all children, and tells nobody
  {
    const auto io = OpenSlideFile(path);
    EXPECT_TRUE(RefusesTile(ReadTile(*io, whole, 1, 0), path, 1, 0, "E-CODEC-DATA", crash));
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

TEST(WholeSlideImageIOOpenSlideProcess, AreNoMoreThanSixteen)
{
  std::vector<itk::WholeSlideImageIO::Pointer> slides;
  Picture                                      whole;
  for (unsigned number = 0; number < 40; ++number)
  {
    const std::string path = WriteTrestle("many-" + std::to_string(number) + ".tif");
    whole = number == 0 ? ReadWithOpenSlide(path, 0) : whole;
    slides.push_back(OpenSlideFile(path));
    EXPECT_EQ(GetChildren().size(), std::min<std::size_t>(slides.size(), mostProcesses));
  }
  for (std::uint32_t round = 0; round < 2; ++round)
  {
    for (std::uint32_t number = 0; number < 40; ++number)
    {
      EXPECT_EQ(ReadTile(*slides[number], whole, number % 5, round), "");
      EXPECT_EQ(GetChildren().size(), mostProcesses);
    }
  }
  // The socket of each process, and of its only lane, with memory.
  EXPECT_LE(CountDescriptors(), static_cast<std::ptrdiff_t>(3 * mostProcesses));

  // Those that have not been read for longest have none: the last sixteen have kept theirs.
  const auto before = GetChildren();
  for (std::uint32_t number = 24; number < 40; ++number)
  {
    EXPECT_EQ(ReadTile(*slides[number], whole, number % 5, 2), "");
  }
  EXPECT_EQ(GetChildren(), before);
  slides.clear();
  EXPECT_TRUE(GetChildren().empty());
}

TEST(WholeSlideImageIOOpenSlideProcess, AreNoMoreThanSixteenOfManyThreads)
{
  constexpr std::uint32_t                      count = 24;
  std::vector<itk::WholeSlideImageIO::Pointer> slides;
  std::vector<std::string>                     paths;
  for (std::uint32_t number = 0; number < count; ++number)
  {
    paths.push_back(WriteTrestle("many-threads-" + std::to_string(number) + ".tif"));
    slides.push_back(OpenSlideFile(paths.back()));
  }
  const Picture            whole = ReadWithOpenSlide(paths.front(), 0);
  std::atomic<std::size_t> reading{ 20 };
  std::atomic<unsigned>    failures{ 0 };
  const auto               read = [&](std::uint32_t thread) {
    for (std::uint32_t i = 0; i < count; ++i)
    {
      const std::uint32_t slide = (i * (2 * thread + 1) + thread) % count;
      const std::string   found = ReadTile(*slides[slide], whole, thread % 5, thread / 5);
      failures += found.empty() ? 0 : 1;
    }
    --reading;
  };
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 20; ++thread)
  {
    threads.emplace_back(read, thread);
  }
  // Who is there in two looks, one behind the other, was there in between.
  std::size_t most = 0;
  for (auto first = GetChildren(); reading != 0;)
  {
    auto               second = GetChildren();
    std::vector<pid_t> both;
    std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
    most = std::max(most, both.size());
    first.swap(second);
  }
  for (std::thread & thread : threads)
  {
    thread.join();
  }
  EXPECT_EQ(failures, 0u);
  EXPECT_LE(most, mostProcesses);
  EXPECT_GT(most, 0u);
}

TEST(WholeSlideImageIOOpenSlideProcess, AreNoMoreThanSixteenOfWhichSomeCrash)
{
  const std::string path = WriteTrestle("many-crash.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const Trouble     trouble("crash 300,10");
  const auto        io = OpenSlideFile(path);
  EXPECT_TRUE(RefusesTile(ReadTile(*io, whole, 1, 0), path, 1, 0, "E-CODEC-DATA", crash));
  EXPECT_EQ(ReadTile(*io, whole, 0, 0), "");
  std::vector<itk::WholeSlideImageIO::Pointer> others;
  for (std::size_t number = 0; number < mostProcesses; ++number)
  {
    others.push_back(OpenSlideFile(WriteTrestle("many-crash-" + std::to_string(number) + ".tif")));
  }
  EXPECT_EQ(trouble.Count(), 2);
  EXPECT_TRUE(RefusesTile(ReadTile(*io, whole, 1, 0), path, 1, 0, "E-CODEC-DATA", crash)); // as is known
  EXPECT_EQ(trouble.Count(), 2);
  EXPECT_EQ(ReadTile(*io, whole, 2, 0), "");
  EXPECT_NE(ReadTile(*others.front(), whole, 1, 0), "");
  EXPECT_EQ(ReadTile(*others.front(), whole, 2, 0), "");
  EXPECT_EQ(trouble.Count(), 3); // at once, by a process that was started for it
  EXPECT_EQ(GetChildren().size(), mostProcesses);
}

TEST(WholeSlideImageIOOpenSlideProcess, AnEndFromOutsideIsNotRemembered)
{
  const std::string path = WriteTrestle("ended-from-outside.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  for (const std::string place : { "detect", "open" })
  {
    const Trouble trouble("kill " + place);
    for (std::ptrdiff_t times = 1; times < 3; ++times)
    {
      const auto refusal = FindRefusal([&] { OpenSlideFile(path); });
      EXPECT_EQ(refusal.code, "E-READER-ENDED");
      EXPECT_EQ(refusal.file, path);
      EXPECT_NE(refusal.why.find("signal 9"), std::string::npos) << refusal.why;
      EXPECT_EQ(trouble.Count(), times);
      EXPECT_TRUE(GetChildren().empty());
    }
  }
  auto io = OpenSlideFile(path);
  EXPECT_EQ(ReadTile(*io, whole, 1, 0), "");
  io = nullptr;
  {
    const Trouble trouble("kill 300,10");
    io = OpenSlideFile(path);
    EXPECT_EQ(ReadTile(*io, whole, 0, 0), "");
    EXPECT_TRUE(RefusesTile(ReadTile(*io, whole, 1, 0), path, 1, 0, "E-READER-ENDED", "signal 9"));
    EXPECT_EQ(trouble.Count(), 2); // by a second process, too
  }
  EXPECT_EQ(ReadTile(*io, whole, 1, 0), "");
}

TEST(WholeSlideImageIOOpenSlideProcess, IsLeftWhereTheSystemDoesNotLetGoOfIt)
{
  const std::string path = WriteTrestle("process-left.tif");
  auto              io = OpenSlideFile(path);
  const auto        processes = GetChildren();
  ASSERT_EQ(processes.size(), 1u);
  // Of a process that is traced the system tells the parent no end before the tracer has been told.
  int isTraced[2];
  ASSERT_EQ(pipe(isTraced), 0);
  const pid_t tracer = fork();
  if (tracer == 0)
  {
    const char answer = ptrace(PTRACE_SEIZE, processes.front(), nullptr, nullptr) == 0 ? 1 : 0;
    while (write(isTraced[1], &answer, 1) == 1)
    {
      pause();
    }
    _exit(1);
  }
  char answer = 0;
  EXPECT_EQ(read(isTraced[0], &answer, 1), 1);
  close(isTraced[0]);
  close(isTraced[1]);
  io = nullptr; // does not wait without end
  const bool isLeft = GetChildren() == std::vector<pid_t>{ processes.front(), tracer };
  kill(tracer, SIGKILL);
  EXPECT_EQ(waitpid(tracer, nullptr, 0), tracer);
  if (answer == 0)
  {
    GTEST_SKIP() << "no process may be traced here";
  }
  EXPECT_TRUE(isLeft);
  OpenSlideFile(path);
  EXPECT_TRUE(GetChildren().empty()); // who ends the next one waits for it
}

TEST(WholeSlideImageIOOpenSlideProcess, IsNotWaitedForWhereThereIsAnInterruption)
{
  const std::string path = WriteTrestle("interruption.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const auto        io = OpenSlideFile(path);
  itk::WholeSlideImageIO::SetInterruptionOfOpenSlide([] { return true; });
  const pid_t process = GetChildren().front();
  Stop(process);
  for (const std::uint32_t column : { 1u, 2u })
  {
    EXPECT_TRUE(RefusesTile(ReadTile(*io, whole, column, 0), path, column, 0, "E-READER-ENDED", "an interruption"));
  }
  itk::WholeSlideImageIO::SetInterruptionOfOpenSlide(nullptr);
  kill(process, SIGCONT);
  EXPECT_EQ(ReadTile(*io, whole, 1, 0), "");
}

TEST(WholeSlideImageIOOpenSlideProcess, TooFewDescriptorsInItAreNotTheFilesFault)
{
  const std::string path = WriteTrestle("few-descriptors.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const auto        io = OpenSlideFile(path);
  const pid_t       process = GetChildren().front();
  ASSERT_EQ(CountDescriptors(), 3); // the process's socket, and a lane
  Stop(process);
  std::string failures[2];
  std::thread threads[2];
  for (std::uint32_t i = 0; i < 2; ++i)
  {
    threads[i] = std::thread([&, i] { failures[i] = ReadTile(*io, whole, i, 0); });
  }
  while (CountDescriptors() < 5) // until there is another lane
  {
    std::this_thread::yield();
  }
  const rlimit limit{ 5, 5 }; // as many as it has
  EXPECT_EQ(prlimit(process, RLIMIT_NOFILE, &limit, nullptr), 0);
  kill(process, SIGCONT);
  for (std::thread & thread : threads)
  {
    thread.join();
  }
  EXPECT_NE(failures[0] + failures[1], ""); // of the first lane the tile may have been read
  for (unsigned i = 0; i < 2; ++i)
  {
    if (!failures[i].empty())
    {
      EXPECT_TRUE(RefusesTile(failures[i], path, i, 0, "E-FILE-ACCESS", "too few file descriptors"));
    }
    EXPECT_EQ(ReadTile(*io, whole, i, 0), "");
  }
}

TEST(WholeSlideImageIOOpenSlideProcess, TilesBehindThoseThatWereTriedAreReadTwice)
{
  const std::string path = WriteTrestle("tried.tif");
  const Picture     whole = ReadWithOpenSlide(path, 0);
  const Trouble     trouble("crash 300,10");
  const auto        io = OpenSlideFile(path); // which reads a pixel of each level
  EXPECT_TRUE(RefusesTile(ReadTile(*io, whole, 1, 0), path, 1, 0, "E-CODEC-DATA", crash));
  EXPECT_EQ(trouble.Count(), 2);
}

TEST(WholeSlideImageIOOpenSlideProcess, IsNotKeptForASlideThatIsOpen)
{
  const std::string path = WriteTrestle("claimed.tif");
  const auto        io = OpenSlideFile(path);
  ASSERT_EQ(GetChildren().size(), 1u);
  EXPECT_TRUE(itk::WholeSlideImageIO::New()->CanReadFile(path.c_str()));
  const auto again = OpenSlideFile(path);
  EXPECT_EQ(GetChildren().size(), 1u);
}
