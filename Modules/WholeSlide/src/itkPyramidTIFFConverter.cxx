/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkPyramidTIFFConverter.h"

#include "CopiedLevel.h"
#include "PyramidDescription.h"
#include "PyramidWriter.h"
#include "Slide.h"

#include "gigapixelSlidePixels.h"

#include "itkMetaDataObject.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <locale>
#include <map>
#include <memory>
#include <new>
#include <sstream>

namespace itk
{
namespace
{
/** Rows are read and handed on in bands of about this size; where a row of the slide's tiles is larger than the cache
 * of decoded ones, of up to so many bytes, or two tiles. */
constexpr SizeValueType BandBytes = 8 << 20;
constexpr SizeValueType MostBandBytes = 256 << 20;

/** Of a pixel that is decoded and compressed again, the time that a pixel takes whose tile is copied. */
constexpr double CopyingShare = 0.05;

/** The compressor of PyramidTIFFImageIO that makes such tiles. */
const char *
GetCompressor(unsigned compression)
{
  switch (static_cast<gigapixel::TIFFCompression>(compression))
  {
    case gigapixel::TIFFCompression::JPEG:
      return "JPEG";
    case gigapixel::TIFFCompression::WebP:
      return "WEBP";
    case gigapixel::TIFFCompression::Zstandard:
      return "ZSTD";
    default:
      return "DEFLATE";
  }
}

std::string
GetText(const MetaDataDictionary & dictionary, const std::string & key)
{
  std::string text;
  ExposeMetaData(dictionary, key, text);
  return text;
}

double
GetObjectivePower(const MetaDataDictionary & dictionary)
{
  std::istringstream text(GetText(dictionary, "openslide.objective-power"));
  text.imbue(std::locale::classic());
  double power = 0;
  text >> power;
  return power;
}

/** What scanners say in words of their own: names, dates, barcodes among them. */
std::map<std::string, std::string>
GetVendorProperties(const MetaDataDictionary & dictionary)
{
  std::map<std::string, std::string> properties;
  for (const std::string & key : dictionary.GetKeys())
  {
    const std::string maker = key.substr(0, key.find('.'));
    if (maker != key && maker != "tiff" && maker != "gigapixel" && (maker != "openslide" || key == "openslide.comment"))
    {
      properties[key] = GetText(dictionary, key);
    }
  }
  return properties;
}

/** The pixels of a level along one axis that show a stretch of level 0. */
std::array<SizeValueType, 2>
ScaleStretch(SizeValueType begin, SizeValueType size, double downsample, SizeValueType all)
{
  const auto scale = [&](SizeValueType at) {
    return std::min(static_cast<SizeValueType>(std::llround(static_cast<double>(at) / downsample)), all);
  };
  const SizeValueType first = std::min(scale(begin), all - 1);
  return { { first, std::max<SizeValueType>(scale(begin + size), first + 1) - first } };
}

/** How a region is cut into bands of rows: all of one height from its top on, or no more than rows of the slide's tiles
 * allow, so that each band has whole ones, or equal parts of them. */
struct Bands
{
  SizeValueType rows;
  SizeValueType tileHeight{ 0 }; // 0: tiles do not matter

  SizeValueType
  GetRowsFrom(SizeValueType y) const
  {
    const SizeValueType inside = tileHeight > 0 ? y % tileHeight : 0;
    return tileHeight > 0 ? std::min(rows - inside % rows, tileHeight - inside) : rows;
  }
};

/** \param rows that a band would have otherwise */
Bands
MakeBands(const gigapixel::SlidePlane &            plane,
          const PyramidTIFFConverter::RegionType & region,
          SizeValueType                            pixelBytes,
          SizeValueType                            rows)
{
  const SizeValueType columns = (region[0] + region[2] - 1) / plane.tileWidth - region[0] / plane.tileWidth + 1;
  const SizeValueType tileBytes = pixelBytes * plane.tileWidth * plane.tileHeight;
  // A single tile stays, whatever its size.
  if (columns == 1 || rows >= plane.tileHeight || columns * tileBytes <= WholeSlideImageIO::GetTileCacheLimit())
  {
    return { rows };
  }
  const SizeValueType most = std::max(MostBandBytes, 2 * tileBytes);
  const SizeValueType parts = (region[2] * pixelBytes * plane.tileHeight + most - 1) / most;
  return { std::max(rows, (plane.tileHeight + parts - 1) / parts), plane.tileHeight };
}
} // namespace

PyramidTIFFConverter::PyramidTIFFConverter() = default;
PyramidTIFFConverter::~PyramidTIFFConverter() = default;

void
PyramidTIFFConverter::ChooseCompressor()
{
  using Content = PyramidTIFFImageIO::Content;
  const Content content = m_ImageIO->GetContent();
  const bool    isBytes = m_Slide->GetComponentType() == IOComponentEnum::UCHAR;
  const bool    isPicture = content == Content::Picture || m_Slide->GetNumberOfComponents() == 3 ||
                         m_Slide->GetDecoder().find("JPEG") != std::string::npos;
  m_ImageIO->SetCompressor(isBytes && isPicture && content != Content::Labels ? "JPEG" : "DEFLATE");
}

PyramidTIFFConverter::RegionType
PyramidTIFFConverter::GetRegionOfLevel(unsigned int level) const
{
  const auto all = m_Slide->GetLevelSize(level);
  if (m_Region == RegionType{ { 0, 0, 0, 0 } })
  {
    return { { 0, 0, all[0], all[1] } };
  }
  const auto base = m_Slide->GetLevelSize(0);
  RegionType region{};
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    const SizeValueType begin = m_Region[axis];
    const SizeValueType size = m_Region[axis + 2];
    if (size == 0 || begin >= base[axis] || size > base[axis] - begin)
    {
      itkExceptionMacro("the region " << m_Region[0] << ',' << m_Region[1] << ',' << m_Region[2] << ',' << m_Region[3]
                                      << " is not inside " << m_Slide->GetFileName() << ", which has " << base[0]
                                      << " x " << base[1] << " pixels; choose one that is.");
    }
    const auto stretch = ScaleStretch(begin, size, m_Slide->GetLevelDownsample(level), all[axis]);
    region[axis] = stretch[0];
    region[axis + 2] = stretch[1];
  }
  return region;
}

PyramidTIFFConverter::CopiedLevels
PyramidTIFFConverter::FindCopiedLevels() const
{
  CopiedLevels copied;
  const bool   convertsColors = m_Slide->GetMetaDataDictionary().HasKey("gigapixel.colors");
  // Of other slides, tiles need more than their places: an order of their own, overlaps, tables elsewhere.
  const auto layout = gigapixel::Slide::Open(m_Slide->GetFileName())->GetTIFFLayout();
  if (!m_CopyTiles || !layout || convertsColors)
  {
    return copied;
  }
  const auto first = m_Slide->GetLevel();
  for (unsigned int level = first; level < m_Slide->GetNumberOfLevels(); ++level)
  {
    const RegionType region = GetRegionOfLevel(level);
    auto             found = gigapixel::CopiedLevel::Find(layout, level, region[0], region[1], region[2], region[3]);
    const double     downsample = m_Slide->GetLevelDownsample(level);
    // A tile's edge has to be the same place as on the level above, not only the nearest pixel to it.
    const bool isSamePlace = std::all_of(m_Region.begin(), m_Region.begin() + 2, [downsample](SizeValueType at) {
      return std::fmod(static_cast<double>(at), downsample) < 1e-6;
    });
    if (!found || !isSamePlace || found->GetPage().samples != m_Slide->GetNumberOfComponents() ||
        (level > first && (region[2] < found->GetPage().tileWidth || region[3] < found->GetPage().tileHeight)))
    {
      break;
    }
    copied.push_back(std::move(found));
  }
  return copied;
}

