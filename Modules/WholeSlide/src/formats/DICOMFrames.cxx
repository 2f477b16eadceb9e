/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Which tile, channel and focal plane each frame of a DICOM slide shows.
#include "DICOMSlide.h"
#include "slide/SlideImageChoice.h"

#include "gigapixelFormatCount.h"
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

/** The parts of a concatenation by the frames that they begin with, which may be stated or follow from their numbers.
 * Parts that cannot be used are left out, and missing ones are missed. */
DICOMImage
DICOMSlide::OrderParts(const DICOMImage & image, std::vector<std::uint64_t> & offsets)
{
  if (image.front()->concatenation.empty())
  {
    offsets.assign(1, 0);
    return image;
  }
  const bool areOffsetsKnown =
    std::all_of(image.begin(), image.end(), [](const DICOMPart * part) { return part->offset != DICOMPart::unknown; });
  DICOMImage sorted = image;
  std::stable_sort(sorted.begin(), sorted.end(), [areOffsetsKnown](const DICOMPart * a, const DICOMPart * b) {
    return areOffsetsKnown ? a->offset < b->offset : a->number < b->number;
  });
  DICOMImage              ordered;
  std::set<std::uint64_t> numbers;
  std::uint64_t           total = 0;
  std::uint64_t           next = 0; // frame
  bool                    hasGap = false;
  for (const DICOMPart * const part : sorted)
  {
    const bool isRepeated = !ordered.empty() && (areOffsetsKnown ? ordered.back()->offset == part->offset
                                                                 : ordered.back()->number == part->number);
    if (isRepeated && (areOffsetsKnown || part->number != 0))
    {
      LeaveOut(
        *part, "it begins with the same frame as " + GetFileName(*ordered.back()), "move the one away that is wrong");
      continue;
    }
    if (!part->pixels.IsLike(image.front()->pixels))
    {
      LeaveOut(*part, "its pixels are of another kind than those of " + GetFileName(*image.front()), fetchParts);
      continue;
    }
    hasGap =
      hasGap || (areOffsetsKnown && part->offset > next) || (!areOffsetsKnown && part->number != ordered.size() + 1);
    offsets.push_back(areOffsetsKnown ? part->offset : next);
    next = offsets.back() + part->file.GetFrames().size();
    ordered.push_back(part);
    numbers.insert(part->number);
    total = std::max(total, part->total);
  }
  if (!areOffsetsKnown && hasGap && !image.front()->isPlaced)
  {
    throw SlideError("E-DICOM-PARTS",
                     image.front()->file.GetPath(),
                     "the parts of its concatenation do not say with which frames they begin, and parts are missing",
                     fetchParts);
  }
  if (hasGap || ordered.size() < total)
  {
    std::string missing;
    for (std::uint64_t number = 1, named = 0; number <= total && named < 5; ++number)
    {
      if (numbers.count(number) == 0)
      {
        missing += (missing.empty() ? "" : ", ") + std::to_string(number);
        ++named;
      }
    }
    MissTiles("its concatenation has " + (total > 0 ? std::to_string(ordered.size()) + " of " : "") +
              FormatCount(total > 0 ? total : ordered.size(), "part") +
              (missing.empty() ? ", with a gap between their frames" : "; missing: " + missing));
  }
  return ordered;
}

namespace
{

/** Refuses more frames than there are places. */
[[noreturn]] void
RefuseFrames(const std::string & path, std::uint64_t frames, std::uint64_t tiles)
{
  if (frames % tiles != 0)
  {
    throw SlideError("E-FILE-DAMAGED", path, "it has more frames than tiles", fetchOrMove);
  }
  throw SlideError("E-SLIDE-PLANES",
                   path,
                   "it has " + FormatCount(frames / tiles, "frame") +
                     " for each tile, and does not say which focal planes or optical paths they show",
                   "export one focal plane");
}

std::uint64_t
GetTileOf(const DICOMFile::Place & place, const SlidePlane & plane, const std::string & path)
{
  if (place.column % plane.tileWidth != 0 || place.row % plane.tileHeight != 0 || place.column >= plane.width ||
      place.row >= plane.height)
  {
    throw SlideError("E-DICOM-FORMAT",
                     path,
                     "its frames overlap or lie outside, which is not supported",
                     "convert the series to a tiled TIFF");
  }
  return place.row / plane.tileHeight * plane.GetTilesAcross() + place.column / plane.tileWidth;
}

/** \return the number of the path */
std::size_t
AddPath(std::vector<std::string> & paths, const std::string & name)
{
  const auto number = static_cast<std::size_t>(std::find(paths.begin(), paths.end(), name) - paths.begin());
  if (number == paths.size())
  {
    paths.push_back(name);
  }
  return number;
}

} // namespace

