/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTrainingState_h
#define gigapixelTrainingState_h

#include "gigapixelTrainer.h"
#include "model/gigapixelModelFile.h"
#include "gigapixelOptimizer.h"

namespace gigapixel
{

/** All that a run needs to go on as if it had never stopped. Order and augmentation follow from the seed, the epoch
 * and the step, and need no state. */
struct GigapixelNetwork_EXPORT TrainingState
{
  std::vector<double>      parameters;
  Optimizer                optimizer;
  int                      epoch{ 0 }; ///< finished ones
  int                      step{ 0 };  ///< finished ones of the current epoch
  double                   lossSum{ 0 };
  double                   learningRate{ 0 }; ///< as the schedule plateau has lowered it
  std::vector<EpochRecord> history;

  /** The least validation loss; infinity: there is none. */
  double GetBestLoss() const;

  /** Finished epochs since that one; 0 without validation. */
  int CountEpochsWithoutBetter() const;

  /** \param model what the parameters belong to
   * \param settings text that decides over the bits of the run, see CheckSettings() */
  SafeTensors ToFile(const Model & model, const std::string & settings) const;

  /** \param network, optimizer the run's; the latter gets its moments from the file
   * \param path for messages
   * \throw std::runtime_error names what is missing, or what no run can have written */
  static TrainingState FromFile(const SafeTensors &        file,
                                const NetworkDescription & network,
                                const Optimizer &          optimizer,
                                const std::string &        path);

  /** \throw std::runtime_error when the counters do not fit each other, or not the run */
  void Check(int stepsPerEpoch, double firstLearningRate, const std::string & path) const;
};

/** The text of history.csv.
 * \param score column of EpochRecord::validationScore */
std::string ToCSV(const std::vector<EpochRecord> & history, const std::string & score);

/** The settings kept in a checkpoint: a JSON object. \throw std::runtime_error the checkpoint's texts are not as the
 * run has written them */
GigapixelNetwork_EXPORT std::string GetSettings(const SafeTensors::Metadata & metadata, const std::string & path);

/** Of settings: the tile size that the run of a checkpoint began with, maybe WholeImage; 0: they say none. */
GigapixelNetwork_EXPORT std::int64_t GetTileSize(const std::string & settings);

/** The learning rate that it began with; 0: they say none. */
GigapixelNetwork_EXPORT double GetLearningRate(const std::string & settings);

/** The options that decide on its bits, see BegunRun. \throw std::exception no run can have written them */
TrainingOptions GetOptions(const std::string & settings);

/** The segments that it began with. \throw std::runtime_error no run can have written them */
GigapixelNetwork_EXPORT std::vector<SegmentPlan> GetSegments(const std::string & settings, const std::string & path);

/** Text of segments, and back: JSON. */
std::string              ToText(const std::vector<SegmentPlan> & segments);
std::vector<SegmentPlan> ToSegments(const std::string & text);

/** As the setting "tile size": WholeImage. */
constexpr const char * WholeImageSetting = "image";

/** The setting that has the network's description. */
constexpr const char * NetworkSetting = "network";

/** The setting of ToText(); left out where there are none. */
constexpr const char * SegmentsSetting = "segments";

/** The setting that identifies the file that a run took its first weights from; left out where they are by chance. */
constexpr const char * FirstWeightsSetting = "first weights";

/** Of the settings of now those that the run goes on with: they keep its first weights, which need not be given again.
 * \param weights file that is given now; empty: none \throw std::runtime_error it is not what the run began with */
std::string KeepFirstWeights(const std::string & kept,
                             const std::string & now,
                             const std::string & weights,
                             const std::string & folder);

/** Of all settings but the first weights. \param now may be a part of the settings
 * \throw std::runtime_error names the first setting that differs: the run could not go on as it began */
GigapixelNetwork_EXPORT void CheckSettings(const std::string & kept,
                                           const std::string & now,
                                           const std::string & folder);

} // namespace gigapixel

#endif
