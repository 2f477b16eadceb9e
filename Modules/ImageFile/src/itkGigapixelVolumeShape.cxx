/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelVolumeShape.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "volumes/gigapixelVolumePlace.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace itk
{
namespace
{

constexpr unsigned Axes = 3;

[[noreturn]] void
Refuse(const std::string & file, const std::string & reason, const std::string & remedy)
{
  throw gigapixel::Refusal(gigapixel::Diagnostic("E-VOLUME-FORMAT", reason, remedy).OfFile(file));
}

[[noreturn]] void
RefuseGeometry(const std::string & file, const std::string & reason)
{
  throw gigapixel::Refusal(gigapixel::Diagnostic("E-VOLUME-GEOMETRY", reason, "correct the header").OfFile(file));
}

void
CheckAxes(const std::string & file, const ImageIOBase & io)
{
  const unsigned dimensions = io.GetNumberOfDimensions();
  if (dimensions < Axes)
  {
    Refuse(file, "it has " + std::to_string(dimensions) + " axes, and a volume has three", "name a volume");
  }
  for (unsigned d = 0; d < dimensions; ++d)
  {
    if (io.GetDimensions(d) == 0 || (d > Axes && io.GetDimensions(d) > 1))
    {
      Refuse(file,
             "its axis " + std::to_string(d + 1) + " has " + gigapixel::FormatCount(io.GetDimensions(d), "value") +
               "; a volume has three axes, and a fourth one where it has channels",
             "convert it to such a volume");
    }
  }
}

void
CheckSamples(const std::string & file, const ImageIOBase & io, const GigapixelVolumeShape & shape)
{
  if (shape.components > 1 && shape.planes > 1)
  {
    Refuse(file,
           "its voxels have " + gigapixel::FormatCount(shape.components, "component") +
             ", and it has a fourth axis besides",
           "store channels in one way");
  }
  const bool isComplex = io.GetPixelType() == IOPixelEnum::COMPLEX;
  if (isComplex || shape.type == IOComponentEnum::UNKNOWNCOMPONENTTYPE || shape.type == IOComponentEnum::LDOUBLE)
  {
    Refuse(file,
           "its voxels are of " + ImageIOBase::GetComponentTypeAsString(shape.type) + (isComplex ? " and complex" : ""),
           "convert them to float");
  }
}

/** Lengths in mm that no scanner and no microscope have are damage; some readers and writers compute for ever on them.
 */
void
CheckLengths(const std::string & file, const gigapixel::VolumeGrid & grid)
{
  constexpr double Largest = 1e9;
  for (unsigned axis = 0; axis < Axes; ++axis)
  {
    if (!(grid.spacing[axis] > 0 && grid.spacing[axis] <= Largest && std::abs(grid.origin[axis]) <= Largest))
    {
      RefuseGeometry(file,
                     "its header gives axis " + std::to_string(axis + 1) + " a spacing of " +
                       std::to_string(grid.spacing[axis]) + " mm and an origin of " +
                       std::to_string(grid.origin[axis]) + " mm");
    }
  }
}

void
CheckDirection(const std::string & file, const gigapixel::VolumeGrid & grid)
{
  constexpr double Rounding = 2e-3; // of headers that have three digits
  constexpr double LeastVolume = 0.01;
  for (unsigned axis = 0; axis < Axes; ++axis)
  {
    const auto & vector = grid.axes[axis];
    const double length = std::hypot(vector[0], vector[1], vector[2]);
    if (!(std::abs(length - 1) <= Rounding))
    {
      RefuseGeometry(file,
                     "its header points axis " + std::to_string(axis + 1) + " along " + std::to_string(vector[0]) +
                       ", " + std::to_string(vector[1]) + ", " + std::to_string(vector[2]) +
                       ", which is no direction of length 1");
    }
  }
  const auto & spacing = grid.spacing;
  if (!(grid.GetVoxelVolume() >= LeastVolume * spacing[0] * spacing[1] * spacing[2]))
  {
    RefuseGeometry(file, "its header points its three axes along one plane");
  }
}

} // namespace

bool
GigapixelVolumeShape::HasSameSamples(const GigapixelVolumeShape & other) const
{
  const auto & a = grid.size;
  const auto & b = other.grid.size;
  return a.width == b.width && a.height == b.height && a.depth == b.depth && components == other.components &&
         planes == other.planes && type == other.type;
}

GigapixelVolumeShape
GigapixelVolumeShape::Get(const std::string & file, const ImageIOBase & io)
{
  CheckAxes(file, io);
  GigapixelVolumeShape shape;
  shape.components = io.GetNumberOfComponents();
  shape.planes = io.GetNumberOfDimensions() > Axes ? static_cast<unsigned>(io.GetDimensions(Axes)) : 1;
  shape.type = io.GetComponentType();
  CheckSamples(file, io, shape);
  shape.grid.size = { static_cast<std::int64_t>(io.GetDimensions(0)),
                      static_cast<std::int64_t>(io.GetDimensions(1)),
                      static_cast<std::int64_t>(io.GetDimensions(2)) };
  for (unsigned axis = 0; axis < Axes; ++axis)
  {
    shape.grid.spacing[axis] = io.GetSpacing(axis);
    shape.grid.origin[axis] = io.GetOrigin(axis);
    const std::vector<double> direction = io.GetDirection(axis);
    std::copy_n(direction.begin(), Axes, shape.grid.axes[axis].begin());
  }
  gigapixel::VolumePlace place{ shape.grid, {}, {} };
  gigapixel::ReadVolumePlace(file, place);
  shape.grid = place.grid;
  shape.placedBy = place.source;
  shape.warnings = place.warnings;
  CheckLengths(file, shape.grid);
  CheckDirection(file, shape.grid);
  return shape;
}

} // namespace itk
