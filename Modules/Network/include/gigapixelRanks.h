/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelRanks_h
#define gigapixelRanks_h

#include "GigapixelNetworkExport.h"
#include "gigapixelLaunch.h"

#include <cstddef>
#include <exception>
#include <memory>
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
 * called by one thread. */
class GigapixelNetwork_EXPORT Ranks
{
public:
  /** Meets the others: all of them are there when it returns. Loads the part of the engine that holds LibTorch's
   * c10d, unless this process is alone.
   * \throw std::runtime_error names the ranks that did not come within a minute */
  static std::shared_ptr<Ranks> Join(const Launch & launch);

  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks &) = delete;
  Ranks & operator=(const Ranks &) = delete;

  virtual int
  GetRank() const
  {
    return 0;
  }

  virtual int
  GetNumberOfRanks() const
  {
    return 1;
  }

  /** Returns when the other one has it. */
  virtual void
  Send(int, const void *, std::size_t)
  {}

  /** \param size as it was sent */
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
  void Broadcast(int from, void * bytes, std::size_t size);

  /** The text of rank 0 for all. */
  void Broadcast(std::string & text);

  struct Stopped : std::exception
  {
  };
};

} // namespace gigapixel

#endif
