/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelVolumeIO.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelAtomicFile.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelHash.h"
#include "gigapixelPlainMessage.h"
#include "gigapixelWholeFile.h"
#include "itkGigapixelNIfTIImageIO.h"
#include "itkGigapixelVolumeShape.h"
#include "itkGigapixelVolumeSource.h"
#include "itkImageIOFactory.h"
#include "itkMetaDataObject.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <fstream>

#include <unistd.h>

namespace itk
{
namespace
{
namespace fs = std::filesystem;

constexpr const char * MadeByKey = "aux_file"; // NIfTI's name of it

/** Calls what may throw ITK's exceptions, and throws a Refusal.
 * \param otherwise the code of exceptions that have none */
template <typename TFunction>
void
WithName(const std::string & name, const char * otherwise, const TFunction & function)
{
  try
  {
    function();
  }
  catch (const ExceptionObject & error)
  {
    if (dynamic_cast<const gigapixel::Diagnosed *>(&error) != nullptr)
    {
      gigapixel::Diagnostic diagnostic = gigapixel::Diagnostic::Of(error);
      diagnostic.file = diagnostic.file.empty() ? name : diagnostic.file;
      throw gigapixel::Refusal(diagnostic);
    }
    const std::string reason = gigapixel::DescribeFailedReading(gigapixel::CleanMessage(error.GetDescription()));
    const std::size_t again = reason.find("; get it again"); // what is said of damage
    const std::size_t remedy = again == std::string::npos ? reason.find("; write ") : again;
    throw gigapixel::Refusal((remedy == std::string::npos
                                ? gigapixel::Diagnostic(otherwise, reason)
                                : gigapixel::Diagnostic(again == std::string::npos ? otherwise : "E-FILE-DAMAGED",
                                                        reason.substr(0, remedy),
                                                        reason.substr(remedy + 2)))
                               .OfFile(name));
  }
}

ImageIORegion
GetWholeRegion(const ImageIOBase & io)
{
  ImageIORegion region(io.GetNumberOfDimensions());
  for (unsigned d = 0; d < io.GetNumberOfDimensions(); ++d)
  {
    region.SetIndex(d, 0);
    region.SetSize(d, io.GetDimensions(d));
  }
  return region;
}

/** \class HiddenFile
 * \brief A file beside its target, with the target's ending, by which ImageIOs know what to write; it goes with its
 * owner. What a killed process has left goes when the same target is written again. */
class HiddenFile
{
public:
  explicit HiddenFile(const std::string & target)
  {
    const fs::path path = fs::absolute(target);
    // Of names like a.b.nii.gz the format's ending begins at .nii.
    const std::string name = path.filename().string();
    const std::size_t gzip = name.rfind(".nii.gz");
    const std::string ending = gzip == std::string::npos ? path.extension().string() : name.substr(gzip);
    // Where the name is as long as file systems allow, there is no room for more.
    constexpr std::size_t longest = 200;
    const std::string     kept =
      name.size() > longest ? name.substr(0, longest) + '~' + std::to_string(std::hash<std::string>()(name)) : name;
    const std::string start = '.' + kept + ".writing-";
    this->RemoveLeft(path.parent_path(), start, ending);
    m_Name = (path.parent_path() / (start + std::to_string(::getpid()) + ending)).string();
  }

  ~HiddenFile()
  {
    std::error_code error;
    fs::remove(m_Name, error);
  }

  HiddenFile(const HiddenFile &) = delete;
  HiddenFile & operator=(const HiddenFile &) = delete;

  const std::string &
  GetName() const
  {
    return m_Name;
  }

private:
  /** Of processes that are no more. */
  static void
  RemoveLeft(const fs::path & folder, const std::string & start, const std::string & ending)
  {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    {
      const std::string name = entry->path().filename().string();
      if (name.rfind(start, 0) == 0 && name.size() > start.size() + ending.size())
      {
        const long process = std::strtol(name.c_str() + start.size(), nullptr, 10);
        if (process > 0 && ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH)
        {
          std::error_code ignored;
          fs::remove(entry->path(), ignored);
        }
      }
    }
  }

