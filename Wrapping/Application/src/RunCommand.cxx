/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelRunCommand.h"

#include "CommandFunctions.h"
#include "Doubt.h"
#include "Engine.h"
#include "ImageFormats.h"
#include "ITKWarnings.h"
#include "StatusCommand.h"

#include "gigapixelCoreShare.h"
#include "gigapixelUsableCores.h"

#include "itkMultiThreaderBase.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>
#include <map>

#include <sys/resource.h>

namespace gigapixel::application
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

/** \class ProcessSettings
 * \brief What ITK keeps for the process: as the command wants it while it lives, and then as it was. */
class ProcessSettings
{
public:
  ProcessSettings(const ArgumentValues & values, const Session & session)
    : m_Warnings(session.GetFrontEnd())
  {
    const auto threads = static_cast<itk::ThreadIdType>(session.GetThreads());
    itk::MultiThreaderBase::SetGlobalMaximumNumberOfThreads(threads);
    itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
    itk::WholeSlideImageIO::SetGlobalDefaultStrict(IsStrict(values.GetCommand(), values));
    itk::WholeSlideImageIO::SetInterruptionOfOpenSlide(IsInterruptionRequested);
  }

  ~ProcessSettings()
  {
    itk::WholeSlideImageIO::SetInterruptionOfOpenSlide(nullptr);
    itk::WholeSlideImageIO::SetGlobalDefaultStrict(m_IsStrict);
    itk::MultiThreaderBase::SetGlobalMaximumNumberOfThreads(m_MostThreads);
    itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(m_Threads);
  }

  ProcessSettings(const ProcessSettings &) = delete;
  ProcessSettings & operator=(const ProcessSettings &) = delete;

private:
  const DicomReading      m_DicomReading;
  const ITKWarnings       m_Warnings;
  const bool              m_IsStrict{ itk::WholeSlideImageIO::GetGlobalDefaultStrict() };
  const itk::ThreadIdType m_MostThreads{ itk::MultiThreaderBase::GetGlobalMaximumNumberOfThreads() };
  const itk::ThreadIdType m_Threads{ itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads() };
};

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
RunCommand(const ArgumentValues & values, FrontEnd & frontEnd, CommandFunction function)
{
  const CoreShare cores(Launch::Find());
  const Session   session(frontEnd, static_cast<int>(values.GetInteger("threads")));
  if (const int cores = CountUsableCores(); session.GetThreads() > cores)
  {
    session.Say("--threads " + std::to_string(session.GetThreads()) + ": this process may use " +
                std::to_string(cores) + (cores == 1 ? " core" : " cores") +
                ", and more threads than those take more memory and no less time");
  }
  ForgetDoubts();
  AllowManyOpenFiles();
  RegisterImageFormats();
  const ProcessSettings settings(values, session);
  return (function ? function : FindCommandFunction(values.GetCommand()))(values, session);
}

} // namespace gigapixel::application
