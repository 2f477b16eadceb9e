/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// The planes of a TIFF: what the pixels of each page are, and what stands for a tile that is not stored.
#include "TIFFSlide.h"

#include "pyramid/PyramidDescription.h"

#include "gigapixelDiagnostic.h"
#include "gigapixelFormatCount.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <locale>
#include <sstream>

namespace gigapixel
{
namespace
{

ColorModel
GetColorModel(const TIFFPage & page)
{
  if (page.samples == 1)
  {
    return ColorModel::Gray;
  }
  const bool isYCbCr = page.compression == static_cast<unsigned>(TIFFCompression::AperioJPEG2000YCbCr) ||
                       (page.photometric == static_cast<unsigned>(TIFFPhotometric::YCbCr) &&
                        page.compression != static_cast<unsigned>(TIFFCompression::AperioJPEG2000RGB));
  return isYCbCr ? ColorModel::YCbCr : ColorModel::RGB;
}

/** 256 RGB triples of 8 bit; some writers put 8-bit values into the tag's 16 bit. */
std::vector<unsigned char>
ReadPalette(const TIFFFile & file, const TIFFPage & page)
{
  const TIFFEntry * const entry = page.Find(TIFFTag::ColorMap);
  if (entry == nullptr || entry->count < 768)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "its palette is missing"));
  }
  const auto                 values = file.ReadIntegers(*entry, 65536 * 3);
  const bool                 wide = std::any_of(values.begin(), values.end(), [](std::uint64_t v) { return v > 255; });
  std::vector<unsigned char> palette(768);
  for (std::size_t i = 0; i < palette.size(); ++i)
  {
    palette[i] = static_cast<unsigned char>(values[i % 3 * 256 + i / 3] >> (wide ? 8 : 0));
  }
  return palette;
}

/** The color that a palette goes to from black in even steps: that of a channel, as ImageJ and Bio-Formats write it,
 * and not of classes. Nothing for another palette, and for gray. */
std::optional<ChannelColor>
FindRampColor(const std::vector<unsigned char> & palette)
{
  if (palette.empty())
  {
    return std::nullopt;
  }
  const ChannelColor color{ { palette[765], palette[766], palette[767] } };
  for (unsigned i = 0; i < palette.size(); ++i)
  {
    if (std::abs(static_cast<int>(color[i % 3] * (i / 3) / 255) - static_cast<int>(palette[i])) > 1)
    {
      return std::nullopt;
    }
  }
  return color[0] == color[1] && color[1] == color[2] ? std::nullopt : std::make_optional(color);
}

SampleType
GetSampleType(const TIFFPage & page)
{
  constexpr unsigned signedFormat = 2;
  constexpr unsigned floatFormat = 3;
  if (page.sampleFormat == floatFormat)
  {
    return page.bits == 64 ? SampleType::Float64 : SampleType::Float32;
  }
  const bool isSigned = page.sampleFormat == signedFormat;
  switch (page.bits)
  {
    case 64:
      return isSigned ? SampleType::Int64 : SampleType::UInt64;
    case 32:
      return isSigned ? SampleType::Int32 : SampleType::UInt32;
    case 16:
      return isSigned ? SampleType::Int16 : SampleType::UInt16;
    default:
      return isSigned ? SampleType::Int8 : SampleType::UInt8;
  }
}

/** One sample of the value; nothing where the type does not hold it. */
template <typename TSample>
std::vector<unsigned char>
MakeSample(double value)
{
  if (!std::numeric_limits<TSample>::has_infinity &&
      !(value >= static_cast<double>(std::numeric_limits<TSample>::lowest()) &&
        value <= static_cast<double>(std::numeric_limits<TSample>::max()) && value == std::floor(value)))
  {
    return {};
  }
  const auto                 sample = static_cast<TSample>(value);
  std::vector<unsigned char> bytes(sizeof(sample));
  std::memcpy(bytes.data(), &sample, sizeof(sample));
  return bytes;
}

