/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelProgram.h"

#include "DiagnosticJSON.h"
#include "FormerNames.h"
#include "ITKMessages.h"
#include "Terminal.h"

#include "gigapixelLaunch.h"
#include "gigapixelNearestNames.h"
#include "gigapixelPrintable.h"

#include <nlohmann/json.hpp>

#include "itkMacro.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace gigapixel::commandline
{
namespace
{
using application::ArgumentValues;
using application::Command;
using application::UsageError;

/** Where standard streams are closed (2>&-), the first files to be opened would get their numbers, and what is said
 * would be written into them. Now writing it fails, as it is to. */
void
OccupyStandardStreams()
{
  int descriptor = STDIN_FILENO;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO)
  {
    descriptor = open("/dev/null", O_RDONLY);
  }
  if (descriptor > STDERR_FILENO)
  {
    close(descriptor);
  }
}

/** Where a pipe has closed, or a file may not grow, the write fails, and that is said, where the signal would end the
 * program without a word. */
void
IgnoreSignalsOfWriting()
{
#ifdef SIGPIPE
  std::signal(SIGPIPE, SIG_IGN);
#endif
#ifdef SIGXFSZ
  std::signal(SIGXFSZ, SIG_IGN);
#endif
}

int
RunCommand(const Command &                  command,
           const std::vector<std::string> & words,
           application::CommandFunction     function,
           bool                             areDiagnosticsJSON)
{
  std::vector<Diagnostic> warnings;
  const ArgumentValues    values = ArgumentValues::Parse(command, ReplaceFormerNames(command, words, warnings));
  if (values.Has("help") || values.Has("help-all"))
  {
    Print(application::GetHelp(command, values.Has("help-all")));
    return application::Success;
  }
  Terminal terminal({ Launch::Find().rank > 0 || values.Has("quiet"), values.Has("json"), areDiagnosticsJSON });
  for (const Diagnostic & warning : warnings)
  {
    terminal.ShowDiagnostic(warning);
    application::KeepWarning(warning);
  }
  application::InstallInterruptionHandlers();
  return application::RunCommand(values, terminal, function);
}

/** Of a word with a slip or two: what was meant. */
std::string
DescribeNearest(const std::string & word, const std::vector<std::string> & names)
{
  const std::string nearest = FindNearestNames(word, names, 1).front();
  return GetEditDistance(word, nearest) < 3 ? "did you mean " + nearest + '?' : std::string();
}

int
RunWords(const std::vector<std::string> & words)
{
  if (words.empty())
  {
    throw UsageError(Diagnostic("E-COMMAND-MISSING", "a command is missing"));
  }
  const std::string & first = words.front();
  if (first == "--help" || first == "-h" || first == "help")
  {
    Print(application::GetHelp());
    return application::Success;
  }
  if (first == "--version")
  {
    Print(std::string("gigapixel ") + GIGAPIXEL_VERSION + '\n');
    return application::Success;
  }
  if (first == "--codes")
  {
    Print(DescribeCodes());
    return application::Success;
  }
  if (first == "--describe")
  {
    Print(application::DescribeCommands() + '\n');
    return application::Success;
  }
  const Command * command = application::FindCommand(first);
  if (!command)
  {
    std::vector<std::string> names;
    for (const Command & known : application::GetCommands())
    {
      names.push_back(known.name);
    }
    throw UsageError(Diagnostic("E-COMMAND-UNKNOWN",
                                "there is no command " + first + "; there are " + JoinWithOr(names),
                                DescribeNearest(first, names))
                       .OfValue(first));
  }
  return RunCommand(*command, { words.begin() + 1, words.end() }, nullptr, false);
}

int
Report(const std::string & text, int exitCode)
{
  std::fprintf(stderr, "gigapixel: %s\n", GetPrintable(text).c_str());
  return exitCode;
}

bool
IsJSON(const std::vector<std::string> & words)
{
  return std::find(words.begin(), words.end(), "--json") != words.end();
}

/** With --json the fields of the error are the result: {"error": {...}}. */
int
Report(const Diagnostic & error, int exitCode, const Terminal::Style & style)
{
  if (style.isJSON)
  {
    const nlohmann::ordered_json result{ { "error", application::ToJSON(error) } };
    std::fputs((result.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + '\n').c_str(), stdout);
    std::fflush(stdout);
  }
  PrintDiagnostic(error, style.areDiagnosticsJSON);
  return exitCode;
}

/** Every exception becomes a sentence and an exit code. \param help how to get help */
template <typename TWork>
int
ReportFailures(const std::string & help, const Terminal::Style & style, const TWork & work)
{
  try
  {
    return work();
  }
  catch (const UsageError & error)
  {
    Diagnostic diagnostic = error.GetDiagnostic();
    const bool isQuestion = !diagnostic.remedy.empty() && diagnostic.remedy.back() == '?';
    diagnostic.remedy += (diagnostic.remedy.empty() ? "see " : isQuestion ? " See " : ", and see ") + help;
    return Report(diagnostic, application::WrongUsage, style);
  }
  catch (const application::Interrupted & interruption)
  {
    return Report(interruption.what(), application::WasInterrupted);
  }
  catch (const itk::ExceptionObject &)
  {
    return application::IsInterruptionRequested()
             ? Report(application::Interrupted().what(), application::WasInterrupted)
             : Report(application::DiagnoseThrown(), application::Failure, style);
  }
  catch (const std::exception &)
  {
    return Report(application::DiagnoseThrown(), application::Failure, style);
  }
}
} // namespace

int
RunProgram(int argc, const char * const * argv)
{
  OccupyStandardStreams();
  IgnoreSignalsOfWriting();
  const std::vector<std::string> words(argv + (argc > 0), argv + argc);
  const bool                     isCommand = !words.empty() && application::FindCommand(words.front());
  return ReportFailures("gigapixel " + (isCommand ? words.front() + ' ' : std::string()) + "--help",
                        { true, IsJSON(words), false },
                        [&words] { return RunWords(words); });
}

int
RunProgram(const Command &                  command,
           const std::vector<std::string> & words,
           application::CommandFunction     function,
           bool                             areDiagnosticsJSON)
{
  OccupyStandardStreams();
  IgnoreSignalsOfWriting();
  return ReportFailures(command.name + " --help", { true, IsJSON(words), areDiagnosticsJSON }, [&] {
    return RunCommand(command, words, function, areDiagnosticsJSON);
  });
}

} // namespace gigapixel::commandline
