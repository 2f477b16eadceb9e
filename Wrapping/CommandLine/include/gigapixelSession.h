/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSession_h
#define gigapixelSession_h

#include "GigapixelCommandLineExport.h"

#include "gigapixelDiagnostic.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace gigapixel::commandline
{

/** The user asked to stop (SIGINT, SIGTERM): exit code 130. */
class GigapixelCommandLine_EXPORT Interrupted : public std::exception
{
public:
  explicit Interrupted(const std::string & advice = {});
  ~Interrupted() override;

  const char * what() const noexcept override;

private:
  std::string m_Message;
};

/** From now on the first SIGINT or SIGTERM, unless ignored, is a request that commands honor; the second one kills. */
GigapixelCommandLine_EXPORT void InstallInterruptionHandlers();

GigapixelCommandLine_EXPORT bool IsInterruptionRequested();

/** \class EndAtInterruption
 * \brief While it lives, SIGINT and SIGTERM end the process at once: for waiting that asks nobody, with nothing begun.
 */
class GigapixelCommandLine_EXPORT EndAtInterruption
{
public:
  EndAtInterruption();
  ~EndAtInterruption();
  EndAtInterruption(const EndAtInterruption &) = delete;
  EndAtInterruption & operator=(const EndAtInterruption &) = delete;
};

/** \throw Interrupted if the user asked to stop. */
GigapixelCommandLine_EXPORT void ThrowIfInterrupted();

/** \class Listener
 * \brief Another front end, which hears of a run what people would see of it. */
class GigapixelCommandLine_EXPORT Listener
{
public:
  virtual ~Listener();

  /** A few times a second at most, from any thread. \param fraction 0..1 of the work done */
  virtual void HearProgress(double fraction) = 0;

  virtual void HearMessage(const std::string & sentence) = 0;

  /** The result, as --json prints it. */
  virtual void HearResult(const std::string & json) = 0;
};

/** Writes to stdout. Whoever cannot read the result is not to take the work for done, so that it is an error where that
 * fails: the last one, as files are complete by then. \throw std::runtime_error with the system's reason */
GigapixelCommandLine_EXPORT void Print(const std::string & text);

/** Writes errors and warnings as lines of JSON from now on: the fields of each, see ToJSON(). */
GigapixelCommandLine_EXPORT void ShowDiagnosticsAsJSON();

/** Writes an error or a warning to stderr: a sentence for people, or a line of JSON. */
GigapixelCommandLine_EXPORT void ShowDiagnostic(const Diagnostic & diagnostic);

/** Keeps a warning that was shown to people, for --json. */
GigapixelCommandLine_EXPORT void KeepWarning(const Diagnostic & warning);

/** The warnings of this process since the last call, in the order in which they came. */
GigapixelCommandLine_EXPORT std::vector<Diagnostic> TakeWarnings();

/** \class Session
 * \brief One run of one command: where its messages and its result go.
 *
 * Messages go to stderr, the result to stdout: as text for people, or with --json as one JSON value and nothing else.
 * With a listener it hears all of that but warnings, which stay on stderr.
 */
class GigapixelCommandLine_EXPORT Session
{
public:
  /** \param threads 0: as many as there are cores that this process may use */
  Session(bool quiet, bool json, int threads, Listener * listener = nullptr);

  bool
  IsQuiet() const
  {
    return m_Quiet;
  }

  bool
  WantsJSON() const
  {
    return m_JSON;
  }

  int
  GetThreads() const
  {
    return m_Threads;
  }

  /** Null where people listen. */
  Listener *
  GetListener() const
  {
    return m_Listener;
  }

  /** A message, unless --quiet. */
  void Say(const std::string & sentence) const;

  /** Prints a warning, which --quiet does not hide, and keeps it for TakeWarnings(). */
  void Warn(const Diagnostic & warning) const;

  /** The result: the one or the other, as the user wants it. A JSON object gets "warnings" with those that nobody has
   * taken. */
  void PrintResult(const std::string & text, const std::string & json) const;

private:
  bool       m_Quiet;
  bool       m_JSON;
  int        m_Threads;
  Listener * m_Listener;
};

/** \class Progress
 * \brief One line on a terminal that is rewritten: percent, rate, time left. In a log, a line every ten percent.
 *
 * Update() may be called from any thread. */
class GigapixelCommandLine_EXPORT Progress
{
public:
  /** \param pixels of the whole work, for the rate; 0: no rate is shown */
  Progress(const Session & session, const std::string & title, double pixels = 0);
  ~Progress();

  Progress(const Progress &) = delete;
  Progress & operator=(const Progress &) = delete;

  /** \param fraction 0..1 of the work done; \param note short words shown behind (losses, for instance) */
  void Update(double fraction, const std::string & note = {});

  /** From now on each Update() in this process calls the witness first, which may throw to end the work; null: none. */
  static void SetWitness(std::function<void()> witness);

  /** A line of its own that stays, above the progress. */
  void Interject(const std::string & sentence);

  /** Ends the line with the time that it took; without it, the line is just taken away. */
  void Finish(const std::string & note = {});

private:
  using Clock = std::chrono::steady_clock;

  std::string Compose(double fraction, Clock::time_point now, const std::string & note) const;

  std::mutex        m_Mutex;
  std::string       m_Title;
  double            m_Pixels;
  Listener *        m_Listener;
  bool              m_Shown;
  bool              m_Terminal;
  bool              m_LineIsOpen{ false };
  bool              m_Finished{ false };
  double            m_LastFraction{ 0 };
  Clock::time_point m_Start;
  Clock::time_point m_LastShown;
};

/** "1 byte", "41.3 MiB", "2.0 GiB", for people: powers of 1024, as --memory takes them. */
GigapixelCommandLine_EXPORT std::string FormatBytes(double bytes);

/** "120 Mpx/s", "1.2 Mpx/s", "0.0034 Mpx/s": two digits, or the whole number. */
GigapixelCommandLine_EXPORT std::string FormatRate(double pixels, double seconds);

/** "4.2 s", "3 min 20 s", "2 h 05 min", and from 48 hours on "3 days 07 h". */
GigapixelCommandLine_EXPORT std::string FormatDuration(double seconds);

/** A number for people, with this many digits behind the point. */
GigapixelCommandLine_EXPORT std::string FormatNumber(double value, int digits);

/** Peak resident memory of this process in bytes (VmHWM); 0 where the system does not say. */
GigapixelCommandLine_EXPORT std::int64_t GetPeakMemory();

/** CPU seconds of this process so far, of all threads. */
GigapixelCommandLine_EXPORT double GetCPUSeconds();

} // namespace gigapixel::commandline

#endif
