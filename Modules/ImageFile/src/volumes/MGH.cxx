/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelReadOnlyImageIO.h"
#include "gigapixelDiagnostic.h"
#include "gigapixelGzipStream.h"
#include "gigapixelPixelHeader.h"
#include "gigapixelVolumeFormat.h"
#include "itkMetaDataObject.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

namespace gigapixel
{
namespace
{

/** The bytes before the pixels, https://surfer.nmr.mgh.harvard.edu/fswiki/FsTutorial/MghFormat. Numbers are big-endian.
 */
struct MGHHeader
{
  static constexpr std::size_t Length = 284;
  static constexpr std::size_t NotesBegin = 90; ///< of the bytes that the format does not use, up to the end
  static constexpr std::size_t NotesLength = 24;

  std::array<std::int64_t, 4> sizes{};   ///< columns, rows, slices and frames
  std::int32_t                type{ 0 }; ///< of samples
  bool                        hasPlace{ false };
  Triple                      spacing{ 1, 1, 1 };
  /** The directions of columns, rows and slices, to the right, front and head; without a place they are coronal. */
  std::array<Triple, 3> axes{ { { -1, 0, 0 }, { 0, 0, -1 }, { 0, 1, 0 } } };
  Triple                center{}; ///< of the voxel in the middle: the one with half the size for its number
  std::string           notes;
};

struct SampleKind
{
  itk::IOComponentEnum type;
  std::size_t          bytes;
};

std::optional<SampleKind>
FindKind(std::int32_t type)
{
  static const std::map<std::int32_t, SampleKind> kinds{ { 0, { itk::IOComponentEnum::UCHAR, 1 } },
                                                         { 1, { itk::IOComponentEnum::INT, 4 } },
                                                         { 3, { itk::IOComponentEnum::FLOAT, 4 } },
                                                         { 4, { itk::IOComponentEnum::SHORT, 2 } },
                                                         { 10, { itk::IOComponentEnum::USHORT, 2 } } };
  const auto                                      found = kinds.find(type);
  return found == kinds.end() ? std::nullopt : std::optional<SampleKind>(found->second);
}

template <typename T>
T
Get(const std::vector<unsigned char> & bytes, std::size_t place)
{
  std::array<unsigned char, sizeof(T)> own{};
  std::reverse_copy(bytes.begin() + static_cast<std::ptrdiff_t>(place),
                    bytes.begin() + static_cast<std::ptrdiff_t>(place + sizeof(T)),
                    own.begin());
  T value{};
  std::memcpy(&value, own.data(), sizeof(T));
  return value;
}

template <typename T>
void
Put(std::vector<unsigned char> & bytes, std::size_t place, T value)
{
  std::memcpy(bytes.data() + place, &value, sizeof(T));
  SwapBytes(bytes.data() + place, 1, sizeof(T));
}

Triple
GetTriple(const std::vector<unsigned char> & bytes, std::size_t place)
{
  return { static_cast<double>(Get<float>(bytes, place)),
           static_cast<double>(Get<float>(bytes, place + 4)),
           static_cast<double>(Get<float>(bytes, place + 8)) };
}

void
PutTriple(std::vector<unsigned char> & bytes, std::size_t place, const Triple & values)
{
  for (std::size_t i = 0; i < 3; ++i)
  {
    Put(bytes, place + 4 * i, static_cast<float>(values[i]));
  }
}

/** \return nothing: it does not begin as such files do */
std::optional<MGHHeader>
FindHeader(const std::string & file)
{
  std::vector<unsigned char> bytes(MGHHeader::Length);
  const GzipStream           stream = OpenGzip(file);
  constexpr std::int32_t     version = 1;
  if (!stream || gzread(stream.get(), bytes.data(), MGHHeader::Length) != static_cast<int>(MGHHeader::Length) ||
      Get<std::int32_t>(bytes, 0) != version)
  {
    return std::nullopt;
  }
  MGHHeader header;
  for (std::size_t axis = 0; axis < header.sizes.size(); ++axis)
  {
    header.sizes[axis] = Get<std::int32_t>(bytes, 4 + 4 * axis);
  }
  header.type = Get<std::int32_t>(bytes, 20);
  header.hasPlace = Get<std::int16_t>(bytes, 28) > 0;
  if (header.hasPlace)
  {
    header.spacing = GetTriple(bytes, 30);
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      header.axes[axis] = GetTriple(bytes, 42 + 12 * axis);
    }
    header.center = GetTriple(bytes, 78);
  }
  const auto begin = bytes.begin() + MGHHeader::NotesBegin;
  header.notes.assign(begin, std::find(begin, begin + MGHHeader::NotesLength, '\0'));
  const bool isText =
    std::all_of(header.notes.begin(), header.notes.end(), [](char c) { return c >= ' ' && c <= '~'; });
  header.notes = isText ? header.notes : std::string();
  return header;
}

/** The header of a file that had one when it was looked at before. */
MGHHeader
GetHeader(const std::string & file)
{
  const auto header = FindHeader(file);
  if (!header)
  {
    RefuseCut(file, "its header ends early");
  }
  return *header;
}

SampleKind
GetKind(const std::string & file, const MGHHeader & header)
{
  const auto kind = FindKind(header.type);
  if (!kind)
  {
    throw Refusal(Diagnostic("E-VOLUME-FORMAT",
                             "its samples are of type " + std::to_string(header.type) +
                               ", and bytes (0), integers (1, 4, 10) and floats (3) are read",
                             "convert it with FreeSurfer: mri_convert --out_data_type float")
                    .OfFile(file)
                    .OfValue(std::to_string(header.type)));
  }
  return *kind;
}

/** Sizes are below 2^31 each, so that a double holds the product of four. */
double
CountBytes(const std::string & file, const MGHHeader & header)
{
  double bytes = static_cast<double>(GetKind(file, header).bytes);
  for (const std::int64_t size : header.sizes)
  {
    bytes *= static_cast<double>(size);
  }
  return bytes;
}

/** Vectors to the right, front and head are turned to the left and back, or the other way. */
Triple
Turn(const Triple & vector)
{
  return { -vector[0], -vector[1], vector[2] };
}

/** From the voxel in the middle to the first one, or back. */
Triple
Move(const Triple & from, const VolumeGrid & grid, double steps)
{
  const std::array<std::int64_t, 3> sizes{ grid.size.width, grid.size.height, grid.size.depth };
  Triple                            to = from;
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    for (std::size_t i = 0; i < 3; ++i)
    {
      to[i] += steps * static_cast<double>(sizes[axis]) / 2 * grid.spacing[axis] * grid.axes[axis][i];
    }
  }
  return to;
}

