/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The variables of launchers that the tests cannot start.
#include "gigapixelLaunch.h"

#include <gtest/gtest.h>

#include <map>

using namespace gigapixel;

namespace
{

/** What Launch finds where these variables are all that launchers have set. */
Launch
FindWith(const std::map<std::string, std::string> & variables)
{
  for (const char * const launcher : { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE" })
  {
    unsetenv(launcher);
  }
  for (const auto & [name, value] : variables)
  {
    setenv(name.c_str(), value.c_str(), 1);
  }
  const Launch launch = Launch::Find();
  for (const auto & [name, value] : variables)
  {
    unsetenv(name.c_str());
  }
  return launch;
}

void
ExpectPlace(const Launch & launch, int rank, int ranks, int localRank, int localRanks)
{
  EXPECT_EQ(launch.rank, rank);
  EXPECT_EQ(launch.ranks, ranks);
  EXPECT_EQ(launch.localRank, localRank);
  EXPECT_EQ(launch.localRanks, localRanks);
}

/** The last of six ranks on two hosts, as srun tells it. */
const std::map<std::string, std::string> ofSrun{ { "SLURM_JOB_ID", "31234" },
                                                 { "SLURM_PROCID", "5" },
                                                 { "SLURM_STEP_NUM_TASKS", "6" },
                                                 { "SLURM_LOCALID", "2" },
                                                 { "SLURM_STEP_TASKS_PER_NODE", "3(x2)" },
                                                 { "SLURM_STEP_NODELIST", "gpu-[007-008]" } };

std::map<std::string, std::string>
Add(std::map<std::string, std::string> variables, const std::map<std::string, std::string> & more)
{
  variables.insert(more.begin(), more.end());
  return variables;
}

TEST(Launch, FindsThePlaceThatSrunTells)
{
  const Launch launch = FindWith(ofSrun);
  ExpectPlace(launch, 5, 6, 2, 3);
  EXPECT_EQ(launch.host, "gpu-007");
  EXPECT_EQ(launch.port, 21234);
}

TEST(Launch, FindsThePlaceOnTheHostWhereSrunSpeaksPMI)
{
  ExpectPlace(FindWith(Add(ofSrun, { { "PMI_RANK", "5" }, { "PMI_SIZE", "6" } })), 5, 6, 2, 3);
}

// Hydra starts one process of its own on each host by srun, which then starts the ranks.
TEST(Launch, BelievesMpiexecThatSrunHasStarted)
{
  const std::map<std::string, std::string> ofMpiexec{
    { "PMI_RANK", "13" }, { "PMI_SIZE", "16" }, { "MPI_LOCALRANKID", "5" }, { "MPI_LOCALNRANKS", "8" }
  };
  ExpectPlace(FindWith(Add(ofSrun, ofMpiexec)), 13, 16, 5, 8);
}

} // namespace