/** Adds the frames of an image, and the optical paths that they show. */
void
DICOMSlide::FindFrames(const SlidePlane &         plane,
                       const DICOMImage &         image,
                       std::vector<std::string> & paths,
                       std::vector<PlacedFrame> & frames)
{
  const std::size_t          missedBefore = m_MissingParts.size();
  std::vector<std::uint64_t> offsets;
  const DICOMImage           parts = OrderParts(image, offsets);
  const std::uint64_t        tiles = plane.GetTilesAcross() * plane.GetTilesDown();
  const std::uint64_t        end = offsets.back() + parts.back()->file.GetFrames().size();
  const DICOMPart &          first = *parts.front();
  const auto &               defined = first.file.GetOpticalPaths();
  const std::uint64_t        framesOfPath = tiles * first.focalPlanes;
  const std::uint64_t        numberOfPaths = end <= framesOfPath      ? 1
                                             : first.opticalPaths > 0 ? first.opticalPaths
                                                                      : defined.size();
  if (!first.isPlaced && end > framesOfPath * numberOfPaths)
  {
    RefuseFrames(first.file.GetPath(), end, tiles);
  }
  for (std::size_t number = 0; number < parts.size(); ++number)
  {
    const DICOMPart & part = *parts[number];
    const auto &      of = part.file.GetFrames();
    const auto &      places = part.file.GetPlaces();
    const bool        saysDepths = places.size() == of.size() && first.focalPlanes == 1;

    std::map<std::uint64_t, std::size_t> numbers; // of the paths that were found, by their numbers in this file
    const auto                           getPath = [&numbers, &paths](std::uint64_t pathOfFile, const auto & getName) {
      const auto known = numbers.find(pathOfFile);
      return known != numbers.end() ? known->second : numbers[pathOfFile] = AddPath(paths, getName());
    };
    if (part.isPlaced && places.size() != of.size())
    {
      throw SlideError("E-FILE-DAMAGED", part.file.GetPath(), "it has not as many positions as frames", fetchOrMove);
    }
    for (std::size_t i = 0; i < of.size(); ++i)
    {
      PlacedFrame frame{ 0, 0, part.z, &part, of[i] };
      if (part.isPlaced)
      {
        const DICOMFile::Place & place = places[i];
        frame.tile = GetTileOf(place, plane, part.file.GetPath());
        frame.z = place.z;
        frame.path = getPath(place.path, [&] { return part.file.GetOpticalPaths().at(place.path).identifier; });
      }
      else
      {
        const std::uint64_t at = offsets[number] + i;
        const std::uint64_t path = at / framesOfPath;
        const std::uint64_t depth = at % framesOfPath / tiles;
        frame.tile = at % tiles;
        frame.z = saysDepths ? places[i].z : part.z + static_cast<double>(depth);
        frame.path = getPath(path, [&] {
          return numberOfPaths == 1      ? GetSharedPath(part)
                 : path < defined.size() ? defined[path].identifier
                                         : std::to_string(path + 1);
        });
      }
      frames.push_back(frame);
    }
  }
  if (first.isFull && m_MissingParts.size() == missedBefore && end < framesOfPath * numberOfPaths)
  {
    MissTiles(first.file.GetPath() + " has " + std::to_string(end) + " of " +
              FormatCount(framesOfPath * numberOfPaths, "frame"));
  }
  const bool isOpen = !first.concatenation.empty() &&
                      std::all_of(parts.begin(), parts.end(), [](const DICOMPart * part) { return part->total == 0; });
  if (first.isPlaced && isOpen && m_MissingParts.size() == missedBefore)
  {
    std::set<std::uint64_t> placed;
    std::for_each(frames.begin(), frames.end(), [&placed](const PlacedFrame & frame) { placed.insert(frame.tile); });
    if (placed.size() < tiles)
    {
      MissTiles("its concatenation does not say how many parts it has, and those that are here have " +
                std::to_string(placed.size()) + " of " + FormatCount(tiles, "tile"));
    }
  }
}

