/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTilePasses_h
#define gigapixelTilePasses_h

#include "gigapixelDevice.h"
#include "gigapixelFixedPointSum.h"
#include "gigapixelWorkers.h"
#include "maps/gigapixelTileData.h"
#include "objective/gigapixelScore.h"

#include <memory>
#include <optional>

namespace gigapixel
{

/** \class TilePasses
 * \brief Forward and backward pass of a network through one tile, in the calling thread. Executor::MakePasses() makes
 * them.
 *
 * All functions but SetParameters() and SetMaskSeed() may be called from several threads at once, each with a TileData
 * of its own. */
class TilePasses
{
public:
  virtual ~TilePasses() = default;

  /** \param parameters those of NetworkDescription::GetParameters(), one behind the other */
  virtual void SetParameters(const std::vector<double> & parameters) = 0;

  /** The masks of dropout leave from now on the values that the seed says; none, as in the beginning: they leave all,
   * as in inference. */
  virtual void SetMaskSeed(const std::optional<std::uint64_t> & seed) = 0;

  /** Sums that AddGradient() adds to. */
  virtual std::size_t GetNumberOfSums() const = 0;

  /** Gradient of the parameters from the tiles' sums; 0 for statistics, which are not trained.
   * \param workers threads that have nothing else to do */
  virtual std::vector<double> GetGradient(const FixedPointSum & sums, Workers & workers) const = 0;

  /** Adds the loss of the core's pixels, and the tile's gradient `times` times; that of kept maps likewise. */
  virtual void AddGradient(TileData &        data,
                           const LossTerms & terms,
                           std::int64_t      times,
                           LossSum &         loss,
                           FixedPointSum &   gradient) const = 0;

  virtual void AddScore(TileData & data, const LossTerms & terms, Score & sum) const = 0;

  /** Writes values of the core's pixels: interleaved channels, from row to row `pitch` floats. */
  virtual void Predict(TileData & data, PixelValue value, float * values, std::ptrdiff_t pitch) const = 0;

  /** Writes the core's labels as Predictor::PredictLabels() promises, from row to row `pitch` bytes. */
  virtual void PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const = 0;
};

} // namespace gigapixel

#endif
