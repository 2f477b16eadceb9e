/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelInterruption_h
#define gigapixelInterruption_h

#include "GigapixelApplicationExport.h"

#include <exception>
#include <string>

namespace gigapixel::application
{

/** The user asked to stop (SIGINT, SIGTERM): exit code 130. */
class GigapixelApplication_EXPORT Interrupted : public std::exception
{
public:
  explicit Interrupted(const std::string & advice = {});
  ~Interrupted() override;

  const char * what() const noexcept override;

private:
  std::string m_Message;
};

/** From now on the first SIGINT, SIGTERM, SIGHUP or SIGXCPU, unless ignored, is a request that commands honor; the
 * second one kills. */
GigapixelApplication_EXPORT void InstallInterruptionHandlers();

/** The same until the end of its life, when the handlers before it get the signal that came. It does not kill. */
class GigapixelApplication_EXPORT InterruptionScope
{
public:
  InterruptionScope();
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope &) = delete;
  InterruptionScope & operator=(const InterruptionScope &) = delete;
};

/** Asks the command that runs to stop, as a signal does. */
GigapixelApplication_EXPORT void RequestInterruption();

/** The next command of this process is not interrupted by what was asked of the one before. */
GigapixelApplication_EXPORT void ForgetInterruption();

GigapixelApplication_EXPORT bool IsInterruptionRequested();

/** \class EndAtInterruption
 * \brief While it lives, SIGINT and SIGTERM end the process at once: for waiting that asks nobody, with nothing begun.
 */
class GigapixelApplication_EXPORT EndAtInterruption
{
public:
  EndAtInterruption();
  ~EndAtInterruption();
  EndAtInterruption(const EndAtInterruption &) = delete;
  EndAtInterruption & operator=(const EndAtInterruption &) = delete;
};

/** \throw Interrupted if the user asked to stop. */
GigapixelApplication_EXPORT void ThrowIfInterrupted();

} // namespace gigapixel::application

#endif
