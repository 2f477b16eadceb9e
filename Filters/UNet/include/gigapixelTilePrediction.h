/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTilePrediction_h
#define gigapixelTilePrediction_h

#include "GigapixelUNetExport.h"
#include "gigapixelMemoryPlan.h"
#include "gigapixelPredictor.h"
#include "gigapixelRanks.h"

#include <vector>

namespace gigapixel
{

/** What a prediction's samples say. */
struct PredictionFormat
{
  /** What a sample means. */
  enum class Content
  {
    Label,      ///< two classes: 0 or 255; more: the class of the highest probability
    Probability ///< of class 1, or of every class, interleaved
  };
  /** How a sample is stored. */
  enum class Sample
  {
    UnsignedChar, ///< probabilities as round(255 p)
    Float         ///< probabilities as they are
  };

  Content content{ Content::Label };      ///< labels, the default, or probabilities
  Sample  sample{ Sample::UnsignedChar }; ///< type of the samples
  double  threshold{ 0.5 };               ///< one output channel: the object is where its probability is at least this
};

/** Side of the tiles that an image is computed in.
 * \param patches each is computed in one piece, whatever is wanted
 * \param wanted 0: the model's; WholeImage: one tile holds all of the image */
GigapixelUNet_EXPORT std::int64_t FindTileSize(const Model &                  model,
                                               const std::optional<Patches> & patches,
                                               Size                           image,
                                               std::int64_t                   wanted);

/** Where and how a prediction is computed. */
struct PredictionResources
{
  int                    threads{ 0 };  ///< 0: as many as the machine has cores
  std::int64_t           memory{ 0 };   ///< peak resident bytes of the process, see MemoryPlan; 0: no limit
  Device                 device{};      ///< with its precision
  std::shared_ptr<Ranks> ranks{};       ///< processes that compute together; null: this one alone
  std::optional<Patches> patches{};     ///< as of Predictor. Each rank computes the patches at its rows' borders itself
  std::int64_t           tileSize{ 0 }; ///< 0: the model's; patches have their own
  std::string            scratch{};     ///< as of Predictor
  BesideBytes            beside{};      ///< of the memory, what others take
};

/** \class TilePrediction
 * \brief A Predictor that remembers its last row of tiles, so that an image asked for in any number of strips, from
 * top to bottom, has each tile computed once.
 *
 * What is kept is what was computed of one row of tiles, 1 byte per pixel for labels, a float for each probability, and
 * of a network over patches their sums; nothing after the last pixel of the image was given. */
class GigapixelUNet_EXPORT TilePrediction
{
public:
  /** Rows of tiles are dealt to the ranks, if there are several: each one computes its own (see GetOwnRows()), and rank
   * 0, which asks for all of the image from top to bottom, gets those of the others.
   * \param image,imageChannels of what Predict() gets */
  TilePrediction(const Model &               model,
                 const PredictionFormat &    format,
                 Size                        image,
                 unsigned                    imageChannels,
                 const PredictionResources & resources);
  ~TilePrediction();

  /** The plan by which tiles are computed; none without a memory limit. */
  const std::optional<MemoryPlan> & GetMemoryPlan() const;

  /** Samples per pixel of the output. */
  int GetNumberOfSamples() const;

  /** The parts of the region that this rank has to ask for, from top to bottom: the region itself for rank 0. */
  std::vector<Region> GetOwnRows(const Region & region) const;

  /** Pixels that Predict() would read now: those of the tiles which are not remembered, nor another rank's, and at the
   * image's top a few rows more; width 0: none. */
  Region GetInputRegion(const Region & region) const;

  /** Writes region.width * region.height * GetNumberOfSamples() samples of the format's type.
   * \return false if progress, called with 0..1, returned false */
  bool Predict(PixelSource &                       image,
               const Region &                      region,
               void *                              samples,
               const std::function<bool(double)> & progress);

  /** Forgets the tiles, because the pixels have changed. */
  void Clear();

  /** Since construction. */
  std::int64_t GetNumberOfComputedTiles() const;

private:
  struct Implementation;
  std::unique_ptr<Implementation> m_Implementation;
};

} // namespace gigapixel

#endif
