/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OutputCheck.h"

#include "ArgumentText.h"
#include "MadeBy.h"
#include "SlideFile.h"

#include "itkGigapixelVolumeFormats.h"
#include "gigapixelArgumentValues.h"
#include "gigapixelSession.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelSlidePixels.h"
#include "gigapixelWritableFolder.h"
#include "itkMetaDataObject.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkWholeSlideImageIO.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
/** What is written for a content of the table. */
struct Format
{
  std::string              name;
  std::vector<std::string> endings;
};

const Format &
GetFormat(const std::string & content)
{
  static const Format                        pyramid{ "a pyramid TIFF", { ".tif", ".tiff" } };
  static const Format                        any;
  static const std::map<std::string, Format> formats{
    { "slide", pyramid },
    { "label", pyramid },
    { "probability", pyramid },
    { "model", { "a model", { ".safetensors" } } },
    { "features", { "an HDF5 file", { ".h5" } } },
    { "table", { "a table", { ".csv" } } },
    { "picture", { "a PNG picture", { ".png" } } },
    { "report", { "a page of HTML", { ".html", ".htm" } } },
    { "annotations", { "GeoJSON", { ".geojson", ".json" } } },
    { "outlines", { "GeoJSON or a segmentation in NRRD", { ".geojson", ".json", ".seg.nrrd" } } },
    { "segmentation", { "a segmentation in NRRD", { ".seg.nrrd", ".nrrd" } } },
    { "label volume", { "a volume of labels", itk::GigapixelGetLabelEndings() } },
    { "volume", { "a volume in NRRD", { ".nrrd" } } },
    { "map", { "a volume in NRRD", { ".nrrd" } } },
  };
  const auto found = formats.find(content);
  return found == formats.end() ? any : found->second;
}

/** Refuses where the process may have too few files open at once to write this one, and to open it when it is complete:
 * a whole file would stand beside a failure then. */
void
RequireDescriptors(const std::string & file)
{
  const int first = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int second = first < 0 ? first : open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int error = errno;
  for (const int descriptor : { first, second })
  {
    if (descriptor >= 0)
    {
      close(descriptor);
    }
  }
  if (second < 0)
  {
    throw Refusal(
      Diagnostic("E-OUTPUT-WRITE",
                 "the file cannot be written: " + DescribeFileRefusal(std::error_code(error, std::generic_category())))
        .OfFile(file));
  }
}

fs::path
GetFolder(const std::string & file)
{
  const fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

/** Those of MakeFolderWithFirstOutput(), as GetFolder() has them. */
std::set<fs::path> &
GetFoldersToMake()
{
  static std::set<fs::path> folders;
  return folders;
}

void
MakeFolder(const fs::path & folder)
{
  std::error_code error;
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder))
  {
    throw Refusal(Diagnostic(GetWritingCode(error), "the folder cannot be made: " + DescribeFileRefusal(error))
                    .OfFile(folder.string()));
  }
}

} // namespace

const std::vector<std::string> &
GetEndings(const std::string & content)
{
  return GetFormat(content).endings;
}

void
CheckEnding(const std::string & argument,
            const std::string & file,
            const std::string & content,
            const std::string & otherwise)
{
  const Format &    format = GetFormat(content);
  const std::string name = fs::path(file).filename().string();
  const bool agrees = std::any_of(format.endings.begin(), format.endings.end(), [&name](const std::string & ending) {
    return name != ending && EndsWith(name, ending);
  });
  if (format.endings.empty())
  {
    return;
  }
  for (const char * const lossy : { ".jpg", ".jpeg", ".webp" })
  {
    if (EndsWith(name, lossy) && content != "slide" && content != "picture")
    {
      throw UsageError(Diagnostic("E-OUTPUT-ENDING",
                                  std::string("files that end in ") + lossy + " lose values of " + format.name,
                                  "end it in " + format.endings.front() + otherwise)
                         .OfOption(argument, file));
    }
  }
  if (!agrees)
  {
    throw UsageError(Diagnostic("E-OUTPUT-ENDING",
                                "what is written is " + format.name,
                                "end it in " + format.endings.front() + otherwise)
                       .OfOption(argument, file));
  }
}

