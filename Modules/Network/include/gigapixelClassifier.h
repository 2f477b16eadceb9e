/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelClassifier_h
#define gigapixelClassifier_h

#include "gigapixelActivationMap.h"
#include "gigapixelDevice.h"
#include "gigapixelFeatures.h"
#include "gigapixelModel.h"

#include <functional>
#include <memory>

namespace gigapixel
{

/** \class Classifier
 * \brief What a model that labels images says of a whole one, exact: the same bits for any number of threads. */
class GigapixelNetwork_EXPORT Classifier
{
public:
  /** \param model is not kept
   * \param threads 0: as many as the machine has cores
   * \param tileSize in pixels of the image; 0: the model's
   * \throw std::invalid_argument the model labels pixels */
  explicit Classifier(const Model & model, int threads = 0, Device device = {}, std::int64_t tileSize = 0);
  ~Classifier();

  /** The names of a network's classes, or of what else it says of images; numbers, where it has none. */
  static std::vector<std::string> GetClassNames(const NetworkDescription & network);

  /** Writes the probability of each class, finding or grade, or each value, as GetClassNames() has them.
   * \param probabilities of classes and grades are together 1 but for rounding
   * \param progress called with 0..1, from one thread at a time; returning false stops
   * \return false if it was stopped */
  bool Classify(PixelSource &                       image,
                std::vector<double> &               probabilities,
                const std::function<bool(double)> & progress = {});

  /** What Explain() holds beside what is planned of an inference, and who draws its map: the sums of a gradient, and
   * the map twice. */
  static std::int64_t GetExplanationBytes(const NetworkDescription & network, Size image);

  /** All of the map that Explain() makes of an image of this size, but its values and the class. */
  static ActivationMap DescribeMap(const NetworkDescription & network, Size image);

  static constexpr int MostProbable = -1; ///< as the label of Explain()

  /** The same, and what it comes from. Takes twice the time: the image is gone over again.
   * \param label the class whose activation the map shows, of as many as there are probabilities; MostProbable: that
   * which turns out to be
   * \throw std::invalid_argument there is no such class; what is pooled last is also read otherwise */
  bool Explain(PixelSource &                       image,
               int                                 label,
               std::vector<double> &               probabilities,
               ActivationMap &                     map,
               const std::function<bool(double)> & progress = {});

  /** Number of the vectors that ComputeFeatures() gives of an image of this size, where all of it counts. */
  static std::int64_t CountFeatures(const NetworkDescription & network, Size image);

  /** Bytes of the vectors of one tile in flight: PlannedRun::handedOnBytes of ComputeFeatures().
   * \param tileSize as of TileGrid */
  static std::int64_t GetFeatureBytes(const NetworkDescription & network, Size image, std::int64_t tileSize);

  /** What the network makes of the image before its last layers of neurons, in the time of Classify().
   * \param take gets the vectors of the map that is pooled last \param pooled gets what they are pooled to */
  bool ComputeFeatures(PixelSource &                       image,
                       const FeatureTaker &                take,
                       std::vector<float> &                pooled,
                       const std::function<bool(double)> & progress = {});

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif
