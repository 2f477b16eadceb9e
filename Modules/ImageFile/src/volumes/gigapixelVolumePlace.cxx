/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumePlace.h"

#include "gigapixelVolumeFormat.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>

namespace gigapixel
{
namespace
{

/** mm of a unit's name, with or without quotes; nothing: it is not known. */
std::optional<double>
FindUnit(std::string name)
{
  static const std::map<std::string, double> units{
    { "mm", 1 },
    { "millimeter", 1 },
    { "millimeters", 1 },
    { "millimetre", 1 },
    { "millimetres", 1 },
    { "cm", 10 },
    { "centimeter", 10 },
    { "centimeters", 10 },
    { "centimetre", 10 },
    { "centimetres", 10 },
    { "m", 1e3 },
    { "meter", 1e3 },
    { "meters", 1e3 },
    { "metre", 1e3 },
    { "metres", 1e3 },
    { "um", 1e-3 },
    { "\xC2\xB5m", 1e-3 },
    { "\xCE\xBCm", 1e-3 },
    { "\xB5m", 1e-3 },
    { "micron", 1e-3 },
    { "microns", 1e-3 },
    { "micrometer", 1e-3 },
    { "micrometers", 1e-3 },
    { "micrometre", 1e-3 },
    { "micrometres", 1e-3 },
    { "nm", 1e-6 },
    { "nanometer", 1e-6 },
    { "nanometers", 1e-6 },
    { "nanometre", 1e-6 },
    { "nanometres", 1e-6 },
    { "", 1 },
  };
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto found = units.find(name);
  return found == units.end() ? std::nullopt : std::optional<double>(found->second);
}

} // namespace

Diagnostic
MakePlaceWarning(const std::string & why, const std::string & remedy)
{
  return { "W-VOLUME-GEOMETRY", why, remedy };
}

double
GetLength(const Triple & vector)
{
  return std::hypot(vector[0], vector[1], vector[2]);
}

void
SetGridAxes(const std::array<Triple, 3> & steps, VolumeGrid & grid)
{
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    grid.spacing[axis] = GetLength(steps[axis]);
    for (std::size_t i = 0; i < 3; ++i)
    {
      grid.axes[axis][i] = steps[axis][i] / grid.spacing[axis] + 0.0; // none of them is -0
    }
  }
}

double
GetUnitOfLength(const std::string & name, const std::string & field, VolumePlace & place)
{
  const auto unit = FindUnit(name);
  if (!unit)
  {
    place.warnings.push_back(MakePlaceWarning("the unit \"" + name + "\" of its header (" + field +
                                                ") is none that is known, and is taken for mm",
                                              "write mm, um, cm or m there")
                               .OfValue(name));
  }
  return unit.value_or(1);
}

void
ReadVolumePlace(const std::string & file, VolumePlace & place)
{
  if (const VolumeFormat * const format = FindVolumeFormat(file))
  {
    format->readPlace(file, place);
  }
  for (Diagnostic & warning : place.warnings)
  {
    warning = warning.OfFile(file);
  }
}

} // namespace gigapixel
