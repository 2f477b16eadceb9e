/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelVolumePlace_h
#define gigapixelVolumePlace_h

#include "gigapixelDiagnostic.h"
#include "gigapixelVolumeGrid.h"

#include <array>
#include <string>
#include <vector>

namespace gigapixel
{

/** Where a volume lies, and which fields of its header say that. */
struct VolumePlace
{
  VolumeGrid              grid;
  std::string             source; ///< "sform (code 1)", "space directions"; empty: ITK's reader said it
  std::vector<Diagnostic> warnings;
};

/** Reads the place of a volume from the header of its file. All readers of volumes take it from here: ITK's readers
 * differ from the definitions of the formats, and from version to version.
 * \param place with the size, and the rest as ITK's reader has it, which is kept of formats that are no entry here
 * \throw std::runtime_error one sentence that names the file */
void ReadVolumePlace(const std::string & file, VolumePlace & place);

using Triple = std::array<double, 3>;

Diagnostic MakePlaceWarning(const std::string & why, const std::string & remedy);

double GetLength(const Triple & vector);

/** \param steps from voxel to voxel along each axis, in mm */
void SetGridAxes(const std::array<Triple, 3> & steps, VolumeGrid & grid);

/** mm of a unit that a header names; 1 where it is not known, which is said. */
double GetUnitOfLength(const std::string & name, const std::string & field, VolumePlace & place);

} // namespace gigapixel

#endif
