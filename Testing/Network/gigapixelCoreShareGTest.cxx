/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// How cores are dealt to ranks, on machines that are described by files, as Linux describes them.
#include "gigapixelCoreShare.h"

#include "TemporaryFolder.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace gigapixel;
using gigapixel::test::TemporaryFolder;

namespace
{

Launch
MakeLaunch(int localRank, int localRanks)
{
  Launch launch;
  launch.localRank = localRank;
  launch.localRanks = localRanks;
  return launch;
}

/** Two sockets with two cores of two hardware threads each, numbered as most firmware does: the second threads behind
 * all first ones. */
class TwoSockets : public testing::Test
{
protected:
  void
  SetUp() override
  {
    Write("node/online", "0-1");
    Write("node/node0/cpulist", "0-1,4-5");
    Write("node/node1/cpulist", "2-3,6-7");
    for (int core = 0; core < 8; ++core)
    {
      const int first = core % 4;
      Write("cpu/cpu" + std::to_string(core) + "/topology/thread_siblings_list",
            std::to_string(first) + ',' + std::to_string(first + 4));
    }
  }

  void
  Write(const std::string & file, const std::string & line) const
  {
    std::filesystem::create_directories(std::filesystem::path(folder + '/' + file).parent_path());
    std::ofstream(folder + '/' + file) << line << '\n';
  }

  std::vector<int>
  GetShare(int localRank, int localRanks, const std::vector<int> & cores = { 0, 1, 2, 3, 4, 5, 6, 7 }) const
  {
    return CoreShare::Take(CoreShare::Sort(cores, folder), MakeLaunch(localRank, localRanks));
  }

  const TemporaryFolder temporary{ "two-sockets" };
  const std::string     folder{ temporary.path };
};

using Cores = std::vector<int>;

TEST_F(TwoSockets, TwoRanksGetASocketEach)
{
  EXPECT_EQ(GetShare(0, 2), (Cores{ 0, 4, 1, 5 }));
  EXPECT_EQ(GetShare(1, 2), (Cores{ 2, 6, 3, 7 }));
}

TEST_F(TwoSockets, FourRanksGetACoreEachWithBothOfItsThreads)
{
  EXPECT_EQ(GetShare(0, 4), (Cores{ 0, 4 }));
  EXPECT_EQ(GetShare(1, 4), (Cores{ 1, 5 }));
  EXPECT_EQ(GetShare(2, 4), (Cores{ 2, 6 }));
  EXPECT_EQ(GetShare(3, 4), (Cores{ 3, 7 }));
}

TEST_F(TwoSockets, CoresThatACgroupForbidsAreDealtToNobody)
{
  EXPECT_EQ(GetShare(0, 2, { 1, 2, 5, 6 }), (Cores{ 1, 5 }));
  EXPECT_EQ(GetShare(1, 2, { 1, 2, 5, 6 }), (Cores{ 2, 6 }));
}

TEST_F(TwoSockets, EveryCoreIsDealtToOneRank)
{
  for (int ranks = 1; ranks <= 11; ++ranks)
  {
    Cores all;
    for (int rank = 0; rank < ranks; ++rank)
    {
      const Cores share = GetShare(rank, ranks);
      all.insert(all.end(), share.begin(), share.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, (Cores{ 0, 1, 2, 3, 4, 5, 6, 7 })) << ranks << " ranks";
  }
}

TEST(CoreShare, MachineThatDescribesNothingIsOneNode)
{
  EXPECT_EQ(CoreShare::Sort({ 2, 0, 1 }, "/nothing-is-here"), (Cores{ 0, 1, 2 }));
}

} // namespace
