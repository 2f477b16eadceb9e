/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelDicomSeries.h"

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
#include <mutex>
#include <set>
#include <stdexcept>

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
  std::string          file;
  bool                 hasPlace{ false }; ///< else it is at 0
  std::string          series;
  GigapixelVolumeShape shape;
  double               place{ 0 }; ///< along the normal of all slices
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

std::string
GetText(const ImageIOBase & io, const char * tag)
{
  std::string text;
  ExposeMetaData<std::string>(io.GetMetaDataDictionary(), tag, text);
  text.erase(std::find(text.begin(), text.end(), '\0'), text.end());
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

Slice
ReadHeader(const std::string & file)
{
  const bool                 hasPlace = gigapixel::CheckDicomFile(file);
  const ImageIOBase::Pointer io = OpenVolume(file);
  Slice                      slice{ file, hasPlace, GetText(*io, "0020|000e"), GigapixelVolumeShape::Get(file, *io) };
  if (slice.shape.grid.size.depth != 1)
  {
    throw std::runtime_error(file + ": it has " + std::to_string(slice.shape.grid.size.depth) +
                             " slices in one file, and a series has one in each; convert it to NIfTI");
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
    throw std::runtime_error(slice.file + " has another size, pixel spacing or direction than " + first.file +
                             " of the same series: move slices that do not belong to the volume to another folder");
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

/** \throw std::runtime_error two are at one place, or beside each other, or one is missing */
void
RequireEvenSteps(const std::vector<Slice> & slices)
{
  constexpr double Least = 1e-6;   // mm
  constexpr double Allowed = 0.05; // of a step: places are written with few digits
  const double     step = (slices.back().place - slices.front().place) / static_cast<double>(slices.size() - 1);
  for (std::size_t i = 1; i < slices.size(); ++i)
  {
    const double distance = slices[i].place - slices[i - 1].place;
    if (!(distance >= Least && std::abs(distance - step) <= Allowed * step))
    {
      if (distance < Least && !slices[i].hasPlace)
      {
        throw std::runtime_error(slices[i].file + ": it does not say where its slice lies (Image Position (Patient), "
                                                  "0020,0032): convert the series to NIfTI with its right spacing");
      }
      const std::string both = slices[i - 1].file + " and " + slices[i].file;
      if (distance < Least && GetDistance(slices[i - 1], slices[i]) >= Least)
      {
        throw std::runtime_error(both + " lie beside each other in one plane, which is no volume: mend their positions "
                                        "(0020,0032) or their orientation (0020,0037)");
      }
      throw std::runtime_error(
        distance < Least || (distance < (1 - Allowed) * step && distance < 0.01)
          ? both + " are slices at the same place: a volume has one, so move one of the two acquisitions away"
          : both + " lie " + std::to_string(distance) + " mm apart, and the series' slices " + std::to_string(step) +
              " mm on average: a slice is missing or too much");
    }
  }
}

/** The volume's third axis goes from the first slice to the last one, which of a tilted gantry is not their normal. */
void
SetThirdAxis(const std::vector<Slice> & slices, gigapixel::VolumeGrid & grid)
{
  grid.size.depth = static_cast<std::int64_t>(slices.size());
  if (slices.size() < 2)
  {
    return;
  }
  const Triple & first = slices.front().shape.grid.origin;
  const Triple & last = slices.back().shape.grid.origin;
  const Triple   way{ last[0] - first[0], last[1] - first[1], last[2] - first[2] };
  const double   length = std::sqrt(Dot(way, way));
  grid.spacing[2] = length / static_cast<double>(slices.size() - 1);
  grid.axes[2] = { way[0] / length, way[1] / length, way[2] / length };
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
      throw std::runtime_error("its samples are of a type that no DICOM file has");
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
  static std::once_flag loaded;
  std::call_once(loaded, GetLoader());
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
      throw std::runtime_error(
        file.string() + (fs::file_size(file) == 0 ? ": it is empty" : ": it is no DICOM file, which its name says") +
        ": get it again from where it came, or move it to another folder if it is no slice");
    }
    if (content == Content::Slice && file.filename() != "DICOMDIR")
    {
      slices.push_back(ReadHeader(file.string()));
      series.insert(slices.back().series);
    }
  }
  if (slices.empty())
  {
    throw std::runtime_error(folder + " holds no DICOM files: name the folder of a series");
  }
  if (series.size() > 1)
  {
    throw std::runtime_error(folder + " holds " + std::to_string(series.size()) +
                             " DICOM series, and a volume is one of them: give each a folder of its own");
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
      throw std::runtime_error(files[i] + " is another slice than it was when it was first looked at: run again");
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