std::vector<unsigned char>
MakeSample(SampleType type, double value)
{
  switch (type)
  {
    case SampleType::UInt8:
      return MakeSample<std::uint8_t>(value);
    case SampleType::UInt16:
      return MakeSample<std::uint16_t>(value);
    case SampleType::Float32:
      return MakeSample<float>(value);
    case SampleType::Int8:
      return MakeSample<std::int8_t>(value);
    case SampleType::Int16:
      return MakeSample<std::int16_t>(value);
    case SampleType::UInt32:
      return MakeSample<std::uint32_t>(value);
    case SampleType::Int32:
      return MakeSample<std::int32_t>(value);
    case SampleType::Float64:
      return MakeSample<double>(value);
    default:
      return std::abs(value) < 9e18 ? MakeSample<std::int64_t>(value) : std::vector<unsigned char>();
  }
}

/** The sample that GDAL_NODATA states; nothing where it states none that the page can hold. */
std::vector<unsigned char>
ReadNoData(const TIFFPage & page, SampleType type)
{
  const std::string stated = page.GetShortText(TIFFTag::GDALNoData);
  if (stated == "nan" && type == SampleType::Float32)
  {
    return MakeSample(type, std::numeric_limits<double>::quiet_NaN());
  }
  std::istringstream text(stated);
  text.imbue(std::locale::classic());
  double value = 0.0;
  return text >> value ? MakeSample(type, value) : std::vector<unsigned char>();
}

} // namespace

TIFFSlide::TIFFSlide(const std::string & path, std::shared_ptr<const TIFFLayout> layout)
  : Slide(path)
  , m_Layout(std::move(layout))
{
  m_ReadsLabels = m_Layout->reading == TIFFReading::Labels;
  m_Properties = m_Layout->properties;
  m_Images = m_Layout->DescribeImages();
  m_Channels = m_Layout->channels;
  m_Warnings = m_Layout->warnings;
  PyramidDescription own;
  const TIFFPage &   first = m_Layout->GetPage(m_Layout->GetLevels().front().page);
  m_HoldsLabels = PyramidDescription::Parse(first.GetText(TIFFTag::ImageDescription), own) && own.labels;
  FindTransparencyMasks();
  for (const TIFFLayout::Level & level : m_Layout->GetLevels())
  {
    AddPlane(level.page, {}, level.furtherChannels);
  }
  m_NumberOfLevels = static_cast<unsigned>(m_Planes.size());
  CropLevels();
  SetDownsamples();
  AddReducedLevels();
  m_Sources.resize(m_Planes.size());
  for (const auto & associated : m_Layout->GetAssociated())
  {
    if (m_ReadsLabels)
    {
      break;
    }
    AddPlane(associated.page, associated.name, {});
  }
  const TIFFPage & base = *m_Sources.front().page;
  if (m_Channels.empty() && base.samples == 3 && base.photometric == static_cast<unsigned>(TIFFPhotometric::RGB))
  {
    m_Channels = { { "red", { { 255, 0, 0 } } }, { "green", { { 0, 255, 0 } } }, { "blue", { { 0, 0, 255 } } } };
  }
  if (m_Sources.front().channelColor)
  {
    m_Channels.resize(1);
    m_Channels.front().color = m_Channels.front().color.value_or(*m_Sources.front().channelColor);
  }
  m_Decoder = std::string(base.tiled ? "tiles (" : "strips (") + GetCompressionName(base) + ')';
  m_ColorProfile = base.GetBytes(TIFFTag::ICCProfile);
  FillProperties();
  SetBackground();
  WarnOfEmptyTiles();
  WarnOfLoss();
}

