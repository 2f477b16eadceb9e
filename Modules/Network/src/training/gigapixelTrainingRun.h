/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTrainingRun_h
#define gigapixelTrainingRun_h

#include "gigapixelDiagnostic.h"
#include "gigapixelLearningRate.h"
#include "execute/gigapixelRankTeam.h"
#include "gigapixelRunFolder.h"
#include "execute/gigapixelSharedImage.h"
#include "execute/gigapixelStreamedNetwork.h"
#include "gigapixelTrainer.h"
#include "gigapixelTrainingState.h"

#include <chrono>
#include <optional>

namespace gigapixel
{

/** \class Trainer::Implementation
 * \brief What a Trainer was given, and its run. gigapixelTrainingStart.cxx has how a run is planned, begun and resumed,
 * gigapixelTrainingRun.cxx its steps and epochs. */
struct Trainer::Implementation
{
  NetworkDescription                      network;
  TrainingOptions                         options;
  std::shared_ptr<Ranks>                  ranks{ std::make_shared<Ranks>() };
  std::string                             folderPath;
  std::vector<Sample>                     training;
  std::vector<Sample>                     validation;
  double                                  micronsPerPixel{ 0 };
  std::vector<std::string>                channels; ///< of the samples; none: not known
  std::string                             window;
  std::string                             plane;
  std::function<void(const Diagnostic &)> warning;
  std::function<void(const MemoryPlan &)> planObserver;
  Model                                   best;
  Model                                   last; ///< of GetLast(); a run does without this copy

  // While Run() is on.
  std::unique_ptr<RunFolder>       folder;
  std::unique_ptr<StreamedNetwork> streamed;
  std::unique_ptr<SharedImage>     shared; ///< of the last sample that was computed
  const Sample *                   sharedOf{ nullptr };
  MemoryPlan                       plan;
  std::int64_t                     modelTileSize{ 0 };
  int                              run{ 1 }; ///< tiles that go to one rank in a row
  std::string                      settings;
  std::vector<double>              trainingWeights; ///< of each sample in the loss; their mean is 1
  std::vector<double>              validationWeights;
  std::vector<OutputTargets>       trainingTargets; ///< of each sample; none: their labels are learnt
  std::vector<OutputTargets>       validationTargets;
  std::optional<LearningRate>      schedule;
  TrainingState                    state;
  TrainingProgress                 progress;
  Observer                         observer;

  bool                                  saved{ true }; ///< the state, since its last step
  std::chrono::steady_clock::time_point savedAt;

  bool Run();

  const Model & GetLast();

  /** Writes the checkpoint if steps were done since it was written, however the run ended. */
  void SaveLastSteps();

private:
  void        Warn(const Diagnostic & diagnostic) const;
  void        MakePlan();
  void        Prepare();
  void        AgreeOnPlan();
  void        WeighSamples();
  void        TakeFirstWeights();
  bool        Calibrate();
  void        Begin();
  void        TakeBegunOptions();
  void        Resume(std::string && content);
  Model       LoadBest();
  bool        IsFinished() const;
  int         GetNumberOfSteps() const;
  double      GetLearningRate(std::int64_t step) const;
  std::string ShareText(std::string text);

  std::vector<std::int64_t> CountAllClasses();
  std::vector<double>       GetSharesOfTargets() const;
  std::vector<double>       GetShares();

  std::vector<std::size_t> GetOrder() const;
  bool                     RunStep(const std::vector<std::size_t> & order);
  void                     TakeStep(LossGradient && mean, std::size_t images);
  void AddToMean(const Sample & sample, LossGradient && sum, std::size_t images, LossGradient & mean);
  bool ComputeGradient(const Sample & sample, std::int64_t number, const RankTeam & team, LossGradient & sum);
  bool Validate(EpochRecord & record);
  void TellScore(const EpochRecord & record);
  void WarnOfMissingTargets(const std::vector<OutputTargets> & targets, bool ofValidation) const;
  void WarnOfMissingClasses(const std::vector<std::int64_t> & counts, bool ofValidation) const;
  void CheckWeights(const std::vector<float> & next);
  [[noreturn]] void ThrowDiverged(const std::string & what, bool byStep = false);
  template <typename TWork>
  bool ExplainErrors(const Sample & sample, const TWork & work);

  template <typename TSum, typename TCompute, typename TTake>
  bool  ShareOut(const std::vector<const Sample *> & images, const TCompute & compute, const TTake & take);
  bool  FinishEpoch();
  void  Save();
  Model MakeModel() const;
  bool  Report(double fraction);
  bool  GoesOn();
};

} // namespace gigapixel

#endif
