/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// DICOM whole-slide images.
#include "DICOMSlide.h"
#include "SlideFormat.h"

#include "gigapixelFileRefusal.h"
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

DICOMSlide::DICOMSlide(const std::string & path, AskedImage image)
  : Slide(path)
  , m_AskedImage(std::move(image))
{
  m_Parts.push_back(std::make_unique<const DICOMPart>(std::make_unique<const DICOMFile>(path)));
  FindFiles();
  const std::vector<DICOMImage> images = FindImages();
  AddLevels(images);
  AddAssociatedImages(images);
}

void
DICOMSlide::MissTiles(const std::string & why)
{
  Miss(Diagnostic("W-SLIDE-TILES", GetPrintable(why), fetchParts),
       "; the tiles that are missing are read as background");
}

/** \param consequence what follows where the slide is read nevertheless, which --strict does not allow */
void
DICOMSlide::Miss(const Diagnostic & missing, const std::string & consequence)
{
  m_MissingParts.push_back(missing.OfFile(m_Path));
  m_Warnings.push_back(m_MissingParts.back());
  m_Warnings.back().why += consequence;
}

namespace
{

/** Whether two files are of one scan of one area: by the slide's container, the frame of reference and the place of the
 * first pixel on the slide, where both state them. */
bool
IsSameScan(const DICOMPart & one, const DICOMPart & other)
{
  for (const std::uint32_t tag : { DICOMTag::Container, DICOMTag::FrameOfReference })
  {
    const std::string ofOne = one.file.GetText(tag);
    const std::string ofOther = other.file.GetText(tag);
    if (!ofOne.empty() && !ofOther.empty() && ofOne != ofOther)
    {
      return false;
    }
  }
  // Scanners round origins, and some mean the center of a pixel, which the levels have at different places.
  double slack = 0.02; // mm
  for (const DICOMPart * const part : { &one, &other })
  {
    for (const double spacing : part->file.GetNumbers(DICOMTag::PixelSpacing))
    {
      slack = std::max(slack, 0.02 + spacing);
    }
  }
  for (const std::uint32_t tag : { DICOMTag::XOffset, DICOMTag::YOffset })
  {
    const auto ofOne = one.file.GetNumbers(tag);
    const auto ofOther = other.file.GetNumbers(tag);
    if (!ofOne.empty() && !ofOther.empty() && std::abs(ofOne.front() - ofOther.front()) > slack)
    {
      return false;
    }
  }
  return true;
}

/** Whether a level shows the same area as the finest one: by its sides, and by the size of its pixels. */
bool
ShowsSameArea(const DICOMPart & base, const DICOMPart & level)
{
  constexpr double slack = 0.05; // of what scanners round
  const double     across = static_cast<double>(base.width) / static_cast<double>(level.width);
  const double     down = static_cast<double>(base.height) / static_cast<double>(level.height);
  const double     rounding = 1.0 / static_cast<double>(level.width) + 1.0 / static_cast<double>(level.height);
  const auto       spacing = base.file.GetNumbers(DICOMTag::PixelSpacing);
  const auto       ofLevel = level.file.GetNumbers(DICOMTag::PixelSpacing);
  const bool       areKnown = spacing.size() > 1 && ofLevel.size() > 1 && spacing[1] > 0.0 && ofLevel[1] > 0.0;
  const double     stated = areKnown ? ofLevel[1] / spacing[1] : across;
  return std::abs(across / down - 1.0) <= slack + rounding && std::abs(stated / across - 1.0) <= slack + rounding;
}

} // namespace