void
CheckOutputName(const ArgumentValues & values, const std::string & name, const std::vector<std::string> & inputs)
{
  const Argument &    output = *values.GetCommand().Find(name);
  const std::string & file = values.GetText(name);
  bool                isBefore = true;
  CheckEnding(output.GetDisplayName(), file, output.content);
  RefuseInput(file, inputs);
  for (const Argument & other : values.GetCommand().arguments)
  {
    isBefore = isBefore && other.name != name;
    if (other.channel == ArgumentChannel::Input && values.IsGiven(other.name))
    {
      RefuseInput(file, values.GetTexts(other.name));
    }
    if (other.channel == ArgumentChannel::Output && isBefore && values.IsGiven(other.name) &&
        IsSameFile(file, values.GetText(other.name)))
    {
      throw UsageError(
        Diagnostic("E-OUTPUT-TWICE",
                   other.GetDisplayName() + " and " + output.GetDisplayName() + " would write the same file " + file)
          .OfOption(output.GetDisplayName(), file));
    }
  }
}

void
CheckOutputFile(const ArgumentValues & values, const std::string & name, const std::vector<std::string> & inputs)
{
  CheckOutputName(values, name, inputs);
  RefuseExisting(values.GetText(name), values.Has("overwrite"));
  CheckOutput(values.GetText(name), 0);
}

std::string
GetFileKey(const std::string & file)
{
  struct stat status = {};
  if (::stat(file.c_str(), &status) == 0)
  {
    return std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
  }
  // What is to be made has no identity yet, but its folder has, or the folder that this is in.
  std::error_code error;
  return (fs::weakly_canonical(fs::absolute(GetFolder(file)), error) / fs::path(file).filename()).string();
}

bool
IsSameFile(const std::string & a, const std::string & b)
{
  return GetFileKey(a) == GetFileKey(b);
}

void
MakeFolderWithFirstOutput(const std::string & folder)
{
  std::error_code ignored;
  fs::path        there = fs::absolute(folder);
  while (!fs::exists(there, ignored) && there != there.parent_path())
  {
    there = there.parent_path();
  }
  if (!fs::is_directory(there))
  {
    throw Refusal(Diagnostic("E-OUTPUT-WRITE",
                             "the folder cannot be made: " + there.string() + " is not a folder",
                             "choose another output")
                    .OfFile(folder));
  }
  if (const std::string obstacle = FindObstacleToWriting(there.string()); !obstacle.empty() && !fs::exists(folder))
  {
    throw Refusal(
      Diagnostic("E-OUTPUT-WRITE", "the folder cannot be made: " + obstacle, "choose another output").OfFile(folder));
  }
  GetFoldersToMake().insert(GetFolder((fs::path(folder) / "output").string()));
}

void
CheckOutput(const std::string & file, double rawBytes)
{
  const fs::path folder = GetFolder(file);
  if (fs::is_directory(file))
  {
    throw Refusal(Diagnostic("E-OUTPUT-KIND", "the output is a folder", "name a file").OfFile(file));
  }
  if (fs::exists(file) && !fs::is_regular_file(file))
  {
    throw Refusal(
      Diagnostic("E-OUTPUT-KIND", "the output is not a regular file", "choose another output").OfFile(file));
  }
  if (fs::exists(folder) && !fs::is_directory(folder))
  {
    throw Refusal(
      Diagnostic("E-OUTPUT-WRITE", folder.string() + " is not a folder", "choose another output").OfFile(file));
  }
  if (!fs::is_directory(folder) && GetFoldersToMake().count(folder) > 0)
  {
    MakeFolder(folder);
  }
  if (!fs::is_directory(folder))
  {
    throw Refusal(
      Diagnostic("E-FILE-MISSING", "there is no folder " + folder.string(), "make the folder first").OfFile(file));
  }
  if (const std::string obstacle = FindObstacleToWriting(folder.string()); !obstacle.empty())
  {
    throw Refusal(Diagnostic("E-OUTPUT-WRITE",
                             "the folder " + folder.string() + " cannot be written to: " + obstacle,
                             "choose another output")
                    .OfFile(file));
  }
  RequireDescriptors(file);
  std::error_code error;
  const auto      space = fs::space(folder, error);
  const double    needed = rawBytes / 100 + 65536;
  if (!error && static_cast<double>(space.available) < needed)
  {
    throw Refusal(Diagnostic("E-DISK-FULL",
                             "the disk of " + folder.string() + " has only " +
                               FormatBytes(static_cast<double>(space.available)) +
                               " free, and the file needs at least " + FormatBytes(needed),
                             "free space, or write to another disk")
                    .OfFile(file));
  }
}