void
PyramidTIFFConverter::PrepareContent(const gigapixel::CopiedLevel * first)
{
  if (first)
  {
    const gigapixel::PyramidPage & page = first->GetPage();
    const std::string              compressor = GetCompressor(page.compression);
    if (m_ImageIO->GetCompressor() != compressor)
    {
      m_ImageIO->SetCompressor(compressor);
    }
    if (page.tileWidth == page.tileHeight)
    {
      m_ImageIO->SetTileSize(page.tileWidth);
    }
    m_ImageIO->SetBilevel(page.bits == 1);
  }
  if (m_ImageIO->GetContent() == PyramidTIFFImageIO::Content::Automatic)
  {
    gigapixel::PyramidDescription own;
    const std::string             text = GetText(m_Slide->GetMetaDataDictionary(), "tiff.ImageDescription");
    const bool                    isOwn = gigapixel::PyramidDescription::Parse(text, own);
    const bool                    isPicture =
      isOwn ? !own.labels : m_ImageIO->GetCompressor() == "JPEG" || m_ImageIO->GetCompressor() == "WEBP";
    if (isPicture)
    {
      m_ImageIO->SetContent(PyramidTIFFImageIO::Content::Picture);
    }
  }
}

void
PyramidTIFFConverter::PrepareImageIO(const RegionType & region)
{
  const double downsample = m_Slide->GetLevelDownsample(m_Slide->GetLevel());
  m_ImageIO->SetNumberOfDimensions(2);
  for (unsigned int axis = 0; axis < 2; ++axis)
  {
    const double spacing = m_Slide->GetSpacing(axis);
    m_ImageIO->SetDimensions(axis, region[axis + 2]);
    m_ImageIO->SetSpacing(axis, spacing);
    m_ImageIO->SetOrigin(axis, m_Slide->GetOrigin(axis) + static_cast<double>(region[axis]) * spacing);
  }
  m_ImageIO->SetComponentType(m_Slide->GetComponentType());
  m_ImageIO->SetPixelType(m_Slide->GetPixelType());
  m_ImageIO->SetNumberOfComponents(m_Slide->GetNumberOfComponents());
  MetaDataDictionary dictionary = m_Slide->GetMetaDataDictionary();
  const double       power = GetObjectivePower(dictionary);
  if (power > 0)
  {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << power / downsample;
    EncapsulateMetaData<std::string>(dictionary, "openslide.objective-power", text.str());
  }
  m_ImageIO->SetMetaDataDictionary(dictionary);
}

void
PyramidTIFFConverter::Update()
{
  if (!m_Slide || !m_ImageIO)
  {
    itkExceptionMacro("a slide and an ImageIO have to be set");
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(m_Slide->GetFileName(), m_ImageIO->GetFileName(), ignored))
  {
    itkExceptionMacro("the output " << m_ImageIO->GetFileName() << " is the slide itself; choose another");
  }
  this->SetAbortGenerateData(false);
  this->InvokeEvent(StartEvent());
  try
  {
    Convert();
  }
  catch (const ExceptionObject &)
  {
    m_ImageIO->m_Writer.reset();
    throw;
  }
  catch (const std::bad_alloc &)
  {
    m_ImageIO->m_Writer.reset();
    itkExceptionMacro("there is not enough memory for a row of tiles of " << m_Slide->GetFileName()
                                                                          << ": write a region, or a coarser level");
  }
  catch (const std::exception & error)
  {
    m_ImageIO->m_Writer.reset();
    itkExceptionMacro(<< error.what());
  }
  this->UpdateProgress(1);
  this->InvokeEvent(EndEvent());
}