  std::string m_Name;
};

void
WriteLabels(const std::string &               file,
            const std::string &               target,
            const std::vector<std::uint8_t> & labels,
            const gigapixel::VolumeGrid &     grid,
            const std::string &               madeBy)
{
  if (GigapixelIsNIfTIName(file))
  {
    GigapixelWriteNIfTILabels(file, labels, grid, madeBy);
    return;
  }
  const ImageIOBase::Pointer io = ImageIOFactory::CreateImageIO(file.c_str(), IOFileModeEnum::WriteMode);
  if (io.IsNull())
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OUTPUT-ENDING",
                                                   "nothing here writes volumes of this ending",
                                                   "end it in .nii.gz, .nrrd or .mha")
                               .OfFile(target));
  }
  const std::array<std::int64_t, 3> size{ grid.size.width, grid.size.height, grid.size.depth };
  io->SetNumberOfDimensions(3);
  for (unsigned axis = 0; axis < 3; ++axis)
  {
    io->SetDimensions(axis, static_cast<SizeValueType>(size[axis]));
    io->SetSpacing(axis, grid.spacing[axis]);
    io->SetOrigin(axis, grid.origin[axis]);
    io->SetDirection(axis, std::vector<double>(grid.axes[axis].begin(), grid.axes[axis].end()));
  }
  io->SetPixelType(IOPixelEnum::SCALAR);
  io->SetComponentType(IOComponentEnum::UCHAR);
  io->SetNumberOfComponents(1);
  io->SetUseCompression(true);
  if (!madeBy.empty())
  {
    EncapsulateMetaData<std::string>(io->GetMetaDataDictionary(), MadeByKey, madeBy);
  }
  io->SetFileName(file);
  io->SetIORegion(GetWholeRegion(*io));
  io->Write(labels.data());
}

std::uint64_t
HashOf(const std::vector<std::uint8_t> & labels)
{
  gigapixel::Hash hash;
  hash.Add(labels.data(), labels.size());
  return hash.Get();
}

/** \param labels which are overwritten by what is read: a volume of them is not in memory twice
 * \throw what tells that it does not hold these labels, or holds them elsewhere */
void
RequireLabels(const std::string & file, std::vector<std::uint8_t> & labels, const gigapixel::VolumeGrid & grid)
{
  const ImageIOBase::Pointer io = OpenVolume(file);
  const std::string          difference = grid.DescribeDifference(GigapixelVolumeShape::Get(file, *io).grid);
  if (!difference.empty())
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OUTPUT-WRITE", "what was written " + difference));
  }
  const std::uint64_t written = HashOf(labels);
  const bool          isAsLarge = io->GetComponentType() == IOComponentEnum::UCHAR &&
                         io->GetImageSizeInComponents() == static_cast<ImageIOBase::SizeType>(labels.size());
  if (isAsLarge)
  {
    std::fill(labels.begin(), labels.end(), std::uint8_t{ 255 }); // what is not read is not what was there before
    ReadWholeVolume(*io, labels.data());
  }
  if (!isAsLarge || HashOf(labels) != written)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-OUTPUT-WRITE", "the written volume differs when it is read again"));
  }
}

/** Readers and writers do not tell of a full disk, and it is not the only reason.
 * \param bytes that the labels take at most */
[[noreturn]] void
RefuseUnwritten(const std::string & fileName, const HiddenFile & hidden, std::string reason, std::size_t bytes)
{
  const std::string what = fileName + " could not be written to the end, and nothing was left behind";
  std::error_code   error;
  const auto        room = fs::space(fs::absolute(fileName).parent_path(), error).available;
  if (!error && room < bytes)
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-DISK-FULL", what + "; the disk has " + std::to_string(room) + " bytes free")
        .OfFile(fileName));
  }
  for (std::size_t at = 0; (at = reason.find(hidden.GetName(), at)) != std::string::npos;)
  {
    reason.replace(at, hidden.GetName().size(), "it");
  }
  throw gigapixel::Refusal(gigapixel::Diagnostic("E-OUTPUT-WRITE", what + ": " + reason).OfFile(fileName));
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

/** Where NIfTI's header says that a volume lies. */
gigapixel::VolumeGrid
GetNIfTIGrid(gigapixel::VolumeGrid grid)
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

void
CopyInto(gigapixel::AtomicFile & output, const std::string & file)
{
  std::ifstream     stream(file, std::ios::binary);
  std::vector<char> piece(1 << 20);
  while (stream.read(piece.data(), static_cast<std::streamsize>(piece.size())), stream.gcount() > 0)
  {
    output.Append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
}

} // namespace

