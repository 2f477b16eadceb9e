/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// DICOM whole-slide images.
#include "DICOMFile.h"
#include "SlideFormat.h"

#include "gigapixelFileRefusal.h"
#include "gigapixelPrintable.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <locale>
#include <map>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace gigapixel
{
namespace
{

/** "level", or what an associated image is called; empty for what is neither. By the third value of the type, as
 * PS3.3 C.8.12.4.1.1 has it; the overview is what other formats call the macro image. */
std::string
GetFlavor(const DICOMFile & file)
{
  std::istringstream       values(file.GetText(DICOMTag::ImageType));
  std::string              value;
  std::vector<std::string> all;
  while (std::getline(values, value, '\\'))
  {
    all.push_back(value);
  }
  const std::string flavor = all.size() > 2 ? all[2] : "VOLUME";
  return flavor == "VOLUME"      ? "level"
         : flavor == "LABEL"     ? "label"
         : flavor == "OVERVIEW"  ? "macro"
         : flavor == "THUMBNAIL" ? "thumbnail"
                                 : "";
}

/** What to do about a file that may be a part of the slide. */
constexpr const char * fetchOrMove = "get that file again from where it came, or move it away if it is of no slide";
constexpr const char * checkFolder = "check that folder";

std::uint64_t
GetWidth(const DICOMFile & file)
{
  return file.GetInteger(DICOMTag::TotalColumns, 0);
}

/** DICOM whole-slide image: the files of one series in a folder, each a level, a part of one (concatenation) or an
 * associated image (label, macro, thumbnail). Frames are JPEG, JPEG 2000 or uncompressed; tiles may be absent. */
class DICOMSlide : public Slide
{
public:
  /** Any file of the series. Throws std::exception in a few words. */
  explicit DICOMSlide(const std::string & path);

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeReducedTile(unsigned          plane,
                                std::uint64_t     tile,
                                unsigned          reduction,
                                const PixelSpan & out) const override;
  unsigned    GetLargestReduction(unsigned plane) const override;
  void        Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const override;

private:
  enum class Codec
  {
    None,
    JPEG,
    JPEG2000
  };

  /** Where a tile is. */
  struct Tile
  {
    const DICOMFile * file;
    DICOMFile::Frame  frame;
  };

  struct Source
  {
    Codec                         codec = Codec::None;
    ColorModel                    model = ColorModel::RGB;
    std::map<std::uint64_t, Tile> tiles; // those that are there; a small file may name millions that are not
  };

  void FindFiles();
  void FindFilesIn(const std::string & folder);
  void AddFile(const std::string & name);
  void LeaveOut(const std::string & name, const std::string & what, const std::string & remedy);
  void AddPlane(const std::vector<const DICOMFile *> & parts, const std::string & name);
  void AddTiles(const SlidePlane & plane, const DICOMFile & part, bool isWhole, Source & source) const;
  void FillProperties(const DICOMFile & base);

  std::vector<std::unique_ptr<const DICOMFile>> m_Files;
  std::vector<Source>                           m_Sources; // one per plane; those of reduced levels are empty
};

DICOMSlide::DICOMSlide(const std::string & path)
  : Slide(path)
{
  m_Files.push_back(std::make_unique<const DICOMFile>(path));
  FindFiles();
  // Parts of one image stand together, in their order; of two files of one size, the first by name counts.
  std::map<std::string, std::vector<const DICOMFile *>> images;
  for (const auto & file : m_Files)
  {
    const std::string flavor = GetFlavor(*file);
    const std::string concatenation = file->GetText(DICOMTag::Concatenation);
    const std::string key = flavor + ' ' + std::to_string(GetWidth(*file));
    auto &            parts = images[key];
    if (!flavor.empty() &&
        (parts.empty() || (!concatenation.empty() && parts.front()->GetText(DICOMTag::Concatenation) == concatenation)))
    {
      parts.push_back(file.get());
    }
  }
  std::vector<std::vector<const DICOMFile *>> levels;
  for (const auto & image : images)
  {
    if (image.first.rfind("level", 0) == 0)
    {
      levels.push_back(image.second);
    }
  }
  if (levels.empty())
  {
    throw std::runtime_error("its DICOM series has no file of the slide itself (VOLUME) in this folder");
  }
  std::sort(levels.begin(), levels.end(), [](const auto & a, const auto & b) {
    return GetWidth(*a.front()) > GetWidth(*b.front());
  });
  for (const auto & parts : levels)
  {
    AddPlane(parts, {});
  }
  m_NumberOfLevels = static_cast<unsigned>(m_Planes.size());
  SetDownsamples();
  AddReducedLevels();
  m_Sources.resize(m_Planes.size());
  for (const auto & image : images)
  {
    const std::string flavor = image.first.substr(0, image.first.find(' '));
    if (!image.second.empty() && flavor != "level")
    {
      AddPlane(image.second, flavor);
    }
  }
  FillProperties(*levels.front().front());
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
  if (m_Files.size() == 1 && fs::is_symlink(m_Path, error))
  {
    FindFilesIn(fs::canonical(m_Path).parent_path().string());
  }
}

/** Those in one folder, by name. */
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
    LeaveOut(
      "what lies", "since " + folder + " cannot be listed: " + error.message(), GetFileRemedy(error, checkFolder));
  }
  std::sort(names.begin(), names.end());
  std::for_each(names.begin(), names.end(), [this](const std::string & name) { AddFile(name); });
}

