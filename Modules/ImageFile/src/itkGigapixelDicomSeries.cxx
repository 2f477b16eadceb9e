/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelDicomSeries.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"
#include "gigapixelDicomHeader.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelPlainMessage.h"
#include "itkGigapixelVolumeIO.h"
#include "itkGigapixelVolumeSource.h"
#include "itkMetaDataObject.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

namespace itk
{
namespace
{
namespace fs = std::filesystem;

using Triple = std::array<double, 3>;

/** What the first bytes of a file say. */
enum class Content
{
  Unreadable,
  Damaged, ///< it is named as a DICOM file, and is none
  Other,
  Slice,
  WholeSlide ///< of a microscope, which is no slice of a volume
};

bool
IsNamedAsDicom(const fs::path & file)
{
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".dcm";
}

/** The class of a file's object, by the beginning of the file (PS3.10 7.1). */
std::string
GetClass(const std::string & bytes)
{
  constexpr std::size_t Head = 8;
  const std::size_t     at = bytes.find(std::string("\2\0\2\0UI", 6));
  if (at == std::string::npos || at + Head > bytes.size())
  {
    return {};
  }
  const std::string text = bytes.substr(at + Head, static_cast<unsigned char>(bytes[at + Head - 2]));
  return text.substr(0, text.find_last_not_of('\0') + 1);
}

/** Whether objects of this class have no pixels, such as structure sets, reports and the directory of a disk, which are
 * kept beside the slices that they are about (PS3.4 B.5, PS3.6 A). */
bool
IsWithoutPixels(const std::string & name)
{
  static const std::string              storage = "1.2.840.10008.5.1.4.1.1.";
  static const std::vector<std::string> groups{ "9.", "11.", "68.", "88.", "104." };
  static const std::set<std::string>    classes{ "66",    "66.1",  "66.2",  "66.3",  "66.5",  "66.6", "67",
                                              "481.3", "481.4", "481.5", "481.6", "481.7", "481.8" };
  const std::string                     own = name.rfind(storage, 0) == 0 ? name.substr(storage.size()) : std::string();
  return name == "1.2.840.10008.1.3.10" || classes.count(own) > 0 ||
         std::any_of(
           groups.begin(), groups.end(), [&own](const std::string & group) { return own.rfind(group, 0) == 0; });
}

/** DICOM files have four letters behind 128 bytes of any content, and say soon what kind of image they are. */
Content
LookAt(const fs::path & file)
{
  constexpr std::size_t Preamble = 128, Looked = 1024;
  std::string           bytes(Looked, '\0');
  std::ifstream         stream(file, std::ios::binary);
  if (!stream)
  {
    return Content::Unreadable;
  }
  stream.read(&bytes[0], static_cast<std::streamsize>(Looked));
  bytes.resize(static_cast<std::size_t>(stream.gcount()));
  if (bytes.size() < Preamble + 4 || bytes.compare(Preamble, 4, "DICM") != 0)
  {
    return IsNamedAsDicom(file) ? Content::Damaged : Content::Other;
  }
  if (IsWithoutPixels(GetClass(bytes)))
  {
    return Content::Other;
  }
  // The class "VL Whole Slide Microscopy Image Storage", DICOM PS3.6.
  return bytes.find("1.2.840.10008.5.1.4.1.1.77.1.6") != std::string::npos ? Content::WholeSlide : Content::Slice;
}

/** Files of a folder, not those that are hidden, sorted by name; links to what cannot be found are among them. */
std::vector<fs::path>
ListFiles(const std::string & folder)
{
  std::error_code       error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
  {
    std::error_code ofEntry;
    const bool      isFile = entry->is_regular_file(ofEntry);
    if ((isFile || ofEntry) && entry->path().filename().string().front() != '.')
    {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/** One file. */
struct Slice
{
  std::string           file;
  gigapixel::DicomPlace said; ///< by its header
  std::string           series;
  GigapixelVolumeShape  shape;
  double                place{ 0 }; ///< along the normal of all slices
};

Triple
Cross(const Triple & a, const Triple & b)
{
  return { a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0] };
}

double
Dot(const Triple & a, const Triple & b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

Triple
Normalize(const Triple & vector)
{
  const double length = std::sqrt(Dot(vector, vector));
  return { vector[0] / length, vector[1] / length, vector[2] / length };
}

std::string
GetText(const ImageIOBase & io, const char * tag)
{
  std::string text;
  ExposeMetaData<std::string>(io.GetMetaDataDictionary(), tag, text);
  text.erase(std::find(text.begin(), text.end(), '\0'), text.end());
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

/** Corrects what GDCM takes for the place of kinds of images whose place it does not read, such as secondary captures.
 */
void
SetPlace(const gigapixel::DicomPlace & said, gigapixel::VolumeGrid & grid)
{
  if (!said.position.empty())
  {
    std::copy_n(said.position.begin(), 3, grid.origin.begin());
  }
  if (!said.spacing.empty())
  {
    grid.spacing = { said.spacing[1], said.spacing[0], grid.spacing[2] };
  }
  grid.spacing[2] = said.step.empty() ? grid.spacing[2] : said.step[0];
  if (!said.orientation.empty())
  {
    Triple row{}, column{};
    std::copy_n(said.orientation.begin(), 3, row.begin());
    std::copy_n(said.orientation.begin() + 3, 3, column.begin());
    row = Normalize(row);
    column = Normalize(column);
    // Rounded directions are replaced by the nearest perpendicular ones.
    const double half = Dot(row, column) / 2;
    grid.axes[0] = Normalize({ row[0] - half * column[0], row[1] - half * column[1], row[2] - half * column[2] });
    grid.axes[1] = Normalize({ column[0] - half * row[0], column[1] - half * row[1], column[2] - half * row[2] });
    grid.axes[2] = Cross(grid.axes[0], grid.axes[1]);
  }
}

/** What the header does not say, and what is taken for it. GDCM reads the place of some kinds within sequences. */
std::vector<gigapixel::Diagnostic>
ListMissing(const Slice & slice, bool isAlone)
{
  const gigapixel::DicomPlace &      said = slice.said;
  const gigapixel::VolumeGrid &      grid = slice.shape.grid;
  std::vector<gigapixel::Diagnostic> warnings;
  const auto                         warn = [&](const std::string & why) {
    warnings.push_back(
      gigapixel::Diagnostic("W-VOLUME-GEOMETRY", "its header does not say " + why, "mend the header if this is wrong")
        .OfFile(slice.file));
  };
  if (said.position.empty() && grid.origin == Triple{})
  {
    warn("where its slice lies (Image Position (Patient), 0020,0032): 0, 0, 0 mm is taken");
  }
  if (said.orientation.empty() && grid.axes[0] == Triple{ 1, 0, 0 } && grid.axes[1] == Triple{ 0, 1, 0 })
  {
    warn("how its slice is turned (Image Orientation (Patient), 0020,0037): axial is taken");
  }
  if (said.spacing.empty() && grid.spacing[0] == 1 && grid.spacing[1] == 1)
  {
    warn("how large a pixel is (Pixel Spacing, 0028,0030): 1 mm is taken");
  }
  if (isAlone && said.step.empty() && grid.spacing[2] == 1)
  {
    warn("how thick its slice is (Slice Thickness, 0018,0050): 1 mm is taken");
  }
  return warnings;
}

Slice
ReadHeader(const std::string & file)
{
  const gigapixel::DicomPlace said = gigapixel::CheckDicomFile(file);
  const ImageIOBase::Pointer  io = OpenVolume(file);
  Slice                       slice{ file, said, GetText(*io, "0020|000e"), GigapixelVolumeShape::Get(file, *io) };
  SetPlace(said, slice.shape.grid);
  if (slice.shape.grid.size.depth != 1)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-DICOM-FORMAT",
                                                   "it has " +
                                                     gigapixel::FormatCount(slice.shape.grid.size.depth, "slice") +
                                                     " in one file, and a series has one in each",
                                                   "convert it to NIfTI")
                               .OfFile(file));
  }
  return slice;
}

/** \throw std::runtime_error they do not lie on one grid */
void
RequireSameGrid(const Slice & first, const Slice & slice)
{
  constexpr double              Rounding = 1e-3;
  const gigapixel::VolumeGrid & a = first.shape.grid;
  const gigapixel::VolumeGrid & b = slice.shape.grid;
  bool                          isSame =
    a.size.width == b.size.width && a.size.height == b.size.height && first.shape.components == slice.shape.components;
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    isSame = isSame && std::abs(a.spacing[axis] / b.spacing[axis] - 1) < Rounding &&
             Dot(a.axes[axis], b.axes[axis]) > 1 - Rounding;
  }
  if (!isSame)
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-VOLUME-GEOMETRY",
                                                   "it has another size, pixel spacing or direction than " +
                                                     first.file + " of the same series",
                                                   "move slices that do not belong to the volume to another folder")
                               .OfFile(slice.file));
  }
}

