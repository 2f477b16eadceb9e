/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelSession.h"

#include <utility>

namespace gigapixel::application
{
namespace
{
double
Seconds(std::chrono::steady_clock::duration duration)
{
  return std::chrono::duration<double>(duration).count();
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
  : m_Title(title)
  , m_Pixels(pixels)
  , m_FrontEnd(session.GetFrontEnd())
  , m_Start(Clock::now())
  , m_LastShown(m_Start)
{}

Progress::~Progress()
{
  if (!m_Finished)
  {
    m_FrontEnd.EndProgress(std::string());
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
  const auto                        now = Clock::now();
  if (m_Finished || !m_FrontEnd.IsProgressDue(fraction - m_LastFraction, Seconds(now - m_LastShown)))
  {
    return;
  }
  m_LastShown = now;
  m_LastFraction = fraction;
  m_FrontEnd.ShowProgress(fraction, Compose(fraction, now, note));
}

void
Progress::Finish(const std::string & note)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  if (m_Finished)
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
  m_FrontEnd.EndProgress(line + (note.empty() ? "" : ", " + note));
}

} // namespace gigapixel::application
