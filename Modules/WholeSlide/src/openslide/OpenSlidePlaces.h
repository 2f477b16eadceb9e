/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlidePlaces_h
#define OpenSlidePlaces_h

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include <sys/types.h>

namespace gigapixel
{

class OpenSlideProcess;

/** The processes that run, no more than OpenSlideProcess::Most, and how many use each. */
class OpenSlidePlaces
{
public:
  /** Never destroyed: slides in static objects may outlive any order of destruction. */
  static OpenSlidePlaces & Get();

  /** A place for a process that is about to run, and in use from then on. False where there is an interruption before
   * one is free. */
  bool Take(OpenSlideProcess * process, const std::function<bool()> & isInterrupted);

  /** False where the process has no place any more. */
  bool BeginUse(const OpenSlideProcess * process);

  void EndUse(const OpenSlideProcess * process);

  /** Of a process that has ended. */
  void GiveBack(const OpenSlideProcess * process);

private:
  struct Place
  {
    OpenSlideProcess * process;
    unsigned           users;
  };

  OpenSlidePlaces();

  std::vector<Place>::iterator Find(const OpenSlideProcess * process);
  void                         ForgetAfterFork();

  std::mutex              m_Mutex; // locked before those of processes
  std::condition_variable m_IsFree;
  std::vector<Place>      m_Taken; // those first that have not been used for longest
  pid_t                   m_Owner;
};

} // namespace gigapixel

#endif