void
DICOMSlide::AddLevels(const std::vector<DICOMImage> & images)
{
  using Size = std::tuple<std::uint64_t, std::uint64_t>;
  std::map<Size, std::vector<DICOMImage>> levels;
  std::vector<DICOMImage>                 volumes;
  const DICOMPart *                       wanted = nullptr; // of the scan that is read: the named file, or the widest
  for (const DICOMImage & image : images)
  {
    const DICOMPart & part = *image.front();
    if (part.flavor == "level")
    {
      volumes.push_back(image);
      const bool isNamed = wanted == m_Parts.front().get();
      wanted = !isNamed && (wanted == nullptr || part.width > wanted->width) ? &part : wanted;
    }
  }
  for (const DICOMImage & image : volumes)
  {
    if (IsSameScan(*wanted, *image.front()))
    {
      levels[{ image.front()->width, image.front()->height }].push_back(image);
      continue;
    }
    for (const DICOMPart * const part : image)
    {
      LeaveOut(*part,
               "it is of another scan, or of another area of the slide, than " + GetFileName(*wanted),
               "name that file to read it, or move it to a folder of its own");
    }
  }
  if (levels.empty())
  {
    throw SlideError("E-DICOM-PARTS",
                     m_Path,
                     "its series has no file of the slide itself (VOLUME) in this folder",
                     "put all files of the series into one folder");
  }
  const DICOMPart * base = nullptr;                                   // the finest one
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) // the widest first
  {
    const std::vector<DICOMImage> alike = SelectAlike(level->second);
    if (!m_Planes.empty() && !ShowsSameArea(*base, *alike.front().front()))
    {
      LeaveOut(
        *alike.front().front(), "it shows another area than the finest level", "read it from a folder of its own");
      continue;
    }
    try
    {
      AddPlane(alike, {});
      if (m_Planes.size() == 1)
      {
        base = alike.front().front();
        FillProperties(*base);
      }
    }
    catch (const SlideError & error)
    {
      if (m_Planes.empty())
      {
        throw;
      }
      const Diagnostic & refusal = error.GetDiagnostic();
      const std::string  level = alike.front().front()->file.GetPath();
      LeaveOut(*alike.front().front(), refusal.why, refusal.remedy);
      m_MissingParts.push_back(m_Warnings.back()); // a level that --strict does not do without
      m_MissingParts.back().why = GetPrintable("its level " + level + " cannot be read: " + refusal.why);
    }
  }
  for (SlideImage & image : m_Images)
  {
    image.width = m_Planes.front().width;
    image.height = m_Planes.front().height;
  }
  m_NumberOfLevels = static_cast<unsigned>(m_Planes.size());
  SetDownsamples();
  AddReducedLevels();
  m_Sources.resize(m_Planes.size());
}

/** The largest of each kind. One that cannot be read is no reason to refuse the slide. */
void
DICOMSlide::AddAssociatedImages(const std::vector<DICOMImage> & images)
{
  std::vector<DICOMImage> associated;
  std::copy_if(images.begin(), images.end(), std::back_inserter(associated), [](const DICOMImage & image) {
    return image.front()->flavor != "level";
  });
  std::stable_sort(associated.begin(), associated.end(), [](const DICOMImage & a, const DICOMImage & b) {
    return std::tie(a.front()->flavor, b.front()->width) < std::tie(b.front()->flavor, a.front()->width);
  });
  std::map<std::string, const DICOMPart *> found;
  for (const DICOMImage & image : associated)
  {
    const DICOMPart & part = *image.front();
    const auto        first = found.find(part.flavor);
    if (first != found.end())
    {
      LeaveOut(part,
               "the " + part.flavor + " of the slide is " + GetFileName(*first->second),
               "move the one away that is not wanted");
      continue;
    }
    try
    {
      AddPlane({ image }, part.flavor);
      found[part.flavor] = &part;
    }
    catch (const SlideError & error)
    {
      LeaveOut(part, error.GetDiagnostic().why, error.GetDiagnostic().remedy);
    }
  }
}

