/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "SlideList.h"

#include "ArgumentText.h"
#include "BatchManifest.h"

#include "gigapixelCohort.h"
#include "gigapixelFileRefusal.h"
#include "gigapixelJoinNames.h"
#include "gigapixelSlideFiles.h"
#include "gigapixelTableReader.h"

#include "itkGigapixelVolumeSource.h"
#include "itkMetaDataObject.h"
#include "itkPyramidTIFFImageIO.h"
#include "itkTIFFImageIO.h"
#include "itkWholeSlideImageIO.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include <glob.h>

namespace fs = std::filesystem;

namespace gigapixel::application
{
namespace
{
/** What an entry of a folder is to a command. */
enum class Entry
{
  Wanted,
  Kept, ///< belongs to what is wanted, or is kept beside it
  Other
};

/** What commands look for in folders. */
struct Kind
{
  std::string name;
  std::string formats; ///< for people, where there are none
  Entry (*lookAt)(const fs::directory_entry & entry, const Session & session);
};

const std::string PyramidEnding = ".pyramid.tif";

/** What a file that is named as masks are is. */
enum class NamedMask
{
  None,  ///< it cannot be read, has several channels, or is a slide that we converted
  Ours,  ///< as it says
  Others ///< it may be a slide or a mask
};

NamedMask
LookForMaskPyramid(const std::string & file)
{
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(file);
  io->GiveWarningsOff(); // of a file that nobody asked for yet
  try
  {
    io->ReadImageInformation();
  }
  catch (const itk::ExceptionObject &)
  {
    return NamedMask::None;
  }
  std::string description;
  itk::ExposeMetaData(io->GetMetaDataDictionary(), "tiff.ImageDescription", description);
  const std::string madeBy = itk::PyramidTIFFImageIO::GetMadeByOfDescription(description);
  if (io->GetNumberOfComponents() != 1 || madeBy.rfind("convert ", 0) == 0)
  {
    return NamedMask::None;
  }
  return madeBy.empty() ? NamedMask::Others : NamedMask::Ours;
}

/** The same by the file's name: an OME-TIFF is a mask if we wrote it as one. */
NamedMask
LookForNamedMask(const std::string & file)
{
  const bool      isNamedSo = EndsWith(file, PyramidEnding);
  const NamedMask found = isNamedSo || EndsWith(file, ".ome.tif") ? LookForMaskPyramid(file) : NamedMask::None;
  return isNamedSo || found == NamedMask::Ours ? found : NamedMask::None;
}

/** Whether a file is to be passed over where slides are looked for: a mask of ours, whatever its name, or what is named
 * as masks are. What other programs named so may be a slide or a mask, so that it is said. */
bool
IsMask(const std::string & file, const Session & session)
{
  const NamedMask any = LookForMaskPyramid(file);
  const NamedMask found = any == NamedMask::Others && !EndsWith(file, PyramidEnding) ? NamedMask::None : any;
  if (found == NamedMask::Others)
  {
    session.Warn(Diagnostic("W-FILE-SKIPPED",
                            "it is gray and named as masks are, and is skipped",
                            "name the file itself, or rename it, if it is a slide")
                   .OfFile(file));
  }
  return found != NamedMask::None;
}

std::string
GetLowerExtension(const std::string & file)
{
  std::string extension = fs::path(file).extension().string();
  std::transform(
    extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension;
}

constexpr const char * CompanionEnding = ".companion.ome";

/** Any file of a DICOM series opens the whole slide: the one of the finest level stands for all. So does any file of an
 * OME-TIFF in several, of which the first that is there does; a companion file stands for those that do not point to
 * it, and so does an NDPIS.
 */
std::vector<std::string>
KeepOneOfEachSeries(const std::vector<std::string> & files)
{
  std::vector<std::string>           slides;
  std::vector<std::uint64_t>         pixels; // of each
  std::map<std::string, std::size_t> places;
  std::set<std::string>              ofCompanions;
  for (const std::string & file : files)
  {
    const bool namesOthers = EndsWith(file, CompanionEnding) || NamesSlides(file);
    for (const std::string & part : namesOthers ? FindSlideParts(file) : std::vector<std::string>())
    {
      part == file ? void() : void(ofCompanions.insert(part));
    }
  }
  for (const std::string & file : files)
  {
    if (ofCompanions.count(file) > 0)
    {
      continue;
    }
    // A pipe would wait for a writer for ever.
    std::error_code error;
    const bool      isFile = fs::is_regular_file(file, error);
    SlideSeries     series = isFile ? FindSlideSeries(file) : SlideSeries{};
    for (const std::string & part :
         isFile && series.identifier.empty() ? FindSlideParts(file) : std::vector<std::string>())
    {
      series.identifier += part + '\n';
      series.pixels = series.pixels + (part >= file ? 1 : 0); // the more, the earlier in the list
    }
    const auto place = places.find(series.identifier);
    if (place == places.end())
    {
      if (!series.identifier.empty())
      {
        places[series.identifier] = slides.size();
      }
      slides.push_back(file);
      pixels.push_back(series.pixels);
    }
    else if (series.pixels > pixels[place->second] ||
             (series.pixels == pixels[place->second] && fs::file_size(file) > fs::file_size(slides[place->second])))
    {
      slides[place->second] = file;
      pixels[place->second] = series.pixels;
    }
  }
  return slides;
}

/** Where a folder is one DICOM slide and nothing else, a file that cannot be read is a part of it, of which the slide
 * tells, or is refused where it is to be strict; else it may be a slide of its own, which is not to vanish. */
std::vector<std::string>
LeaveOutDamagedParts(const std::vector<std::string> & slides)
{
  const auto isPart = [](const std::string & file) { return !FindDICOMDamage(file).empty(); };
  const auto isWhole = [](const std::string & file) { return !FindSlideSeries(file).identifier.empty(); };
  const auto whole = std::find_if(slides.begin(), slides.end(), isWhole);
  const bool isOne = whole != slides.end() && std::count_if(slides.begin(), slides.end(), isWhole) == 1 &&
                     std::count_if(slides.begin(), slides.end(), isPart) + 1 == std::ptrdiff_t(slides.size());
  return isOne ? std::vector<std::string>{ *whole } : slides;
}

/** Whether a file that the readers of slides do not claim is a slide by its name: it is to be reported, not passed
 * over. A TIFF that ITK reads is another program's picture that merely lies there, and so may a sound DICOM file be. */
bool
SeemsDamagedSlide(const itk::WholeSlideImageIO & io, const std::string & file)
{
  const std::string extension = GetLowerExtension(file);
  if (extension == ".tif" || extension == ".tiff")
  {
    // A set that lacks a file is no slide, and is to be told of.
    return !FindSlideParts(file).empty() || !itk::TIFFImageIO::New()->CanReadFile(file.c_str());
  }
  const auto & slides = io.GetSupportedReadExtensions();
  if (extension == ".dcm")
  {
    return !FindDICOMDamage(file).empty();
  }
  return std::find(slides.begin(), slides.end(), extension) != slides.end();
}

/** Whether a file is what people and our commands keep beside slides, which nobody takes for one. */
bool
IsKeptBesideSlides(const std::string & file)
{
  static const std::set<std::string> endings{ ".csv",  ".tsv", ".json", ".geojson", ".txt",         ".md",   ".xml",
                                              ".log",  ".ini", ".opt",  ".pdf",     ".png",         ".html", ".jpg",
                                              ".jpeg", ".svg", ".h5",   ".nrrd",    ".safetensors", ".jsonl" };
  return endings.count(GetLowerExtension(file)) > 0 || fs::path(file).filename() == "DICOMDIR" ||
         EndsWith(file, PyramidEnding);
}

/** Whether it is a link to what is not there, such as an archive that is not mounted: a slide by its name is not to
 * vanish then. */
bool
IsDangling(const fs::directory_entry & entry)
{
  std::error_code ignored;
  return entry.is_symlink(ignored) && !fs::exists(entry.path(), ignored);
}

bool
IsHidden(const fs::path & path)
{
  return path.filename().string().front() == '.';
}

bool
IsNamedOME(const std::string & file)
{
  static const std::set<std::string> endings{ ".tif", ".tiff", ".btf", ".tf2", ".tf8" };
  const fs::path                     path(file);
  return endings.count(GetLowerExtension(file)) > 0 && GetLowerExtension(path.stem().string()) == ".ome";
}

/** Whether a file is a TIFF of focal planes or channels, as ImageJ and tifffile write them. */
bool
IsStack(const std::string & file)
{
  const std::string extension = GetLowerExtension(file);
  if (extension != ".tif" && extension != ".tiff")
  {
    return false;
  }
  const auto io = itk::WholeSlideImageIO::New();
  io->SetFileName(file);
  io->GiveWarningsOff(); // whoever reads its pixels has them
  try
  {
    io->ReadImageInformation();
  }
  catch (const itk::ExceptionObject &)
  {
    return false;
  }
  const bool isPicture = io->GetPixelType() != itk::IOPixelEnum::VECTOR; // red, green and blue are entries, too
  return io->GetMetaDataDictionary().HasKey("gigapixel.focal-plane") ||
         (!isPicture && io->GetChannelEntries().size() > 1);
}

/** Whether a file is an OME-TIFF's companion that each file which it names points to. */
bool
IsCompanionOfItsParts(const std::string & file)
{
  if (!EndsWith(file, CompanionEnding))
  {
    return false;
  }
  const auto parts = FindSlideParts(file);
  return std::all_of(parts.begin(), parts.end(), [&file](const std::string & part) {
    const auto known = part == file ? std::vector<std::string>{ file } : FindSlideParts(part);
    return std::find(known.begin(), known.end(), file) != known.end();
  });
}

Entry
LookForSlide(const fs::directory_entry & entry, const Session & session)
{
  const std::string file = entry.path().string();
  std::error_code   error;
  if (entry.is_directory(error))
  {
    return Entry::Other;
  }
  if (IsCompanionOfItsParts(file))
  {
    return Entry::Kept; // the files that it names stand for it
  }
  if (entry.is_regular_file(error))
  {
    const auto io = itk::WholeSlideImageIO::New();
    // The reader does not claim stacks, since ITK reads them as volumes.
    if (io->CanReadFile(file.c_str()) || IsNamedOME(file) || IsStack(file))
    {
      return IsMask(file, session) ? Entry::Kept : Entry::Wanted;
    }
    if (SeemsDamagedSlide(*io, file))
    {
      return Entry::Wanted;
    }
  }
  if (IsDangling(entry) && !IsKeptBesideSlides(file))
  {
    const auto & endings = itk::WholeSlideImageIO::New()->GetSupportedReadExtensions();
    const bool   isSlide = std::find(endings.begin(), endings.end(), GetLowerExtension(file)) != endings.end();
    return isSlide ? Entry::Wanted : Entry::Other;
  }
  return IsKeptBesideSlides(file) ? Entry::Kept : Entry::Other;
}

Entry
LookForVolume(const fs::directory_entry & entry, const Session &)
{
  const std::string file = entry.path().string();
  std::error_code   error;
  if (entry.is_directory(error))
  {
    return itk::GigapixelIsDicomFolder(file) ? Entry::Wanted : Entry::Other;
  }
  // Of a pair the header is named, and without it an .img is no volume.
  if ((entry.is_regular_file(error) || IsDangling(entry)) && !itk::GigapixelIsPixelsName(file) &&
      itk::GigapixelIsVolumeName(file))
  {
    return Entry::Wanted;
  }
  return itk::GigapixelHasHeaderBeside(file) || IsKeptBesideSlides(file) ? Entry::Kept : Entry::Other;
}

/** A damaged file that is named as masks are is one, so that it fails instead of vanishing. */
Entry
LookForMask(const fs::directory_entry & entry, const Session &)
{
  const std::string file = entry.path().string();
  std::error_code   error;
  if (entry.is_regular_file(error) && LookForNamedMask(file) == NamedMask::Ours)
  {
    return Entry::Wanted;
  }
  if (!entry.is_regular_file(error) || !EndsWith(file, PyramidEnding))
  {
    return !entry.is_directory(error) && IsKeptBesideSlides(file) ? Entry::Kept : Entry::Other;
  }
  const auto io = itk::WholeSlideImageIO::New();
  const bool isSlide = LookForMaskPyramid(file) == NamedMask::None && io->CanReadFile(file.c_str());
  return isSlide ? Entry::Kept : Entry::Wanted;
}

const Kind Slides{ "slide", "", LookForSlide };
const Kind Masks{ "mask", " (*.pyramid.tif, *.ome.tif)", LookForMask };
const Kind Volumes{ "volume", " (" + itk::GigapixelNameVolumeFormats() + ", or a DICOM series)", LookForVolume };

/** Whether there may be something in a folder: it holds something else than what is kept beside slides, or volumes. One
 * that may not be looked into counts. */
bool
MayHold(const fs::path & folder, const Kind & kind)
{
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
  {
    const std::string file = entry->path().string();
    const bool        isVolume = kind.name == Volumes.name && itk::GigapixelIsVolumeName(file);
    if (!IsHidden(entry->path()) && (isVolume || !IsKeptBesideSlides(file)))
    {
      return true;
    }
  }
  return bool(error);
}

/** Removes the folders of slides, as MIRAX has them, and those that nobody could miss. */
void
KeepFoldersOfNote(const std::vector<std::string> & slides, const Kind & kind, PassedOver & passed)
{
  std::set<std::string> ofSlides;
  for (const std::string & slide : slides)
  {
    ofSlides.insert(fs::path(FindSlideDescription(slide)).parent_path().filename().string());
  }
  const auto isOfNoNote = [&](const std::string & name) {
    return ofSlides.count(name) > 0 || !MayHold(fs::path(passed.folder) / name, kind);
  };
  passed.folders.erase(std::remove_if(passed.folders.begin(), passed.folders.end(), isOfNoNote), passed.folders.end());
}

/** "7 files that are no slides (a.czi, b.czi, ...) and 1 folder (sub)" */
std::string
DescribePassedOver(const PassedOver & passed, const std::string & kind)
{
  static constexpr std::size_t named = 5;
  const auto                   describe = [](const std::vector<std::string> & names, const std::string & what) {
    const std::vector<std::string> first(names.begin(),
                                         names.begin() + static_cast<std::ptrdiff_t>(std::min(named, names.size())));
    return std::to_string(names.size()) + what + " (" + JoinNames(first) + (names.size() > named ? ", ...)" : ")");
  };
  std::string text;
  if (!passed.files.empty())
  {
    text = describe(passed.files,
                    passed.files.size() == 1 ? " file that is no " + kind : " files that are no " + kind + 's');
  }
  if (!passed.folders.empty())
  {
    text +=
      (text.empty() ? "" : " and ") + describe(passed.folders, passed.folders.size() == 1 ? " folder" : " folders");
  }
  return text;
}

[[noreturn]] void
RefuseEmptyFolder(const PassedOver & passed, const Kind & kind)
{
  const std::string others = DescribePassedOver(passed, kind.name);
  throw Refusal(
    Diagnostic("E-FOLDER-EMPTY",
               "the folder " + passed.folder + " holds no " + kind.name + 's' + kind.formats +
                 (others.empty() ? "" : ", but " + others),
               passed.folders.empty() ? "name another one" : "name the folders that " + kind.name + "s are in")
      .OfFile(passed.folder));
}

/** \param passed gets what is of another kind */
std::vector<std::string>
FindInFolder(const std::string & folder, const Kind & kind, const Session & session, PassedOver & passed)
{
  passed.folder = folder;
  std::vector<std::string>     found;
  std::error_code              error;
  const fs::directory_iterator entries(folder, error);
  if (error)
  {
    Diagnostic refusal = Diagnostic::Of(std::system_error(error));
    refusal.why = "the folder " + folder + " cannot be read: " + refusal.why;
    throw Refusal(refusal.OfFile(folder));
  }
  for (const fs::directory_entry & entry : entries)
  {
    const Entry what = IsHidden(entry.path()) ? Entry::Kept : kind.lookAt(entry, session);
    if (what == Entry::Wanted)
    {
      found.push_back(entry.path().string());
    }
    else if (what == Entry::Other)
    {
      auto & others = entry.is_directory(error) ? passed.folders : passed.files;
      others.push_back(entry.path().filename().string());
    }
  }
  std::sort(found.begin(), found.end());
  std::sort(passed.files.begin(), passed.files.end());
  std::sort(passed.folders.begin(), passed.folders.end());
  KeepFoldersOfNote(found, kind, passed);
  if (found.empty())
  {
    RefuseEmptyFolder(passed, kind);
  }
  return found;
}

/** The files that match a pattern, sorted by name. Hidden ones do not, as in a shell. */
std::vector<std::string>
FindMatches(const std::string & pattern)
{
  glob_t     found{};
  const auto mayNotRead = [](const char *, int number) { return number == EACCES ? 1 : 0; };
  const int  error = glob(pattern.c_str(), 0, mayNotRead, &found);
  const auto names = std::vector<std::string>(found.gl_pathv, found.gl_pathv + (error ? 0 : found.gl_pathc));
  globfree(&found);
  if (error == GLOB_ABORTED)
  {
    throw Refusal(Diagnostic("E-FILE-ACCESS",
                             "a folder that " + pattern + " leads through may not be read",
                             "get the right to read it, or name its neighbors")
                    .OfFile(pattern));
  }
  if (names.empty())
  {
    throw Refusal(
      Diagnostic("E-FILE-MISSING", "no file matches " + pattern, "check the name of its folder and the ending")
        .OfFile(pattern));
  }
  return names;
}

void
TellPassedOver(const std::string & folder, const PassedOver & passed, const Session & session, SlideList & list)
{
  if (!passed.files.empty() || !passed.folders.empty())
  {
    session.Say("Passed over in " + folder + ": " + DescribePassedOver(passed, list.kind) +
                (passed.folders.empty() ? "." : "; name a folder itself, too, if " + list.kind + "s are in it."));
    list.passedOver.push_back(passed);
  }
}

/** The files that one name stands for. \param list learns how they were given */
std::vector<std::string>
LookUp(const std::string & name, const Kind & kind, const Session & session, SlideList & list)
{
  std::vector<std::string> files;
  std::error_code          error;
  if (fs::is_directory(name, error))
  {
    const bool isDicom = itk::GigapixelIsDicomFolder(name);
    if (isDicom && kind.name == Volumes.name)
    {
      return { name };
    }
    PassedOver passed;
    files = FindInFolder(name, kind, session, passed);
    files = kind.name == Slides.name ? LeaveOutDamagedParts(KeepOneOfEachSeries(files)) : files;
    TellPassedOver(name, passed, session, list);
    // The folder of a DICOM slide is as good as its file.
    const bool isOne = files.size() == 1 && !FindSlideSeries(files.front()).identifier.empty();
    list.isFolder = list.isFolder || !isOne || kind.name == Volumes.name;
    list.isList = list.isList || !isDicom || !isOne;
    return files;
  }
  const std::vector<std::string> listed = ExpandName(name, kind.name);
  if (listed.empty())
  {
    return { name };
  }
  list.isFolder = list.isList = true;
  list.given.push_back(name);
  for (const std::string & each : listed)
  {
    if (!fs::is_directory(each, error))
    {
      files.push_back(each);
    }
    else if (MayHold(each, kind)) // a pattern matches folders of tables and notes, too
    {
      const auto found = LookUp(each, kind, session, list);
      files.insert(files.end(), found.begin(), found.end());
    }
  }
  return kind.name == Slides.name ? KeepOneOfEachSeries(files) : files;
}

/** Of what is given all that is of a kind. */
SlideList
FindAll(const std::vector<std::string> & names, const Kind & kind, const Session & session)
{
  SlideList list;
  list.kind = kind.name;
  list.isList = names.size() > 1;
  std::set<std::string> seen;
  for (const std::string & name : names)
  {
    for (const std::string & slide : LookUp(name, kind, session, list))
    {
      if (seen.insert(GetPlace(slide)).second)
      {
        list.slides.push_back(slide);
      }
    }
  }
  return list;
}

} // namespace

std::vector<std::string>
ExpandName(const std::string & name, const std::string & kind)
{
  std::error_code ignored;
  if (!fs::exists(name, ignored) && name.find_first_of("*?[") != std::string::npos)
  {
    return FindMatches(name);
  }
  const bool isMask = kind == Masks.name;
  if (GetLowerExtension(name) == ".csv")
  {
    return ReadFileColumn(name, isMask ? "mask" : "slide");
  }
  if (fs::path(name).filename() != "manifest.json")
  {
    return {};
  }
  RequireReadable(name);
  std::vector<std::string> files;
  for (const nlohmann::ordered_json & entry : ReadManifestEntries(name))
  {
    if (!isMask || !entry["result"].contains("error"))
    {
      files.push_back(entry[isMask ? "output" : "slide"]);
    }
  }
  if (files.empty())
  {
    throw Refusal(
      Diagnostic("E-FILE-KIND", "it is no manifest of results, or names none", "name the folder of the files")
        .OfFile(name));
  }
  return files;
}

std::map<std::string, std::string>
FindSlidesOfMasks(const std::string & name)
{
  std::map<std::string, std::string> found;
  if (GetLowerExtension(name) == ".csv" && TableReader(name).FindColumn(Masks.name) >= 0)
  {
    const auto masks = ReadFileColumn(name, Masks.name);
    const auto slides = ReadFileColumn(name, Slides.name);
    for (std::size_t row = 0; row < masks.size(); ++row)
    {
      found[GetPlace(masks[row])] = slides[row];
    }
  }
  else if (fs::path(name).filename() == "manifest.json")
  {
    for (const nlohmann::ordered_json & entry : ReadManifestEntries(name))
    {
      found[GetPlace(entry["output"])] = entry["slide"];
    }
  }
  return found;
}

std::string
GetPlace(const std::string & file)
{
  std::error_code error;
  const fs::path  path = fs::absolute(file);
  const fs::path  folder = fs::canonical(path.parent_path(), error);
  return error ? path.string() : (folder / path.filename()).string();
}

SlideList
FindSlides(const std::vector<std::string> & names, const Session & session)
{
  return FindAll(names, Slides, session);
}

SlideList
FindVolumes(const std::vector<std::string> & names, const Session & session)
{
  return FindAll(names, Volumes, session);
}

SlideList
FindMasks(const std::vector<std::string> & names, const Session & session)
{
  return FindAll(names, Masks, session);
}

void
AddPassedOver(nlohmann::ordered_json & results, const SlideList & list)
{
  static constexpr std::size_t named = 20;
  const auto                   cut = [](std::vector<std::string> names) {
    names.resize(std::min(named, names.size()));
    return names;
  };
  for (const PassedOver & passed : list.passedOver)
  {
    const fs::path               folder = (fs::path(passed.folder) / "slide").parent_path();
    const nlohmann::ordered_json told{ { "folder", passed.folder },
                                       { "files", passed.files.size() },
                                       { "folders", passed.folders.size() },
                                       { "fileNames", cut(passed.files) },
                                       { "folderNames", cut(passed.folders) } };
    for (nlohmann::ordered_json & result : results)
    {
      if (fs::path(result.value(list.kind, std::string())).parent_path() == folder)
      {
        result["passedOver"] = told;
      }
    }
  }
}

} // namespace gigapixel::application
