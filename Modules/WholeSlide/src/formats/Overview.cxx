/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Files that name or show a slide whose pixels lie in other files, which are not read: Olympus VSI and Aperio AFI.
#include "SlideFormat.h"

#include "gigapixelJoinNames.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace gigapixel
{
namespace
{
namespace fs = std::filesystem;

constexpr std::size_t mostNames = 3;

std::string
GetEnding(const fs::path & path)
{
  std::string ending = path.extension().string();
  std::transform(
    ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending;
}

/** The folder of a VSI's data: _NAME_ beside NAME.vsi. */
fs::path
GetDataFolder(const fs::path & path)
{
  return path.parent_path() / ('_' + path.stem().string() + '_');
}

/** Files of pixels, relative to the folder of the overview, the largest one first. */
std::vector<std::string>
FindDataFiles(const fs::path & path)
{
  std::vector<std::pair<std::uintmax_t, std::string>> found;
  std::error_code                                     error;
  constexpr int                                       deepest = 3;
  constexpr std::size_t                               most = 4096;
  for (fs::recursive_directory_iterator entry(GetDataFolder(path), error), end;
       !error && entry != end && found.size() < most;
       entry.increment(error))
  {
    if (entry.depth() >= deepest)
    {
      entry.disable_recursion_pending();
    }
    std::error_code none;
    if (GetEnding(entry->path()) == ".ets" && entry->is_regular_file(none))
    {
      const fs::path relative = entry->path().lexically_relative(path.parent_path());
      found.emplace_back(entry->file_size(none), relative.string());
    }
  }
  std::sort(found.begin(), found.end(), [](const auto & one, const auto & other) {
    return one.first != other.first ? one.first > other.first : one.second < other.second;
  });
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const auto & file : found)
  {
    names.push_back(file.second);
  }
  return names;
}

/** Slides that an AFI names: <Path>NAME</Path>. */
std::vector<std::string>
FindNamedSlides(const std::string & path)
{
  constexpr std::size_t longest = 65536;
  std::string           text(longest, '\0');
  std::ifstream         file(path, std::ios::binary);
  file.read(&text[0], static_cast<std::streamsize>(longest));
  text.resize(static_cast<std::size_t>(file.gcount()));
  std::vector<std::string> names;
  const std::string        begin = "<Path>";
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1))
  {
    const std::size_t end = text.find('<', at + begin.size());
    if (end == std::string::npos)
    {
      break;
    }
    names.push_back(text.substr(at + begin.size(), end - at - begin.size()));
  }
  return names;
}

/** A MIRAX file without the folder of its name, which holds all of the slide. */
bool
IsLoneMIRAX(const fs::path & path)
{
  std::error_code error;
  return GetEnding(path) == ".mrxs" && !fs::is_directory(fs::path(path).replace_extension(), error);
}

bool
Detect(const SlideFile & file)
{
  const std::string ending = GetEnding(file.GetPath());
  return IsLoneMIRAX(file.GetPath()) || ending == (file.IsTIFF() ? ".vsi" : ".afi");
}

std::string
Join(std::vector<std::string> names)
{
  const bool isCut = names.size() > mostNames;
  names.resize(std::min(names.size(), mostNames));
  return JoinNames(names) + (isCut ? ", ..." : "");
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  const std::string & path = file.GetPath();
  if (IsLoneMIRAX(path))
  {
    const std::string folder = fs::path(path).stem().string();
    throw SlideError("E-SLIDE-PARTS",
                     path,
                     "the folder " + folder + " with the slide's data is missing beside it",
                     "put the folder beside the file");
  }
  if (!file.IsTIFF())
  {
    const auto names = FindNamedSlides(path);
    throw SlideError("E-SLIDE-OVERVIEW",
                     path,
                     "it only names the slides of its channels" + (names.empty() ? "" : ": " + Join(names)),
                     "name one of these slides");
  }
  const auto files = FindDataFiles(path);
  if (files.empty()) // bfconvert would make a slide of the overview
  {
    throw SlideError("E-SLIDE-PARTS",
                     path,
                     "the folder " + GetDataFolder(path).filename().string() +
                       " with the slide's pixels (.ets) is missing beside it, or has none",
                     "copy the folder from where the slide was scanned, put it beside the file, and convert the slide "
                     "to OME-TIFF with bfconvert of Bio-Formats");
  }
  throw SlideError("E-SLIDE-OVERVIEW",
                   path,
                   "it holds an overview of the slide, whose pixels lie in " + Join(files) +
                     (files.size() == 1 ? ", which is not read" : ", which are not read"),
                   "convert the slide to OME-TIFF with bfconvert of Bio-Formats");
}

} // namespace

extern const SlideFormat overviewFormat;
const SlideFormat        overviewFormat{ "overview", { ".vsi", ".afi" }, Detect, Open, nullptr };

} // namespace gigapixel