void
DICOMSlide::NameChannels(const std::vector<DICOMImage> & images, const std::vector<std::string> & paths)
{
  std::string names;
  for (const std::string & path : paths)
  {
    std::string name = path;
    for (const DICOMImage & image : images)
    {
      for (const DICOMFile::OpticalPath & defined : image.front()->file.GetOpticalPaths())
      {
        name = defined.identifier == path && !defined.description.empty() ? defined.description : name;
      }
    }
    std::replace(name.begin(), name.end(), '\n', ' ');
    names += (names.empty() ? "" : "\n") + name;
    m_Channels.push_back({ name });
  }
  m_Properties["gigapixel.channel-names"] = names;
}

namespace
{

void
CheckPlane(const SlidePlane & plane, const DICOMPixels & pixels, const std::string & path)
{
  constexpr std::uint64_t sideLimit = std::uint64_t{ 1 } << 28;
  constexpr std::uint64_t tilesLimit = std::uint64_t{ 1 } << 24; // a terapixel; a sparse file has no bytes for each
  if (plane.width == 0 || plane.height == 0 || pixels.columns == 0 || pixels.rows == 0 || pixels.columns > sideLimit ||
      pixels.rows > sideLimit || plane.width > sideLimit || plane.height > sideLimit ||
      plane.GetTilesAcross() > tilesLimit / plane.GetTilesDown())
  {
    throw SlideError("E-FILE-DAMAGED", path, "the size of one of its images is damaged", fetchOrMove);
  }
  const Diagnostic obstacle = pixels.FindObstacle();
  if (!obstacle.IsEmpty())
  {
    throw SlideError(obstacle.code, path, obstacle.why, obstacle.remedy);
  }
  if (!plane.name.empty() && pixels.bits != 8)
  {
    throw SlideError("E-SLIDE-CHANNELS",
                     path,
                     "the " + plane.name + " has " + std::to_string(pixels.bits) + " bit, where 8 are read",
                     "convert it to 8 bit where it matters");
  }
}

SlidePlane
MakePlane(const DICOMPart & first, const std::string & name)
{
  const DICOMPixels & pixels = first.pixels;
  SlidePlane          plane;
  plane.tileWidth = static_cast<std::uint32_t>(pixels.columns);
  plane.tileHeight = static_cast<std::uint32_t>(pixels.rows);
  plane.width = first.width;
  plane.height = first.height;
  plane.name = name;
  plane.channels = pixels.samples == 1 ? 1 : 3;
  plane.sample = pixels.bits == 16 ? SampleType::UInt16 : SampleType::UInt8;
  CheckPlane(plane, pixels, first.file.GetPath());
  return plane;
}

/** Optical paths are channels. */
void
TakePaths(const std::vector<std::string> & paths, const DICOMPart & first, SlidePlane & plane)
{
  if (paths.size() <= 1)
  {
    return;
  }
  if (first.pixels.samples != 1)
  {
    throw SlideError("E-SLIDE-CHANNELS",
                     first.file.GetPath(),
                     "it has " + std::to_string(paths.size()) + " optical paths in color, where one is read",
                     "export each optical path as a series of its own");
  }
  plane.channels = static_cast<unsigned>(paths.size());
  plane.hasDyes = true;
}

/** All levels have pixels of one kind. */
void
RequireKind(const SlidePlane & finest, const DICOMPart & first, const SlidePlane & plane)
{
  if (plane.channels != finest.channels || plane.sample != finest.sample)
  {
    throw SlideError("E-DICOM-PARTS",
                     first.file.GetPath(),
                     "it has " + std::to_string(plane.channels) + " channel(s) of " +
                       std::to_string(first.pixels.bits) + " bit, where the finest level has " +
                       std::to_string(finest.channels) + " of " + std::to_string(8 * finest.GetSampleBytes()) + " bit",
                     fetchParts);
  }
}

} // namespace