class MGHImageIO : public itk::GigapixelReadOnlyImageIO
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(MGHImageIO);

  using Self = MGHImageIO;
  using Superclass = itk::GigapixelReadOnlyImageIO;
  using Pointer = itk::SmartPointer<Self>;

  itkNewMacro(Self);

  bool
  CanReadFile(const char * name) override
  {
    return FindHeader(name).has_value();
  }

  void
  ReadImageInformation() override
  {
    const MGHHeader header = GetHeader(this->GetFileName());
    const bool      hasFrames = header.sizes[3] > 1;
    this->SetNumberOfDimensions(hasFrames ? 4 : 3);
    for (unsigned axis = 0; axis < this->GetNumberOfDimensions(); ++axis)
    {
      this->SetDimensions(axis, static_cast<SizeValueType>(header.sizes[axis]));
    }
    this->SetComponentType(GetKind(this->GetFileName(), header).type);
    this->SetPixelType(itk::IOPixelEnum::SCALAR);
    this->SetNumberOfComponents(1);
    itk::EncapsulateMetaData<std::string>(this->GetMetaDataDictionary(), VolumeMadeByKey, header.notes);
  }

  void
  Read(void * samples) override
  {
    const auto       number = static_cast<std::size_t>(this->GetImageSizeInComponents());
    const auto       ofOne = static_cast<std::size_t>(this->GetComponentSize());
    auto * const     bytes = static_cast<unsigned char *>(samples);
    const GzipStream stream = OpenGzip(this->GetFileName(), MGHHeader::Length);
    ReadBytes(stream.get(), this->GetFileName(), bytes, number * ofOne);
    SwapBytes(bytes, number, ofOne);
  }

protected:
  MGHImageIO() = default;
  ~MGHImageIO() override = default;
};

/** Files begin with few bytes that tell, so that their name has to as well. */
bool
IsOf(const std::string & file)
{
  return !FindEnding(file, { ".mgz", ".mgh" }).empty() && FindHeader(file).has_value();
}

void
CheckHeader(const std::string & file)
{
  const MGHHeader header = GetHeader(file);
  const bool      hasSizes = std::all_of(header.sizes.begin(), header.sizes.end(), [](auto size) { return size > 0; });
  if (!hasSizes)
  {
    RefuseCut(file, "its header has an axis without voxels");
  }
  constexpr double most = 1e18; // that counts of bytes hold
  const double     bytes = CountBytes(file, header);
  if (bytes > most)
  {
    RefuseCut(file, "its header promises more voxels than any file holds");
  }
  std::ifstream stream(file, std::ios::binary);
  const auto    found = std::filesystem::file_size(file) - MGHHeader::Length;
  if (!IsGzip(stream) && static_cast<double>(found) < bytes)
  {
    RefuseCut(file, "of its pixels it has only " + std::to_string(found) + " bytes");
  }
}