void
PyramidTIFFConverter::Convert()
{
  const unsigned int first = m_Slide->GetLevel();
  const auto         copied = FindCopiedLevels();
  const auto         fed = first + std::max<unsigned int>(static_cast<unsigned int>(copied.size()), 1) - 1;
  const RegionType   region = GetRegionOfLevel(first);
  PrepareContent(copied.empty() ? nullptr : copied.front().get());
  PrepareImageIO(region);

  std::vector<gigapixel::PyramidPage> pages;
  m_PixelsDone = 0;
  m_PixelsToDo = 0;
  for (std::size_t i = 0; i < copied.size(); ++i)
  {
    pages.push_back(copied[i]->GetPage());
    pages[i].role = i == 0 ? gigapixel::PyramidPage::Role::First : gigapixel::PyramidPage::Role::Reduced;
    pages[i].downsample =
      m_Slide->GetLevelDownsample(first + static_cast<unsigned int>(i)) / m_Slide->GetLevelDownsample(first);
    m_PixelsToDo += CopyingShare * static_cast<double>(pages[i].width) * static_cast<double>(pages[i].height);
  }
  const auto pictures = m_KeepLabel ? OpenAssociatedImages() : std::vector<WholeSlideImageIO::Pointer>();
  const auto properties =
    m_KeepLabel ? GetVendorProperties(m_Slide->GetMetaDataDictionary()) : std::map<std::string, std::string>();
  m_ImageIO->Begin(pages, properties);
  const RegionType fedRegion = GetRegionOfLevel(fed);
  const bool       hasRows = m_ImageIO->m_Writer->GetNumberOfWantedRows() > 0;
  m_PixelsToDo += hasRows ? static_cast<double>(fedRegion[2]) * static_cast<double>(fedRegion[3]) : 0;
  CopyLevels(copied);
  if (hasRows)
  {
    WriteRows(fed, fedRegion);
  }
  CopyAssociatedImages(pictures);
  if (m_CopyTiles && (copied.empty() || m_Slide->GetStrict())) // all were decoded, which else nobody could know
  {
    m_ImageIO->m_Description->properties[gigapixel::RecordedDamageKey] = "0";
  }
  m_ImageIO->Finish(m_Slide);
}

/** Reads a tile, for what a strict slide says of it. */
void
PyramidTIFFConverter::CheckTile(unsigned int level, const RegionType & tile) const
{
  const unsigned int         channels = m_Slide->GetNumberOfComponents();
  std::vector<unsigned char> pixels(tile[2] * tile[3] * channels * m_Slide->GetComponentSize());
  m_Slide->ReadRegion(level, tile[0], tile[1], tile[2], tile[3], channels, pixels.data());
}

void
PyramidTIFFConverter::CopyLevels(const CopiedLevels & copied)
{
  m_NumberOfCopiedLevels = static_cast<unsigned int>(copied.size());
  m_NumberOfCopiedTiles = 0;
  for (std::size_t level = 0; level < copied.size(); ++level)
  {
    const gigapixel::PyramidPage & page = copied[level]->GetPage();
    const double                   tilePixels = static_cast<double>(page.width) * static_cast<double>(page.height) /
                              static_cast<double>(copied[level]->GetNumberOfTiles());
    const auto       levelOfSlide = m_Slide->GetLevel() + static_cast<unsigned int>(level);
    const RegionType region = GetRegionOfLevel(levelOfSlide);
    for (std::uint64_t tile = 0; tile < copied[level]->GetNumberOfTiles(); ++tile)
    {
      if (m_Slide->GetStrict())
      {
        const SizeValueType x = tile % page.GetTilesAcross() * page.tileWidth;
        const SizeValueType y = tile / page.GetTilesAcross() * page.tileHeight;
        CheckTile(levelOfSlide,
                  { { region[0] + x,
                      region[1] + y,
                      std::min<SizeValueType>(page.tileWidth, region[2] - x),
                      std::min<SizeValueType>(page.tileHeight, region[3] - y) } });
      }
      m_ImageIO->m_Writer->CopyTile(level, copied[level]->ReadTile(tile));
      Advance(CopyingShare * tilePixels);
      ++m_NumberOfCopiedTiles;
    }
  }
}

WholeSlideImageIO::Pointer
PyramidTIFFConverter::OpenSlide() const
{
  const auto reader = WholeSlideImageIO::New();
  reader->SetFileName(m_Slide->GetFileName());
  reader->SetGray(m_Slide->GetGray());
  reader->SetGrayFromRGB(m_Slide->GetGrayFromRGB());
  reader->SetConvertToSRGB(m_Slide->GetConvertToSRGB());
  reader->SetStrict(m_Slide->GetStrict());
  reader->SetLevelZeroMicronsPerPixel(m_Slide->GetLevelZeroMicronsPerPixel());
  return reader;
}

