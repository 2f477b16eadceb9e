/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelChainPasses_h
#define gigapixelChainPasses_h

#include "gigapixelTilePasses.h"
#include "graph/gigapixelNetworkGeometry.h"
#include "graph/gigapixelParameterLayout.h"

namespace gigapixel
{

/** \class ChainPasses
 * \brief What our kernels have in common, on a CPU or a GPU: they compute the gradients of a chain's layers at once.
 *
 * In fp16 the gradient of a tile is computed for a multiple of its loss, a power of two, so that small gradients are
 * not lost (Micikevicius et al., Mixed Precision Training, ICLR 2018): with that which makes no logit's gradient
 * greater than 256, and, if a map's gradient does not hold the result, again for a sixteenth until it does. It depends
 * on nothing but the tile and the weights, so that a run needs no state of it, and no step is left out. */
class GigapixelNetwork_EXPORT ChainPasses : public TilePasses
{
public:
  ChainPasses(const NetworkDescription & network, Precision precision);

  /** A chain of layers has no dropout. */
  void
  SetMaskSeed(const std::optional<std::uint64_t> &) override
  {}

  std::size_t         GetNumberOfSums() const override;
  std::vector<double> GetGradient(const FixedPointSum & sums, Workers & workers) const override;
  void                AddGradient(TileData &        data,
                                  const LossTerms & terms,
                                  std::int64_t      times,
                                  LossSum &         loss,
                                  FixedPointSum &   gradient) const override;

  /** Adds the tile's loss and gradient, of which fp16 may hold too little. */
  virtual void Differentiate(TileData & data, const LossTerms & terms, LossGradient & sum) const = 0;

protected:
  const NetworkDescription          m_Network;
  const Precision                   m_Precision;
  const std::vector<ParameterPlace> m_Layout;
  const std::vector<int>            m_Skips;
  const std::vector<MapScale>       m_Scales;
  const bool                        m_FusedLast; ///< with the loss
  const std::size_t                 m_End;       ///< layers that the forward pass computes
};

/** Kernels for the CPU. */
GigapixelNetwork_EXPORT std::unique_ptr<ChainPasses> MakeFusedPasses(const NetworkDescription & network,
                                                                     Precision                  precision);

/** Kernels for a GPU. \throw std::runtime_error it cannot be used */
GigapixelNetwork_EXPORT std::unique_ptr<ChainPasses> MakeCudaPasses(const NetworkDescription & network, Device device);

} // namespace gigapixel

#endif
