/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideFile.h"

#include "ArgumentText.h"
#include "TableValues.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelSlideFiles.h"

#include "itkMetaDataObject.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace gigapixel::application
{
namespace
{

/** The fields of the last system call that failed, errno. */
Diagnostic
DiagnoseLastFailure(const std::string & file)
{
  return Diagnostic::Of(std::system_error(errno, std::generic_category())).OfFile(file);
}

/** OpenSlide takes a folder that it may not look into for none. */
void
CheckDescription(const std::string & file, const std::string & description)
{
  if (!std::ifstream(description) && errno != ENOENT)
  {
    const Diagnostic refusal = DiagnoseLastFailure(description);
    throw Refusal(
      Diagnostic(refusal.code, "it cannot be read, as " + description + " cannot: " + refusal.why, refusal.remedy)
        .OfFile(file));
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
      throw Refusal(
        Diagnostic("E-FILE-MISSING", file + " is a link that leads to no file", "mend it, or name the file itself")
          .OfFile(file));
    }
    throw Refusal(DescribeMissingFile(file));
  }
  if (std::filesystem::is_directory(file, ignored))
  {
    throw Refusal(Diagnostic("E-FILE-KIND", file + " is a folder; a file is wanted here", "name a file").OfFile(file));
  }
  // Before it is opened: a pipe would wait for a writer for ever.
  if (!std::filesystem::is_regular_file(file, ignored))
  {
    throw Refusal(
      Diagnostic("E-FILE-KIND", file + " is a pipe, a socket or a device; a file is wanted here", "name a file")
        .OfFile(file));
  }
  if (!std::ifstream(file, std::ios::binary))
  {
    Diagnostic refusal = DiagnoseLastFailure(file);
    refusal.why = file + " cannot be read: " + refusal.why;
    throw Refusal(refusal);
  }
  const std::filesystem::path description = FindSlideDescription(file);
  if (std::filesystem::is_directory(description.parent_path(), ignored))
  {
    CheckDescription(file, description.string());
  }
  else if (std::filesystem::file_size(file, ignored) == 0)
  {
    throw Refusal(Diagnostic("E-FILE-DAMAGED", file + " is empty", "get it again from where it came").OfFile(file));
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
    throw Refusal(Diagnostic("E-OPTION-CONFLICT",
                             std::string(slide.GetFileName()) + " says that its level 0 has " +
                               FormatNumber(resolution, 4) + " µm/px, which --slide-mpp " + FormatNumber(stated, 4) +
                               " contradicts",
                             "leave the option out, since it is for files that say nothing")
                    .OfFile(slide.GetFileName())
                    .OfOption("--slide-mpp", FormatNumber(stated, 4)));
  }
}
} // namespace

namespace
{
/** Finding the windows of channels may read much. */
void
ReadWithProgress(itk::WholeSlideImageIO & slide, const Session & session)
{
  Progress   progress(session, "windows of " + std::string(slide.GetFileName()));
  const auto observer = slide.AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
    progress.Update(slide.GetProgress());
    slide.SetAbortGenerateData(IsInterruptionRequested());
  });
  try
  {
    slide.ReadImageInformation();
  }
  catch (...)
  {
    slide.RemoveObserver(observer);
    throw;
  }
  slide.RemoveObserver(observer);
}
} // namespace

itk::WholeSlideImageIO::Pointer
OpenPicture(const std::string & file, const ArgumentValues & values, const Session & session)
{
  const auto slide = OpenSlide(file, values, session, ChannelUse::Picture);
  RequirePicture(*slide);
  return slide;
}

namespace
{
/** "+2" is 2. */
std::string
NormalizeInteger(const std::string & text)
{
  const auto number = ReadInteger(text);
  return number ? std::to_string(*number) : text;
}
} // namespace

SlideOptions
GetSlideOptions(const ArgumentValues & values, const NamingOptions & rename)
{
  auto options = GetOptions<SlideOptions>(values, rename);
  options.plane = NormalizeInteger(options.plane);
  return options;
}

itk::WholeSlideImageIO::Pointer
OpenSlide(const std::string & file, const ArgumentValues & values, const Session & session, ChannelUse use)
{
  return OpenSlide(file, GetSlideOptions(values), session, use);
}

itk::WholeSlideImageIO::Pointer
OpenSlide(const std::string & file, const SlideContent & content, const Session & session, ChannelUse use)
{
  CheckInputFile(file);
  const auto slide = itk::WholeSlideImageIO::New();
  slide->SetFileName(file);
  slide->SetContent(content);
  slide->SetAsPicture(use == ChannelUse::Picture);
  ReadWithProgress(*slide, session);
  if (content.levelZeroMicronsPerPixel > 0)
  {
    RefuseContradiction(*slide, content.levelZeroMicronsPerPixel);
  }
  return slide;
}

void
SelectPixels(itk::WholeSlideImageIO & slide, const ArgumentValues & values)
{
  const bool isResolution = values.GetCommand().Find("mpp") && values.Has("mpp");
  if (isResolution)
  {
    slide.SetMicronsPerPixel(values.GetNumber("mpp"));
  }
  else if (values.GetCommand().Find("level") && values.Has("level"))
  {
    slide.SetLevel(static_cast<unsigned>(values.GetInteger("level")));
  }
  try
  {
    slide.ReadImageInformation();
  }
  catch (const itk::ExceptionObject & error)
  {
    const Diagnostic refusal = Diagnostic::Of(error);
    if (isResolution && refusal.code == "E-SLIDE-RESOLUTION")
    {
      throw Refusal(Diagnostic(refusal).OfOption("--mpp", values.GetText("mpp")));
    }
    if (refusal.code == "E-SLIDE-LEVEL")
    {
      throw Refusal(Diagnostic(refusal).OfOption("--level", values.GetText("level")));
    }
    throw;
  }
}

void
AddChannels(nlohmann::ordered_json & json, const itk::WholeSlideImageIO & slide)
{
  std::istringstream lines(slide.DescribeChannelChoice());
  for (std::string line; std::getline(lines, line);)
  {
    json["channels"].push_back(line);
  }
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

std::vector<Diagnostic>
FindUndecodableTiles(itk::WholeSlideImageIO & slide, const Session & session)
{
  Progress                progress(session, "check " + std::string(slide.GetFileName()));
  const double            levels = slide.GetNumberOfLevels();
  std::vector<Diagnostic> all;
  std::set<std::string>   known; // tiles of focal planes, each of which several tiles are made of
  slide.SetGray(true);           // of JPEG, luma alone tells as much
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
      for (const Diagnostic & each : found)
      {
        if (known.insert(each.why).second)
        {
          all.push_back(each);
        }
      }
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

} // namespace gigapixel::application