namespace
{

/** Whether two offsets are those of one focal plane, apart from rounding. */
bool
IsSameDepth(double a, double b)
{
  return std::abs(a - b) <= 1e-6 * std::max({ 1.0, std::abs(a), std::abs(b) });
}

std::set<double>
FindDepths(const std::vector<PlacedFrame> & frames)
{
  std::set<double> depths;
  for (const PlacedFrame & frame : frames)
  {
    depths.insert(frame.z);
  }
  return depths;
}

} // namespace

/** Keeps what the finest level shows, which the others have to show, too. */
void
DICOMSlide::KeepShown(const std::vector<PlacedFrame> & frames, const std::vector<std::string> & paths)
{
  m_Paths = paths;
  m_Depths = FindDepths(frames);
  ChooseFocalPlane(frames);
  if (m_Images.empty())
  {
    return;
  }
  const DICOMPart & part = *frames.front().part;
  if (part.isPlaced || part.focalPlanes == 1)
  {
    constexpr double micrometer = 1.0;
    AddFocalPlaneSpacing(m_Properties, m_Images, micrometer);
  }
  else // millimeters between planes that are counted
  {
    const auto spacing = part.file.GetNumbers(DICOMTag::SpacingBetweenSlices);
    if (!spacing.empty() && std::isfinite(spacing.front()) && spacing.front() > 0.0)
    {
      AddFocalPlaneSpacing(m_Properties, m_Images, 1e3 * spacing.front());
    }
  }
}

/** Refuses a level of other optical paths or of another focal plane than the finest one.
 * \param paths those of the finest level, and behind them those that only this one has */
void
DICOMSlide::RequireShown(const std::vector<PlacedFrame> & frames,
                         const std::vector<std::string> & paths,
                         const std::string &              file) const
{
  std::set<std::size_t> shown;
  for (const PlacedFrame & frame : frames)
  {
    shown.insert(frame.path);
  }
  if (paths.size() > m_Paths.size() || shown.size() < m_Paths.size())
  {
    throw SlideError(
      "E-DICOM-PARTS", file, "it shows other optical paths than the finest level", "get the same ones of each level");
  }
  const std::set<double> depths = FindDepths(frames);
  const bool             isKnown = m_HasZ || (m_Depths.size() == 1 && depths.size() == 1);
  const double           wanted = m_HasZ || m_Depths.empty() ? m_Z : *m_Depths.begin();
  if (isKnown &&
      std::none_of(depths.begin(), depths.end(), [wanted](double depth) { return IsSameDepth(depth, wanted); }))
  {
    throw SlideError("E-DICOM-PARTS",
                     file,
                     "it does not show the focal plane that is read of the finest level",
                     "get the same focal planes of each level");
  }
}

/** The one that is asked for, else the middle one of those that most tiles have, where tiles have several; of an even
 * number, the lower one. */
void
DICOMSlide::ChooseFocalPlane(const std::vector<PlacedFrame> & frames)
{
  std::map<double, std::size_t> tiles; // that each depth has
  std::set<double>              depths;
  for (std::size_t i = 0; i < frames.size(); ++i)
  {
    const PlacedFrame & b = frames[i];
    const bool          isFirst = i == 0 || frames[i - 1].path != b.path || frames[i - 1].tile != b.tile;
    if (isFirst || frames[i - 1].z != b.z)
    {
      ++tiles[b.z];
    }
    if (!isFirst && frames[i - 1].z != b.z)
    {
      depths.insert({ frames[i - 1].z, b.z });
    }
  }
  if (depths.empty())
  {
    return;
  }
  std::vector<double> fullest;
  for (const double depth : depths)
  {
    if (!fullest.empty() && tiles[depth] > tiles[fullest.front()])
    {
      fullest.clear();
    }
    if (fullest.empty() || tiles[depth] == tiles[fullest.front()])
    {
      fullest.push_back(depth);
    }
  }
  m_HasZ = true;
  m_Z = fullest[(fullest.size() - 1) / 2];
  if (depths.size() > MostFocalPlanes && !m_AskedImage.IsEmpty())
  {
    throw TooManyFocalPlanes(m_Path, depths.size());
  }
  if (depths.size() <= MostFocalPlanes)
  {
    ListFocalPlanes(tiles, depths);
  }
  const auto number = std::distance(depths.begin(), depths.find(m_Z)) + 1;
  m_Properties["gigapixel.focal-plane"] = std::to_string(number) + " of " + std::to_string(depths.size());
  if (m_AskedImage.IsEmpty())
  {
    m_Warnings.push_back(WarnOfFocalPlanes(m_Path, m_Properties["gigapixel.focal-plane"]));
  }
}

