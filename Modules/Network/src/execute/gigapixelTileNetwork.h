/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTileNetwork_h
#define gigapixelTileNetwork_h

#include "gigapixelDevice.h"
#include "objective/gigapixelScore.h"
#include "maps/gigapixelTileData.h"

#include <memory>
#include <optional>

namespace gigapixel
{

class FixedPointSum;
class GraphPasses;
class TilePasses;

/** \class TileNetwork
 * \brief Forward and backward pass of a network through one tile, in the calling thread.
 *
 * All functions but SetParameters() and SetMaskSeed() may be called from several threads at once, each with a TileData
 * of its own.
 *
 * In fp16 the gradient of a tile is computed for a multiple of its loss, a power of two, so that small gradients are
 * not lost (Micikevicius et al., Mixed Precision Training, ICLR 2018): with that which makes no logit's gradient
 * greater than 256, and, if a map's gradient does not hold the result, again for a sixteenth until it does. It depends
 * on nothing but the tile and the weights, so that a run needs no state of it, and no step is left out. */
class GigapixelNetwork_EXPORT TileNetwork
{
public:
  /** \throw std::invalid_argument a chain of layers in double, which only its graph is computed in */
  explicit TileNetwork(const NetworkDescription & network, Device device = {});
  ~TileNetwork();

  /** \param parameters as in ParameterLayout */
  void SetParameters(const std::vector<double> & parameters);

  /** See GraphPasses; a chain of layers has no dropout. */
  void SetMaskSeed(const std::optional<std::uint64_t> & seed);

  /** Of a chain of layers. */
  void AddGradient(TileData & data, const LossTerms & terms, LossGradient & sum) const;

  /** What computes a network that is a graph, whose gradients are added in any order; null for a chain of layers. */
  const GraphPasses *
  GetGraphPasses() const
  {
    return m_Graph.get();
  }

  void AddScore(TileData & data, const LossTerms & terms, Score & sum) const;

  /** Writes values of the core's pixels: interleaved channels, from row to row `pitch` floats. */
  void Predict(TileData & data, PixelValue value, float * values, std::ptrdiff_t pitch) const;

  /** Writes the core's labels as Predictor::PredictLabels() promises, from row to row `pitch` bytes. */
  void PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const;

private:
  Precision                    m_Precision;
  std::unique_ptr<TilePasses>  m_Passes; ///< of a chain of layers, or else:
  std::unique_ptr<GraphPasses> m_Graph;
};

} // namespace gigapixel

#endif