/** A file that is another slide's, or of another kind, is none of ours. Of one that cannot be read nobody knows whose
 * it is, and it may be the finest level: a slide without that is read at a resolution that is not its own. */
void
DICOMSlide::AddFile(const std::string & name)
{
  const std::string series = m_Files.front()->GetText(DICOMTag::SeriesInstance);
  try
  {
    std::error_code   error;
    const std::string whyNot = DICOMFile::IsNamedAsDICOM(name) ? DICOMFile::FindWhyNot(name, error) : std::string();
    if (!whyNot.empty())
    {
      LeaveOut(name, whyNot, GetFileRemedy(error, fetchOrMove));
      return;
    }
    if (!DICOMFile::IsDICOM(name, true))
    {
      return;
    }
    auto file = std::make_unique<const DICOMFile>(name);
    if (!series.empty() && file->GetText(DICOMTag::SeriesInstance) == series)
    {
      m_Files.push_back(std::move(file));
    }
  }
  catch (const DICOMFile::NoWholeSlide &)
  {
    return;
  }
  catch (const std::system_error & error)
  {
    LeaveOut(name, error.what(), GetFileRemedy(error.code(), fetchOrMove));
  }
  catch (const std::runtime_error & damage)
  {
    LeaveOut(name, damage.what(), fetchOrMove);
  }
}

void
DICOMSlide::LeaveOut(const std::string & name, const std::string & what, const std::string & remedy)
{
  m_MissingParts.push_back(m_Path + ": " + GetPrintable(name + " beside it is left out, " + what) +
                           ", so that levels of it may be missing; " + remedy + '.');
  m_Warnings.push_back(m_MissingParts.back());
}

