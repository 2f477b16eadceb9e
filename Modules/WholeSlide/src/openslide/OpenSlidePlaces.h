/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlidePlaces_h
#define OpenSlidePlaces_h

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <vector>

#include <sys/types.h>

namespace gigapixel
{

/** The processes that run, no more than `Most`, and how many use each. */
class OpenSlidePlaces
{
public:
  /** A process has some MB, two files, and two for each thread that has read its slide at once: with thirty threads
   * that read all slides these are just within the 1024 files that systems give a process. */
  static constexpr std::size_t Most = 16;

  /** How often waiting threads look whether they are to go on. */
  static constexpr std::chrono::milliseconds TimeToLook{ 100 };

  using Process = const void *;

  /** Never destroyed: slides in static objects may outlive any order of destruction. */
  static OpenSlidePlaces & Get();

  /** A place for a process that is about to run, and in use from then on. False where there is an interruption before
   * one is free. \param retire ends the process while none uses it, because another one needs its place */
  bool Take(Process process, std::function<void()> retire, const std::function<bool()> & isInterrupted);

  /** False where the process has no place any more. */
  bool BeginUse(Process process);

  void EndUse(Process process);

  /** Of a process that has ended. */
  void GiveBack(Process process);

private:
  struct Place
  {
    Process               process;
    std::function<void()> retire;
    unsigned              users;
  };

  OpenSlidePlaces();

  std::vector<Place>::iterator Find(Process process);
  void                         ForgetAfterFork();

  std::mutex              m_Mutex; // locked before those of processes
  std::condition_variable m_IsFree;
  std::vector<Place>      m_Taken; // those first that have not been used for longest
  pid_t                   m_Owner;
};

} // namespace gigapixel

#endif
