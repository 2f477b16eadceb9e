/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelCoreShare_h
#define gigapixelCoreShare_h

#include "gigapixelDiagnostic.h"
#include "gigapixelLaunch.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#ifdef __linux__
#  include <sched.h>
#endif

namespace gigapixel
{

/** \class CoreShare
 * \brief The cores of a host, dealt to the ranks on it: while it lives, this process keeps to its share.
 *
 * Memory lies beside the core that touches it first, so a rank that keeps to the cores of one NUMA node keeps to that
 * node's memory. Only a header, as Launch. */
class CoreShare
{
public:
  /** By NUMA node, and within a node by physical core, so that the hardware threads of a core lie together.
   * \param system folder where Linux describes its nodes and cores; what it does not tell counts as one node and as
   * cores of their own */
  static std::vector<int>
  Sort(std::vector<int> cores, const std::string & system = "/sys/devices/system")
  {
    std::map<int, int> nodes;
    const auto         online = ReadList(system + "/node/online");
    for (const int node : online)
    {
      for (const int core : ReadList(system + "/node/node" + std::to_string(node) + "/cpulist"))
      {
        nodes[core] = node;
      }
    }
    const auto place = [&](int core) {
      const auto siblings = ReadList(system + "/cpu/cpu" + std::to_string(core) + "/topology/thread_siblings_list");
      return std::make_tuple(nodes[core], siblings.empty() ? core : siblings.front(), core);
    };
    std::sort(cores.begin(), cores.end(), [&](int a, int b) { return place(a) < place(b); });
    return cores;
  }

  /** \param sorted see Sort(); \return this rank's part, empty where there are more ranks than cores */
  static std::vector<int>
  Take(const std::vector<int> & sorted, const Launch & launch)
  {
    const auto first = static_cast<std::ptrdiff_t>(sorted.size() * launch.localRank / launch.localRanks);
    const auto end = static_cast<std::ptrdiff_t>(sorted.size() * (launch.localRank + 1) / launch.localRanks);
    return { sorted.begin() + first, sorted.begin() + end };
  }

  /** Two ranks on a machine with two sockets get a socket each. Nothing changes for a rank alone on its host, nor where
   * a launcher, numactl or taskset has chosen among the cores that the cgroup allows, nor with GIGAPIXEL_BINDING=none
   * in the environment. To be made before threads are started: they keep to it, too. \throw std::invalid_argument
   * GIGAPIXEL_BINDING is something else */
  explicit CoreShare(const Launch & launch)
  {
    // Environment variable GIGAPIXEL_BINDING: `none` leaves the processor cores of a rank as they are. Without
    // it each rank on a host gets its share.
    const char * const wish = std::getenv("GIGAPIXEL_BINDING");
    if (wish && std::string(wish) != "none")
    {
      throw InvalidArgument(Diagnostic("E-OPTION-VALUE",
                                       std::string("the environment variable GIGAPIXEL_BINDING is \"") + wish +
                                         "\", but only \"none\" means something: the cores are then left as they are")
                              .OfOption("GIGAPIXEL_BINDING", wish));
    }
#ifdef __linux__
    if (wish || launch.localRanks < 2 || sched_getaffinity(0, sizeof(m_Before), &m_Before) != 0 || IsChosen(m_Before))
    {
      return;
    }
    std::vector<int> cores;
    for (int core = 0; core < CPU_SETSIZE; ++core)
    {
      if (CPU_ISSET(core, &m_Before))
      {
        cores.push_back(core);
      }
    }
    cpu_set_t share;
    CPU_ZERO(&share);
    for (const int core : Take(Sort(cores), launch))
    {
      CPU_SET(core, &share);
    }
    m_IsBound = sched_setaffinity(0, sizeof(share), &share) == 0; // not to a share of no core
#endif
  }

  /** The thread that made it has the cores from before. Threads that it started meanwhile keep to the share. */
  ~CoreShare()
  {
#ifdef __linux__
    if (m_IsBound)
    {
      sched_setaffinity(0, sizeof(m_Before), &m_Before);
    }
#endif
  }

  CoreShare(const CoreShare &) = delete;
  CoreShare & operator=(const CoreShare &) = delete;

private:
#ifdef __linux__
  cpu_set_t m_Before{};
  bool      m_IsBound{ false };

  /** Whether these are fewer cores than the cgroup allows. */
  static bool
  IsChosen(const cpu_set_t & bound)
  {
    cpu_set_t all, allowed = bound;
    CPU_ZERO(&all);
    for (int core = 0; core < CPU_SETSIZE; ++core)
    {
      CPU_SET(core, &all);
    }
    sched_setaffinity(0, sizeof(all), &all); // the system takes those of them that the cgroup allows
    sched_getaffinity(0, sizeof(allowed), &allowed);
    sched_setaffinity(0, sizeof(bound), &bound);
    return !CPU_EQUAL(&allowed, &bound);
  }
#endif

  /** "0-3,8" as numbers; none where there is no such file. */
  static std::vector<int>
  ReadList(const std::string & file)
  {
    std::vector<int> numbers;
    std::ifstream    stream(file);
    for (std::string part; std::getline(stream, part, ',');)
    {
      std::istringstream range(part);
      int                first = 0, last = 0;
      char               dash = 0;
      if (range >> first)
      {
        last = range >> dash >> last ? last : first;
        for (int number = first; number <= last; ++number)
        {
          numbers.push_back(number);
        }
      }
    }
    return numbers;
  }
};

} // namespace gigapixel

#endif