/** In mm, in whatever direction. */
double
GetDistance(const Slice & first, const Slice & slice)
{
  const Triple & a = first.shape.grid.origin;
  const Triple & b = slice.shape.grid.origin;
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/** What positions along the normal may be off by, in mm: scanners write them with few digits. */
double
GetRounding(const std::vector<Slice> & slices)
{
  constexpr double Digits = 1e-6; // of what is written
  const auto       isMultiple = [&slices](double unit) {
    return std::all_of(slices.begin(), slices.end(), [unit](const Slice & slice) {
      const Triple & origin = slice.shape.grid.origin;
      return std::all_of(origin.begin(), origin.end(), [unit](double coordinate) {
        return std::abs(coordinate - unit * std::round(coordinate / unit)) < Digits;
      });
    });
  };
  const auto & axes = slices.front().shape.grid.axes;
  const Triple normal = Cross(axes[0], axes[1]);
  const double length = std::abs(normal[0]) + std::abs(normal[1]) + std::abs(normal[2]);
  for (const double unit : { 0.1, 0.01, 0.001 })
  {
    if (isMultiple(unit))
    {
      return unit * length + Digits;
    }
  }
  return Digits;
}

/** The usual distance of neighbors, which one that is missing does not change. */
double
GetUsualStep(const std::vector<Slice> & slices)
{
  std::vector<double> steps;
  for (std::size_t i = 1; i < slices.size(); ++i)
  {
    steps.push_back(slices[i].place - slices[i - 1].place);
  }
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

/** Distances that are not even.
 * \param step on average \param allowed difference of two distances */
[[noreturn]] void
RefuseStep(const Slice & before, const Slice & slice, double step, double usual, double allowed)
{
  constexpr double Least = 1e-6; // mm
  const double     distance = slice.place - before.place;
  const auto       refusal = [&slice](const char * code, const std::string & why, const char * remedy) {
    return gigapixel::Refusal(gigapixel::Diagnostic(code, why, remedy).OfFile(slice.file));
  };
  const std::string both = before.file + " and " + slice.file;
  if (distance < Least && GetDistance(before, slice) >= Least)
  {
    throw refusal("E-VOLUME-GEOMETRY",
                  both + " lie beside each other in one plane, which is no volume",
                  "mend their positions (0020,0032) or their orientation (0020,0037)");
  }
  if (distance < step - allowed && distance < 0.01)
  {
    throw refusal("E-DICOM-PARTS",
                  both + " are slices at the same place, and a volume has one",
                  "move one of the two acquisitions away");
  }
  const double      steps = distance / usual;
  const std::string missing = std::to_string(std::lround(steps) - 1);
  const bool        isMissing = usual >= Least && steps > 1.5;
  throw refusal("E-DICOM-PARTS",
                both + " lie " + std::to_string(distance) + " mm apart, and most slices of the series " +
                  std::to_string(usual) + " mm: " +
                  (isMissing
                     ? (missing == "1" ? "a slice is missing" : missing + " slices are missing") + " between them"
                     : std::string("they are not even, or one is too much")),
                "put all files of the series, and no others, into one folder");
}

/** \throw std::runtime_error one does not say where it lies */
void
RequirePlaces(const std::vector<Slice> & slices)
{
  for (const Slice & slice : slices)
  {
    if (slice.said.position.empty() && slice.shape.grid.origin == Triple{})
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-VOLUME-GEOMETRY",
                              "it does not say where its slice lies (Image Position (Patient), 0020,0032)",
                              "mend the header, or convert the series to NIfTI with its right spacing")
          .OfFile(slice.file));
    }
  }
}

