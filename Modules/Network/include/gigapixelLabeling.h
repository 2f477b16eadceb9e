/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLabeling_h
#define gigapixelLabeling_h

#include "gigapixelDiagnostic.h"
#include "gigapixelNetworkDescription.h"

#include <optional>

namespace gigapixel
{

class GraphGeometry;
class StreamedNetwork;
class TilePasses;
struct Sample;
struct Score;
struct TileData;

/** \class Labeling
 * \brief What a network gives labels to: each pixel (dense prediction, masks are its truth), or the whole image
 * (slide-level labels).
 *
 * Only Of() asks which. What differs between both is a function here; README.md lists who asks beside it. */
class GigapixelNetwork_EXPORT Labeling
{
public:
  virtual ~Labeling() = default;

  static const Labeling & OfPixels(); ///< what segments
  static const Labeling & OfImages(); ///< what classifies

  /** \param graph validated */
  static const Labeling & Of(const NetworkGraph & graph);

  /** \throw std::invalid_argument the network has the other labels
   * \param file that it is about; empty: about none \param remedy empty: the command for networks of its kind */
  void Require(const NetworkDescription & network,
               const std::string &        file = {},
               const std::string &        remedy = {}) const;

  /** \throw std::invalid_argument classes, objective or loss of the network are not for such labels */
  virtual void Check(const NetworkDescription & network) const = 0;

  // Truth -------------------------------------------------------------------------------------------------------------

  virtual Size GetSize(const Size & image) const = 0; ///< of the labels of an image

  /** The file of a sample's mask, where it is read; else none. */
  virtual std::string GetMask(const std::string & file) const = 0;

  /** \return the warning that no sample has these classes */
  virtual Diagnostic DescribeMissing(const NetworkDescription & network,
                                     const std::string &        classes,
                                     bool                       ofValidation) const = 0;

  /** Whether a mask of tissue told which pixels of the training samples count, where a model has to know. */
  virtual std::optional<bool> FindTissue(const std::vector<Sample> & training) const = 0;

  // Score -------------------------------------------------------------------------------------------------------------

  /** The name and column of the score, and whether classes are balanced. */
  virtual const ObjectiveKind & GetKind(const NetworkDescription & network) const = 0;

  /** Adds to the score of an image what GetScore() needs beside it. */
  virtual void AddProbabilities(const NetworkDescription & network,
                                const TilePasses &         tiles,
                                TileData &                 data,
                                Score &                    sum) const = 0;

  /** \param scores of each validation sample \param total of all of them */
  virtual double GetScore(const NetworkDescription &  network,
                          const std::vector<Sample> & validation,
                          const std::vector<Score> &  scores,
                          const Score &               total) const = 0;

  // Computing ---------------------------------------------------------------------------------------------------------

  /** The last operation that is computed in tiles. */
  virtual int FindTiled(const GraphGeometry & geometry) const = 0;

  /** Whether pixels depend on what the whole image is reduced to: then its maps are gone over again behind that. */
  static bool
  HasPixelsOfReductions(const NetworkGraph & graph)
  {
    return graph.SeesWholeImage() && !graph.LabelsImage();
  }

  /** The maps that are kept until the image is reduced, as they are read again behind it. */
  virtual std::vector<int> FindKept(const GraphGeometry & geometry) const = 0;

  /** Computes an image, whose labels nobody wants. */
  virtual void Predict(StreamedNetwork & streamed, PixelSource & pixels) const = 0;

  /** Lets a network take images of any size that takes sides which are multiples alone. \throw std::invalid_argument it
   * cannot be */
  virtual void PadToMultiple(NetworkGraph & graph, std::int64_t multiple) const = 0;

  const std::string name; ///< "pixels" or "images"

protected:
  /** \param command which applies such a network */
  Labeling(std::string labeled, std::string command);

private:
  const std::string m_Command;
};

} // namespace gigapixel

#endif
