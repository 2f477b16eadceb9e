/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkPyramidTIFFImageIO.h"
#include "pyramid/ImpersonalBytes.h"
#include "pyramid/PyramidDescription.h"
#include "pyramid/PyramidWriter.h"
#include "channels/SlideChannel.h"
#include "gigapixelSlidePixels.h"
#include "itkWholeSlideImageIO.h"

#include "itkGigapixelException.h"
#include "itkMetaDataObject.h"
#include "itksys/Base64.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <utility>

namespace itk
{
namespace
{
/** Bands stay below this, so that masks of any height are written in a few tens of MB. */
constexpr SizeValueType MaximumBandBytes = 8 << 20;

/** Slides have micrometers per pixel: a mm and more is ITK's default spacing of 1, that is unknown, or a multiple. */
constexpr double UnknownSpacing = 1.0;

using gigapixel::PyramidFormat;

/** A codec as SetCompressor() knows it. */
struct Codec
{
  const char *               name;
  PyramidFormat::Compression compression;
  int                        defaultLevel;
  int                        maximumLevel;
};

constexpr Codec Codecs[] = { { "DEFLATE", PyramidFormat::Compression::Deflate, 6, 12 },
                             { "ZSTD", PyramidFormat::Compression::Zstandard, 9, 22 },
                             { "JPEG", PyramidFormat::Compression::JPEG, 80, 100 },
                             { "WEBP", PyramidFormat::Compression::WebP, 80, 100 } };

const Codec *
FindCodec(const std::string & name)
{
  const auto found =
    std::find_if(std::begin(Codecs), std::end(Codecs), [&name](const Codec & codec) { return codec.name == name; });
  return found == std::end(Codecs) ? nullptr : found;
}

std::string
GetText(const MetaDataDictionary & dictionary, const std::string & key)
{
  std::string text;
  ExposeMetaData(dictionary, key, text);
  return text;
}

/** A property that is no number may be any text. */
bool
IsNumber(const std::string & text)
{
  return !text.empty() && text.size() < 32 && text.find_first_not_of("0123456789.") == std::string::npos;
}

/** Names of scanners' makers as this reader and OpenSlide write them. */
bool
IsVendorName(const std::string & text)
{
  return !text.empty() && text.size() < 32 &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

/** What the dictionary says of as many channels; nothing where it speaks of another number. */
std::vector<gigapixel::SlideChannel>
GetChannels(const MetaDataDictionary & dictionary, std::size_t number)
{
  std::map<std::string, std::string> properties;
  for (const std::string & key : dictionary.GetKeys())
  {
    properties.emplace(key, GetText(dictionary, key));
  }
  auto channels = gigapixel::ReadChannels(properties);
  return channels.size() == number ? channels : std::vector<gigapixel::SlideChannel>(number);
}

/** The properties of a slide that identify nobody. */
std::map<std::string, std::string>
GetImpersonalProperties(const MetaDataDictionary & dictionary)
{
  std::map<std::string, std::string> kept;
  for (const std::string & key : dictionary.GetKeys())
  {
    const std::string text = GetText(dictionary, key);
    if ((key == "openslide.objective-power" && IsNumber(text)) ||
        (key == "gigapixel.source-vendor" && IsVendorName(text)) || key.rfind(gigapixel::ClassPropertyStart, 0) == 0)
    {
      kept[key] = text;
    }
  }
  const std::string vendor = GetText(dictionary, "openslide.vendor");
  if (IsVendorName(vendor) && vendor != "generic-tiff")
  {
    kept.emplace("gigapixel.source-vendor", vendor);
  }
  return kept;
}

std::vector<std::uint8_t>
DecodeBase64(const std::string & text)
{
  std::vector<std::uint8_t> bytes(text.size() / 4 * 3 + 4);
  const auto * const        letters = reinterpret_cast<const unsigned char *>(text.data());
  bytes.resize(itksysBase64_Decode(letters, 0, bytes.data(), text.size()));
  return bytes;
}

SizeValueType
DivideUp(SizeValueType n, SizeValueType divisor)
{
  return (n + divisor - 1) / divisor;
}
} // namespace

PyramidTIFFImageIO::PyramidTIFFImageIO()
{
  this->SetNumberOfDimensions(2);
  this->AddSupportedWriteExtension(".pyramid.tif");
  this->AddSupportedWriteExtension(".pyramid.tiff");
  this->Self::SetCompressor("DEFLATE");
}

PyramidTIFFImageIO::~PyramidTIFFImageIO() = default;

void
PyramidTIFFImageIO::SetSlide(const WholeSlideImageIO * slide)
{
  m_Slide = slide;
  this->Modified();
}

void
PyramidTIFFImageIO::SetDamageCount(std::function<SizeValueType()> count)
{
  m_DamageCount = std::move(count);
  this->Modified();
}

void
PyramidTIFFImageIO::SetLastProperties(std::function<std::map<std::string, std::string>()> properties)
{
  m_LastProperties = std::move(properties);
  this->Modified();
}

void
PyramidTIFFImageIO::SetContent(Content content)
{
  if (m_Content != content)
  {
    m_Content = content;
    this->Modified();
  }
}

std::string
PyramidTIFFImageIO::GetMadeByOfDescription(const std::string & text)
{
  gigapixel::PyramidDescription description;
  gigapixel::PyramidDescription::Parse(text, description);
  return description.madeBy;
}

void
PyramidTIFFImageIO::SetTileSize(unsigned int pixels)
{
  if (pixels < 16 || pixels > 4096 || pixels % 16 != 0)
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-OPTION-VALUE",
                            "a tile of " + std::to_string(pixels) + " pixels is not possible in TIFF",
                            "choose a multiple of 16 up to 4096")
        .OfOption("--tile-size", std::to_string(pixels)));
  }
  if (m_TileSize != pixels)
  {
    m_TileSize = pixels;
    this->Modified();
  }
}

