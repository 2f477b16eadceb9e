/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLaunch_h
#define gigapixelLaunch_h

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace gigapixel
{

/** \class Launch
 * \brief Place of this process among those that a launcher started together.
 *
 * Only a header, so that programs know their place without loading the engine. */
struct Launch
{
  int         rank{ 0 };           ///< number of this process, from 0
  int         ranks{ 1 };          ///< number of processes
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
    // Where srun speaks PMI (--mpi=pmi2), a rank's place on its host is told by SLURM's variables alone.
    const bool srunSpeaksPMI = GetText("MPI_LOCALNRANKS").empty() && !GetText("SLURM_STEP_NUM_TASKS").empty();
    for (const Launcher & launcher : launchers)
    {
      if (srunSpeaksPMI && std::string(launcher.ranks) == "PMI_SIZE")
      {
        continue;
      }
      Launch launch;
      launch.ranks = GetNumber(launcher.ranks, 1);
      if (launch.ranks < 1)
      {
        throw InvalidArgument(
          Diagnostic("E-OPTION-VALUE",
                     std::string("the environment variable ") + launcher.ranks + " has to be 1 or more, not 0")
            .OfOption(launcher.ranks, "0"));
      }
      if (launch.ranks > 1)
      {
        launch.rank = GetNumber(launcher.rank, -1);
        if (launch.rank < 0 || launch.rank >= launch.ranks)
        {
          throw InvalidArgument(Diagnostic("E-OPTION-VALUE",
                                           std::string("the environment variable ") + launcher.ranks + " is " +
                                             std::to_string(launch.ranks) + ", so " + launcher.rank +
                                             " has to be 0 to " + std::to_string(launch.ranks - 1))
                                  .OfOption(launcher.rank));
        }
        launch.localRanks = std::max(1, GetNumber(launcher.localRanks, 1));
        launch.localRank = GetNumber(launcher.localRank, 0) % launch.localRanks;
        launch.FindMaster();
        return launch;
      }
    }
    return Launch{};
  }

  /** The number that the environment variable is, or its first one where SLURM writes a list: "4(x2),3" for two hosts
   * with four tasks each and one with three.
   * \throw std::invalid_argument it is none */
  static int
  GetNumber(const char * variable, int otherwise)
  {
    const std::string text = GetText(variable);
    if (text.empty())
    {
      return otherwise;
    }
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const bool        ends = digits == text.size() || text[digits] == '(' || text[digits] == ',';
    if (digits < 1 || digits > 9 || !ends)
    {
      throw InvalidArgument(
        Diagnostic("E-OPTION-VALUE",
                   std::string("the environment variable ") + variable + " is \"" + text + "\", which is no number")
          .OfOption(variable, text));
    }
    return ToNumber(text);
  }

private:
  /** The number that the text begins with; 0 without one. */
  static int
  ToNumber(const std::string & text)
  {
    return static_cast<int>(std::strtol(text.c_str(), nullptr, 10));
  }

  static std::string
  GetText(const char * variable)
  {
    const char * const text = std::getenv(variable);
    return text ? text : "";
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
    // Environment variable MASTER_ADDR: Host of rank 0.
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
      throw InvalidArgument(Diagnostic("E-OPTION-MISSING",
                                       "the ranks are on several hosts, and where rank 0 is, is not known",
                                       "set the environment variable MASTER_ADDR (mpirun -x MASTER_ADDR=HOST ...)")
                              .OfOption("MASTER_ADDR"));
    }
    // Jobs that share a host must not meet at one port.
    port = slurmJob.empty() ? port : 20000 + ToNumber(slurmJob) % 10000;
    // Environment variable MASTER_PORT: Port of rank 0. The default is 29500.
    port = GetNumber("MASTER_PORT", port);
    if (!GetText("TORCHELASTIC_USE_AGENT_STORE").empty())
    {
      ++port; // torchrun itself listens at the first one
    }
    if (port < 1 || port > 65535)
    {
      throw InvalidArgument(
        Diagnostic("E-OPTION-VALUE",
                   "the environment variable MASTER_PORT has to be 1 to 65535, not " + std::to_string(port))
          .OfOption("MASTER_PORT", std::to_string(port)));
    }
  }
};

} // namespace gigapixel

#endif
