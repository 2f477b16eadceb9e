/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLaunch_h
#define gigapixelLaunch_h

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef __linux__
#  include <sched.h>
#endif

namespace gigapixel
{

/** \class Launch
 * \brief Place of this process among those that a launcher started together.
 *
 * Only a header, so that programs know their place without loading the engine. */
struct Launch
{
  int         rank{ 0 };
  int         ranks{ 1 };
  int         localRank{ 0 };      ///< among the ranks of this host
  int         localRanks{ 1 };     ///< of this host
  std::string host{ "127.0.0.1" }; ///< of rank 0
  int         port{ 29500 };       ///< on that host, free for us to listen at

  /** From the environment variables of torchrun (also those that people set by hand), Open MPI's mpirun, MPICH's and
   * Intel's mpiexec, or srun; this process alone without any.
   * \throw std::invalid_argument names the variable that is missing or no number */
  static Launch
  Find()
  {
    struct Launcher
    {
      const char * ranks;
      const char * rank;
      const char * localRanks;
      const char * localRank;
    };
    // A shell inside of salloc or sbatch has a SLURM_PROCID as well: only a step of srun has SLURM_STEP_NUM_TASKS.
    static constexpr Launcher launchers[] = {
      { "WORLD_SIZE", "RANK", "LOCAL_WORLD_SIZE", "LOCAL_RANK" },
      { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK" },
      { "PMI_SIZE", "PMI_RANK", "MPI_LOCALNRANKS", "MPI_LOCALRANKID" },
      { "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_STEP_TASKS_PER_NODE", "SLURM_LOCALID" }
    };
    for (const Launcher & launcher : launchers)
    {
      Launch launch;
      launch.ranks = GetNumber(launcher.ranks, 1);
      if (launch.ranks > 1)
      {
        launch.rank = GetNumber(launcher.rank, -1);
        if (launch.rank < 0 || launch.rank >= launch.ranks)
        {
          throw std::invalid_argument(std::string("the environment variable ") + launcher.ranks + " is " +
                                      std::to_string(launch.ranks) + ", so " + launcher.rank + " has to be 0 to " +
                                      std::to_string(launch.ranks - 1));
        }
        launch.localRanks = GetNumber(launcher.localRanks, 1);
        launch.localRank = GetNumber(launcher.localRank, 0) % launch.localRanks;
        launch.FindMaster();
        return launch;
      }
    }
    return Launch{};
  }

  /** Keeps this process to its share of the host's cores, those of one NUMA node together: two ranks on a machine with
   * two sockets get a socket each. Memory then lies where it is first touched, beside the cores that work on it. Does
   * nothing for a rank alone on its host, nor where a launcher has bound the process already. To be called before
   * threads are started. */
  void
  BindToShare() const
  {
#ifdef __linux__
    cpu_set_t allowed;
    if (localRanks < 2 || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    {
      return;
    }
    const std::vector<int> cores = GetCoresByNode(allowed);
    const std::size_t      first = cores.size() * localRank / localRanks;
    const std::size_t      end = cores.size() * (localRank + 1) / localRanks;
    std::ifstream          online("/sys/devices/system/cpu/online");
    std::string            all;
    if (first < end && online >> all && ParseList(all).size() == cores.size())
    {
      cpu_set_t share;
      CPU_ZERO(&share);
      std::for_each(cores.begin() + first, cores.begin() + end, [&share](int core) { CPU_SET(core, &share); });
      sched_setaffinity(0, sizeof(share), &share); // where it fails, the system chooses
    }
#endif
  }

private:
  /** The number that the text begins with; 0 without one. */
  static int
  ToNumber(const std::string & text)
  {
    return static_cast<int>(std::strtol(text.c_str(), nullptr, 10));
  }

#ifdef __linux__
  /** "0-3,8" as numbers. */
  static std::vector<int>
  ParseList(const std::string & list)
  {
    std::vector<int> numbers;
    for (std::size_t place = 0; place < list.size(); ++place)
    {
      const std::size_t end = std::min(list.find(',', place), list.size());
      const std::string part = list.substr(place, end - place);
      const int         first = ToNumber(part);
      const auto        dash = part.find('-');
      const int         last = dash == std::string::npos ? first : ToNumber(part.substr(dash + 1));
      for (int number = first; number <= last; ++number)
      {
        numbers.push_back(number);
      }
      place = end;
    }
    return numbers;
  }

  static std::vector<int>
  GetCoresByNode(const cpu_set_t & allowed)
  {
    std::vector<int> cores;
    for (int node = 0; node < 1024; ++node)
    {
      std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
      std::string   list;
      if (file >> list)
      {
        for (const int core : ParseList(list))
        {
          if (CPU_ISSET(core, &allowed))
          {
            cores.push_back(core);
          }
        }
      }
    }
    return cores;
  }
#endif

  static std::string
  GetText(const char * variable)
  {
    const char * const text = std::getenv(variable);
    return text ? text : "";
  }

  /** The number that the variable begins with: SLURM writes "4(x2)" for two hosts with four tasks each. */
  static int
  GetNumber(const char * variable, int otherwise)
  {
    const std::string text = GetText(variable);
    if (text.empty())
    {
      return otherwise;
    }
    if (!std::isdigit(static_cast<unsigned char>(text[0])) || text.size() > 9)
    {
      throw std::invalid_argument(std::string("the environment variable ") + variable + " is \"" + text +
                                  "\", which is no number");
    }
    return ToNumber(text);
  }

  /** "gpu-007" of "gpu-[007-010,12],login": the first host of SLURM's list. */
  static std::string
  GetFirstHost(const std::string & list)
  {
    const std::size_t end = list.find_first_of(",[");
    std::string       host = list.substr(0, end);
    if (end != std::string::npos && list[end] == '[')
    {
      host += list.substr(end + 1, list.find_first_of(",-]", end) - end - 1);
    }
    return host;
  }

  void
  FindMaster()
  {
    const std::string slurmJob = GetText("SLURM_JOB_ID");
    if (!GetText("MASTER_ADDR").empty())
    {
      host = GetText("MASTER_ADDR");
    }
    else if (!GetText("SLURM_STEP_NODELIST").empty())
    {
      host = GetFirstHost(GetText("SLURM_STEP_NODELIST"));
    }
    else if (localRanks != ranks)
    {
      throw std::invalid_argument("the ranks are on several hosts, and where rank 0 is, is not known: set the "
                                  "environment variable MASTER_ADDR (mpirun -x MASTER_ADDR=HOST ...)");
    }
    // Jobs that share a host must not meet at one port.
    port = slurmJob.empty() ? port : 20000 + ToNumber(slurmJob) % 10000;
    port = GetNumber("MASTER_PORT", port);
    if (!GetText("TORCHELASTIC_USE_AGENT_STORE").empty())
    {
      ++port; // torchrun itself listens at the first one
    }
  }
};

} // namespace gigapixel

#endif