/** Warns of tiles that are not stored and do not show the background: a network may see an object in them. */
void
TIFFSlide::WarnOfEmptyTiles()
{
  const SlidePlane &                 base = m_Planes.front();
  const std::vector<unsigned char> & empty = base.emptyPixel;
  const bool isBackground = std::equal(empty.begin(), empty.end(), m_Background.begin()); // of gray: its first value
  const std::uint64_t tiles = base.GetTilesAcross() * base.GetTilesDown();
  std::uint64_t       missing = 0;
  for (std::uint64_t tile = 0; tile < tiles && base.IsPicture() && !base.holdsLabels && !isBackground; ++tile)
  {
    missing += HasTile(0, tile) ? 0 : 1;
  }
  if (missing > 0)
  {
    m_Warnings.push_back(Diagnostic("W-SLIDE-SPARSE",
                                    "it does not store " + std::to_string(missing) + " of " +
                                      FormatCount(tiles, "tile") + ", whose pixels are " +
                                      std::to_string(empty.front()) + ", which is not the color of the background (" +
                                      std::to_string(m_Background.front()) + ')',
                                    "check the result there, or leave these areas out with a tissue mask")
                           .OfFile(m_Path)
                           .OfValue(std::to_string(missing)));
  }
}

/** Warns of labels that a codec changed, as far as the first stored tile says. */
void
TIFFSlide::WarnOfLoss()
{
  const Source & base = m_Sources.front();
  if (!m_ReadsLabels || !IsImageCodec(*base.page))
  {
    return;
  }
  bool isLossy = base.compression == TIFFCompression::JPEG;
  for (std::uint64_t tile = 0; tile < base.pieces.sizes.size() && !isLossy; ++tile)
  {
    if (base.pieces.Has(tile))
    {
      try
      {
        isLossy = !IsLosslessJPEG2000(ReadPiece(base, tile));
      }
      catch (const std::exception &)
      {} // the file ends early, which is an error when the tile is read
      break;
    }
  }
  if (isLossy)
  {
    m_Warnings.push_back(Diagnostic("W-MASK-LOSSY",
                                    "it is compressed with loss (" + GetCompressionName(*base.page) +
                                      "), which changes labels near their edges",
                                    "give a mask that is compressed without loss, such as PNG")
                           .OfFile(m_Path));
  }
}

TIFFSlide::Source
TIFFSlide::MakeSource(std::size_t number, bool isChannel)
{
  const TIFFPage & page = m_Layout->GetPage(number);
  Source           source;
  source.page = &page;
  source.compression = static_cast<TIFFCompression>(page.compression);
  source.model = GetColorModel(page);
  source.alpha = m_ReadsLabels ? TIFFAlpha::None : GetAlpha(page);
  source.tables = page.GetBytes(TIFFTag::JPEGTables);
  // Labels that we wrote are their numbers, and so are channels; the palette shows them in other viewers.
  const bool isShownByPalette = m_HoldsLabels || m_ReadsLabels || isChannel;
  if (page.photometric == static_cast<unsigned>(TIFFPhotometric::Palette) && !isShownByPalette)
  {
    source.palette = ReadPalette(page.GetFile(), page);
    source.channelColor = FindRampColor(source.palette);
    if (source.channelColor)
    {
      source.palette.clear();
    }
  }
  source.pieces = page.ReadPieces();
  // An entry is a byte or more. Thousands of pages that all name one table would take the machine's memory.
  m_TableEntries += source.pieces.offsets.size() + source.pieces.sizes.size() + source.tables.size();
  if (m_TableEntries > m_Layout->GetNumberOfBytes())
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "the tables of its pages overlap"));
  }
  return source;
}

