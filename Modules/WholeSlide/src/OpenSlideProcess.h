/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideProcess_h
#define OpenSlideProcess_h

#include "OpenSlideMessage.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/types.h>

namespace gigapixel
{

/** What ended the process that OpenSlide ran in, in a few words: it crashed, or took more than it may. */
class OpenSlideEnd : public std::runtime_error
{
public:
  OpenSlideEnd(const std::string & what, bool isLate)
    : std::runtime_error(what)
    , m_IsLate(isLate)
  {}

  /** OpenSlide came to no end with what was asked. Else it may be the doing of a request of another thread, or of what
   * was asked before. */
  bool
  IsLate() const
  {
    return m_IsLate;
  }

private:
  bool m_IsLate;
};

/** OpenSlide in a process of its own, which opens one slide: on some damaged files OpenSlide ends the process that it
 * is in, takes gigabytes or comes to no end.
 *
 * The program (reader/OpenSlideReader.cxx) lies in the folder ITKGigapixel beside this library; of a program that this
 * library is part of, beside the libraries that are built or installed with it. It loads OpenSlide's library, with
 * which come some forty others: from where GIGAPIXEL_OPENSLIDE says, or from the system's folders.
 *
 * Its functions may be called by any number of threads. Each request takes a lane, a socket and memory that both
 * processes share, for the time that its answer is used: there are as many lanes as there were requests at once. */
class OpenSlideProcess
{
  struct Lane;

public:
  /** What is said, and the pixels, alpha and colors multiplied by it, where they were asked for. */
  class Answer
  {
  public:
    Answer(std::shared_ptr<OpenSlideProcess> process, std::unique_ptr<Lane> lane);
    Answer(Answer &&) noexcept;
    Answer & operator=(Answer &&) = delete;
    ~Answer();

    const std::uint32_t * GetPixels() const;

    OpenSlideMessage texts;

  private:
    std::shared_ptr<OpenSlideProcess> m_Process;
    std::unique_ptr<Lane>             m_Lane;
  };

  /** One that has opened no slide yet: what Keep() was given, or a new one. GetProblem() says whether it can be asked.
   */
  static std::shared_ptr<OpenSlideProcess> Take();

  /** For the next Take(): to be told what a file is takes as long as starting the process, and then it may be opened.
   */
  static void Keep(std::shared_ptr<OpenSlideProcess> process);

  /** Ends the one that Keep() was given. */
  static void EndKept();

  OpenSlideProcess();
  OpenSlideProcess(const OpenSlideProcess &) = delete;
  OpenSlideProcess & operator=(const OpenSlideProcess &) = delete;
  ~OpenSlideProcess();

  /** Where the program has to be. */
  static std::string GetProgram();

  /** Nothing is to be shown of what OpenSlide and the libraries below it say. */
  static void Silence();

  /** Why OpenSlide cannot be asked, in a few words; empty where it can. */
  const std::string &
  GetProblem() const
  {
    return m_Problem;
  }

  /** What to do about it. */
  const std::string &
  GetRemedy() const
  {
    return m_Remedy;
  }

  /** OpenSlide's; empty where it cannot be asked. */
  const std::string &
  GetVersion() const
  {
    return m_Version;
  }

  /** Whether pixels were asked for more than once. */
  bool
  HasReadMore() const
  {
    return m_Reads > 1;
  }

  /** False in a process that was forked from ours, which has to start its own, and where it has ended. */
  bool IsUsable() const;

  /** Asks, and waits for the answer. \param process that is asked \param pixels that come with the answer. Throws
   * OpenSlideEnd where the process ends before it answers, std::bad_alloc where there is no memory for the pixels, and
   * std::runtime_error with the reason where OpenSlide refuses, or a lane cannot be made. */
  static Answer Ask(const std::shared_ptr<OpenSlideProcess> & process,
                    const OpenSlideMessage &                  request,
                    std::size_t                               pixels = 0);

private:
  void                  Start();
  std::unique_ptr<Lane> TakeLane();
  void                  GiveBack(std::unique_ptr<Lane> lane);
  bool                  Receive(int socket, OpenSlideMessage & message, bool & isLate);
  void                  TakeWords();
  std::string           End(bool isLate);

  std::string                        m_Problem;
  std::string                        m_Remedy;
  std::string                        m_Version;
  pid_t                              m_Owner;
  pid_t                              m_Process{ 0 }; // 0: not started, or has ended
  int                                m_Socket{ -1 };
  int                                m_Output{ -1 };
  std::atomic<std::uint64_t>         m_Reads{ 0 }; // requests for pixels
  mutable std::mutex                 m_Mutex;      // of all that follows, and the process
  std::string                        m_Words;      // the end of what it has said on its standard error
  std::string                        m_End;
  std::vector<std::unique_ptr<Lane>> m_Idle;
};

} // namespace gigapixel

#endif