/** Before steps are looked at: where all slices are there twice, most steps are 0.
 * \throw std::runtime_error two are at one place */
void
RequireOnePerPlace(const std::vector<Slice> & slices)
{
  constexpr double Least = 1e-6; // mm
  for (std::size_t i = 1; i < slices.size(); ++i)
  {
    const Slice & before = slices[i - 1];
    const Slice & slice = slices[i];
    if (GetDistance(before, slice) < Least)
    {
      const bool isCopy = !slice.said.instance.empty() && slice.said.instance == before.said.instance;
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-DICOM-PARTS",
                              before.file + " and " + slice.file +
                                (isCopy ? " are the same slice (SOP Instance UID, 0008,0018)"
                                        : " are slices at the same place, and a volume has one"),
                              isCopy ? "move the copy to another folder"
                                     : "give each acquisition, such as a time or an echo, a folder of its own")
          .OfFile(slice.file));
    }
  }
}

/** \throw std::runtime_error two are beside each other, or one is missing */
void
RequireEvenSteps(const std::vector<Slice> & slices)
{
  constexpr double Allowed = 0.05, Most = 0.4; // of a step
  constexpr double Least = 1e-6;               // mm
  const double     first = slices.front().place;
  const double     step = (slices.back().place - first) / static_cast<double>(slices.size() - 1);
  const double     usual = GetUsualStep(slices), rounding = GetRounding(slices);
  const double     allowed = std::max(Allowed * step, std::min(rounding, Most * step));
  // A slice that is missing makes all distances differ from the average: the distance that is another one is named.
  std::size_t worst = 0;
  double      difference = 0;
  for (std::size_t i = 1; i < slices.size(); ++i)
  {
    const double distance = slices[i].place - slices[i - 1].place;
    const double place = slices[i].place - (first + step * static_cast<double>(i));
    const bool   isEven = distance >= Least && std::abs(distance - step) <= allowed &&
                        (std::abs(distance - step) <= Allowed * step || std::abs(place) <= rounding);
    if (!isEven && std::abs(distance - usual) > difference)
    {
      worst = i;
      difference = std::abs(distance - usual);
    }
    else if (!isEven && worst == 0)
    {
      worst = i;
    }
  }
  if (worst > 0)
  {
    RefuseStep(slices[worst - 1], slices[worst], step, usual, allowed);
  }
}