void
PyramidTIFFImageIO::InternalSetCompressor(const std::string & compressor)
{
  const Codec * const codec = FindCodec(compressor);
  const Codec &       taken = codec ? *codec : Codecs[0];
  m_Compressor = taken.name;
  this->SetMaximumCompressionLevel(taken.maximumLevel);
  this->SetCompressionLevel(taken.defaultLevel);
  if (!codec && !compressor.empty())
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-OPTION-VALUE",
                                                     "a pyramid cannot be compressed with " + compressor,
                                                     "choose DEFLATE, ZSTD, JPEG or WEBP")
                                 .OfOption("--compression", compressor));
  }
}

void
PyramidTIFFImageIO::SetChromaSubsampling(const std::string & subsampling)
{
  if (subsampling != "4:4:4" && subsampling != "4:2:2" && subsampling != "4:2:0")
  {
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-OPTION-VALUE",
                                                     "the colors of JPEG cannot be stored as " + subsampling,
                                                     "choose 4:4:4, 4:2:2 or 4:2:0")
                                 .OfOption("--subsampling", subsampling));
  }
  if (m_ChromaSubsampling != subsampling)
  {
    m_ChromaSubsampling = subsampling;
    this->Modified();
  }
}

bool
PyramidTIFFImageIO::CanWriteFile(const char * fileName)
{
  // Not HasSupportedWriteExtension(): from ITK 5.4 on it looks at what follows the last dot only.
  std::string name = fileName != nullptr ? fileName : "";
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const ArrayOfExtensionsType & extensions = this->GetSupportedWriteExtensions();
  return std::any_of(extensions.begin(), extensions.end(), [&](const std::string & extension) {
    return name.size() > extension.size() &&
           name.compare(name.size() - extension.size(), extension.size(), extension) == 0;
  });
}

bool
PyramidTIFFImageIO::HasChannels() const
{
  return m_PixelType == IOPixelEnum::VECTOR || m_PixelType == IOPixelEnum::VARIABLELENGTHVECTOR;
}

PyramidTIFFImageIO::Content
PyramidTIFFImageIO::GetEffectiveContent() const
{
  if (m_Content != Content::Automatic)
  {
    return m_Content;
  }
  return m_NumberOfComponents == 1 ? Content::Labels : Content::Picture;
}

unsigned int
PyramidTIFFImageIO::GetEffectiveTileSize() const
{
  const SizeValueType side = std::min(m_Dimensions[0], m_Dimensions[1]);
  return static_cast<unsigned int>(std::min<SizeValueType>(m_TileSize, std::max<SizeValueType>(side / 16 * 16, 16)));
}

