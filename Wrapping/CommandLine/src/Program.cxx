/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelProgram.h"

#include "CommandFunctions.h"
#include "DiagnosticJSON.h"
#include "ITKMessages.h"
#include "ImageFormats.h"
#include "Engine.h"
#include "FormerNames.h"
#include "StatusCommand.h"

#include "gigapixelCoreShare.h"
#include "gigapixelNearestNames.h"
#include "gigapixelPrintable.h"
#include "gigapixelUsableCores.h"

#include <nlohmann/json.hpp>

#include "itkMacro.h"
#include "itkMultiThreaderBase.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace gigapixel::commandline
{
namespace
{
/** A switch of the program, yes or no in Slicer's forms. */
bool
IsStrict(const Command & command, const ArgumentValues & values)
{
  const Argument * const strict = command.Find("strict");
  return strict && (strict->type == ArgumentType::Switch ? values.Has("strict") : values.GetText("strict") == "yes");
}

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

/** Slides stay open while they may be read again, and a cohort has more of them than the 1024 files that systems
 * allow at first. */
void
AllowManyOpenFiles()
{
  constexpr rlim_t wanted = 65536;
  rlimit           limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < wanted)
  {
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit); // where it fails, all is as it was
  }
}

int
RunCommand(const Command & command, const std::vector<std::string> & words, CommandFunction function)
{
  std::vector<Diagnostic> warnings;
  const ArgumentValues    values = ArgumentValues::Parse(command, ReplaceFormerNames(command, words, warnings));
  if (values.Has("help") || values.Has("help-all"))
  {
    Print(GetHelp(command, values.Has("help-all")));
    return Success;
  }
  const Launch launch = Launch::Find();
  CoreShare::Bind(launch);
  const Session session(
    launch.rank > 0 || values.Has("quiet"), values.Has("json"), static_cast<int>(values.GetInteger("threads")));
  for (const Diagnostic & warning : warnings)
  {
    session.Warn(warning);
  }
  if (const int cores = CountUsableCores(); session.GetThreads() > cores)
  {
    session.Say("--threads " + std::to_string(session.GetThreads()) + ": this process may use " +
                std::to_string(cores) + (cores == 1 ? " core" : " cores") +
                ", and more threads than those take more memory and no less time");
  }
  itk::MultiThreaderBase::SetGlobalMaximumNumberOfThreads(static_cast<itk::ThreadIdType>(session.GetThreads()));
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(static_cast<itk::ThreadIdType>(session.GetThreads()));
  itk::WholeSlideImageIO::SetGlobalDefaultStrict(IsStrict(command, values));
  InstallInterruptionHandlers();
  itk::WholeSlideImageIO::SetInterruptionOfOpenSlide(IsInterruptionRequested);
  AllowManyOpenFiles();
  ShowITKWarningsAsSentences();
  RegisterImageFormats();
  return (function ? function : FindCommandFunction(command))(values, session);
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
    Print(GetHelp());
    return Success;
  }
  if (first == "--version")
  {
    Print(std::string("gigapixel ") + GIGAPIXEL_VERSION + '\n');
    return Success;
  }
  if (first == "--codes")
  {
    Print(DescribeCodes());
    return Success;
  }
  if (first == "--describe")
  {
    Print(DescribeCommands() + '\n');
    return Success;
  }
  const Command * command = FindCommand(first);
  if (!command)
  {
    std::vector<std::string> names;
    for (const Command & known : GetCommands())
    {
      names.push_back(known.name);
    }
    throw UsageError(Diagnostic("E-COMMAND-UNKNOWN",
                                "there is no command " + first + "; there are " + JoinWithOr(names),
                                DescribeNearest(first, names))
                       .OfValue(first));
  }
  return RunCommand(*command, { words.begin() + 1, words.end() }, nullptr);
}

int
Report(const std::string & text, int exitCode)
{
  std::fprintf(stderr, "gigapixel: %s\n", GetPrintable(text).c_str());
  return exitCode;
}

/** With --json the fields of the error are the result: {"error": {...}}. */
int
Report(const Diagnostic & error, int exitCode, const std::vector<std::string> & words)
{
  if (std::find(words.begin(), words.end(), "--json") != words.end())
  {
    const nlohmann::ordered_json result{ { "error", ToJSON(error) } };
    std::fputs((result.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + '\n').c_str(), stdout);
    std::fflush(stdout);
  }
  ShowDiagnostic(error);
  return exitCode;
}

/** Every exception becomes a sentence and an exit code. \param help how to get help */
template <typename TWork>
int
ReportFailures(const std::string & help, const std::vector<std::string> & words, const TWork & work)
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
    return Report(diagnostic, WrongUsage, words);
  }
  catch (const Interrupted & interruption)
  {
    return Report(interruption.what(), WasInterrupted);
  }
  catch (const itk::ExceptionObject &)
  {
    return IsInterruptionRequested() ? Report(Interrupted().what(), WasInterrupted)
                                     : Report(DiagnoseThrown(), Failure, words);
  }
  catch (const std::exception &)
  {
    return Report(DiagnoseThrown(), Failure, words);
  }
}
} // namespace

CommandFunction
FindCommandFunction(const Command & command)
{
  static const std::map<std::string, CommandFunction> functions{
    { "info", RunInfo },       { "label", RunLabel },           { "evaluate", RunEvaluate },
    { "overlay", RunOverlay }, { "rasterize", RunRasterize },   { "outline", RunOutline },
    { "convert", RunConvert }, { "synthesize", RunSynthesize }, { "doctor", RunDoctor },
    { "measure", RunMeasure }, { "report", RunReport },         { "status", RunStatus },
  };
  const auto found = functions.find(command.name);
  return found != functions.end() ? found->second : FindEngineCommand(command.name);
}

int
RunProgram(int argc, const char * const * argv)
{
  OccupyStandardStreams();
  IgnoreSignalsOfWriting();
  const std::vector<std::string> words(argv + (argc > 0), argv + argc);
  const bool                     isCommand = !words.empty() && FindCommand(words.front());
  return ReportFailures("gigapixel " + (isCommand ? words.front() + ' ' : std::string()) + "--help", words, [&words] {
    return RunWords(words);
  });
}

int
RunProgram(const Command & command, const std::vector<std::string> & words, CommandFunction function)
{
  OccupyStandardStreams();
  IgnoreSignalsOfWriting();
  return ReportFailures(command.name + " --help", words, [&] { return RunCommand(command, words, function); });
}

} // namespace gigapixel::commandline
