/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTrainer_h
#define gigapixelTrainer_h

#include "gigapixelDiagnostic.h"
#include "gigapixelDevice.h"
#include "gigapixelLearningOptions.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelModel.h"
#include "gigapixelRanks.h"
#include "gigapixelStageSeconds.h"
#include "gigapixelTakenWeights.h"

#include <functional>
#include <memory>
#include <vector>

namespace gigapixel
{

/** One whole image (or region) and its truth: one step of gradient descent. */
struct Sample
{
  std::string                  name;   ///< for messages and the history
  std::shared_ptr<PixelSource> pixels; ///< of the image
  std::shared_ptr<LabelSource> labels; ///< of each of its pixels
  /** What a run is resumed with: equal texts, equal pixels and labels, wherever they come from. Empty: not known, the
   * name stands for it. */
  std::string identity{};
  /** Whether pixels are as wide as they are high, so that an image that is turned is one of the same kind. Of volumes
   * this is asked of a slice's pixels: slices stay slices. */
  bool square{ true };
  /** Makes the pixels ready to be read, where that takes long, as a volume that is opened and normalized: called by the
   * thread that trains before each pass over the sample. It asks now and then whether it is to go on, and returns false
   * if it was not. Empty: nothing is to be made ready. */
  std::function<bool(const std::function<bool()> & goesOn)> prepare{};
  /** For a network with another objective than classes, whose labels are one pixel of class 0 then: what is known of
   * the image, see Objective. */
  ImageTruth truth{};
};

/** How a network learns, and what it is computed with. */
struct TrainingOptions : LearningOptions
{
  std::int64_t memory{ 0 };  ///< peak resident bytes of the process; 0: no limit
  BesideBytes  beside{};     ///< of this limit, samples that are not in memory
  Device       device;       ///< where tiles are computed; the same bits again on the same device only
  int          threads{ 0 }; ///< 0: as many as the machine has cores
  /** 0: the plan's, which may take segments; else the network at once, without segments. WholeImage: each image in one
   * piece. */
  std::int64_t tileSize{ 0 };
  bool         sharedMemory{ false }; ///< images are read once into memory that CPU and GPU share; see MemoryPlan
  /** Folder for maps that a network keeps between its segments, in files without a name there; empty: in memory. */
  std::string scratch;
  /** None: the plan's. */
  std::vector<SegmentPlan> segments;
  /** Goes on with the run in the folder (from the start if there is none, which a warning says), bit for bit; refused
   * with other samples or options than it began with. epochs (but of the schedule cosine), earlyStopping, memory,
   * sharedMemory, scratch, threads and ranks may differ, and weights may be left out, which the run knows. */
  bool resume{ false };
  /** Several processes that train one network together: each makes a Trainer with the same samples and options and
   * calls Run(). The images of a step are shared out among them, and the tiles of an image where there are more ranks
   * than images, unless maps are kept between segments or the image is reduced several times: that one rank does alone.
   * All ranks have the same models in the end, the same bits as one process makes. Only rank 0 has a run folder. Null:
   * this process alone. */
  std::shared_ptr<Ranks> ranks;
  /** Reads the file of LearningOptions::weights, without which it is not called. */
  WeightsReader takeWeights{};
};

/** State after one step, or after one epoch. */
struct TrainingProgress
{
  int    epoch{ 0 };          ///< from 1
  int    step{ 0 };           ///< within the epoch, from 1
  int    stepsPerEpoch{ 0 };  ///< in all epochs the same
  double fractionOfStep{ 0 }; ///< 1 when the step is done and saved
  bool   validating{ false }; ///< sample is a validation sample, fractionOfStep is of it
  bool   epochDone{ false };  ///< the epoch's last call, after validation
  double loss{ 0 };           ///< of the step (NaN until it is done); mean over the epoch's steps when epochDone
  double validationLoss{ 0 }; ///< mean over the samples; NaN before it is known, or without validation samples
  double validationDice{ 0 }; ///< validationScore where that is Dice; else NaN
  /** Dice of class 1 (or its mean over the classes 1, 2, ...) at 0.5, pooled over samples, where pixels are labeled.
   * Where images are, the area under the ROC of class 1 (of more classes the mean of each against the rest), or what
   * else the objective is judged by. NaN likewise, and where nothing can be judged: all samples are of one class. */
  double      validationScore{ 0 };
  std::string validationScoreName; ///< "Dice", "AUC" and so on, see ObjectiveKind
  double      learningRate{ 0 };   ///< of this step
  std::string sample;              ///< name of the image
  /** Since Run() was called. */
  StageSeconds seconds;
};

/** One line of history.csv. NaN: not known. */
struct EpochRecord
{
  int    epoch{ 0 };           ///< 1 is the first
  double trainingLoss{ 0 };    ///< mean of its steps
  double validationLoss{ 0 };  ///< after its last step
  double validationScore{ 0 }; ///< Dice, or of networks that label images what their objective is judged by
  double learningRate{ 0 };    ///< of its last step
};

/** \class Trainer
 * \brief Trains a network on whole images, one image a step, exactly, within a memory budget.
 *
 * The run folder holds best.safetensors and last.safetensors (models; the last one also with the optimizer's moments
 * and the counters, so that an interrupted run goes on bit for bit; written after every step, or, where there are more
 * than a million parameters, once a minute, at the end of an epoch and when the run is stopped), and history.csv. Files
 * appear by atomic rename. A run folder that holds a run is refused unless resume is set, and one with a history.csv
 * but no run always; two runs in one folder at the same time are refused (a lock that ends with the process).
 *
 * The result has the same bits for any number of threads, with shared memory and without, and for any budget in which
 * the plan's tile size fits (a smaller one makes smaller tiles at the start of a run, with a warning). */
class GigapixelNetwork_EXPORT Trainer
{
public:
  /** Called from the training thread; returning false stops after the current tile: everything up to the last full
   * step is kept, and resume goes on from there. */
  using Observer = std::function<bool(const TrainingProgress &)>;

