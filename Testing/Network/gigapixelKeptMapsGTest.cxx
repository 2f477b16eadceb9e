/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "RefusalCode.h"
#include "SegmentFixture.h"
#include "TemporaryFolder.h"
#include "maps/gigapixelKeptMaps.h"
#include "schedule/gigapixelSegment.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gigapixel;
using namespace gigapixel::test;

namespace
{

/** Files in the folder that this process holds, named or not: bytes of the disk that each has. */
std::vector<std::int64_t>
FindHeldFiles(const std::string & folder)
{
  std::vector<std::int64_t> bytes;
  for (const auto & entry : std::filesystem::directory_iterator("/proc/self/fd"))
  {
    std::error_code error;
    struct stat     file;
    if (std::filesystem::read_symlink(entry, error).string().rfind(folder + '/', 0) == 0 &&
        stat(entry.path().c_str(), &file) == 0)
    {
      bytes.push_back(std::int64_t{ 512 } * file.st_blocks);
    }
  }
  return bytes;
}

/** Names that files had in the folder which this process holds, as Linux remembers them: of those that never had one
 * "#" and a number. */
std::vector<std::string>
FindNamesOfHeldFiles(const std::string & folder)
{
  std::vector<std::string> names;
  for (const auto & entry : std::filesystem::directory_iterator("/proc/self/fd"))
  {
    std::error_code       error;
    std::filesystem::path file = std::filesystem::read_symlink(entry, error);
    if (file.parent_path() == folder)
    {
      names.push_back(file.filename().string());
    }
  }
  return names;
}

/** Files of this process may not become larger, as on a disk that is full. */
class FileSizeLimit
{
public:
  explicit FileSizeLimit(rlim_t bytes)
    : m_Handler(std::signal(SIGXFSZ, SIG_IGN))
  {
    getrlimit(RLIMIT_FSIZE, &m_Before);
    const rlimit limit{ bytes, m_Before.rlim_max };
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit()
  {
    setrlimit(RLIMIT_FSIZE, &m_Before);
    std::signal(SIGXFSZ, m_Handler);
  }
  FileSizeLimit(const FileSizeLimit &) = delete;
  FileSizeLimit & operator=(const FileSizeLimit &) = delete;

private:
  void (*m_Handler)(int);
  rlimit m_Before{};
};

} // namespace

TEST(KeptMap, ReadsWhatWasWrittenAndAdded)
{
  const TemporaryFolder scratch("kept-map");
  for (const std::string & directory : { std::string(), scratch.path })
  {
    KeptMap            map({ 5, 7 }, 2, sizeof(float), directory);
    const Box          part{ Interval{ 1, 4 }, { 2, 6 } }, all{ Interval{ 0, 5 }, { 0, 7 } };
    std::vector<float> values(GetNumberOfPixels(part) * 2);
    for (std::size_t i = 0; i < values.size(); ++i)
    {
      values[i] = static_cast<float>(i + 1);
    }
    EXPECT_TRUE(map.IsZero(all));
    map.Write(part, values.data());
    map.Add(part, values.data());
    EXPECT_FALSE(map.IsZero(all));
    EXPECT_TRUE(map.IsZero({ Interval{ 0, 1 }, { 0, 7 } }));
    std::vector<float> found(5 * 7 * 2);
    map.Read(all, found.data());
    for (std::int64_t y = 0; y < 5; ++y)
    {
      for (std::int64_t x = 0; x < 14; ++x)
      {
        const bool inside = y >= 1 && y < 4 && x >= 4 && x < 12;
        EXPECT_EQ(found[y * 14 + x], inside ? 2 * values[(y - 1) * 8 + x - 4] : 0);
      }
    }
  }
}

TEST(KeptMap, TakesItsRoomWhenItIsMade)
{
  const TemporaryFolder scratch("room");
  const Extent          Map{ 300, 500 };
  {
    const KeptMap map(Map, 4, sizeof(float), scratch.path);
    const auto    files = FindHeldFiles(scratch.path);
    ASSERT_EQ(files.size(), 1u);
    EXPECT_GE(files.front(), map.GetBytes());
  }
  const Diagnostic refusal = gigapixel_test::FindRefusal([&] {
    const FileSizeLimit limit(1 << 20);
    const KeptMap       map(Map, 4, sizeof(float), scratch.path);
  });
  EXPECT_EQ(refusal.code, "E-DISK-FULL");
  EXPECT_EQ(refusal.file, scratch.path);
  EXPECT_TRUE(FindHeldFiles(scratch.path).empty());
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path));
}

TEST(KeptMap, LeavesNothingWhereItIsKilled)
{
  const TemporaryFolder scratch("nameless");
  const int             nameless = ::open(scratch.path.c_str(), O_TMPFILE | O_RDWR, 0600);
  if (nameless < 0)
  {
    GTEST_SKIP() << "the file system has no files without a name";
  }
  ::close(nameless);
  const KeptMap map({ 30, 50 }, 4, sizeof(float), scratch.path);
  const auto    names = FindNamesOfHeldFiles(scratch.path);
  ASSERT_EQ(names.size(), 1u);
  EXPECT_EQ(names.front()[0], '#') << names.front() << " had a name, by which a killed process would leave it";
}

TEST(KeptMap, SaysWhatIsWrongWithTheScratchFolder)
{
  const auto refuse = [](const Extent & image, const std::string & directory, bool training) {
    const NetworkDescription network = NetworkDescription::Load("unet:base=4,depth=2");
    const GraphGeometry      geometry(network.graph, image);
    return gigapixel_test::FindRefusal([&] {
      const std::vector<int> kept{ network.graph.GetIndex(FindMap(network, 2, false)) };
      const KeptMaps         maps(geometry, MakeSegments(geometry, kept, { 32, 64 }), 4, directory, training);
    });
  };
  const TemporaryFolder scratch("no-space");
  const std::int64_t    side = std::int64_t{ 1 } << 24; // petabytes
  for (const bool training : { false, true })
  {
    const Diagnostic full = refuse({ side, side }, scratch.path, training);
    EXPECT_EQ(full.code, "E-DISK-FULL");
    EXPECT_EQ(full.file, scratch.path);
    const Diagnostic none = refuse({ 64, 64 }, scratch.path + "/none", training);
    EXPECT_EQ(none.code, "E-FILE-MISSING");
    EXPECT_EQ(none.file, scratch.path + "/none");
  }
}