/** Each focal plane is an image. Without a wish the one at m_Z is read, else the one that is asked for.
 * \param tiles that each depth has */
void
DICOMSlide::ListFocalPlanes(const std::map<double, std::size_t> & tiles, const std::set<double> & depths)
{
  std::string list;
  for (const double depth : depths)
  {
    SlideImage image;
    image.number = static_cast<unsigned>(m_Images.size() + 1);
    image.name = "plane " + std::to_string(image.number);
    image.kind = "focal plane, " + FormatCount(tiles.at(depth), "tile");
    image.isMain = depth == m_Z;
    image.depth = depth;
    list += (list.empty() ? "" : ", ") + std::to_string(image.number);
    m_Images.push_back(std::move(image));
  }
  const bool isAsked = !m_AskedImage.IsEmpty();
  m_Z = isAsked ? *m_Images[FindAskedImage(m_Path, m_AskedImage, m_Images, list)].depth : m_Z;
  for (SlideImage & image : m_Images)
  {
    image.isRead = *image.depth == m_Z;
    image.reason = isAsked        ? (image.isRead ? "it is asked for" : "another image is asked for")
                   : image.isRead ? "it is the middle one of those that most tiles have"
                                  : "another focal plane is read";
  }
}

/** \param frames in their order
 * \return how many were left out, since another one shows the same */
std::size_t
DICOMSlide::FillSource(const std::vector<PlacedFrame> & frames, Source & source, const std::string & file)
{
  std::size_t repeated = 0;
  std::size_t replaced = 0;
  for (std::size_t i = 0, end = 0; i < frames.size(); i = end)
  {
    std::size_t nearest = i;
    for (end = i + 1; end < frames.size() && frames[end].path == frames[i].path && frames[end].tile == frames[i].tile;
         ++end)
    {
      repeated += frames[end].z == frames[end - 1].z ? 1 : 0;
      if (std::abs(frames[end].z - m_Z) < std::abs(frames[nearest].z - m_Z))
      {
        nearest = end;
      }
    }
    replaced += m_HasZ && !IsSameDepth(frames[nearest].z, m_Z) ? 1 : 0;
    Tiles & tiles = source.channels[frames[i].path];
    tiles.emplace_hint(tiles.end(), frames[i].tile, Tile{ &frames[nearest].part->file, frames[nearest].frame });
  }
  if (replaced > 0)
  {
    Miss(Diagnostic("W-SLIDE-PLANES-MIXED",
                    GetPrintable(file) + " lacks " + FormatCount(replaced, "tile") + " of the focal plane that is read",
                    fetchParts)
           .OfValue(std::to_string(replaced)),
         ", where the nearest one is read instead");
  }
  return repeated;
}

/** Names optical paths without tiles that another one has. */
void
DICOMSlide::MissTilesOfPaths(const Source & source, const std::vector<std::string> & paths, const std::string & file)
{
  if (paths.size() < 2)
  {
    return;
  }
  std::set<std::uint64_t> all;
  for (const Tiles & tiles : source.channels)
  {
    for (const auto & tile : tiles)
    {
      all.insert(all.end(), tile.first);
    }
  }
  for (std::size_t path = 0; path < paths.size() && !all.empty(); ++path)
  {
    const std::size_t missing = all.size() - source.channels[path].size();
    if (missing > 0)
    {
      MissTiles(file + " lacks " + FormatCount(missing, "tile") + " of the optical path '" + paths[path] +
                "', which other optical paths have");
    }
  }
}

} // namespace gigapixel
