/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRanks_h
#define gigapixelRanks_h

#include "gigapixelDiagnostic.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

namespace gigapixel
{

/** \class Ranks
 * \brief The processes of one job, and how they talk to each other. This class is a job of one process.
 *
 * A rank whose process dies or whose machine vanishes is noticed within 20 seconds; one that is alive but makes no
 * progress, while the others wait for it, within GIGAPIXEL_RANK_TIMEOUT seconds (an environment variable; 300). All
 * others then end with a sentence that names it: the functions throw std::runtime_error, and a process that is too busy
 * to see that ends itself 10 seconds later with exit code 1. All functions but Stop(), Fail() and ReportProgress() are
 * called by one thread.
 *
 * Only a header, so that programs can share work without linking the engine; JoinRanks() makes a job of several. */
class __attribute__((visibility("default"))) Ranks
{
public:
  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks &) = delete;
  Ranks & operator=(const Ranks &) = delete;

  /** Number of this process, from 0. */
  virtual int
  GetRank() const
  {
    return 0;
  }

  /** Number of processes. */
  virtual int
  GetNumberOfRanks() const
  {
    return 1;
  }

  /** Returns when the other one has it. */
  virtual void
  Send(int, const void *, std::size_t)
  {}

  /** Waits for bytes of another rank, as many as it has sent. */
  virtual void
  Receive(int, void *, std::size_t)
  {}

  /** Says that this rank works: to be called after each piece of work. \throw what Send() and Receive() throw */
  virtual void
  ReportProgress()
  {}

  /** The user wants to stop: the functions of all other ranks throw Stopped. */
  virtual void
  Stop()
  {}

  /** Ends the job: the functions of all other ranks throw std::runtime_error with the reason and who gave it. */
  virtual void
  Fail(const std::string &)
  {}

  /** The bytes of rank `from` for all. */
  void
  Broadcast(int from, void * bytes, std::size_t size)
  {
    // A binomial tree: in each round, everyone who has the bytes passes them on to one who has not.
    const int ranks = GetNumberOfRanks();
    const int place = (GetRank() - from + ranks) % ranks;
    for (int reach = 1; reach < ranks; reach *= 2)
    {
      if (place < reach && place + reach < ranks)
      {
        Send((place + reach + from) % ranks, bytes, size);
      }
      else if (place >= reach && place < 2 * reach)
      {
        Receive((place - reach + from) % ranks, bytes, size);
      }
    }
  }

  /** The text of rank 0 for all. */
  void
  Broadcast(std::string & text)
  {
    std::uint64_t size = text.size();
    Broadcast(0, &size, sizeof(size));
    text.resize(size);
    Broadcast(0, text.data(), size);
  }

  /** \param settings all that decides on the work
   * \throw std::invalid_argument they are others than those of rank 0: in all ranks where that is so */
  void
  CheckSame(const std::string & settings)
  {
    std::string others = settings;
    Broadcast(others);
    if (others != settings)
    {
      throw InvalidArgument(
        Diagnostic("E-RANKS-DIFFER",
                   "the files or options of rank " + std::to_string(GetRank()) + " are others than those of rank 0",
                   "start all ranks with the same files and options"));
    }
  }

  /** Another rank was told to stop. */
  struct Stopped : std::exception
  {
    /** A sentence for people. */
    const char *
    what() const noexcept override
    {
      return "another rank was told to stop";
    }
  };
};

} // namespace gigapixel

#endif