void
TIFFSlide::AddPlane(std::size_t number, std::string name, const std::vector<std::size_t> & furtherChannels)
{
  Source           source = MakeSource(number, !furtherChannels.empty());
  const TIFFPage & page = *source.page;
  for (const std::size_t further : furtherChannels)
  {
    source.furtherChannels.push_back(MakeSource(further, true));
  }
  SlidePlane plane;
  plane.width = page.width;
  plane.height = page.height;
  plane.tileWidth = static_cast<std::uint32_t>(page.pieceWidth);
  plane.tileHeight = static_cast<std::uint32_t>(page.pieceHeight);
  plane.channels = page.samples == 1 && source.palette.empty() ? 1 : 3;
  if (m_ReadsLabels)
  {
    plane.sample = GetSampleType(page);
  }
  else if (IsStoredOnly(page))
  {
    plane.channels = page.samples;
    plane.hasDyes = page.samples > 1;
    plane.sample = GetSampleType(page);
  }
  if (!furtherChannels.empty())
  {
    plane.channels = page.samples * static_cast<unsigned>(1 + furtherChannels.size());
    plane.hasDyes = !m_Layout->areChannelsColors;
  }
  plane.holdsLabels = m_HoldsLabels || m_ReadsLabels || page.bits == 1 ||
                      (page.photometric == static_cast<unsigned>(TIFFPhotometric::Palette) && !source.channelColor);
  source.transparency = name.empty() ? GetTransparency(page) : std::nullopt;
  plane.hasAlpha = source.alpha != TIFFAlpha::None || source.transparency;
  SetEmptyPixel(source, plane);
  plane.name = std::move(name);
  m_Planes.push_back(std::move(plane));
  m_Sources.push_back(std::move(source));
}

/** What is not stored is 0, as in GDAL and libtiff, or the value of GDAL_NODATA. Colors without that tag are the
 * background. */
void
TIFFSlide::SetEmptyPixel(const Source & source, SlidePlane & plane) const
{
  const TIFFPage &           page = *source.page;
  const bool                 isColor = plane.IsPicture() && plane.channels == 3;
  std::vector<unsigned char> sample = ReadNoData(page, plane.sample);
  if (sample.empty() && isColor && source.palette.empty())
  {
    return;
  }
  sample.resize(plane.GetSampleBytes());
  if (!source.palette.empty())
  {
    const auto color = source.palette.begin() + std::ptrdiff_t{ sample.front() } * 3;
    plane.emptyPixel.assign(color, color + 3);
    return;
  }
  if (page.bits == 1 && !m_ReadsLabels)
  {
    sample.front() = sample.front() != 0 ? 255 : 0;
  }
  for (unsigned char & byte : sample)
  {
    byte = static_cast<unsigned char>(byte ^ (IsInverted(source) ? 255 : 0));
  }
  for (unsigned channel = 0; channel < plane.channels; ++channel)
  {
    plane.emptyPixel.insert(plane.emptyPixel.end(), sample.begin(), sample.end());
  }
}

/** Cuts planes to the sizes that the format says they have: tiles beyond are left out. */
void
TIFFSlide::CropLevels()
{
  for (std::size_t level = 0; level < m_Layout->GetSizes().size(); ++level)
  {
    SlidePlane &           plane = m_Planes[level];
    const std::uint64_t    storedAcross = plane.GetTilesAcross();
    const std::uint64_t    storedTiles = storedAcross * plane.GetTilesDown();
    const TIFFPage::Pieces stored = std::move(m_Sources[level].pieces);
    TIFFPage::Pieces       pieces;
    plane.width = m_Layout->GetSizes()[level][0];
    plane.height = m_Layout->GetSizes()[level][1];
    const TIFFPage &    page = *m_Sources[level].page;
    const std::uint64_t storedPieces = storedTiles * (page.separatePlanes ? page.samples : 1);
    for (std::uint64_t first = 0; first < storedPieces; first += storedTiles)
    {
      for (std::uint64_t tile = 0; tile < plane.GetTilesAcross() * plane.GetTilesDown(); ++tile)
      {
        const std::uint64_t at = first + tile / plane.GetTilesAcross() * storedAcross + tile % plane.GetTilesAcross();
        pieces.offsets.push_back(stored.offsets[at]);
        pieces.sizes.push_back(stored.sizes[at]);
      }
    }
    m_Sources[level].pieces = std::move(pieces);
  }
}

} // namespace gigapixel
