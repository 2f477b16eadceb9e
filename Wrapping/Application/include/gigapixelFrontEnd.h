/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelFrontEnd_h
#define gigapixelFrontEnd_h

#include "GigapixelApplicationExport.h"

#include "gigapixelDiagnostic.h"

#include <string>

namespace gigapixel::application
{

/** \class FrontEnd
 * \brief What runs commands: the shell, 3D Slicer, Python. It shows people what a command does.
 *
 * All functions but ShowResult() are called from any thread. */
class GigapixelApplication_EXPORT FrontEnd
{
public:
  virtual ~FrontEnd();

  /** \param fraction 0..1 of the work done
   * \param line for people, such as "segment: 12 %, 41 Mpx/s, 5.2 s left" */
  virtual void ShowProgress(double fraction, const std::string & line) = 0;

  /** Whether progress is shown again. The default is for programs: every percent, or a sign of life each second.
   * \param done fraction of the work since it was shown
   * \param seconds since it was shown */
  virtual bool IsProgressDue(double done, double seconds) const;

  /** Whether the process is there for commands alone, which may then set how all of it keeps memory. The default is no.
   */
  virtual bool OwnsProcess() const;

  /** A piece of work has ended. The default shows it as progress and as a message.
   * \param line for people; empty: it ended by an exception */
  virtual void EndProgress(const std::string & line);

  virtual void ShowMessage(const std::string & sentence) = 0;

  /** A warning, or the error of one of several files. Threads that warn wait for it: it waits for none of them. */
  virtual void ShowDiagnostic(const Diagnostic & diagnostic) = 0;

  /** How many of several files failed, whose errors were shown. */
  virtual void ShowFailures(const std::string & sentence) = 0;

  /** \param text for people
   * \param json the same for programs: one value */
  virtual void ShowResult(const std::string & text, const std::string & json) = 0;
};

} // namespace gigapixel::application

#endif
