/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "gigapixelVolumePlace.h"

#include "gigapixelNIfTIHeader.h"
#include "gigapixelPixelFiles.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <locale>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace gigapixel
{
namespace
{

using Triple = std::array<double, 3>;

Diagnostic
MakeWarning(const std::string & why, const std::string & remedy)
{
  return { "W-VOLUME-GEOMETRY", why, remedy };
}

double
GetLength(const Triple & vector)
{
  return std::hypot(vector[0], vector[1], vector[2]);
}

/** \param steps from voxel to voxel along each axis, in mm */
void
SetAxes(const std::array<Triple, 3> & steps, VolumeGrid & grid)
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

/** mm of a unit that a header names; 1 where it is not known, which is said. */
double
GetUnit(const std::string & name, const std::string & field, VolumePlace & place)
{
  const auto unit = FindUnit(name);
  if (!unit)
  {
    place.warnings.push_back(
      MakeWarning("the unit \"" + name + "\" of its header (" + field + ") is none that is known, and is taken for mm",
                  "write mm, um, cm or m there")
        .OfValue(name));
  }
  return unit.value_or(1);
}

/** \name NIfTI-1, https://nifti.nimh.nih.gov/nifti-1. @{ */

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
      warnings.push_back(MakeWarning("its header gives axis " + std::to_string(axis + 1) + " a spacing (pixdim) of " +
                                       value.str() + ", for which " + (written == 0 ? "1" : "its size") + " is taken",
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
  SetAxes(matrix.steps, grid);
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
    place.warnings.push_back(MakeWarning("its sform (code " + std::to_string(forms.sformCode) +
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

bool
ReadNIfTIPlace(const std::string & file, VolumePlace & place)
{
  const auto header = FindNIfTIFiles(file).said;
  if (!header || !header->isNIfTI)
  {
    return false;
  }
  static const std::array<double, 4> units{ 1, 1e3, 1, 1e-3 };
  const NIfTIForms &                 forms = header->forms;
  NIfTIMatrix                        matrix = ChooseForm(forms, place);
  const bool                         isKnown = forms.unit < units.size();
  if (!isKnown)
  {
    place.warnings.push_back(MakeWarning("its header gives lengths the unit " + std::to_string(forms.unit) +
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
  SetAxes(matrix.steps, place.grid);
  constexpr double Rounding = 1e-6; // of floats in the matrix
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    const double written = unit * static_cast<double>(forms.pixdim[axis + 1]);
    double &     spacing = place.grid.spacing[axis];
    spacing = std::abs(written - spacing) < Rounding * spacing ? written : spacing;
  }
  place.source += forms.unit == 0 ? ", in mm, since the header names no unit" : "";
  place.grid.forms = forms;
  return true;
}

/** @} */

/** \name NRRD, https://teem.sourceforge.net/nrrd/format.html. @{ */

using Fields = std::map<std::string, std::string>;

std::string
GetField(const Fields & fields, const std::string & key)
{
  const auto found = fields.find(key);
  return found == fields.end() ? std::string() : found->second;
}

std::vector<std::string>
SplitWords(const std::string & text)
{
  std::istringstream       stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
  {
    words.push_back(word);
  }
  return words;
}

std::vector<double>
ReadNumbers(std::string text)
{
  std::replace(text.begin(), text.end(), ',', ' ');
  std::vector<double> numbers;
  for (const std::string & word : SplitWords(text))
  {
    std::istringstream stream(word);
    stream.imbue(std::locale::classic());
    double number = std::nan("");
    stream >> number;
    numbers.push_back(stream.fail() ? std::nan("") : number); // "nan" among them
  }
  return numbers;
}

/** "(1,0,0) none (0,0,2)": nothing for what is none. */
std::vector<std::vector<double>>
ReadVectors(const std::string & text)
{
  std::vector<std::vector<double>> vectors;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string::npos;)
  {
    const bool        isVector = text[at] == '(';
    const std::size_t end = std::min(text.find_first_of(isVector ? ")" : " \t", at), text.size());
    vectors.push_back(isVector ? ReadNumbers(text.substr(at + 1, end - at - 1)) : std::vector<double>());
    const auto isNumber = [](double number) { return std::isfinite(number); };
    if (!std::all_of(vectors.back().begin(), vectors.back().end(), isNumber))
    {
      vectors.back().clear();
    }
    at = end + (isVector ? 1 : 0);
  }
  return vectors;
}

/** Texts in quotes; words where there are none. */
std::vector<std::string>
ReadTexts(const std::string & text)
{
  if (text.find('"') == std::string::npos)
  {
    return SplitWords(text);
  }
  std::vector<std::string> texts;
  for (std::size_t begin = text.find('"'); begin != std::string::npos;)
  {
    const std::size_t end = std::min(text.find('"', begin + 1), text.size());
    texts.push_back(text.substr(begin + 1, end - begin - 1));
    begin = end < text.size() ? text.find('"', end + 1) : std::string::npos;
  }
  return texts;
}

struct Space
{
  Triple turn{ 1, 1, 1 };     ///< to the left, back and head
  bool   isOfPatient{ true }; ///< else its axes are none of a patient's
  bool   isKnown{ true };
};

Space
FindSpace(std::string name)
{
  static const std::map<std::string, Space> spaces{
    { "right-anterior-superior", { { -1, -1, 1 } } }, { "ras", { { -1, -1, 1 } } },
    { "left-anterior-superior", { { 1, -1, 1 } } },   { "las", { { 1, -1, 1 } } },
    { "left-posterior-superior", { { 1, 1, 1 } } },   { "lps", { { 1, 1, 1 } } },
    { "scanner-xyz", { { 1, 1, 1 }, false } },        { "3d-right-handed", { { 1, 1, 1 }, false } },
    { "3d-left-handed", { { 1, 1, 1 }, false } },     { "", { { 1, 1, 1 } } },
  };
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == ' ' || c == '_' ? '-' : std::tolower(c);
  });
  const std::string time = "-time";
  if (name.size() > time.size() && name.compare(name.size() - time.size(), time.size(), time) == 0)
  {
    name.resize(name.size() - time.size());
  }
  if (name.size() == 4 && name.back() == 't') // RAST
  {
    name.pop_back();
  }
  const auto found = spaces.find(name);
  return found == spaces.end() ? Space{ { 1, 1, 1 }, true, false } : found->second;
}

/** Axes of the file that are axes of space: those with a direction, or else those that are not of values or time. */
std::vector<std::size_t>
FindAxesOfSpace(const Fields & fields, const std::vector<std::vector<double>> & directions, std::size_t number)
{
  static const std::set<std::string> kinds{ "domain", "space", "???", "none" };
  const std::vector<std::string>     named = ReadTexts(GetField(fields, "kinds"));
  std::vector<std::size_t>           axes;
  for (std::size_t axis = 0; axis < number; ++axis)
  {
    const bool hasVector = axis < directions.size() && directions[axis].size() >= 3 &&
                           GetLength({ directions[axis][0], directions[axis][1], directions[axis][2] }) > 0;
    if (directions.empty() ? axis >= named.size() || kinds.count(named[axis]) > 0 : hasVector)
    {
      axes.push_back(axis);
    }
  }
  return axes;
}

/** mm of each of three axes that units are given for, one by one. */
Triple
GetUnits(const std::string &              texts,
         const std::string &              field,
         const std::vector<std::size_t> & which,
         VolumePlace &                    place)
{
  const std::vector<std::string> names = ReadTexts(texts);
  std::map<std::string, double>  known;
  Triple                         units{ 1, 1, 1 };
  for (std::size_t i = 0; i < 3; ++i)
  {
    const std::string name = which[i] < names.size() ? names[which[i]] : std::string();
    if (known.count(name) == 0)
    {
      known[name] = GetUnit(name, field, place);
    }
    units[i] = known[name];
  }
  return units;
}

bool
ReadNRRDPlace(const std::string & file, VolumePlace & place)
{
  const auto header = ReadPixelHeader(file);
  if (!header || header->isMetaImage)
  {
    return false;
  }
  const Fields &            fields = header->fields;
  const auto                directions = ReadVectors(GetField(fields, "space directions"));
  const std::vector<double> sizes = ReadNumbers(GetField(fields, "sizes"));
  const auto                axes = FindAxesOfSpace(fields, directions, sizes.size());
  const Space               space = FindSpace(GetField(fields, "space"));
  if (axes.size() < 3 || !space.isKnown)
  {
    return false; // of which ITK's reader says what it is
  }
  const Size & size = place.grid.size;
  if (sizes[axes[0]] != static_cast<double>(size.width) || sizes[axes[1]] != static_cast<double>(size.height) ||
      sizes[axes[2]] != static_cast<double>(size.depth))
  {
    throw Refusal(Diagnostic("E-VOLUME-FORMAT",
                             "an axis that is none of space comes before one of space in its header",
                             "store channels first or last, and time last")
                    .OfFile(file));
  }
  const bool            hasSpace = fields.count("space") > 0 || fields.count("space dimension") > 0;
  const Triple          unit = hasSpace ? GetUnits(GetField(fields, "space units"), "space units", { 0, 1, 2 }, place)
                                        : GetUnits(GetField(fields, "units"), "units", axes, place);
  const auto            origins = ReadVectors(GetField(fields, "space origin"));
  const auto            spacings = ReadNumbers(GetField(fields, "spacings"));
  std::array<Triple, 3> steps{};
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    const std::size_t own = axes[axis];
    for (std::size_t i = 0; i < 3; ++i)
    {
      const double alone =
        own < spacings.size() && std::isfinite(spacings[own]) && spacings[own] != 0 ? spacings[own] : 1;
      const double step = !directions.empty() ? directions[own][i] : i == axis ? alone : 0;
      steps[axis][i] = space.turn[i] * unit[i] * step;
    }
    const bool hasOrigin = !origins.empty() && origins[0].size() >= 3;
    place.grid.origin[axis] = hasSpace || hasOrigin ? hasOrigin ? space.turn[axis] * unit[axis] * origins[0][axis] : 0
                                                    : unit[axis] * place.grid.origin[axis]; // of axis mins
  }
  SetAxes(steps, place.grid);
  place.source = directions.empty() ? "spacings, without directions" : "space directions";
  if (!space.isOfPatient)
  {
    place.warnings.push_back(MakeWarning("its space " + GetField(fields, "space") +
                                           " is none of a patient, and is taken for left-posterior-superior",
                                         "name the space in the header, such as left-posterior-superior")
                               .OfValue(GetField(fields, "space")));
  }
  return true;
}

/** @} */

/** MetaImage, https://itk.org/Wiki/ITK/MetaIO/Documentation: all but the unit is as ITK's reader has it. */
bool
ReadMetaImagePlace(const std::string & file, VolumePlace & place)
{
  const auto header = ReadPixelHeader(file);
  if (!header || !header->isMetaImage)
  {
    return false;
  }
  const std::string name = GetField(header->fields, "DistanceUnits");
  const double      unit = name == "?" ? 1 : GetUnit(name, "DistanceUnits", place);
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    place.grid.spacing[axis] *= unit;
    place.grid.origin[axis] *= unit;
  }
  return true;
}

} // namespace

void
ReadVolumePlace(const std::string & file, VolumePlace & place)
{
  for (const auto read : { ReadNIfTIPlace, ReadNRRDPlace, ReadMetaImagePlace })
  {
    if (read(file, place))
    {
      break;
    }
  }
  for (Diagnostic & warning : place.warnings)
  {
    warning = warning.OfFile(file);
  }
}

} // namespace gigapixel