void
PyramidTIFFImageIO::Refuse(const char * code, const std::string & why, const char * remedy) const
{
  itkGigapixelExceptionMacro(gigapixel::Diagnostic(code, "it cannot be written: " + why, remedy).OfFile(m_FileName));
}

void
PyramidTIFFImageIO::Rethrow(const std::exception & error) const
{
  const gigapixel::Diagnostic inner = gigapixel::Diagnostic::Of(error);
  itkGigapixelExceptionMacro(inner.file.empty() ? inner.OfFile(m_FileName) : inner);
}

void
PyramidTIFFImageIO::RefuseUnsupported() const
{
  if (m_NumberOfDimensions != 2)
  {
    Refuse("E-FILE-KIND",
           "a pyramid has two dimensions and this image " + std::to_string(m_NumberOfDimensions),
           "extract a slice first");
  }
  const bool isScalar = m_NumberOfComponents == 1 && m_PixelType == IOPixelEnum::SCALAR;
  const bool isRGB = m_NumberOfComponents == 3 && m_PixelType == IOPixelEnum::RGB;
  const bool areFew = m_NumberOfComponents >= 1 && m_NumberOfComponents <= gigapixel::MostChannels;
  const bool areLabels = isScalar && GetEffectiveContent() == Content::Labels;
  const bool known = m_ComponentType == IOComponentEnum::UCHAR || m_ComponentType == IOComponentEnum::USHORT ||
                     m_ComponentType == IOComponentEnum::FLOAT ||
                     (m_ComponentType == IOComponentEnum::UINT && areLabels);
  if (!known || !(isScalar || isRGB || (HasChannels() && areFew)))
  {
    Refuse(
      "E-SLIDE-CHANNELS",
      "pyramids are written from unsigned char, unsigned short or float, one component, RGB or a vector of up to " +
        std::to_string(gigapixel::MostChannels) + " channels, or from labels of unsigned int, and this image has " +
        std::to_string(m_NumberOfComponents) + " of " + GetComponentTypeAsString(m_ComponentType) + " (" +
        GetPixelTypeAsString(m_PixelType) + ')',
      "cast the image to one of them first");
  }
  if (m_Dimensions[0] == 0 || m_Dimensions[1] == 0 || std::max(m_Dimensions[0], m_Dimensions[1]) >= (1ULL << 31))
  {
    Refuse("E-REGION",
           "TIFF has no image of " + std::to_string(m_Dimensions[0]) + " x " + std::to_string(m_Dimensions[1]) +
             " pixels",
           "choose a region of a possible size");
  }
  RefuseUnsuitableCompressor();
}

void
PyramidTIFFImageIO::RefuseUnsuitableCompressor() const
{
  const bool labels = GetEffectiveContent() == Content::Labels;
  const bool lossy = m_Compressor == "JPEG" || m_Compressor == "WEBP";
  if (lossy && labels)
  {
    Refuse("E-OPTION-CONFLICT",
           m_Compressor + " changes the values of labels",
           "choose the compression deflate, or the content picture if this is one");
  }
  if (lossy &&
      (m_ComponentType != IOComponentEnum::UCHAR || (m_Compressor == "WEBP" && m_PixelType != IOPixelEnum::RGB)))
  {
    Refuse("E-OPTION-CONFLICT",
           m_Compressor + " stores only unsigned char" + (m_Compressor == "WEBP" ? ", RGB" : ""),
           "choose the compression deflate, or cast the image first");
  }
  if (m_Bilevel && !(labels && m_NumberOfComponents == 1 && m_ComponentType == IOComponentEnum::UCHAR))
  {
    Refuse("E-OPTION-APPLIES",
           "one bit a pixel is for labels of one component of unsigned char",
           "leave --bilevel out (BilevelOff)");
  }
}

