/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelLabelAgreement_h
#define gigapixelLabelAgreement_h

#include "GigapixelEvaluationExport.h"

#include "gigapixelSurfaceDistance.h"

#include <cstdint>
#include <vector>

namespace gigapixel
{

/** How many voxels have a label in two volumes. */
struct GigapixelEvaluation_EXPORT LabelAgreement
{
  std::uint8_t label{ 0 };     ///< its number
  std::int64_t predicted{ 0 }; ///< voxels of the prediction
  std::int64_t isTrue{ 0 };    ///< voxels of the truth
  std::int64_t both{ 0 };      ///< voxels that have it in both

  /** 2 both / (predicted + isTrue) */
  double GetDice() const;
};

/** What there is of each label but 0 in two volumes of the same size, by their numbers. */
GigapixelEvaluation_EXPORT std::vector<LabelAgreement> CountLabels(const LabelVolume & prediction,
                                                                   const LabelVolume & truth);

} // namespace gigapixel

#endif