void
RefuseInput(const std::string & output, const std::vector<std::string> & inputs)
{
  RefuseInputs({ output }, inputs);
}

void
RefuseInputs(const std::vector<std::string> & outputs, const std::vector<std::string> & inputs)
{
  std::map<std::string, std::string> inputOfKey; // thousands of slides are not to be compared each with each
  for (const std::string & input : inputs)
  {
    inputOfKey.emplace(GetFileKey(input), input);
  }
  for (const std::string & output : outputs)
  {
    if (const auto found = inputOfKey.find(GetFileKey(output)); found != inputOfKey.end())
    {
      const std::string & input = found->second;
      throw Refusal(Diagnostic("E-OUTPUT-INPUT",
                               "the output is the input" + (output == input ? std::string() : ' ' + input),
                               "name another file to write")
                      .OfFile(output));
    }
  }
}

void
RefuseExisting(const std::string & file, bool overwrite)
{
  std::error_code ignored;
  if (!overwrite && fs::exists(fs::symlink_status(file, ignored))) // a link that leads nowhere would be replaced
  {
    throw Refusal(Diagnostic("E-OUTPUT-EXISTS", "the output exists already", "choose another name, or use --overwrite")
                    .OfFile(file));
  }
}

std::string
GetMadeBy(const itk::WholeSlideImageIO & pyramid)
{
  std::string description;
  itk::ExposeMetaData(pyramid.GetMetaDataDictionary(), "tiff.ImageDescription", description);
  return itk::PyramidTIFFImageIO::GetMadeByOfDescription(description);
}

std::string
FindMadeBy(const std::string & pyramid)
{
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(pyramid);
  io->GiveWarningsOff(); // whoever reads its pixels has them
  try
  {
    io->ReadImageInformation();
  }
  catch (const itk::ExceptionObject &)
  {
    return {};
  }
  return GetMadeBy(*io);
}

bool
HasValidPyramid(const std::string &                 file,
                const std::array<std::int64_t, 2> & size,
                unsigned                            channels,
                const std::string &                 madeBy)
{
  const auto refuse = [&file](const std::string & why) -> Refusal {
    return Refusal(
      Diagnostic("E-OUTPUT-EXISTS", "the output exists, but " + why, "choose another name, or use --overwrite")
        .OfFile(file));
  };
  if (!fs::exists(file))
  {
    if (fs::is_symlink(fs::symlink_status(file)))
    {
      throw refuse("is a link that leads nowhere");
    }
    return false;
  }
  const std::string unfinished = "is no finished pyramid of this slide at this resolution";
  try
  {
    const auto io = itk::WholeSlideImageIO::New();
    io->SetFileName(file);
    io->ReadImageInformation();
    const std::string foundMadeBy = GetMadeBy(*io);
    if (!foundMadeBy.empty() && foundMadeBy != madeBy) // which says more than another size does
    {
      throw refuse("was made in another way than is asked for (" + DescribeOtherMaking(foundMadeBy, madeBy) + ')');
    }
    const auto found = io->GetLevelSize(0);
    if (static_cast<std::int64_t>(found[0]) != size[0] || static_cast<std::int64_t>(found[1]) != size[1] ||
        io->GetNumberOfComponents() != channels)
    {
      throw refuse(unfinished);
    }
    if (foundMadeBy.empty())
    {
      throw refuse("does not say that it was made in the way that is asked for");
    }
    const std::int64_t damaged = GetRecordedDamage(*io);
    if (io->GetStrict() && damaged > 0)
    {
      throw refuse("was made of " + std::to_string(damaged) + " damaged tiles, which --strict refuses");
    }
    std::vector<unsigned char> last(channels * std::size_t{ io->GetComponentSize() });
    io->ReadRegion(0, found[0] - 1, found[1] - 1, 1, 1, channels, last.data());
  }
  catch (const itk::ExceptionObject &)
  {
    throw refuse(unfinished);
  }
  return true;
}

} // namespace gigapixel::application
