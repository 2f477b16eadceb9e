/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSession.h"

#include "gigapixelPrintable.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <utility>

namespace gigapixel::commandline
{
namespace
{
double
Seconds(std::chrono::steady_clock::duration duration)
{
  return std::chrono::duration<double>(duration).count();
}

/** A terminal that knows how to go back to the line's begin. */
bool
IsTerminal()
{
  const char * kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && kind && std::string(kind) != "dumb";
}
std::function<void()> &
Witness()
{
  static std::function<void()> witness;
  return witness;
}
} // namespace

void
Progress::SetWitness(std::function<void()> witness)
{
  Witness() = std::move(witness);
}

Progress::Progress(const Session & session, const std::string & title, double pixels)
  : m_Title(GetPrintable(title))
  , m_Pixels(pixels)
  , m_Listener(session.GetListener())
  , m_Shown(!session.IsQuiet() || m_Listener)
  , m_Terminal(!m_Listener && IsTerminal())
  , m_Start(Clock::now())
  , m_LastShown(m_Start)
{}

Progress::~Progress()
{
  if (m_LineIsOpen)
  {
    std::fputs("\r\x1b[K", stderr);
  }
}

std::string
Progress::Compose(double fraction, Clock::time_point now, const std::string & note) const
{
  const double seconds = Seconds(now - m_Start);
  std::string  line = m_Title + ": " + FormatNumber(100 * fraction, 0) + " %";
  if (m_Pixels > 0 && seconds > 0 && fraction > 0)
  {
    line += ", " + FormatRate(m_Pixels * fraction, seconds);
  }
  if (fraction > 0)
  {
    line += ", " + FormatDuration(seconds * (1 - fraction) / fraction) + " left";
  }
  return line + (note.empty() ? "" : ", " + note);
}

void
Progress::Update(double fraction, const std::string & note)
{
  if (Witness())
  {
    Witness()();
  }
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (!m_Shown || m_Finished)
  {
    return;
  }
  const auto   now = Clock::now();
  const double since = Seconds(now - m_LastShown);
  const double done = fraction - m_LastFraction;
  // A program that listens hears every percent, or a sign of life each second. A terminal is written to a few times a
  // second. A log gets a line for ten percent if those took some time, and a sign of life each minute.
  const bool due = m_Listener   ? done >= 0.01 || since >= 1
                   : m_Terminal ? since >= 0.1
                                : (done >= 0.1 && since >= 2) || since >= 60;
  if (!due)
  {
    return;
  }
  m_LastShown = now;
  m_LastFraction = fraction;
  if (m_Listener)
  {
    m_Listener->HearProgress(fraction);
    return;
  }
  const std::string line = Compose(fraction, now, note);
  std::fprintf(stderr, m_Terminal ? "\r%s\x1b[K" : "%s\n", line.c_str());
  std::fflush(stderr);
  m_LineIsOpen = m_Terminal;
}

void
Progress::Interject(const std::string & sentence)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_Listener)
  {
    m_Listener->HearMessage(sentence);
  }
  else if (m_Shown)
  {
    std::fprintf(stderr, m_LineIsOpen ? "\r%s\x1b[K\n" : "%s\n", GetPrintable(sentence).c_str());
    std::fflush(stderr);
    m_LineIsOpen = false;
  }
}

void
Progress::Finish(const std::string & note)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (!m_Shown || m_Finished)
  {
    return;
  }
  m_Finished = true;
  const double seconds = Seconds(Clock::now() - m_Start);
  std::string  line = m_Title + ": " + FormatDuration(seconds);
  if (m_Pixels > 0 && seconds > 0)
  {
    line += ", " + FormatRate(m_Pixels, seconds);
  }
  line += note.empty() ? "" : ", " + note;
  if (m_Listener)
  {
    m_Listener->HearProgress(1);
    m_Listener->HearMessage(line);
    return;
  }
  std::fprintf(stderr, m_LineIsOpen ? "\r%s\x1b[K\n" : "%s\n", line.c_str());
  m_LineIsOpen = false;
}

} // namespace gigapixel::commandline
