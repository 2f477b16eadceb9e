/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef MapVolume_h
#define MapVolume_h

#include "WorkFolder.h"

#include <array>
#include <string>

namespace gigapixel::slicer
{

/** Writes a map of floats, the finest level of a pyramid, as a volume that 3D Slicer loads: NRRD, LPS, mm, one slice
 * that is 1 mm deep.
 * \param spacing in mm, which the pyramid need not know: maps are coarser than slides
 * \param origin the middle of the first value in mm */
void WriteMapVolume(const std::string &           pyramid,
                    const std::array<double, 2> & spacing,
                    const std::array<double, 2> & origin,
                    const WorkFolder &            folder);

} // namespace gigapixel::slicer

#endif
