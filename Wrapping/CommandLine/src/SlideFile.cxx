/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideFile.h"

#include "ArgumentText.h"

#include "gigapixelFileRefusal.h"
#include "gigapixelSlideFiles.h"

#include "itkMetaDataObject.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace gigapixel::commandline
{
namespace
{

/** OpenSlide takes a folder that it may not look into for none. */
void
CheckDescription(const std::string & file, const std::string & description)
{
  if (!std::ifstream(description) && errno != ENOENT)
  {
    throw std::runtime_error(file + " cannot be read, as " + description + " cannot: " + DescribeLastFileRefusal() +
                             '.');
  }
}

} // namespace

void
CheckInputFile(const std::string & file)
{
  std::error_code ignored;
  if (!std::filesystem::exists(file)) // throws for names that can be none
  {
    if (std::filesystem::is_symlink(file, ignored))
    {
      throw std::runtime_error(file + " is a link that leads to no file: mend it, or name the file itself.");
    }
    throw std::runtime_error("There is no file " + file + ": see whether its name is right.");
  }
  if (std::filesystem::is_directory(file, ignored))
  {
    throw std::runtime_error(file + " is a folder; a file is wanted here.");
  }
  // Before it is opened: a pipe would wait for a writer for ever.
  if (!std::filesystem::is_regular_file(file, ignored))
  {
    throw std::runtime_error(file + " is a pipe, a socket or a device; a file is wanted here.");
  }
  if (!std::ifstream(file, std::ios::binary))
  {
    throw std::runtime_error(file + " cannot be read: " + DescribeLastFileRefusal() + '.');
  }
  const std::filesystem::path description = FindSlideDescription(file);
  if (std::filesystem::is_directory(description.parent_path(), ignored))
  {
    CheckDescription(file, description.string());
  }
  else if (std::filesystem::file_size(file, ignored) == 0)
  {
    throw std::runtime_error(file + " is empty: get it again from where it came.");
  }
}

namespace
{
/** What a file says of its resolution holds; who states another one is to know. */
void
RefuseContradiction(const itk::WholeSlideImageIO & slide, double stated)
{
  constexpr double rounding = 0.01;
  const double     resolution = GetLevelZeroResolution(slide);
  if (resolution > 0 && std::abs(resolution / stated - 1) > rounding)
  {
    throw std::runtime_error(std::string(slide.GetFileName()) + " says that its level 0 has " +
                             FormatNumber(resolution, 4) + " µm/px, which --slide-mpp " + FormatNumber(stated, 4) +
                             " contradicts: leave the option out, since it is for files that say nothing.");
  }
}
} // namespace

itk::WholeSlideImageIO::Pointer
OpenPicture(const std::string & file, const ArgumentValues & values)
{
  const auto slide = OpenSlide(file, values);
  RequirePicture(*slide);
  return slide;
}

itk::WholeSlideImageIO::Pointer
OpenSlide(const std::string & file, const ArgumentValues & values)
{
  CheckInputFile(file);
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(file);
  if (values.Has("slide-mpp"))
  {
    slide->SetLevelZeroMicronsPerPixel(values.GetNumber("slide-mpp"));
  }
  slide->ReadImageInformation();
  if (values.Has("slide-mpp"))
  {
    RefuseContradiction(*slide, values.GetNumber("slide-mpp"));
  }
  return slide;
}

Grid
GetLevelZeroGrid(const itk::WholeSlideImageIO & slide)
{
  const auto size = slide.GetLevelSize(0);
  Grid       grid = Grid::Of(slide); // of the level that is read: the slide was just opened
  grid.size = { static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]) };
  return grid;
}

std::int64_t
GetRecordedDamage(const itk::WholeSlideImageIO & pyramid)
{
  std::string count;
  itk::ExposeMetaData(pyramid.GetMetaDataDictionary(), gigapixel::RecordedDamageKey, count);
  return ReadInteger(count).value_or(0);
}

std::int64_t
GetRecordedDamage(const std::string & pyramid)
{
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(pyramid);
  io->ReadImageInformation();
  return GetRecordedDamage(*io);
}

bool
HasRecordedDamage(const itk::WholeSlideImageIO & pyramid)
{
  return pyramid.GetMetaDataDictionary().HasKey(gigapixel::RecordedDamageKey);
}

std::vector<std::string>
FindUndecodableTiles(itk::WholeSlideImageIO & slide, const Session & session)
{
  Progress                 progress(session, "check " + std::string(slide.GetFileName()));
  const double             levels = slide.GetNumberOfLevels();
  std::vector<std::string> all;
  slide.SetGray(true); // of JPEG, luma alone tells as much
  slide.ReadImageInformation();
  for (unsigned level = 0; level < slide.GetNumberOfLevels(); ++level)
  {
    const auto                   size = slide.GetLevelSize(level);
    constexpr itk::SizeValueType bands = 1 << 16; // at most: a small file may state thousands of levels of 2^32 rows
    const auto                   bandRows = std::max<itk::SizeValueType>(256, size[1] / bands);
    for (itk::SizeValueType y = 0; y < size[1]; y += bandRows)
    {
      const auto found = slide.FindUndecodableTiles(level, y, std::min(bandRows, size[1] - y));
      ThrowIfInterrupted(); // which may have been why a tile was not decoded
      all.insert(all.end(), found.begin(), found.end());
      progress.Update((level + static_cast<double>(y) / static_cast<double>(size[1])) / levels);
    }
  }
  progress.Finish();
  slide.ReportDamage();
  return all;
}

std::string
FormatDamage(std::int64_t count)
{
  return count == 0 ? std::string() : ", " + std::to_string(count) + (count == 1 ? " damaged tile" : " damaged tiles");
}

} // namespace gigapixel::commandline