unsigned int
PyramidTIFFImageIO::GetActualNumberOfSplitsForWriting(unsigned int          numberOfRequestedSplits,
                                                      const ImageIORegion & pasteRegion,
                                                      const ImageIORegion & largestPossibleRegion)
{
  m_Writer.reset();
  RefuseUnsupported();
  if (pasteRegion != largestPossibleRegion)
  {
    Refuse("E-REGION", "a pyramid is written whole", "set no IO region of the writer");
  }
  try
  {
    gigapixel::AtomicFile::RequireWritable(m_FileName);
    // The first band may take hours: a file that comes there meanwhile is not what was to be replaced.
    std::error_code error;
    m_MayReplace = std::filesystem::exists(std::filesystem::symlink_status(m_FileName, error));
  }
  catch (const std::exception & error)
  {
    Rethrow(error);
  }
  const SizeValueType tileRows = DivideUp(m_Dimensions[1], GetEffectiveTileSize());
  const SizeValueType tileRowBytes =
    GetEffectiveTileSize() * m_Dimensions[0] * m_NumberOfComponents * this->GetComponentSize();
  const SizeValueType bandTileRows = std::max<SizeValueType>(MaximumBandBytes / tileRowBytes, 1);
  const SizeValueType wanted = std::max<SizeValueType>(numberOfRequestedSplits, DivideUp(tileRows, bandTileRows));
  // Equal bands: with n bands of r rows each only as many as are needed to cover all rows.
  const SizeValueType rowsPerBand = DivideUp(tileRows, std::min(wanted, tileRows));
  return static_cast<unsigned int>(DivideUp(tileRows, rowsPerBand));
}

ImageIORegion
PyramidTIFFImageIO::GetSplitRegionForWriting(unsigned int ithPiece,
                                             unsigned int numberOfActualSplits,
                                             const ImageIORegion &,
                                             const ImageIORegion & largestPossibleRegion)
{
  const SizeValueType tileSize = GetEffectiveTileSize();
  const SizeValueType tileRows = DivideUp(m_Dimensions[1], tileSize);
  const SizeValueType bandRows = DivideUp(tileRows, numberOfActualSplits) * tileSize;
  const SizeValueType begin = ithPiece * bandRows;
  ImageIORegion       region = largestPossibleRegion;
  region.SetIndex(1, largestPossibleRegion.GetIndex(1) + static_cast<IndexValueType>(begin));
  region.SetSize(1, std::min(bandRows, m_Dimensions[1] - begin));
  return region;
}

gigapixel::PyramidFormat
PyramidTIFFImageIO::GetFormat() const
{
  PyramidFormat format;
  format.channels = HasChannels() ? 1 : m_NumberOfComponents;
  format.planes = HasChannels() ? m_NumberOfComponents : 1;
  format.tileSize = GetEffectiveTileSize();
  format.labels = GetEffectiveContent() == Content::Labels;
  format.compression = FindCodec(m_Compressor)->compression;
  format.compressionLevel = m_CompressionLevel;
  format.subsampling = { m_ChromaSubsampling == "4:4:4" ? 1U : 2U, m_ChromaSubsampling == "4:2:0" ? 2U : 1U };
  format.sample = m_Bilevel                                    ? PyramidFormat::Sample::Bit
                  : m_ComponentType == IOComponentEnum::USHORT ? PyramidFormat::Sample::UInt16
                  : m_ComponentType == IOComponentEnum::UINT   ? PyramidFormat::Sample::UInt32
                  : m_ComponentType == IOComponentEnum::FLOAT  ? PyramidFormat::Sample::Float
                                                               : PyramidFormat::Sample::UInt8;
  return format;
}