/** Whether rounding explains all that positions are beside the normal through the first one. */
bool
AreAlongNormal(const std::vector<Slice> & slices, const Triple & normal)
{
  const double   rounding = GetRounding(slices);
  const Triple & first = slices.front().shape.grid.origin;
  return std::all_of(slices.begin(), slices.end(), [&](const Slice & slice) {
    const Triple & origin = slice.shape.grid.origin;
    const double   distance = slice.place - slices.front().place;
    const Triple   beside{ origin[0] - first[0] - distance * normal[0],
                         origin[1] - first[1] - distance * normal[1],
                         origin[2] - first[2] - distance * normal[2] };
    return std::sqrt(Dot(beside, beside)) <= rounding;
  });
}

/** Sets the third axis: the normal of the slices, or the way from the first to the last one where a gantry is tilted.
 */
void
SetThirdAxis(const std::vector<Slice> & slices, gigapixel::VolumeGrid & grid)
{
  grid.size.depth = static_cast<std::int64_t>(slices.size());
  if (slices.size() < 2)
  {
    return;
  }
  const auto     steps = static_cast<double>(slices.size() - 1);
  const Triple & first = slices.front().shape.grid.origin;
  const Triple & last = slices.back().shape.grid.origin;
  const Triple   normal = Cross(grid.axes[0], grid.axes[1]);
  if (AreAlongNormal(slices, normal))
  {
    grid.spacing[2] = (slices.back().place - slices.front().place) / steps;
    grid.axes[2] = normal;
    return;
  }
  const Triple way{ last[0] - first[0], last[1] - first[1], last[2] - first[2] };
  grid.spacing[2] = std::sqrt(Dot(way, way)) / steps;
  grid.axes[2] = Normalize(way);
}