void
PyramidTIFFConverter::WriteRows(unsigned int level, const RegionType & region)
{
  const auto reader = OpenSlide();
  reader->SetLevel(level);
  reader->ReadImageInformation();
  const SizeValueType pixelBytes = reader->GetNumberOfComponents() * reader->GetComponentSize();
  const SizeValueType rowBytes = region[2] * pixelBytes;
  const SizeValueType tileSize = m_ImageIO->GetTileSize();
  const Bands         bands = MakeBands(gigapixel::Slide::Open(m_Slide->GetFileName())->GetPlanes().at(level),
                                region,
                                pixelBytes,
                                std::max<SizeValueType>(BandBytes / (rowBytes * tileSize), 1) * tileSize);
  // Memory that is not written to takes no room: rows that a damaged file states and does not have never do.
  const std::unique_ptr<std::uint8_t[]> rows(new std::uint8_t[rowBytes * std::min(bands.rows, region[3])]);
  for (SizeValueType y = 0, count = 0; y < region[3]; y += count)
  {
    count = std::min(bands.GetRowsFrom(region[1] + y), region[3] - y);
    ImageIORegion band(2);
    band.SetIndex(0, static_cast<IndexValueType>(region[0]));
    band.SetIndex(1, static_cast<IndexValueType>(region[1] + y));
    band.SetSize(0, region[2]);
    band.SetSize(1, count);
    reader->SetIORegion(band);
    reader->Read(rows.get());
    m_ImageIO->m_Writer->WriteRows(rows.get(), band.GetSize(1));
    Advance(static_cast<double>(band.GetNumberOfPixels()));
  }
}

std::vector<WholeSlideImageIO::Pointer>
PyramidTIFFConverter::OpenAssociatedImages() const
{
  std::vector<WholeSlideImageIO::Pointer> readers;
  for (const std::string & name : m_Slide->GetAssociatedImageNames())
  {
    readers.push_back(OpenSlide());
    readers.back()->SetAssociatedImage(name);
    readers.back()->ReadImageInformation();
    const auto channels = readers.back()->GetNumberOfComponents();
    if (readers.back()->GetComponentType() != IOComponentEnum::UCHAR || (channels != 1 && channels != 3))
    {
      itkExceptionMacro(<< m_Slide->GetFileName() << ": its image '" << name << "' has " << channels
                        << " channel(s) of " << 8 * readers.back()->GetComponentSize()
                        << " bit, where a pyramid keeps gray or RGB of 8 bit; leave label and other images out");
    }
  }
  return readers;
}

void
PyramidTIFFConverter::CopyAssociatedImages(const std::vector<WholeSlideImageIO::Pointer> & readers)
{
  for (const auto & reader : readers)
  {
    const SizeValueType       width = reader->GetDimensions(0);
    const SizeValueType       height = reader->GetDimensions(1);
    const std::size_t         channels = reader->GetNumberOfComponents();
    std::vector<std::uint8_t> pixels(width * height * channels);
    reader->Read(pixels.data());
    std::vector<std::uint8_t> rgb(width * height * 3);
    for (std::size_t i = 0; i < rgb.size(); ++i)
    {
      rgb[i] = pixels[i / 3 * channels + (channels == 3 ? i % 3 : 0)];
    }
    m_ImageIO->m_Writer->AddPicture(reader->GetAssociatedImage(), width, height, rgb.data());
  }
}

void
PyramidTIFFConverter::Advance(double pixels)
{
  m_PixelsDone += pixels;
  this->UpdateProgress(static_cast<float>(std::min(m_PixelsDone / m_PixelsToDo, 1.0)));
  if (this->GetAbortGenerateData())
  {
    throw ProcessAborted(__FILE__, __LINE__);
  }
}

void
PyramidTIFFConverter::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Region: " << m_Region[0] << ',' << m_Region[1] << ',' << m_Region[2] << ',' << m_Region[3] << '\n';
  os << indent << "CopyTiles: " << (m_CopyTiles ? "On" : "Off") << '\n';
  os << indent << "KeepLabel: " << (m_KeepLabel ? "On" : "Off") << '\n';
  os << indent << "NumberOfCopiedLevels: " << m_NumberOfCopiedLevels << '\n';
  os << indent << "NumberOfCopiedTiles: " << m_NumberOfCopiedTiles << '\n';
}

} // namespace itk