void
DICOMSlide::AddPlane(const std::vector<const DICOMFile *> & parts, const std::string & name)
{
  const DICOMFile & file = *parts.front();
  SlidePlane        plane;
  plane.tileWidth = static_cast<std::uint32_t>(file.GetInteger(DICOMTag::Columns, 0));
  plane.tileHeight = static_cast<std::uint32_t>(file.GetInteger(DICOMTag::Rows, 0));
  plane.width = file.GetInteger(DICOMTag::TotalColumns, plane.tileWidth);
  plane.height = file.GetInteger(DICOMTag::TotalRows, plane.tileHeight);
  plane.name = name;
  const std::uint64_t samples = file.GetInteger(DICOMTag::Samples, 1);
  const std::string   photometric = file.GetText(DICOMTag::Photometric);
  const std::string   syntax = file.GetText(DICOMTag::TransferSyntax);
  plane.channels = samples == 1 ? 1 : 3;
  constexpr std::uint64_t sideLimit = std::uint64_t{ 1 } << 28;
  constexpr std::uint64_t tilesLimit = std::uint64_t{ 1 } << 24; // a terapixel; a sparse file has no bytes for each
  if (plane.width == 0 || plane.height == 0 || plane.tileWidth == 0 || plane.tileHeight == 0 ||
      plane.width > sideLimit || plane.height > sideLimit || plane.GetTilesAcross() > tilesLimit / plane.GetTilesDown())
  {
    throw std::runtime_error("the size of one of its images is damaged");
  }
  if (file.GetInteger(DICOMTag::BitsAllocated, 8) != 8 || (samples != 1 && samples != 3) ||
      file.GetInteger(DICOMTag::OpticalPaths, 1) > 1 || file.GetInteger(DICOMTag::FocalPlanes, 1) > 1)
  {
    throw std::runtime_error("it is not of 8-bit gray or RGB, or has several optical paths or focal planes, which is "
                             "not supported in DICOM");
  }
  Source source;
  if (syntax == "1.2.840.10008.1.2" || syntax == "1.2.840.10008.1.2.1")
  {
    source.codec = Codec::None;
  }
  else if (syntax == "1.2.840.10008.1.2.4.50")
  {
    source.codec = Codec::JPEG;
  }
  else if (syntax == "1.2.840.10008.1.2.4.90" || syntax == "1.2.840.10008.1.2.4.91")
  {
    source.codec = Codec::JPEG2000;
  }
  else
  {
    throw std::runtime_error("its DICOM transfer syntax (" + syntax + ") is not supported");
  }
  // JPEG 2000 undoes its own color transforms (YBR_RCT, YBR_ICT).
  const bool isYCbCr = photometric == "YBR_FULL" || photometric == "YBR_FULL_422";
  if ((isYCbCr && source.codec == Codec::None) || photometric == "MONOCHROME1" || photometric == "PALETTE COLOR" ||
      (source.codec == Codec::None && samples == 3 && file.GetInteger(DICOMTag::PlanarConfiguration, 0) != 0))
  {
    throw std::runtime_error("its colors (" + photometric + ") are not supported");
  }
  // There are files that say YBR_FULL over JPEG streams that are marked as RGB.
  const ColorModel colors = source.codec == Codec::JPEG ? ColorModel::Marked : ColorModel::YCbCr;
  source.model = samples == 1 ? ColorModel::Gray : isYCbCr ? colors : ColorModel::RGB;
  for (const DICOMFile * const part : parts)
  {
    AddTiles(plane, *part, part == parts.front() && parts.size() == 1, source);
  }
  m_Planes.push_back(plane);
  m_Sources.push_back(std::move(source));
}

/** The frames of a file to where they belong: by position, where it is told, else in the order of the tiles. */
void
DICOMSlide::AddTiles(const SlidePlane & plane, const DICOMFile & part, bool isWhole, Source & source) const
{
  const auto & frames = part.GetFrames();
  const auto & positions = part.GetPositions();
  const bool   isSparse = part.GetText(DICOMTag::DimensionOrganization) != "TILED_FULL" && !positions.empty();
  if (isSparse && positions.size() != frames.size())
  {
    throw std::runtime_error("it has not as many positions as frames");
  }
  const std::uint64_t first = isWhole ? 0 : part.GetInteger(DICOMTag::ConcatenationFrameOffset, 0);
  for (std::size_t i = 0; i < frames.size(); ++i)
  {
    std::uint64_t tile = first + i;
    if (isSparse)
    {
      const auto [x, y] = positions[i];
      if (x % plane.tileWidth != 0 || y % plane.tileHeight != 0 || x >= plane.width || y >= plane.height)
      {
        throw std::runtime_error("its frames overlap or lie outside, which is not supported");
      }
      tile = y / plane.tileHeight * plane.GetTilesAcross() + x / plane.tileWidth;
    }
    if (tile >= plane.GetTilesAcross() * plane.GetTilesDown())
    {
      throw std::runtime_error("it has more frames than tiles");
    }
    source.tiles[tile] = { &part, frames[i] };
  }
}