std::size_t
GetBytes(IOComponentEnum type)
{
  switch (type)
  {
    case IOComponentEnum::UCHAR:
    case IOComponentEnum::CHAR:
      return 1;
    case IOComponentEnum::USHORT:
    case IOComponentEnum::SHORT:
      return 2;
    case IOComponentEnum::DOUBLE:
    case IOComponentEnum::LONGLONG:
    case IOComponentEnum::ULONGLONG:
      return 8;
    case IOComponentEnum::LONG:
    case IOComponentEnum::ULONG:
      return sizeof(long);
    default:
      return 4;
  }
}

template <typename T>
void
ConvertTo(const std::vector<unsigned char> & from, float * to, std::size_t number)
{
  const auto * const values = reinterpret_cast<const T *>(from.data());
  std::transform(values, values + number, to, [](T value) { return static_cast<float>(value); });
}

/** Of what a reader of DICOM gives. */
void
ConvertToFloats(IOComponentEnum type, const std::vector<unsigned char> & from, float * to, std::size_t number)
{
  switch (type)
  {
    case IOComponentEnum::UCHAR:
      return ConvertTo<unsigned char>(from, to, number);
    case IOComponentEnum::CHAR:
      return ConvertTo<signed char>(from, to, number);
    case IOComponentEnum::USHORT:
      return ConvertTo<unsigned short>(from, to, number);
    case IOComponentEnum::SHORT:
      return ConvertTo<short>(from, to, number);
    case IOComponentEnum::UINT:
      return ConvertTo<unsigned int>(from, to, number);
    case IOComponentEnum::INT:
      return ConvertTo<int>(from, to, number);
    case IOComponentEnum::DOUBLE:
      return ConvertTo<double>(from, to, number);
    case IOComponentEnum::FLOAT:
      return ConvertTo<float>(from, to, number);
    default:
      throw gigapixel::Refusal(gigapixel::Diagnostic(
        "E-DICOM-FORMAT", "its samples are of a type that no DICOM file has", "convert the series to NIfTI"));
  }
}

std::function<void()> &
GetLoader()
{
  static std::function<void()> load = [] {};
  return load;
}

} // namespace

void
GigapixelSetDicomLoader(const std::function<void()> & load)
{
  GetLoader() = load;
}

bool
GigapixelIsDicomFolder(const std::string & folder)
{
  std::error_code error;
  if (!fs::is_directory(folder, error))
  {
    return false;
  }
  bool hasSlices = false;
  for (const fs::path & file : ListFiles(folder))
  {
    const Content content = LookAt(file);
    if (content == Content::WholeSlide)
    {
      return false;
    }
    hasSlices = hasSlices || content == Content::Slice;
  }
  return hasSlices;
}