/** \param source of labels that are read as they are stored: its palette and its min-is-white are kept */
void
PyramidTIFFImageIO::Begin(const std::vector<gigapixel::PyramidPage> & copied,
                          const std::map<std::string, std::string> &  properties,
                          const gigapixel::PyramidPage *              source)
{
  m_Writer.reset();
  RefuseUnsupported();
  PyramidFormat                 format = GetFormat();
  gigapixel::PyramidMetadata    metadata;
  gigapixel::PyramidDescription description;
  metadata.isBig = m_BigTIFF;
  for (const unsigned axis : { 0, 1 })
  {
    const bool known = m_Spacing[axis] > 0 && m_Spacing[axis] < UnknownSpacing;
    metadata.pixelsPerCentimeter[axis] = known ? 10.0 / m_Spacing[axis] : 0.0;
    description.origin[axis] = m_Origin[axis];
  }
  description.labels = format.labels;
  description.madeBy = m_MadeBy;
  description.properties = GetImpersonalProperties(this->GetMetaDataDictionary());
  description.properties.insert(properties.begin(), properties.end());
  if (format.labels)
  {
    const bool hasPalette = format.sample == PyramidFormat::Sample::UInt8 && format.channels == 1;
    format.colorMap = hasPalette ? description.GetColorMap() : std::vector<std::uint16_t>();
    if (hasPalette && format.colorMap.empty() && source != nullptr && source->colorMap.size() == 768)
    {
      format.colorMap = source->colorMap;
    }
    format.isWhiteZero = source != nullptr && source->photometric == 0;
  }
  if (format.channels == 1 && (!format.labels || format.planes > 1))
  {
    description.channels = GetChannels(this->GetMetaDataDictionary(), format.planes);
  }
  if (!format.labels && format.planes == 1)
  {
    const auto profile = DecodeBase64(GetText(this->GetMetaDataDictionary(), "ICCProfile"));
    metadata.colorProfile = m_KeepText ? profile : gigapixel::RemoveProfileTexts(profile);
  }
  m_Writer = std::make_unique<gigapixel::PyramidWriter>(
    m_FileName, m_Dimensions[0], m_Dimensions[1], format, metadata, copied, std::exchange(m_MayReplace, true));
  m_Description = std::make_unique<gigapixel::PyramidDescription>(std::move(description));
}

void
PyramidTIFFImageIO::Finish(const WholeSlideImageIO * slide)
{
  const MetaDataDictionary & made = slide ? slide->GetMetaDataDictionary() : this->GetMetaDataDictionary();
  const SizeValueType        met = m_DamageCount ? m_DamageCount() : slide ? slide->GetNumberOfDamagedTiles() : 0;
  const std::uint64_t damaged = std::strtoull(GetText(made, gigapixel::RecordedDamageKey).c_str(), nullptr, 10) + met;
  if (damaged > 0)
  {
    m_Description->properties[gigapixel::RecordedDamageKey] = std::to_string(damaged);
  }
  if (m_LastProperties)
  {
    m_Description->properties.merge(m_LastProperties());
  }
  m_Writer->Finish(*m_Description);
  m_Writer.reset();
}

void
PyramidTIFFImageIO::Write(const void * buffer)
{
  const ImageIORegion & region = this->GetIORegion();
  const auto            begin = static_cast<SizeValueType>(region.GetIndex(1));
  try
  {
    if (begin == 0)
    {
      Begin();
    }
    if (!m_Writer || begin != m_Writer->GetNumberOfRows() || region.GetIndex(0) != 0 ||
        region.GetSize(0) != m_Dimensions[0])
    {
      Refuse("E-REGION", "a pyramid is written from the top to the bottom in bands of full width", "");
    }
    m_Writer->WriteRows(static_cast<const std::uint8_t *>(buffer), region.GetSize(1));
    if (m_Writer->GetNumberOfRows() == m_Dimensions[1])
    {
      Finish(m_Slide);
    }
  }
  catch (const ExceptionObject &)
  {
    m_Writer.reset();
    throw;
  }
  catch (const std::bad_alloc &)
  {
    m_Writer.reset();
    Refuse("E-MEMORY", "there is not enough memory for a row of tiles", "write a region, or a coarser level");
  }
  catch (const std::exception & error)
  {
    m_Writer.reset();
    Rethrow(error);
  }
}

void
PyramidTIFFImageIO::ReadImageInformation()
{
  Refuse("E-FILE-KIND", "PyramidTIFFImageIO only writes", "read it with itk::WholeSlideImageIO");
}

void
PyramidTIFFImageIO::Read(void *)
{
  ReadImageInformation();
}

void
PyramidTIFFImageIO::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  const char * const content[] = { "Automatic", "Picture", "Labels" };
  os << indent << "Content: " << content[static_cast<int>(m_Content)] << '\n';
  os << indent << "TileSize: " << m_TileSize << '\n';
  os << indent << "ChromaSubsampling: " << m_ChromaSubsampling << '\n';
  os << indent << "Bilevel: " << (m_Bilevel ? "On" : "Off") << '\n';
  os << indent << "BigTIFF: " << (m_BigTIFF ? "On" : "Off") << '\n';
  os << indent << "KeepText: " << (m_KeepText ? "On" : "Off") << '\n';
  os << indent << "MadeBy: " << m_MadeBy << '\n';
}

} // namespace itk