ImageIOBase::Pointer
OpenVolume(const std::string & file)
{
  // Before it is opened: a pipe would wait for a writer for ever.
  std::error_code error;
  if (fs::exists(file, error) && !fs::is_regular_file(file, error))
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-FILE-KIND", "it is not a file", "name a volume's file").OfFile(file));
  }
  gigapixel::RequireReadable(file);
  gigapixel::RequireWholeHeader(file);
  ImageIOBase::Pointer io;
  WithName(file, "E-VOLUME-FORMAT", [&] {
    const auto nifti = GigapixelNIfTIImageIO::New();
    io = nifti->CanReadFile(file.c_str()) ? ImageIOBase::Pointer(nifti)
                                          : ImageIOFactory::CreateImageIO(file.c_str(), IOFileModeEnum::ReadMode);
    if (io.IsNull())
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-VOLUME-FORMAT",
                              "no reader knows this kind of file (it is damaged, or of another format); volumes are "
                              "NIfTI, NRRD or MetaImage files")
          .OfFile(file));
    }
    io->SetFileName(file);
    io->ReadImageInformation();
    io->SetUseStreamedReading(false);
  });
  return io;
}

void
ReadWholeVolume(ImageIOBase & io, void * samples)
{
  WithName(io.GetFileName(), "E-FILE-DAMAGED", [&] {
    io.SetIORegion(GetWholeRegion(io));
    io.Read(samples);
  });
}

void
GigapixelRequireLabelPlace(const std::string & fileName, const gigapixel::VolumeGrid & grid)
{
  const std::string name = fs::path(fileName).filename().string();
  if (name.find(".nii") == std::string::npos && name.find(".hdr") == std::string::npos &&
      name.find(".img") == std::string::npos)
  {
    return;
  }
  const bool        isLong = std::max({ grid.size.width, grid.size.height, grid.size.depth }) > 32767;
  const std::string difference = grid.forms ? std::string() : grid.DescribeDifference(GetNIfTIGrid(grid));
  if (isLong || !difference.empty())
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic(
        "E-OUTPUT-ENDING",
        isLong
          ? std::string("NIfTI knows up to 32767 voxels along an axis")
          : "programs read NIfTI with perpendicular axes (its qform) and floats, with which this volume " + difference,
        "end the name in .nrrd or .mha")
        .OfFile(fileName));
  }
}

void
GigapixelWriteLabelVolume(const std::string &           fileName,
                          std::vector<std::uint8_t>     labels,
                          const gigapixel::VolumeGrid & grid,
                          bool                          mayReplace,
                          const std::string &           madeBy)
{
  GigapixelRequireLabelPlace(fileName, grid);
  gigapixel::AtomicFile output(fileName, mayReplace);
  const HiddenFile      hidden(fileName);
  try
  {
    WithName(fileName, "E-OUTPUT-WRITE", [&] { WriteLabels(hidden.GetName(), fileName, labels, grid, madeBy); });
    RequireLabels(hidden.GetName(), labels, grid);
  }
  catch (const std::runtime_error & failure)
  {
    std::error_code error;
    if (!fs::exists(hidden.GetName(), error))
    {
      throw gigapixel::Refusal(gigapixel::Diagnostic::Of(failure).OfFile(fileName)); // not that of the hidden file
    }
    RefuseUnwritten(fileName, hidden, gigapixel::Diagnostic::Of(failure).why, labels.size());
  }
  CopyInto(output, hidden.GetName());
  output.Commit();
}

std::string
GigapixelGetMadeBy(const std::string & fileName)
{
  std::string notes;
  ExposeMetaData<std::string>(OpenVolume(fileName)->GetMetaDataDictionary(), MadeByKey, notes);
  return notes;
}

std::vector<std::uint8_t>
GigapixelReadLabelVolume(const std::string & fileName, const gigapixel::VolumeGrid & grid)
{
  const ImageIOBase::Pointer io = OpenVolume(fileName);
  const std::string          difference = grid.DescribeDifference(GigapixelVolumeShape::Get(fileName, *io).grid);
  const auto                 voxels = static_cast<std::size_t>(grid.size.width * grid.size.height * grid.size.depth);
  if (!difference.empty())
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-VOLUME-GEOMETRY", "it " + difference).OfFile(fileName));
  }
  if (io->GetComponentType() != IOComponentEnum::UCHAR ||
      io->GetImageSizeInComponents() != static_cast<ImageIOBase::SizeType>(voxels))
  {
    throw gigapixel::Refusal(
      gigapixel::Diagnostic("E-MASK-FORMAT", "it holds no labels, a byte for each voxel").OfFile(fileName));
  }
  std::vector<std::uint8_t> labels(voxels);
  ReadWholeVolume(*io, labels.data());
  return labels;
}

} // namespace itk