void
DICOMSlide::AddPlane(const std::vector<DICOMImage> & images, const std::string & name)
{
  const DICOMPart &        first = *images.front().front();
  const std::string        path = first.file.GetPath();
  const bool               isBase = m_Planes.empty();
  SlidePlane               plane = MakePlane(first, name);
  const bool               isLevel = name.empty();
  std::vector<std::string> paths = isLevel ? m_Paths : std::vector<std::string>(); // of the finest level
  std::vector<PlacedFrame> frames;
  for (const DICOMImage & image : images)
  {
    FindFrames(plane, image, paths, frames);
  }
  const auto isLess = [](const PlacedFrame & a, const PlacedFrame & b) { return a.GetOrder() < b.GetOrder(); };
  if (!std::is_sorted(frames.begin(), frames.end(), isLess))
  {
    std::stable_sort(frames.begin(), frames.end(), isLess);
  }
  if (isLevel)
  {
    isBase ? KeepShown(frames, paths) : RequireShown(frames, paths, path);
  }
  TakePaths(paths, first, plane);
  if (!isBase && isLevel)
  {
    RequireKind(m_Planes.front(), first, plane);
  }
  Source source;
  source.pixels = &first.pixels;
  source.channels.resize(std::max<std::size_t>(paths.size(), 1));
  const std::size_t repeated = FillSource(frames, source, path);
  MissTilesOfPaths(source, paths, path);
  if (repeated > 0)
  {
    m_Warnings.push_back(Diagnostic("W-SLIDE-FRAMES",
                                    FormatCount(repeated, "frame") + (repeated == 1 ? " is" : " are") +
                                      " left out, since others have the same place",
                                    "check the file with the program that wrote it")
                           .OfFile(path));
  }
  if (isBase && paths.size() > 1)
  {
    NameChannels(images, paths);
  }
  m_Planes.push_back(plane);
  m_Sources.push_back(std::move(source));
}

void
DICOMSlide::FillProperties(const DICOMPart & part)
{
  const DICOMFile & base = part.file;
  m_Decoder = "tiles (" + part.pixels.GetCodecName() + "), DICOM";
  m_ColorProfile = base.GetBytes(DICOMTag::ICCProfile);
  m_Properties["openslide.vendor"] = "dicom";
  for (const auto & [name, tag] : { std::pair<const char *, std::uint32_t>{ "dicom.SOPClassUID", DICOMTag::SOPClass },
                                    { "dicom.SeriesInstanceUID", DICOMTag::SeriesInstance },
                                    { "dicom.TransferSyntaxUID", DICOMTag::TransferSyntax },
                                    { "dicom.ImageType", DICOMTag::ImageType },
                                    { "openslide.objective-power", DICOMTag::ObjectivePower } })
  {
    const std::string value = base.GetText(tag);
    if (!value.empty())
    {
      m_Properties[name] = value;
    }
  }
  // Millimeters between rows, then between columns.
  const auto spacing = base.GetNumbers(DICOMTag::PixelSpacing);
  if (spacing.size() > 1)
  {
    const auto describe = [](double microns) {
      std::ostringstream text;
      text.imbue(std::locale::classic());
      text << microns;
      return text.str();
    };
    m_Properties["openslide.mpp-x"] = describe(spacing[1] * 1000.0);
    m_Properties["openslide.mpp-y"] = describe(spacing[0] * 1000.0);
    SetMicronsPerPixel(spacing[1] * 1000.0, spacing[0] * 1000.0);
  }
}

const DICOMSlide::Tile *
DICOMSlide::FindTile(unsigned plane, std::size_t channel, std::uint64_t tile) const
{
  const Tiles & tiles = m_Sources[plane].channels[channel];
  const auto    found = tiles.find(tile);
  return found == tiles.end() ? nullptr : &found->second;
}

bool
DICOMSlide::HasTile(unsigned plane, std::uint64_t tile) const
{
  const auto & channels = m_Sources[plane].channels;
  return std::any_of(channels.begin(), channels.end(), [tile](const Tiles & tiles) { return tiles.count(tile) != 0; });
}

