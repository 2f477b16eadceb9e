/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelNetworkSummary_h
#define gigapixelNetworkSummary_h

#include "gigapixelNetworkDescription.h"

namespace gigapixel
{

/** \class NetworkSummary
 * \brief What a network costs, before it meets an image. */
struct GigapixelNetwork_EXPORT NetworkSummary
{
  /** Bytes of maps of a tile that other tiles surround: all that live at the same time, as 32-bit floats. */
  struct Tile
  {
    std::int64_t side;           ///< of its part of the output, pixels
    std::int64_t trainingBytes;  ///< forward and backward
    std::int64_t inferenceBytes; ///< forward alone
    double       workFactor;     ///< multiplications with the tile's surroundings over those without
  };

  std::int64_t      trainedParameters{ 0 }; ///< numbers that training changes
  std::int64_t      keptParameters{ 0 };    ///< statistics of norms, which training leaves as they are
  double            multiplyAdds{ 0 };      ///< of the forward pass, for one pixel of the image
  std::vector<Tile> tiles; ///< of a graph, with sides of 512, 1024 and 2048; of layers none: MemoryPlan knows

  /** \param network validated */
  static NetworkSummary Make(const NetworkDescription & network);
};

} // namespace gigapixel

#endif