void
DICOMSlide::FillProperties(const DICOMFile & base)
{
  const Codec codec = m_Sources.front().codec;
  m_Decoder = std::string("tiles (") +
              (codec == Codec::JPEG       ? "JPEG"
               : codec == Codec::JPEG2000 ? "JPEG 2000"
                                          : "uncompressed") +
              "), DICOM";
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

bool
DICOMSlide::HasTile(unsigned plane, std::uint64_t tile) const
{
  return m_Sources[plane].tiles.count(tile) != 0;
}

unsigned
DICOMSlide::GetLargestReduction(unsigned plane) const
{
  const Source & source = m_Sources[plane];
  if (source.codec != Codec::JPEG2000)
  {
    return source.codec == Codec::JPEG ? 8 : 1;
  }
  if (source.tiles.empty())
  {
    return 1;
  }
  const Tile & present = source.tiles.begin()->second;
  const auto   bytes = present.file->ReadFrame(present.frame);
  return GetLargestJPEG2000Reduction({ bytes.data(), bytes.size() });
}

std::string
DICOMSlide::DecodeReducedTile(unsigned plane, std::uint64_t tile, unsigned reduction, const PixelSpan & out) const
{
  const SlidePlane & of = m_Planes[plane];
  const Source &     source = m_Sources[plane];
  const Tile &       at = source.tiles.at(tile);
  const auto         bytes = at.file->ReadFrame(at.frame);
  const ByteSpan     stream{ bytes.data(), bytes.size() };
  // Frames are whole, also where they reach beyond the image.
  const StoredSize stored{ of.tileWidth, of.tileHeight, reduction };
  if (source.codec == Codec::JPEG)
  {
    return DecodeJPEG(stream, { nullptr, 0 }, source.model, out, stored);
  }
  if (source.codec == Codec::JPEG2000)
  {
    DecodeJPEG2000(stream, source.model, out, stored);
    return {};
  }
  const unsigned samples = of.channels;
  if (bytes.size() < std::size_t{ out.width } * out.height * samples)
  {
    throw std::runtime_error("it holds fewer pixels than its size");
  }
  for (std::uint32_t y = 0; y < out.height; ++y)
  {
    const unsigned char * from = bytes.data() + std::size_t{ y } * out.width * samples;
    unsigned char *       to = out.data + y * out.stride;
    for (std::uint32_t x = 0; x < out.width; ++x, from += samples, to += out.channels)
    {
      const bool isGray = samples == 1;
      if (out.channels == 1)
      {
        to[0] = isGray ? from[0] : LumaFromRGB(from[0], from[1], from[2]);
        continue;
      }
      to[0] = from[0];
      to[1] = from[isGray ? 0 : 1];
      to[2] = from[isGray ? 0 : 2];
    }
  }
  return {};
}

void
DICOMSlide::Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const
{
  const auto & tiles = m_Sources[plane].tiles;
  for (auto tile = tiles.lower_bound(first); tile != tiles.end() && tile->first <= last; ++tile)
  {
    tile->second.file->Prefetch(tile->second.frame);
  }
}

bool
Detect(const SlideFile & file)
{
  return DICOMFile::IsDICOM(file.GetPath(), false);
}

std::unique_ptr<const Slide>
Open(const SlideFile & file)
{
  return std::make_unique<const DICOMSlide>(file.GetPath());
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
