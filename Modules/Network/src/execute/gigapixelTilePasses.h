/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelTilePasses_h
#define gigapixelTilePasses_h

#include "gigapixelTileNetwork.h"

namespace gigapixel
{

/** \class TilePasses
 * \brief How a TileNetwork computes: what its functions promise, on one kind of device. */
class TilePasses
{
public:
  virtual ~TilePasses() = default;
  virtual void SetParameters(const std::vector<double> & parameters) = 0;
  virtual void AddGradient(TileData & data, const LossTerms & terms, LossGradient & sum) const = 0;
  virtual void AddScore(TileData & data, const LossTerms & terms, Score & sum) const = 0;
  virtual void Predict(TileData & data, PixelValue value, float * values, std::ptrdiff_t pitch) const = 0;
  virtual void PredictLabels(TileData & data, double threshold, std::uint8_t * labels, std::ptrdiff_t pitch) const = 0;
};

/** Our kernels. */
std::unique_ptr<TilePasses> MakeFusedPasses(const NetworkDescription & network, Precision precision);

/** Our kernels on a GPU. \throw std::runtime_error it cannot be used */
GigapixelNetwork_EXPORT std::unique_ptr<TilePasses> MakeCudaPasses(const NetworkDescription & network, Device device);

} // namespace gigapixel

#endif