  /** \param runFolder empty: nothing is written */
  Trainer(const NetworkDescription & network, const TrainingOptions & options, const std::string & runFolder);
  ~Trainer();

  void AddTrainingSample(const Sample & sample); ///< is trained on once an epoch

  void AddValidationSample(const Sample & sample); ///< is judged after each epoch

  /** The memory limit, what samples take of it, and by how many threads they are read: see TrainingOptions. */
  void SetMemory(std::int64_t memory, const BesideBytes & beside, int threads);

  /** Resolution of all samples, kept in the model; 0: unknown. */
  void SetMicronsPerPixel(double micronsPerPixel);

  /** Channels, window and focal plane of all samples, kept in the model: see Model. */
  void SetSlideContent(const std::vector<std::string> & channels,
                       const std::string &              window,
                       const std::string &              plane);

  /** Gets what need not be wrong, but mostly is: training masks (256 places of each are looked at, of a
   * volume in each of 16 slices) or validation masks that lack a class, a budget that makes tiles smaller. */
  void SetWarning(const std::function<void(const Diagnostic &)> & warning);

  /** Gets the plan of the run before its first step, on every rank its own. A run that goes on keeps the tile size and
   * the segments that it began with. */
  void SetPlanObserver(const std::function<void(const MemoryPlan & plan)> & observer);

  /** \return false if the observer stopped it
   * \throw std::invalid_argument for samples and options that cannot be, names to freeze that are none among them;
   * std::runtime_error for a folder that cannot be used, labels that do not fit the network, or a loss that is no
   * number any more; MemoryLimitError for a budget that is too small. What sources throw is passed on. Where one rank
   * throws, the others throw its reason, and where one is stopped, all are. */
  bool Run(const Observer & observer = {});

  /** Weights with the best validation loss (the last ones without validation samples). */
  const Model & GetBestModel() const;

  const Model & GetLastModel() const; ///< weights after the last step

  const std::vector<EpochRecord> & GetHistory() const; ///< of all epochs, those before a run was resumed among them

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif
