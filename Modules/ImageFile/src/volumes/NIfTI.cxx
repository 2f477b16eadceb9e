/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelNIfTIHeader.h"
#include "gigapixelPixelHeader.h"
#include "gigapixelVolumeFormat.h"
#include "itkGigapixelNIfTIImageIO.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <locale>
#include <sstream>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

/** Steps along the axes and the place of the first voxel, in the file's unit, to the right, front and head. */
struct NIfTIMatrix
{
  std::array<Triple, 3> steps{};
  Triple                origin{};
};

/** The spacing, of which 0 stands for 1, and what is below 0 for its size. */
Triple
GetSpacing(const NIfTIForms & forms, std::vector<Diagnostic> & warnings)
{
  Triple spacing{ 1, 1, 1 };
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    const auto written = static_cast<double>(forms.pixdim[axis + 1]);
    spacing[axis] = written == 0 ? 1 : std::abs(written);
    if (!(written > 0))
    {
      std::ostringstream value;
      value.imbue(std::locale::classic());
      value << written;
      warnings.push_back(MakePlaceWarning("its header gives axis " + std::to_string(axis + 1) +
                                            " a spacing (pixdim) of " + value.str() + ", for which " +
                                            (written == 0 ? "1" : "its size") + " is taken",
                                          "mend the header")
                           .OfValue(value.str()));
    }
  }
  return spacing;
}

NIfTIMatrix
GetSform(const NIfTIForms & forms)
{
  NIfTIMatrix matrix;
  for (std::size_t i = 0; i < 3; ++i)
  {
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      matrix.steps[axis][i] = static_cast<double>(forms.affine[4 * i + axis]);
    }
    matrix.origin[i] = static_cast<double>(forms.affine[4 * i + 3]);
  }
  return matrix;
}

NIfTIMatrix
GetQform(const NIfTIForms & forms, const Triple & spacing)
{
  double b = static_cast<double>(forms.quaternion[0]), c = static_cast<double>(forms.quaternion[1]),
         d = static_cast<double>(forms.quaternion[2]);
  double square = 1 - (b * b + c * c + d * d);
  if (square < 1e-7) // as niftilib has it: half a turn
  {
    const double length = std::sqrt(b * b + c * c + d * d);
    b /= length;
    c /= length;
    d /= length;
    square = 0;
  }
  const double                a = std::sqrt(square);
  const double                sign = forms.pixdim[0] < 0 ? -1 : 1;
  const std::array<Triple, 3> columns{
    { { a * a + b * b - c * c - d * d, 2 * (b * c + a * d), 2 * (b * d - a * c) },
      { 2 * (b * c - a * d), a * a + c * c - b * b - d * d, 2 * (c * d + a * b) },
      { sign * 2 * (b * d + a * c), sign * 2 * (c * d - a * b), sign * (a * a + d * d - c * c - b * b) } }
  };
  NIfTIMatrix matrix;
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    for (std::size_t i = 0; i < 3; ++i)
    {
      matrix.steps[axis][i] = spacing[axis] * columns[axis][i];
    }
    matrix.origin[axis] = static_cast<double>(forms.quaternion[axis + 3]);
  }
  return matrix;
}

bool
IsFlat(const NIfTIMatrix & matrix)
{
  VolumeGrid grid;
  SetGridAxes(matrix.steps, grid);
  const auto & spacing = grid.spacing;
  return !(grid.GetVoxelVolume() > 1e-6 * spacing[0] * spacing[1] * spacing[2]);
}

/** "The sform if its code is above 0, else the qform", as nibabel, FSL and SPM have it; without both the spacing. */
NIfTIMatrix
ChooseForm(const NIfTIForms & forms, VolumePlace & place)
{
  const std::string sform = "sform (code " + std::to_string(forms.sformCode) + ")";
  const std::string qform = "qform (code " + std::to_string(forms.qformCode) + ")";
  if (forms.sformCode > 0)
  {
    const NIfTIMatrix matrix = GetSform(forms);
    if (!IsFlat(matrix) || forms.qformCode <= 0)
    {
      place.source = sform;
      return matrix;
    }
    place.warnings.push_back(MakePlaceWarning("its sform (code " + std::to_string(forms.sformCode) +
                                                ") has axes in one plane, and the qform is taken in its place",
                                              "mend the header"));
  }
  const Triple spacing = GetSpacing(forms, place.warnings);
  if (forms.qformCode > 0)
  {
    place.source = qform;
    return GetQform(forms, spacing);
  }
  place.source = "the spacing alone (sform and qform have the code 0)";
  return { { { { spacing[0], 0, 0 }, { 0, spacing[1], 0 }, { 0, 0, spacing[2] } } }, {} };
}

void
ReadPlace(const std::string & file, VolumePlace & place)
{
  const auto header = FindNIfTIFiles(file).said;
  if (!header->isNIfTI) // Analyze's has no place
  {
    return;
  }
  static const std::array<double, 4> units{ 1, 1e3, 1, 1e-3 };
  const NIfTIForms &                 forms = header->forms;
  NIfTIMatrix                        matrix = ChooseForm(forms, place);
  const bool                         isKnown = forms.unit < units.size();
  if (!isKnown)
  {
    place.warnings.push_back(MakePlaceWarning("its header gives lengths the unit " + std::to_string(forms.unit) +
                                                " (xyzt_units), which is none, and is taken for mm",
                                              "mend the header")
                               .OfValue(std::to_string(forms.unit)));
  }
  const double     unit = isKnown ? units[forms.unit] : 1;
  constexpr Triple turn{ -1, -1, 1 };
  for (std::size_t i = 0; i < 3; ++i)
  {
    for (Triple & step : matrix.steps)
    {
      step[i] *= unit * turn[i];
    }
    place.grid.origin[i] = unit * turn[i] * matrix.origin[i];
  }
  SetGridAxes(matrix.steps, place.grid);
  constexpr double Rounding = 1e-6; // of floats in the matrix
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    const double written = unit * static_cast<double>(forms.pixdim[axis + 1]);
    double &     spacing = place.grid.spacing[axis];
    spacing = std::abs(written - spacing) < Rounding * spacing ? written : spacing;
  }
  place.source += forms.unit == 0 ? ", in mm, since the header names no unit" : "";
  place.grid.forms = forms;
}

std::uintmax_t
CountBytes(const NIfTIFiles & files)
{
  return files.said->offset + files.said->pixelBytes;
}

void
CheckHeader(const std::string & file)
{
  const NIfTIFiles nifti = FindNIfTIFiles(file);
  CheckNIfTIHeader(nifti.header, *nifti.said);
  if (nifti.pixels.empty())
  {
    throw Refusal(Diagnostic("E-FILE-MISSING", "its pixels are not there", "put the file that ends in .img beside it")
                    .OfFile(file));
  }
  std::ifstream stream(nifti.pixels, std::ios::binary);
  const auto    bytes = fs::file_size(nifti.pixels);
  if (!IsGzip(stream) && bytes < CountBytes(nifti))
  {
    RefuseCut(nifti.pixels, "it has " + std::to_string(bytes) + " of " + std::to_string(CountBytes(nifti)) + " bytes");
  }
}

void
CheckPixels(const std::string & file)
{
  const NIfTIFiles nifti = FindNIfTIFiles(file);
  std::ifstream    stream(nifti.pixels, std::ios::binary);
  if (IsGzip(stream))
  {
    CheckCompressed(nifti.pixels, nifti.pixels, 0, CountBytes(nifti));
  }
}

bool
IsOf(const std::string & file)
{
  return FindNIfTIFiles(file).said.has_value();
}

std::vector<std::string>
ListFiles(const std::string & file)
{
  const NIfTIFiles nifti = FindNIfTIFiles(file);
  return nifti.header == nifti.pixels || nifti.pixels.empty() ? std::vector<std::string>{ nifti.header }
                                                              : std::vector<std::string>{ nifti.header, nifti.pixels };
}

/** The header of a pair says what its pixels are. */
std::string
Identify(const std::string & file, HashedBytes bytes)
{
  const NIfTIFiles nifti = FindNIfTIFiles(file);
  return nifti.header == nifti.pixels || nifti.pixels.empty() ? IdentifyFile(nifti.header, bytes)
                                                              : IdentifyFile(nifti.pixels, bytes, nifti.header);
}

/** ITK's reader reads Analyze, of which nothing else is known. */
itk::ImageIOBase::Pointer
MakeReader(const std::string & file)
{
  return FindNIfTIFiles(file).said->isNIfTI ? itk::ImageIOBase::Pointer(itk::GigapixelNIfTIImageIO::New()) : nullptr;
}

using Axes = std::array<std::array<double, 3>, 3>;

/** The perpendicular axes that are nearest to these: the orthogonal part of their polar decomposition, by Newton's
 * iteration (Higham, SIAM J. Sci. Stat. Comput. 1986), as NIfTI's writer has them. */
Axes
MakePerpendicular(Axes axes)
{
  constexpr int Iterations = 20; // it converges quadratically
  for (int iteration = 0; iteration < Iterations; ++iteration)
  {
    Axes   cofactors{};
    double determinant = 0;
    for (std::size_t i = 0; i < 3; ++i)
    {
      const auto & a = axes[(i + 1) % 3];
      const auto & b = axes[(i + 2) % 3];
      cofactors[i] = { a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
      determinant = axes[i][0] * cofactors[i][0] + axes[i][1] * cofactors[i][1] + axes[i][2] * cofactors[i][2];
    }
    for (std::size_t i = 0; i < 3; ++i)
    {
      for (std::size_t j = 0; j < 3; ++j)
      {
        axes[i][j] = (axes[i][j] + cofactors[i][j] / determinant) / 2;
      }
    }
  }
  return axes;
}

/** Through memory: with -O3 the rounding of an origin was seen to be left out where it is only computed; why is not
 * known. */
double
RoundToFloat(double value)
{
  const volatile auto rounded = static_cast<float>(value);
  return static_cast<double>(rounded);
}

/** Where a header says that a volume lies. */
VolumeGrid
GetWrittenGrid(VolumeGrid grid)
{
  grid.axes = MakePerpendicular(grid.axes);
  for (std::size_t i = 0; i < 3; ++i)
  {
    grid.spacing[i] = RoundToFloat(grid.spacing[i]);
    grid.origin[i] = RoundToFloat(grid.origin[i]);
    for (double & coordinate : grid.axes[i])
    {
      coordinate = RoundToFloat(coordinate);
    }
  }
  return grid;
}

/** Origins are floats, sizes are up to 32767, and many readers refuse axes that are not perpendicular, as those of a CT
 * with a tilted gantry. Labels of a NIfTI file have its own place, whatever it is. */
void
CheckOutput(const std::string & fileName, const VolumeGrid & grid)
{
  const bool        isLong = std::max({ grid.size.width, grid.size.height, grid.size.depth }) > 32767;
  const std::string difference = grid.forms ? std::string() : grid.DescribeDifference(GetWrittenGrid(grid));
  if (isLong || !difference.empty())
  {
    throw Refusal(
      Diagnostic("E-OUTPUT-ENDING",
                 isLong
                   ? std::string("NIfTI knows up to 32767 voxels along an axis")
                   : "programs read NIfTI with perpendicular axes (its qform) and floats, with which this volume " +
                       difference,
                 "end the name in .nrrd or .mha")
        .OfFile(fileName));
  }
}

} // namespace

const VolumeFormat &
GetNIfTIFormat()
{
  static const VolumeFormat format = [] {
    VolumeFormat entry{
      "NIfTI", { ".nii.gz", ".nii", ".hdr", ".img" }, { ".nii.gz", ".nii" }, { ".hdr" }, { ".img", ".img.gz" }
    };
    entry.isOf = IsOf;
    entry.checkHeader = CheckHeader;
    entry.checkPixels = CheckPixels;
    entry.readPlace = ReadPlace;
    entry.listFiles = ListFiles;
    entry.identify = Identify;
    entry.makeReader = MakeReader;
    entry.checkOutput = CheckOutput;
    entry.write = itk::GigapixelWriteNIfTILabels;
    return entry;
  }();
  return format;
}

} // namespace gigapixel
