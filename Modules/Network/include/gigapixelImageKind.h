/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelImageKind_h
#define gigapixelImageKind_h

#include "GigapixelNetworkExport.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gigapixel
{

class NetworkDescription;

/** Sides of squares, or of cubes with about as many pixels. */
struct UsualSides
{
  std::vector<std::int64_t> tiles;            ///< that are tried
  std::vector<std::int64_t> described;        ///< of tiles that summaries of networks tell of
  std::int64_t              tile;             ///< of a model that names none
  std::int64_t              leastMeasured;    ///< of images that measure the pace of a machine
  std::int64_t              greatestMeasured; ///< likewise
};

/** What differs between slides or other images of two axes, and volumes of three.
 *
 * Only Of() asks which. README.md lists who asks beside it. */
struct GigapixelNetwork_EXPORT ImageKind
{
  std::string unit;           ///< of their sides
  std::string inMemory;       ///< what whoever opens one holds while it is computed
  bool        isByRow;        ///< they are read and written row by row; else as a whole, which whoever opens one counts
  bool        areFloats;      ///< networks are given floats; else bytes, unless values are normalized
  bool        takesBFloat16;  ///< their networks are computed in bf16
  bool        hasOrientation; ///< their axes point to sides of a patient
  UsualSides  sides;          ///< of tiles, and of images that are measured

  /** \throw std::invalid_argument the network's "input" has what images of this kind do not have */
  void (*checkInput)(const NetworkDescription & network);

  /** \param axes 2 or 3 */
  static const ImageKind & Of(int axes);
};

} // namespace gigapixel

#endif
