/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkPyramidTIFFImageIO.h"
#include "PyramidWriter.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <sstream>

namespace itk
{
namespace
{
/** Bands stay below this, so that masks of any height are written in a few tens of MB. */
constexpr SizeValueType MaximumBandBytes = 8 << 20;

/** Slides have micrometers per pixel: a mm and more is ITK's default spacing of 1, that is unknown, or a multiple. */
constexpr double UnknownSpacing = 1.0;

const std::string FormatLine = "ITKGigapixel pyramid\n";
const std::string MadeByStart = "\nmade-by = ";

std::string
MakeOneLine(std::string text)
{
  std::replace_if(
    text.begin(), text.end(), [](unsigned char c) { return c < 32; }, ' ');
  return text;
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
PyramidTIFFImageIO::SetContent(Content content)
{
  if (m_Content != content)
  {
    m_Content = content;
    this->Modified();
  }
}

std::string
PyramidTIFFImageIO::GetMadeByOfDescription(const std::string & description)
{
  const std::size_t start = description.find(MadeByStart);
  if (description.rfind(FormatLine, 0) != 0 || start == std::string::npos)
  {
    return {};
  }
  const std::size_t begin = start + MadeByStart.size();
  return description.substr(begin, description.find('\n', begin) - begin);
}

void
PyramidTIFFImageIO::SetTileSize(unsigned int pixels)
{
  if (pixels < 16 || pixels > 4096 || pixels % 16 != 0)
  {
    itkExceptionMacro("a tile of " << pixels << " pixels is not possible in TIFF; take a multiple of 16 up to 4096");
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
  if (compressor == "JPEG")
  {
    this->SetMaximumCompressionLevel(100);
    this->SetCompressionLevel(80);
    return;
  }
  m_Compressor = "DEFLATE";
  this->SetMaximumCompressionLevel(12);
  this->SetCompressionLevel(6);
  if (!compressor.empty() && compressor != "DEFLATE")
  {
    itkExceptionMacro("pyramids are compressed with DEFLATE or JPEG, not with " << compressor);
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
PyramidTIFFImageIO::RefuseUnsupported() const
{
  if (m_NumberOfDimensions != 2)
  {
    itkExceptionMacro("cannot write " << m_FileName << ": a pyramid has two dimensions and this image "
                                      << m_NumberOfDimensions << "; extract a slice first");
  }
  const bool scalar = m_NumberOfComponents == 1 && m_PixelType == IOPixelEnum::SCALAR;
  const bool rgb = m_NumberOfComponents == 3 && m_PixelType == IOPixelEnum::RGB;
  if (m_ComponentType != IOComponentEnum::UCHAR || !(scalar || rgb))
  {
    itkExceptionMacro("cannot write " << m_FileName
                                      << ": pyramids are written from unsigned char, one component or RGB,"
                                      << " and this image has " << m_NumberOfComponents << " of "
                                      << GetComponentTypeAsString(m_ComponentType) << " ("
                                      << GetPixelTypeAsString(m_PixelType) << "); cast it first");
  }
  if (m_Dimensions[0] == 0 || m_Dimensions[1] == 0 || std::max(m_Dimensions[0], m_Dimensions[1]) >= (1ULL << 31))
  {
    itkExceptionMacro("cannot write " << m_FileName << ": TIFF has no image of " << m_Dimensions[0] << " x "
                                      << m_Dimensions[1] << " pixels");
  }
  if (m_Compressor == "JPEG" && GetEffectiveContent() == Content::Labels)
  {
    itkExceptionMacro("cannot write " << m_FileName << ": JPEG would invent labels; take SetCompressor(\"DEFLATE\"), or"
                                      << " SetContent(Content::Picture) if this is a picture");
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
    itkExceptionMacro("cannot write " << m_FileName
                                      << ": a pyramid is written whole; do not set an IO region of the writer");
  }
  try
  {
    gigapixel::PyramidFile::RequireWritable(m_FileName);
  }
  catch (const std::exception & error)
  {
    itkExceptionMacro(<< error.what());
  }
  const SizeValueType tileRows = DivideUp(m_Dimensions[1], GetEffectiveTileSize());
  const SizeValueType tileRowBytes = m_Dimensions[0] * m_NumberOfComponents * GetEffectiveTileSize();
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

void
PyramidTIFFImageIO::Begin()
{
  m_Writer.reset();
  RefuseUnsupported();
  gigapixel::PyramidFormat format;
  format.channels = m_NumberOfComponents;
  format.tileSize = GetEffectiveTileSize();
  format.labels = GetEffectiveContent() == Content::Labels;
  format.compression = m_Compressor == "JPEG" ? gigapixel::PyramidFormat::Compression::JPEG
                                              : gigapixel::PyramidFormat::Compression::Deflate;
  format.compressionLevel = m_CompressionLevel;
  for (const unsigned int axis : { 0, 1 })
  {
    const bool known = m_Spacing[axis] > 0 && m_Spacing[axis] < UnknownSpacing;
    format.pixelsPerCentimeter[axis] = known ? 10.0 / m_Spacing[axis] : 0.0;
  }
  // Not JSON, not XML and none of the vendors' first words: other programs guess a file's maker from this text.
  std::ostringstream description;
  description.imbue(std::locale::classic());
  description.precision(std::numeric_limits<double>::max_digits10);
  description << FormatLine << "origin-mm = " << m_Origin[0] << ' ' << m_Origin[1]
              << "\ncontent = " << (format.labels ? "labels" : "picture");
  if (!m_MadeBy.empty())
  {
    description << MadeByStart << MakeOneLine(m_MadeBy);
  }
  description << '\n';
  format.description = description.str();
  m_Writer = std::make_unique<gigapixel::PyramidWriter>(m_FileName, m_Dimensions[0], m_Dimensions[1], format);
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
      itkExceptionMacro("cannot write " << m_FileName << ": a pyramid is written from the top to the bottom in bands of"
                                        << " full width");
    }
    m_Writer->WriteRows(static_cast<const unsigned char *>(buffer), region.GetSize(1));
    if (m_Writer->GetNumberOfRows() == m_Dimensions[1])
    {
      m_Writer.reset();
    }
  }
  catch (const ExceptionObject &)
  {
    m_Writer.reset();
    throw;
  }
  catch (const std::exception & error)
  {
    m_Writer.reset();
    itkExceptionMacro(<< error.what());
  }
}

void
PyramidTIFFImageIO::ReadImageInformation()
{
  itkExceptionMacro("PyramidTIFFImageIO writes only; read " << m_FileName << " with itk::WholeSlideImageIO");
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
  os << indent << "MadeBy: " << m_MadeBy << '\n';
}

} // namespace itk
