/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Terminal_h
#define Terminal_h

#include "gigapixelFrontEnd.h"

#include <mutex>
#include <string>

namespace gigapixel::commandline
{

/** Writes to stdout. A command whose result nobody can read has failed, though its files are complete by then.
 * \throw Refusal with the system's reason */
void Print(const std::string & text);

/** Writes an error or a warning to stderr: a sentence for people, or a line of JSON with its fields. */
void PrintDiagnostic(const Diagnostic & diagnostic, bool isJSON);

/** \class Terminal
 * \brief Shows a command in a shell: its result on stdout, all else on stderr.
 *
 * Progress is one line that is rewritten a few times a second. In a log, it is a line every ten percent if those took
 * some time, and a sign of life each minute. */
class Terminal : public application::FrontEnd
{
public:
  struct Style
  {
    bool isQuiet{ false }; ///< neither progress nor messages
    bool isJSON{ false };  ///< the result is JSON
    bool areDiagnosticsJSON{ false };
  };

  explicit Terminal(const Style & style);

  void ShowProgress(double fraction, const std::string & line) override;
  bool IsProgressDue(double done, double seconds) const override;
  bool OwnsProcess() const override;
  void EndProgress(const std::string & line) override;
  void ShowMessage(const std::string & sentence) override;
  void ShowDiagnostic(const Diagnostic & diagnostic) override;
  void ShowFailures(const std::string & sentence) override;
  void ShowResult(const std::string & text, const std::string & json) override;

private:
  /** Takes away the line that would be rewritten, to make room for one that stays. */
  void ClearLine();

  Style      m_Style;
  bool       m_Rewrites; ///< stderr is a terminal that goes back to the beginning of the line
  bool       m_LineIsOpen{ false };
  std::mutex m_Mutex;
};

} // namespace gigapixel::commandline

#endif
