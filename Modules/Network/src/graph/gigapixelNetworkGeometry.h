/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNetworkGeometry_h
#define gigapixelNetworkGeometry_h

#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** Size of a layer's output map relative to the canvas, as a reduced fraction: canvas * numerator / denominator. */
struct MapScale
{
  std::int64_t numerator{ 1 };
  std::int64_t denominator{ 1 };

  bool
  operator==(const MapScale & other) const
  {
    return numerator == other.numerator && denominator == other.denominator;
  }
};

/** Scale of each layer's output. */
GigapixelNetwork_EXPORT std::vector<MapScale> GetMapScales(const std::vector<Layer> & layers);

/** Index of the layer that each layer adds; -1: none. The description has been validated. */
GigapixelNetwork_EXPORT std::vector<int> GetSkips(const std::vector<Layer> & layers);

/** Whether the last layer is a transposed convolution whose kernel is its stride, without padding and skip, behind
 * another layer: its logits are then computed with the loss, without a map of them. */
GigapixelNetwork_EXPORT bool HasFusedLast(const NetworkDescription & network);

/** Least canvas: every map of a canvas that is a multiple of it has a whole number of pixels. */
std::int64_t GetCanvasStride(const std::vector<Layer> & layers);

/** Pixels before and after a core that is aligned to the stride, which its outputs depend on. */
GigapixelNetwork_EXPORT std::int64_t GetExactHalo(const std::vector<Layer> & layers);

} // namespace gigapixel

#endif