unsigned
DICOMSlide::GetLargestReduction(unsigned plane) const
{
  const Source & source = m_Sources[plane];
  if (source.channels.size() > 1 || source.channels.front().empty())
  {
    return 1;
  }
  const Tile & present = source.channels.front().begin()->second;
  const auto   bytes = present.file->ReadFrame(present.frame);
  return source.pixels->GetLargestReduction({ bytes.data(), bytes.size() });
}

std::size_t
DICOMSlide::GetDecodingBytes(unsigned plane) const
{
  const SlidePlane & of = m_Planes[plane];
  const bool         hasChannels = m_Sources[plane].channels.size() > 1;
  return hasChannels ? std::size_t{ of.tileWidth } * of.tileHeight * of.GetSampleBytes() : 0;
}

std::string
DICOMSlide::DecodeFrame(unsigned plane, const Tile & tile, unsigned reduction, const PixelSpan & out) const
{
  const auto bytes = tile.file->ReadFrame(tile.frame);
  return m_Sources[plane].pixels->Decode({ bytes.data(), bytes.size() }, reduction, out);
}

std::string
DICOMSlide::DecodeReducedTile(unsigned plane, std::uint64_t tile, unsigned reduction, const PixelSpan & out) const
{
  const std::size_t channels = m_Sources[plane].channels.size();
  if (channels == 1)
  {
    return DecodeFrame(plane, *FindTile(plane, 0, tile), reduction, out);
  }
  const std::size_t                       rowBytes = std::size_t{ out.width } * out.sampleBytes;
  thread_local std::vector<unsigned char> gray;
  std::string                             damage;
  for (std::size_t channel = 0; channel < channels; ++channel)
  {
    gray.assign(rowBytes * out.height, 0); // what counts light has seen none where a tile is missing
    if (const Tile * const at = FindTile(plane, channel, tile))
    {
      const PixelSpan   alone{ gray.data(), rowBytes, out.width, out.height, 1, out.sampleBytes };
      const std::string found = DecodeFrame(plane, *at, reduction, alone);
      damage = damage.empty() ? found : damage;
    }
    for (std::uint32_t y = 0; y < out.height; ++y)
    {
      unsigned char * to = out.data + y * out.stride + channel * out.sampleBytes;
      for (std::size_t x = 0; x < rowBytes; x += out.sampleBytes, to += channels * out.sampleBytes)
      {
        std::copy_n(gray.data() + y * rowBytes + x, out.sampleBytes, to);
      }
    }
  }
  return damage;
}

void
DICOMSlide::Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const
{
  for (const Tiles & tiles : m_Sources[plane].channels)
  {
    for (auto tile = tiles.lower_bound(first); tile != tiles.end() && tile->first <= last; ++tile)
    {
      tile->second.file->Prefetch(tile->second.frame);
    }
  }
}

namespace
{

bool
Detect(const SlideFile & file)
{
  return DICOMFile::IsDICOM(file.GetPath(), false);
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  try
  {
    return std::make_unique<const DICOMSlide>(file.GetPath(), file.GetImage());
  }
  catch (const SlideError &)
  {
    throw;
  }
  catch (const std::system_error &)
  {
    throw;
  }
  catch (const std::runtime_error & error)
  {
    const Diagnostic inner = Diagnostic::Of(error);
    throw SlideError(inner.code == "E-OTHER" ? "E-FILE-DAMAGED" : inner.code,
                     file.GetPath(),
                     inner.why,
                     inner.code == "E-FILE-KIND" ? "name a whole-slide image"
                     : inner.remedy.empty()      ? "get the file again from where it came"
                                                 : inner.remedy);
  }
}

/** Not what is no slide: volumes have readers of their own. */
bool
Claims(const SlideFile & file)
{
  return DICOMFile::IsDICOM(file.GetPath(), true);
}

} // namespace

extern const SlideFormat dicomFormat;
const SlideFormat        dicomFormat{ "dicom", { ".dcm" }, Detect, Open, Claims };

} // namespace gigapixel
