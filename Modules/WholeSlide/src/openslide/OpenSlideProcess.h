/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef OpenSlideProcess_h
#define OpenSlideProcess_h

#include "OpenSlideMessage.h"
#include "slide/Slide.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ctime>
#include <sys/types.h>

namespace gigapixel
{

class OpenSlideLane;

/** What ended the process that OpenSlide ran in by the doing of what was asked, in a few words: it crashed, or took
 * more than it may. */
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

/** The process was ended by somebody else, as the system does where it runs out of memory. */
class OpenSlideLoss : public Obstacle
{
public:
  using Obstacle::Obstacle;
};

/** OpenSlide in a process of its own, which opens one slide: on some damaged files OpenSlide ends the process that it
 * is in, takes gigabytes or comes to no end.
 *
 * The program (reader/OpenSlideReader.cxx) lies in the folder ITKGigapixel beside this library; of a program that this
 * library is part of, beside the libraries that are built or installed with it. It loads OpenSlide's library, with
 * which come some forty others: from where GIGAPIXEL_OPENSLIDE says, or from the system's folders.
 *
 * Its functions may be called by any number of threads. Each request takes a lane, a socket and memory that both
 * processes share, for the time that its answer is used: there are as many lanes as there were requests at once.
 *
 * No more than OpenSlidePlaces::Most run at a time. Where another one is to be started, the one that has not been used
 * for longest is ended; where all are in use, that waits for one that is not. So who holds one in use must not wait for
 * another. */
class OpenSlideProcess
{
  class Asking;

public:
  /** A process in use, as long as this is there: it is not ended because another one needs its place. */
  class Use
  {
  public:
    Use() = default;
    Use(Use &&) noexcept = default;
    Use & operator=(Use && other) noexcept;
    ~Use();

    /** Empty where the process has ended, or is not ours, as in a process that was forked from ours. */
    static Use Begin(const std::shared_ptr<OpenSlideProcess> & process);

    explicit operator bool() const { return m_Process != nullptr; }
    OpenSlideProcess *
    operator->() const
    {
      return m_Process.get();
    }
    const std::shared_ptr<OpenSlideProcess> &
    Get() const
    {
      return m_Process;
    }

  private:
    friend class OpenSlideProcess;

    explicit Use(std::shared_ptr<OpenSlideProcess> process)
      : m_Process(std::move(process))
    {}

    std::shared_ptr<OpenSlideProcess> m_Process;
  };

  /** What is said, and the pixels, alpha and colors multiplied by it, where they were asked for. */
  class Answer
  {
  public:
    Answer(std::shared_ptr<OpenSlideProcess> process, std::unique_ptr<OpenSlideLane> lane);
    Answer(Answer &&) noexcept;
    Answer & operator=(Answer &&) = delete;
    ~Answer();

    const std::uint32_t * GetPixels() const;

    OpenSlideMessage texts;

  private:
    std::shared_ptr<OpenSlideProcess> m_Process;
    std::unique_ptr<OpenSlideLane>    m_Lane;
  };

  /** A new one. GetProblem() says whether it can be asked. */
  static Use Start();

  /** One that has opened no slide yet: what Keep() was given, or a new one. */
  static Use Take();

  /** For the next Take(): to be told what a file is takes as long as starting the process, and then it may be opened.
   */
  static void Keep(Use process);

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

  /** Where `isRequested` says so, answers that take long are not waited for any more; null: they always are. It may be
   * called by any thread. */
  static void SetInterruption(bool (*isRequested)());

  /** Why OpenSlide cannot be asked, and what to do about it; empty where it can. */
  const Diagnostic &
  GetProblem() const
  {
    return m_Problem;
  }

  /** OpenSlide's; empty where it cannot be asked. */
  const std::string &
  GetVersion() const
  {
    return m_Version;
  }

  /** Whether it was asked for pixels more than once, those that are read as a file is tried among them. */
  bool
  HasReadMore() const
  {
    return m_Reads > 1;
  }

  /** Asks, and waits for the answer. \param process that is asked \param pixels that come with the answer. Throws
   * OpenSlideEnd where the process ends before it answers, OpenSlideLoss where somebody else ends it, another Obstacle
   * where it is not the request that hinders it, std::bad_alloc where there is no memory for the pixels, and
   * Refusal with the reason where OpenSlide refuses. */
  static Answer Ask(const Use & process, const OpenSlideMessage & request, std::size_t pixels = 0);

private:
  friend class OpenSlidePlaces; // which retires it

  /** How it goes on with what was asked. */
  enum class Course
  {
    Answered,
    Closed,
    Late,
    Interrupted
  };

  /** What the process has ended by. */
  struct Ending
  {
    Diagnostic what; // without a remedy where it is the doing of what was asked
    bool       isLoss = false;
  };

  void                           Launch();
  void                           Greet();
  int                            StartProgram();
  bool                           IsUsable() const;
  std::unique_ptr<OpenSlideLane> TakeLane();
  void                           GiveBack(std::unique_ptr<OpenSlideLane> lane);
  Course                         Receive(int socket, OpenSlideMessage & message);
  void                           TakeWords();
  void                           Retire();
  Ending                         End(Course course);
  [[noreturn]] void              Fail(Course course, std::int64_t computed);
  std::int64_t                   GetComputed() const;

  Diagnostic                                  m_Problem;
  std::string                                 m_Version;
  pid_t                                       m_Owner;
  pid_t                                       m_Process{ 0 }; // 0: not started, or has ended
  int                                         m_Socket{ -1 };
  int                                         m_Output{ -1 };
  clockid_t                                   m_Clock{};     // of what it computes
  std::atomic<std::uint64_t>                  m_Reads{ 0 };  // requests for pixels
  mutable std::mutex                          m_Mutex;       // of all that follows, and the process
  std::string                                 m_Words;       // the end of what it has said on its standard error
  int                                         m_Asking{ 0 }; // threads that wait for an answer
  Ending                                      m_End;
  std::vector<std::unique_ptr<OpenSlideLane>> m_Idle;
};

} // namespace gigapixel

#endif
