/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTrainer_h
#define gigapixelTrainer_h

#include "gigapixelMemoryPlan.h"
#include "gigapixelModel.h"

#include <functional>
#include <memory>

namespace gigapixel
{

/** One whole image (or region) and its truth: one step of gradient descent. */
struct Sample
{
  std::string                  name; ///< for messages and the history
  std::shared_ptr<PixelSource> pixels;
  std::shared_ptr<LabelSource> labels;
};

struct TrainingOptions
{
  int           epochs{ 50 };
  double        learningRate{ 1e-3 }; ///< Adam, betas 0.9 and 0.999, epsilon 1e-8 (MIDL 2023 and PyTorch's defaults)
  double        learningRateDecay{ 1.0 }; ///< factor after each epoch without a better validation loss
  int           earlyStopping{ 0 };       ///< epochs without a better validation loss; 0: never
  bool          augment{ true };          ///< flips and right-angle rotations, one of eight per step
  std::uint64_t seed{ 1 };                ///< of weights, order and augmentation
  Strategy      strategy{ Strategy::Streamed };
  std::int64_t  memory{ 0 };   ///< peak resident bytes of the process; 0: no limit
  int           threads{ 0 };  ///< 0: as many as the machine has cores
  std::int64_t  tileSize{ 0 }; ///< 0: the plan's
  bool          resume{ false };
};

/** State after one step, or after one epoch. */
struct TrainingProgress
{
  int         epoch{ 0 }; ///< from 1
  int         step{ 0 };  ///< within the epoch, from 1
  int         stepsPerEpoch{ 0 };
  double      fractionOfStep{ 0 }; ///< 1 when the step is done
  bool        epochDone{ false };
  double      loss{ 0 };           ///< of the step; mean over the epoch's steps when epochDone
  double      validationLoss{ 0 }; ///< NaN before it is known, or without validation samples
  double      validationDice{ 0 }; ///< of class 1 (or mean over classes 1..) at 0.5, pooled over samples; NaN likewise
  double      learningRate{ 0 };
  std::string sample;
};

/** \class Trainer
 * \brief Trains a network on whole images, one image a step, exactly, within a memory budget.
 *
 * The run folder holds best.safetensors and last.safetensors (models; the last one also with Adam's moments and the
 * counters, written after every step, so that an interrupted run goes on bit for bit), and history.csv. Files appear by
 * atomic rename. A run folder that holds a run is refused unless resume is set. */
class GigapixelNetwork_EXPORT Trainer
{
public:
  /** Called from the training thread; returning false stops after the current tile: everything up to the last full
   * step is kept, and resume goes on from there. */
  using Observer = std::function<bool(const TrainingProgress &)>;

  /** \param runFolder empty: nothing is written */
  Trainer(const NetworkDescription & network, const TrainingOptions & options, const std::string & runFolder);
  ~Trainer();

  void AddTrainingSample(const Sample & sample);

  void AddValidationSample(const Sample & sample);

  /** Resolution of all samples, kept in the model; 0: unknown. */
  void SetMicronsPerPixel(double micronsPerPixel);

  /** \return false if the observer stopped it */
  bool Run(const Observer & observer = {});

  /** Weights with the best validation loss (the last ones without validation samples). */
  const Model & GetBestModel() const;

  const Model & GetLastModel() const;

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif
