/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelTrainer.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelPackedDiagnostic.h"
#include "gigapixelTrainingRun.h"

namespace gigapixel
{

Trainer::Trainer(const NetworkDescription & network, const TrainingOptions & options, const std::string & runFolder)
  : m_Implementation(std::make_unique<Implementation>())
{
  network.Validate();
  m_Implementation->network = network;
  m_Implementation->options = options;
  if (options.ranks)
  {
    m_Implementation->ranks = options.ranks;
  }
  m_Implementation->folderPath = runFolder;
}

Trainer::~Trainer() = default;

void
Trainer::AddTrainingSample(const Sample & sample)
{
  m_Implementation->training.push_back(sample);
}

void
Trainer::AddValidationSample(const Sample & sample)
{
  m_Implementation->validation.push_back(sample);
}

void
Trainer::SetMemory(std::int64_t memory, const BesideBytes & beside, int threads)
{
  m_Implementation->options.memory = memory;
  m_Implementation->options.beside = beside;
  m_Implementation->options.threads = threads;
}

void
Trainer::SetMicronsPerPixel(double micronsPerPixel)
{
  m_Implementation->micronsPerPixel = micronsPerPixel;
}

void
Trainer::SetSlideContent(const std::vector<std::string> & channels,
                         const std::string &              window,
                         const std::string &              plane)
{
  m_Implementation->channels = channels;
  m_Implementation->window = window;
  m_Implementation->plane = plane;
}

void
Trainer::SetWarning(const std::function<void(const Diagnostic &)> & warning)
{
  m_Implementation->warning = warning;
}

void
Trainer::SetPlanObserver(const std::function<void(const MemoryPlan &)> & observer)
{
  m_Implementation->planObserver = observer;
}

bool
Trainer::Run(const Observer & observer)
{
  // Threads, buffers and the folder's lock are given back however the run ends.
  struct Release
  {
    Implementation & run;
    ~Release()
    {
      run.shared.reset();
      run.sharedOf = nullptr;
      run.streamed.reset();
      run.folder.reset();
      run.observer = {};
    }
  } release{ *m_Implementation };
  m_Implementation->observer = observer;
  try
  {
    if (m_Implementation->Run())
    {
      return true;
    }
    m_Implementation->ranks->Stop();
  }
  catch (const Ranks::Stopped &)
  {
    // By another rank.
  }
  catch (const std::exception & error)
  {
    m_Implementation->ranks->Fail(PackDiagnostic(Diagnostic::Of(error)));
    try
    {
      m_Implementation->SaveLastSteps();
    }
    catch (const std::exception &)
    {
      // What went wrong first is what to say; the last checkpoint stays.
    }
    throw;
  }
  m_Implementation->SaveLastSteps();
  return false;
}

const Model &
Trainer::GetBestModel() const
{
  return m_Implementation->best;
}

const Model &
Trainer::GetLastModel() const
{
  return m_Implementation->GetLast();
}

const std::vector<EpochRecord> &
Trainer::GetHistory() const
{
  return m_Implementation->state.history;
}

} // namespace gigapixel
