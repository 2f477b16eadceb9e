/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelGrid.h"

#include <algorithm>

namespace gigapixel
{

bool
Grid::IsSpacingKnown() const
{
  constexpr double least = 0.05e-3; // mm
  constexpr double most = 200e-3;
  return std::all_of(spacing.begin(), spacing.end(), [&](double s) { return s >= least && s <= most; });
}

double
Grid::GetMicronsPerPixel() const
{
  return this->IsSpacingKnown() ? 1000 * (spacing[0] + spacing[1]) / 2 : 0.0;
}

} // namespace gigapixel
