/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelInterruption.h"
#include "gigapixelRunCommand.h"

#include <array>
#include <csignal>

#include <unistd.h>

namespace gigapixel::application
{
namespace
{
volatile std::sig_atomic_t interruptionRequested = 0;
volatile std::sig_atomic_t endsAtOnce = 0;
volatile std::sig_atomic_t passedOn = 0;

// SIGXCPU is of ulimit -t.
constexpr std::array<int, 4> heeded{ { SIGINT, SIGTERM, SIGHUP, SIGXCPU } };
// There is one interruption for the process, and so one place for the handlers before ours.
std::array<struct sigaction, heeded.size()> handlersBefore{};
pid_t                                       ownerOfScope = 0;

void
EndWhereItMay()
{
  if (endsAtOnce)
  {
    static const char sentence[] = "gigapixel: Interrupted.\n";
    _exit(write(STDERR_FILENO, sentence, sizeof(sentence) - 1) < 0 ? Failure : WasInterrupted);
  }
}

extern "C" void
RequestOrEnd(int signal)
{
  EndWhereItMay();
  interruptionRequested = 1;
  if (signal != SIGXCPU) // which comes again each second
  {
    std::signal(signal, SIG_DFL); // whoever asks twice means it
  }
}

extern "C" void
RequestAndPassOn(int signal)
{
  if (getpid() != ownerOfScope) // forked meanwhile, such as a worker of Python's: no scope ends there
  {
    for (std::size_t i = 0; i < heeded.size(); ++i)
    {
      if (heeded[i] == signal)
      {
        sigaction(signal, &handlersBefore[i], nullptr);
      }
    }
    std::raise(signal);
    return;
  }
  EndWhereItMay();
  interruptionRequested = 1;
  passedOn = signal;
}

} // namespace

Interrupted::Interrupted(const std::string & advice)
  : m_Message("Interrupted." + (advice.empty() ? std::string() : ' ' + advice))
{}

Interrupted::~Interrupted() = default;

const char *
Interrupted::what() const noexcept
{
  return m_Message.c_str();
}

void
InstallInterruptionHandlers()
{
  for (const int signal : heeded)
  {
    if (std::signal(signal, RequestOrEnd) == SIG_IGN)
    {
      std::signal(signal, SIG_IGN); // so started is what a script runs in the background, or nohup
    }
  }
}

InterruptionScope::InterruptionScope()
{
  passedOn = 0;
  ownerOfScope = getpid();
  for (std::size_t i = 0; i < heeded.size(); ++i)
  {
    struct sigaction ours
    {
    };
    ours.sa_handler = RequestAndPassOn;
    ours.sa_flags = SA_RESTART; // as std::signal() has it: a file that is being read is not taken for a damaged one
    sigaction(heeded[i], nullptr, &handlersBefore[i]);
    if (handlersBefore[i].sa_handler != SIG_IGN)
    {
      sigaction(heeded[i], &ours, nullptr);
    }
  }
}

InterruptionScope::~InterruptionScope()
{
  for (std::size_t i = 0; i < heeded.size(); ++i)
  {
    sigaction(heeded[i], &handlersBefore[i], nullptr);
  }
  if (passedOn != 0)
  {
    std::raise(passedOn);
  }
}

void
RequestInterruption()
{
  interruptionRequested = 1;
}

void
ForgetInterruption()
{
  interruptionRequested = 0;
}

bool
IsInterruptionRequested()
{
  return interruptionRequested != 0;
}

EndAtInterruption::EndAtInterruption()
{
  endsAtOnce = 1;
}

EndAtInterruption::~EndAtInterruption()
{
  endsAtOnce = 0;
}

void
ThrowIfInterrupted()
{
  if (IsInterruptionRequested())
  {
    throw Interrupted();
  }
}

} // namespace gigapixel::application
