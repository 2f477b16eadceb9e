/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "OutputCheck.h"

#include "MadeBy.h"
#include "SlideFile.h"

#include "gigapixelArgumentValues.h"
#include "gigapixelSession.h"

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
#include <unistd.h>

namespace fs = std::filesystem;

namespace gigapixel::commandline
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
    { "annotations", { "GeoJSON", { ".geojson", ".json" } } },
    { "segmentation", { "a segmentation in NRRD", { ".seg.nrrd", ".nrrd" } } },
    { "label volume", { "a volume of labels", { ".nii.gz", ".nii", ".nrrd", ".mha" } } },
    { "volume", { "a volume in NRRD", { ".nrrd" } } },
    { "map", { "a volume in NRRD", { ".nrrd" } } },
  };
  const auto found = formats.find(content);
  return found == formats.end() ? any : found->second;
}

bool
EndsIn(const std::string & file, const std::string & ending)
{
  return file.size() > ending.size() && file.compare(file.size() - ending.size(), ending.size(), ending) == 0;
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
    throw std::runtime_error(
      file + " cannot be written: " + DescribeFileRefusal(std::error_code(error, std::generic_category())) + '.');
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
    throw std::runtime_error("The folder " + folder.string() + " cannot be made: " + DescribeFileRefusal(error) + '.');
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
  const bool        agrees = std::any_of(
    format.endings.begin(), format.endings.end(), [&name](const std::string & ending) { return EndsIn(name, ending); });
  if (!format.endings.empty() && !agrees)
  {
    throw UsageError(argument + ' ' + file + " is to be " + format.name + ": end it in " + format.endings.front() +
                     otherwise + '.');
  }
}

bool
IsSameFile(const std::string & a, const std::string & b)
{
  std::error_code ignored;
  if (fs::exists(a, ignored) || fs::exists(b, ignored))
  {
    return fs::equivalent(a, b, ignored);
  }
  // What is to be made has no identity yet, but its folder has, however one comes there, or the folder that this is in.
  const auto getPlace = [](const std::string & file) {
    std::error_code error;
    return fs::weakly_canonical(fs::absolute(GetFolder(file)), error);
  };
  return fs::path(a).filename() == fs::path(b).filename() &&
         (fs::equivalent(GetFolder(a), GetFolder(b), ignored) || getPlace(a) == getPlace(b));
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
    throw std::runtime_error("The folder " + folder + " cannot be made: " + there.string() +
                             " is no folder; choose another output.");
  }
  if (const std::string obstacle = FindObstacleToWriting(there.string()); !obstacle.empty() && !fs::exists(folder))
  {
    throw std::runtime_error("The folder " + folder + " cannot be made: " + obstacle + "; choose another output.");
  }
  GetFoldersToMake().insert(GetFolder((fs::path(folder) / "output").string()));
}

void
CheckOutput(const std::string & file, double rawBytes)
{
  const fs::path folder = GetFolder(file);
  if (fs::is_directory(file))
  {
    throw std::runtime_error(file + " is a folder; name a file.");
  }
  if (fs::exists(file) && !fs::is_regular_file(file))
  {
    throw std::runtime_error(file + " is no file, but something else of this name; choose another output.");
  }
  if (fs::exists(folder) && !fs::is_directory(folder))
  {
    throw std::runtime_error(folder.string() + " is no folder, so that " + file +
                             " cannot be written into it; choose another output.");
  }
  if (!fs::is_directory(folder) && GetFoldersToMake().count(folder) > 0)
  {
    MakeFolder(folder);
  }
  if (!fs::is_directory(folder))
  {
    throw std::runtime_error("There is no folder " + folder.string() + " to write " + file + " into; make it first.");
  }
  if (const std::string obstacle = FindObstacleToWriting(folder.string()); !obstacle.empty())
  {
    throw std::runtime_error("The folder " + folder.string() + " cannot be written to: " + obstacle +
                             "; choose another output than " + file + '.');
  }
  RequireDescriptors(file);
  std::error_code error;
  const auto      space = fs::space(folder, error);
  const double    needed = rawBytes / 100 + 65536;
  if (!error && static_cast<double>(space.available) < needed)
  {
    throw std::runtime_error("The disk of " + folder.string() + " has only " +
                             FormatBytes(static_cast<double>(space.available)) + " free; " + file + " needs at least " +
                             FormatBytes(needed) + '.');
  }
}

void
RefuseInput(const std::string & output, const std::vector<std::string> & inputs)
{
  for (const std::string & input : inputs)
  {
    if (IsSameFile(output, input))
    {
      throw std::runtime_error(output + " is what is read here" + (output == input ? "" : ", " + input) +
                               ": name another file to write.");
    }
  }
}

void
RefuseExisting(const std::string & file, bool overwrite)
{
  if (!overwrite && fs::exists(file))
  {
    throw std::runtime_error(file + " exists already; --overwrite replaces it.");
  }
}

namespace
{
std::string
GetMadeBy(const itk::WholeSlideImageIO & io)
{
  std::string description;
  itk::ExposeMetaData(io.GetMetaDataDictionary(), "tiff.ImageDescription", description);
  return itk::PyramidTIFFImageIO::GetMadeByOfDescription(description);
}
} // namespace

std::string
FindMadeBy(const std::string & pyramid)
{
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(pyramid);
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
  if (!fs::exists(file))
  {
    return false;
  }
  const std::string refusal =
    file + " exists, but is no finished pyramid of this slide at this resolution; --overwrite replaces it.";
  try
  {
    const auto io = itk::WholeSlideImageIO::New();
    io->SetFileName(file);
    io->ReadImageInformation();
    const std::string foundMadeBy = GetMadeBy(*io);
    if (!foundMadeBy.empty() && foundMadeBy != madeBy) // which says more than another size does
    {
      throw std::runtime_error(file + " exists, but was made in another way than is asked for (" +
                               DescribeOtherMaking(foundMadeBy, madeBy) +
                               "); --overwrite replaces it, another output name keeps it.");
    }
    const auto found = io->GetLevelSize(0);
    if (static_cast<std::int64_t>(found[0]) != size[0] || static_cast<std::int64_t>(found[1]) != size[1] ||
        io->GetNumberOfComponents() != channels)
    {
      throw std::runtime_error(refusal);
    }
    if (foundMadeBy.empty())
    {
      throw std::runtime_error(file +
                               " exists, but was made in another way, which it does not tell, than is asked for; "
                               "--overwrite replaces it, another output name keeps it.");
    }
    const std::int64_t damaged = GetRecordedDamage(*io);
    if (io->GetStrict() && damaged > 0)
    {
      throw std::runtime_error(file + " exists, but was made of " + std::to_string(damaged) +
                               " damaged tiles, which --strict refuses; --overwrite replaces it.");
    }
    std::vector<unsigned char> last(channels);
    io->ReadRegion(0, found[0] - 1, found[1] - 1, 1, 1, channels, last.data());
  }
  catch (const itk::ExceptionObject &)
  {
    throw std::runtime_error(refusal);
  }
  return true;
}

} // namespace gigapixel::commandline
