/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkGigapixelVolumeIO.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelAtomicFile.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelHash.h"
#include "gigapixelPlainMessage.h"
#include "gigapixelWholeFile.h"
#include "itkGigapixelVolumeFormats.h"
#include "itkGigapixelVolumeShape.h"
#include "itkGigapixelVolumeSource.h"
#include "itkImageIOFactory.h"
#include "itkMetaDataObject.h"
#include "volumes/gigapixelVolumeFormat.h"

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
    const fs::path                        path = fs::absolute(target);
    const std::string                     name = path.filename().string();
    const gigapixel::VolumeFormat * const format = gigapixel::FindVolumeFormatByName(name);
    const std::string                     ending =
      format != nullptr ? gigapixel::FindEnding(name, format->endings) : path.extension().string();
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
  const gigapixel::VolumeFormat * const format = gigapixel::FindVolumeFormatByName(file);
  if (format != nullptr && format->write != nullptr)
  {
    format->write(file, labels, grid, madeBy);
    return;
  }
  const ImageIOBase::Pointer io = ImageIOFactory::CreateImageIO(file.c_str(), IOFileModeEnum::WriteMode);
  if (io.IsNull())
  {
    throw gigapixel::Refusal(gigapixel::Diagnostic("E-OUTPUT-ENDING",
                                                   "nothing here writes volumes of this ending",
                                                   "end it in " + GigapixelNameLabelEndings())
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
    EncapsulateMetaData<std::string>(io->GetMetaDataDictionary(), gigapixel::VolumeMadeByKey, madeBy);
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
    const gigapixel::VolumeFormat * const format = gigapixel::FindVolumeFormat(file);
    io = format != nullptr && format->makeReader != nullptr ? format->makeReader(file) : nullptr;
    io = io.IsNull() ? ImageIOFactory::CreateImageIO(file.c_str(), IOFileModeEnum::ReadMode) : io;
    if (io.IsNull())
    {
      throw gigapixel::Refusal(
        gigapixel::Diagnostic("E-VOLUME-FORMAT",
                              "no reader knows this kind of file (it is damaged, or of another format); volumes are " +
                                GigapixelNameVolumeFormats() + " files")
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
  const gigapixel::VolumeFormat * const format = gigapixel::FindVolumeFormatByName(fileName);
  if (format != nullptr && format->checkOutput != nullptr)
  {
    format->checkOutput(fileName, grid);
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
  ExposeMetaData<std::string>(OpenVolume(fileName)->GetMetaDataDictionary(), gigapixel::VolumeMadeByKey, notes);
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