void
CheckPixels(const std::string & file)
{
  std::ifstream stream(file, std::ios::binary);
  if (IsGzip(stream))
  {
    CheckCompressed(file, file, 0, MGHHeader::Length + static_cast<std::uintmax_t>(CountBytes(file, GetHeader(file))));
  }
}

void
SetPlace(const MGHHeader & header, VolumeGrid & grid)
{
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    grid.spacing[axis] = header.spacing[axis];
    grid.axes[axis] = Turn(header.axes[axis]);
  }
  grid.origin = Move(Turn(header.center), grid, -1);
}

void
ReadPlace(const std::string & file, VolumePlace & place)
{
  const MGHHeader header = GetHeader(file);
  SetPlace(header, place.grid);
  place.source = header.hasPlace ? "spacing, direction cosines and center" : "nothing: coronal slices of 1 mm";
  if (!header.hasPlace)
  {
    place.warnings.push_back(MakePlaceWarning(
      "its header does not say where it lies, and coronal slices of 1 mm are taken, as FreeSurfer does",
      "give it its place with FreeSurfer's mri_convert"));
  }
}

std::vector<std::string>
ListFiles(const std::string & file)
{
  return { file };
}

itk::ImageIOBase::Pointer
MakeReader(const std::string &)
{
  return itk::ImageIOBase::Pointer(MGHImageIO::New());
}

std::vector<unsigned char>
MakeHeader(const VolumeGrid & grid, const std::string & madeBy)
{
  std::vector<unsigned char>        bytes(MGHHeader::Length);
  const std::array<std::int64_t, 4> sizes{ grid.size.width, grid.size.height, grid.size.depth, 1 };
  Put(bytes, 0, std::int32_t{ 1 });
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
  {
    Put(bytes, 4 + 4 * axis, static_cast<std::int32_t>(sizes[axis]));
  }
  Put(bytes, 28, std::int16_t{ 1 }); // it has a place
  PutTriple(bytes, 30, grid.spacing);
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    PutTriple(bytes, 42 + 12 * axis, Turn(grid.axes[axis]));
  }
  PutTriple(bytes, 78, Turn(Move(grid.origin, grid, 1)));
  std::copy_n(
    madeBy.begin(), std::min(madeBy.size(), MGHHeader::NotesLength - 1), bytes.begin() + MGHHeader::NotesBegin);
  return bytes;
}

/** Places are floats. */
void
CheckOutput(const std::string & fileName, const VolumeGrid & grid)
{
  const std::vector<unsigned char> bytes = MakeHeader(grid, {});
  MGHHeader                        header;
  header.spacing = GetTriple(bytes, 30);
  header.axes = { GetTriple(bytes, 42), GetTriple(bytes, 54), GetTriple(bytes, 66) };
  header.center = GetTriple(bytes, 78);
  VolumeGrid written = grid;
  SetPlace(header, written);
  const std::string difference = grid.DescribeDifference(written);
  if (!difference.empty())
  {
    throw Refusal(Diagnostic("E-OUTPUT-ENDING",
                             "the format keeps places as floats, with which this volume " + difference,
                             "end the name in .nrrd or .mha")
                    .OfFile(fileName));
  }
}

void
WriteLabels(const std::string &               fileName,
            const std::vector<std::uint8_t> & labels,
            const VolumeGrid &                grid,
            const std::string &               madeBy)
{
  WriteGzip(fileName, !FindEnding(fileName, { ".mgz" }).empty(), MakeHeader(grid, madeBy), labels);
}

} // namespace

const VolumeFormat &
GetMGHFormat()
{
  static const VolumeFormat format = [] {
    VolumeFormat entry{ "MGH", { ".mgz", ".mgh" }, { ".mgz", ".mgh" } };
    entry.isOf = IsOf;
    entry.checkHeader = CheckHeader;
    entry.checkPixels = CheckPixels;
    entry.readPlace = ReadPlace;
    entry.listFiles = ListFiles;
    entry.makeReader = MakeReader;
    entry.checkOutput = CheckOutput;
    entry.write = WriteLabels;
    return entry;
  }();
  return format;
}

} // namespace gigapixel
