/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Which files of a folder belong to a DICOM slide, and which images they make.
#include "DICOMSlide.h"

#include "gigapixelFileRefusal.h"
#include "gigapixelPrintable.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <tuple>

namespace gigapixel
{
namespace
{

constexpr const char * checkFolder = "check that folder";

/** Text that is a whole number goes by its value. */
bool
IsNaturallyLess(const std::string & a, const std::string & b)
{
  const auto isNumber = [](const std::string & text) {
    return !text.empty() && text.size() < 18 && text.find_first_not_of("0123456789") == std::string::npos;
  };
  return isNumber(a) && isNumber(b) ? std::stoull(a) < std::stoull(b) : a < b;
}

} // namespace

/** The optical path of frames that do not say it themselves. */
std::string
GetSharedPath(const DICOMPart & part)
{
  const std::string shared = part.file.GetText(DICOMTag::OpticalPathIdentifier);
  return shared.empty() ? part.file.GetOpticalPaths().front().identifier : shared;
}

std::string
GetFileName(const DICOMPart & part)
{
  return std::filesystem::path(part.file.GetPath()).filename().string();
}

/** The other files of the series that lie in the folder. A link to one file of it stands for the slide, too: then they
 * lie beside the file that it leads to. */
void
DICOMSlide::FindFiles()
{
  namespace fs = std::filesystem;
  const fs::path  folder = fs::path(m_Path).parent_path();
  std::error_code error;
  FindFilesIn(folder.empty() ? "." : folder.string());
  if (m_Parts.size() == 1 && fs::is_symlink(m_Path, error))
  {
    FindFilesIn(fs::canonical(m_Path).parent_path().string());
  }
}

/** The files of one folder, by name. */
void
DICOMSlide::FindFilesIn(const std::string & folder)
{
  namespace fs = std::filesystem;
  std::vector<std::string> names;
  std::error_code          error;
  for (const fs::directory_entry & entry : fs::directory_iterator(folder, error))
  {
    std::error_code ofEntry; // of a link that leads to no file, say
    const bool      isFile = entry.is_regular_file(ofEntry);
    if ((isFile || (ofEntry && DICOMFile::IsNamedAsDICOM(entry.path().string()))) &&
        !fs::equivalent(entry.path(), m_Path, ofEntry))
    {
      names.push_back(entry.path().string());
    }
  }
  if (error)
  {
    MissFile("each file", folder + " cannot be listed: " + error.message(), GetFileRemedy(error, checkFolder));
  }
  std::sort(names.begin(), names.end());
  std::for_each(names.begin(), names.end(), [this](const std::string & name) { AddFile(name); });
}

/** A file that is another slide's, or of another kind, is none of ours. Of one that cannot be read nobody knows whose
 * it is, and it may be the finest level: a slide without that is read at a resolution that is not its own. */
void
DICOMSlide::AddFile(const std::string & name)
{
  const std::string series = m_Parts.front()->file.GetText(DICOMTag::SeriesInstance);
  try
  {
    std::error_code   error;
    const std::string whyNot = DICOMFile::IsNamedAsDICOM(name) ? DICOMFile::FindWhyNot(name, error) : std::string();
    if (!whyNot.empty())
    {
      MissFile(name, whyNot, GetFileRemedy(error, fetchOrMove));
      return;
    }
    if (!DICOMFile::IsDICOM(name, true))
    {
      return;
    }
    auto file = std::make_unique<const DICOMFile>(name);
    if (!series.empty() && file->GetText(DICOMTag::SeriesInstance) == series)
    {
      m_Parts.push_back(std::make_unique<const DICOMPart>(std::move(file)));
    }
  }
  catch (const DICOMFile::NoWholeSlide &)
  {
    return;
  }
  catch (const std::system_error & error)
  {
    MissFile(name, error.what(), GetFileRemedy(error.code(), fetchOrMove));
  }
  catch (const std::runtime_error & damage)
  {
    MissFile(name, Diagnostic::Of(damage).why, fetchOrMove);
  }
}

void
DICOMSlide::MissFile(const std::string & name, const std::string & what, const std::string & remedy)
{
  Miss(
    Diagnostic("W-SLIDE-PARTS", GetPrintable(name + " beside it cannot be read (" + what) + ')', remedy).OfValue(name),
    ", so that levels of it may be missing");
}

/** A sound file of the series that is not read. */
void
DICOMSlide::LeaveOut(const DICOMPart & part, const std::string & why, const std::string & remedy)
{
  m_Warnings.push_back(
    Diagnostic("W-SLIDE-LEFT-OUT", GetPrintable(part.file.GetPath() + " is left out: " + why), remedy)
      .OfFile(m_Path)
      .OfValue(part.file.GetPath()));
}

std::vector<DICOMImage>
DICOMSlide::FindImages()
{
  std::vector<DICOMImage>                  images;
  std::map<std::string, std::size_t>       concatenations;
  std::map<std::string, const DICOMPart *> instances;
  for (const auto & part : m_Parts)
  {
    const std::string instance = part->file.GetText(DICOMTag::SOPInstance);
    const auto        first = instances.emplace(instance, part.get());
    if (!instance.empty() && !first.second)
    {
      LeaveOut(*part, "it is a copy of " + GetFileName(*first.first->second), "move the copy away");
      continue;
    }
    if (part->flavor.empty())
    {
      LeaveOut(*part,
               "its image type, " + part->file.GetText(DICOMTag::ImageType) +
                 ", is neither a level (VOLUME) nor a label, overview or thumbnail",
               "move it away if it is of no slide");
      continue;
    }
    const std::string key =
      part->concatenation + ' ' + part->flavor + ' ' + std::to_string(part->width) + ' ' + std::to_string(part->height);
    const auto place = concatenations.emplace(key, images.size());
    if (part->concatenation.empty() || place.second)
    {
      images.push_back({ part.get() });
    }
    else
    {
      images[place.first->second].push_back(part.get());
    }
  }
  return images;
}

/** Images of one size: the first, and those that show other optical paths or focal planes of it. */
std::vector<DICOMImage>
DICOMSlide::SelectAlike(const std::vector<DICOMImage> & images)
{
  struct Shown
  {
    std::set<std::string> paths;
    std::set<double>      depths;
  };
  const auto find = [](const DICOMImage & image) {
    Shown shown;
    for (const DICOMPart * const part : image)
    {
      for (const DICOMFile::Place & place : part->file.GetPlaces())
      {
        shown.paths.insert(part->file.GetOpticalPaths().at(place.path).identifier);
        shown.depths.insert(place.z);
      }
      if (part->file.GetPlaces().empty())
      {
        shown.paths.insert(GetSharedPath(*part));
        shown.depths.insert(part->z);
      }
    }
    return shown;
  };
  const auto areApart = [](const auto & a, const auto & b) {
    return std::none_of(a.begin(), a.end(), [&b](const auto & each) { return b.count(each) > 0; });
  };
  std::vector<DICOMImage> alike;
  std::vector<Shown>      shown;
  for (const DICOMImage & image : images)
  {
    const DICOMPart & part = *image.front();
    const Shown       shows = images.size() > 1 ? find(image) : Shown();
    const bool        isOther = std::all_of(shown.begin(), shown.end(), [&](const Shown & each) {
      return areApart(each.depths, shows.depths) || (part.pixels.samples == 1 && areApart(each.paths, shows.paths));
    });
    if (alike.empty() || (isOther && part.pixels.IsLike(alike.front().front()->pixels)))
    {
      alike.push_back(image);
      shown.push_back(shows);
      continue;
    }
    for (const DICOMPart * const each : image)
    {
      LeaveOut(*each,
               "it is another image of the same size as " + GetFileName(*alike.front().front()),
               "move the one away that is not wanted");
    }
  }
  std::stable_sort(alike.begin(), alike.end(), [](const DICOMImage & a, const DICOMImage & b) {
    return IsNaturallyLess(GetSharedPath(*a.front()), GetSharedPath(*b.front()));
  });
  return alike;
}

} // namespace gigapixel