GigapixelDicomSeries
GigapixelDicomSeries::Find(const std::string & folder)
{
  GetLoader()();
  std::vector<Slice>    slices;
  std::set<std::string> series;
  for (const fs::path & file : ListFiles(folder))
  {
    const Content content = LookAt(file);
    if (content == Content::Unreadable) // it may be a slice, without which the volume is another one
    {
      gigapixel::RequireReadable(file.string());
    }
    if (content == Content::Damaged) // as well
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic(fs::file_size(file) == 0 ? "E-FILE-DAMAGED" : "E-FILE-KIND",
                              fs::file_size(file) == 0 ? "it is empty" : "its name says DICOM, but it is no DICOM file",
                              "get it again from where it came, or move it to another folder if it is no slice")
          .OfFile(file.string()));
    }
    if (content == Content::Slice)
    {
      slices.push_back(ReadHeader(file.string()));
      series.insert(slices.back().series);
    }
  }
  if (slices.empty())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-FOLDER-EMPTY", "it holds no DICOM files", "name the folder of a series").OfFile(folder));
  }
  if (series.size() > 1)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-DICOM-PARTS",
                            "it holds " + std::to_string(series.size()) + " DICOM series, and a volume is one of them",
                            "give each a folder of its own")
        .OfFile(folder)
        .OfValue(std::to_string(series.size())));
  }
  const Slice & first = slices.front();
  const Triple  normal = Cross(first.shape.grid.axes[0], first.shape.grid.axes[1]);
  for (Slice & slice : slices)
  {
    RequireSameGrid(first, slice);
    slice.place = Dot(normal, slice.shape.grid.origin);
  }
  std::stable_sort(slices.begin(), slices.end(), [](const Slice & a, const Slice & b) { return a.place < b.place; });
  if (slices.size() > 1)
  {
    RequirePlaces(slices);
    RequireOnePerPlace(slices);
    RequireEvenSteps(slices);
  }
  GigapixelDicomSeries found;
  found.shape = slices.front().shape;
  for (const Slice & slice : slices)
  {
    found.files.push_back(slice.file);
    // Scanners give each slice a slope of its own, and then the reader each another type.
    const bool isSame = slice.shape.type == found.shape.type && GetBytes(slice.shape.type) <= sizeof(float);
    found.shape.type = isSame ? found.shape.type : IOComponentEnum::FLOAT;
    found.fileBytes += static_cast<std::int64_t>(fs::file_size(slice.file));
  }
  for (const Slice & slice : slices)
  {
    if (found.shape.warnings.empty()) // once a series
    {
      found.shape.warnings = ListMissing(slice, slices.size() == 1);
    }
  }
  SetThirdAxis(slices, found.shape.grid);
  return found;
}

void
GigapixelDicomSeries::Read(std::vector<unsigned char> & samples) const
{
  const gigapixel::Size & size = shape.grid.size;
  const auto              ofSlice = static_cast<std::size_t>(size.width * size.height) * shape.components;
  const std::size_t       sliceBytes = ofSlice * GetBytes(shape.type);
  samples.resize(sliceBytes * files.size());
  std::vector<unsigned char> read;
  for (std::size_t i = 0; i < files.size(); ++i)
  {
    gigapixel::CheckDicomFile(files[i]);
    const ImageIOBase::Pointer io = OpenVolume(files[i]);
    const GigapixelVolumeShape now = GigapixelVolumeShape::Get(files[i], *io);
    if (now.grid.size.width != size.width || now.grid.size.height != size.height || now.grid.size.depth != 1 ||
        now.components != shape.components)
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-FILE-CHANGED", "the file changed after it was first read", "run again")
          .OfFile(files[i]));
    }
    unsigned char * const to = samples.data() + i * sliceBytes;
    if (now.type == shape.type)
    {
      ReadWholeVolume(*io, to);
      continue;
    }
    read.resize(ofSlice * GetBytes(now.type));
    ReadWholeVolume(*io, read.data());
    ConvertToFloats(now.type, read, reinterpret_cast<float *>(to), ofSlice);
  }
}

} // namespace itk
