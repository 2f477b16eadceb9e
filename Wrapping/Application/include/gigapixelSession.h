/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelSession_h
#define gigapixelSession_h

#include "GigapixelApplicationExport.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFrontEnd.h"
#include "gigapixelInterruption.h"
#include "gigapixelNumberText.h"

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace gigapixel::application
{

/** Keeps a warning that was shown to people, for --json. */
GigapixelApplication_EXPORT void KeepWarning(const Diagnostic & warning);

/** The warnings of this process since the last call, in the order in which they came. */
GigapixelApplication_EXPORT std::vector<Diagnostic> TakeWarnings();

/** \class Session
 * \brief One run of one command: the front end that it shows its messages and its result to, and its threads. */
class GigapixelApplication_EXPORT Session
{
public:
  /** \param threads 0: as many as there are cores that this process may use */
  Session(FrontEnd & frontEnd, int threads);

  FrontEnd &
  GetFrontEnd() const
  {
    return m_FrontEnd;
  }

  int
  GetThreads() const
  {
    return m_Threads;
  }

  void Say(const std::string & sentence) const;

  /** Shows a warning and keeps it for TakeWarnings(). */
  void Warn(const Diagnostic & warning) const;

  /** The result, for people and for programs. A JSON object gets "warnings" with those that nobody has taken. */
  void ShowResult(const std::string & text, nlohmann::ordered_json json) const;

private:
  FrontEnd & m_FrontEnd;
  int        m_Threads;
};

/** \class Progress
 * \brief A line for a piece of work: percent, rate, time left. The front end says how often it is shown.
 *
 * Update() may be called from any thread. */
class GigapixelApplication_EXPORT Progress
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

  /** Ends the line with the time that the work took. */
  void Finish(const std::string & note = {});

private:
  using Clock = std::chrono::steady_clock;

  std::string Compose(double fraction, Clock::time_point now, const std::string & note) const;

  std::mutex        m_Mutex;
  std::string       m_Title;
  double            m_Pixels;
  FrontEnd &        m_FrontEnd;
  bool              m_Finished{ false };
  double            m_LastFraction{ 0 };
  Clock::time_point m_Start;
  Clock::time_point m_LastShown;
};

/** "1 byte", "41.3 MiB", "2.0 GiB", for people: powers of 1024, as --memory takes them. */
GigapixelApplication_EXPORT std::string FormatBytes(double bytes);

/** "120 Mpx/s", "1.2 Mpx/s", "0.0034 Mpx/s": two digits, or the whole number. */
GigapixelApplication_EXPORT std::string FormatRate(double pixels, double seconds);

/** "4.2 s", "3 min 20 s", "2 h 05 min", and from 48 hours on "3 days 07 h". */
GigapixelApplication_EXPORT std::string FormatDuration(double seconds);

/** Peak resident memory of this process in bytes (VmHWM); 0 where the system does not say. */
GigapixelApplication_EXPORT std::int64_t GetPeakMemory();

/** CPU seconds of this process so far, of all threads. */
GigapixelApplication_EXPORT double GetCPUSeconds();

} // namespace gigapixel::application

#endif
