/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "itkPyramidTIFFConverter.h"

#include "pyramid/CopiedLevel.h"
#include "pyramid/PyramidDescription.h"
#include "pyramid/PyramidWriter.h"
#include "slide/Slide.h"

#include "gigapixelFormatCount.h"
#include "gigapixelSlidePixels.h"

#include "itkGigapixelException.h"
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

/** The texts of a slide: names, dates, barcodes among them. The pyramid has TIFF tags of its own, so that those of the
 * slide get other names. */
std::map<std::string, std::string>
GetTexts(const MetaDataDictionary & dictionary)
{
  std::map<std::string, std::string> texts;
  for (const std::string & key : dictionary.GetKeys())
  {
    const std::string maker = key.substr(0, key.find('.'));
    if (maker == "tiff")
    {
      texts["source." + key] = GetText(dictionary, key);
    }
    else if (maker != key && maker != "gigapixel" && (maker != "openslide" || key == "openslide.comment"))
    {
      texts[key] = GetText(dictionary, key);
    }
  }
  return texts;
}

/** Whether components are channels, and neither gray nor colors. */
bool
HasChannels(const WholeSlideImageIO & slide)
{
  return slide.GetPixelType() == IOPixelEnum::VECTOR;
}

/** Whether samples can be no labels, or the file names their channel. */
bool
IsMeasured(const WholeSlideImageIO & slide)
{
  const auto channels = slide.GetChannelEntries();
  const auto color = channels.size() == 1 ? gigapixel::ReadHexColor(channels.front().color) : std::nullopt;
  const bool isColored = color && ((*color)[0] != (*color)[1] || (*color)[1] != (*color)[2]); // programs name white
  return slide.GetComponentType() == IOComponentEnum::FLOAT || isColored ||
         slide.GetMetaDataDictionary().HasKey("gigapixel.channel-names");
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

/** \param tile the sides of a tile in the level that is read \param tileBytes of a tile, decoded
 * \param rows that a band would have otherwise */
Bands
MakeBands(const WholeSlideImageIO::LevelSizeType & tile,
          const PyramidTIFFConverter::RegionType & region,
          SizeValueType                            tileBytes,
          SizeValueType                            pixelBytes,
          SizeValueType                            rows)
{
  const SizeValueType columns = (region[0] + region[2] - 1) / tile[0] - region[0] / tile[0] + 1;
  // A single tile stays, whatever its size.
  if (columns == 1 || rows >= tile[1] || columns * tileBytes <= WholeSlideImageIO::GetTileCacheLimit())
  {
    return { rows };
  }
  const SizeValueType most = std::max(MostBandBytes, 2 * tileBytes);
  const SizeValueType parts = (region[2] * pixelBytes * tile[1] + most - 1) / most;
  return { std::max(rows, (tile[1] + parts - 1) / parts), tile[1] };
}
} // namespace

PyramidTIFFConverter::PyramidTIFFConverter() = default;
PyramidTIFFConverter::~PyramidTIFFConverter() = default;

/** The slide, which \a reader holds open, as the library below knows it. */
std::shared_ptr<const gigapixel::Slide>
PyramidTIFFConverter::OpenShared(const WholeSlideImageIO & reader)
{
  return gigapixel::Slide::Open(reader.GetFileName(),
                                { reader.GetImage(), reader.GetFocalPlane() },
                                reader.GetStoredValues() ? gigapixel::TIFFReading::Labels
                                                         : gigapixel::TIFFReading::Colors,
                                { reader.GetChannels(), reader.GetWindow(), reader.GetAsPicture() });
}

/** The finest page of a TIFF whose samples may be labels: one per pixel. */
std::shared_ptr<const gigapixel::TIFFPage>
PyramidTIFFConverter::FindPageOfLabels(const WholeSlideImageIO & reader)
{
  const auto layout = OpenShared(reader)->GetTIFFLayout();
  if (!layout || !layout->GetLevels().front().furtherChannels.empty())
  {
    return nullptr;
  }
  const gigapixel::TIFFPage & page = layout->GetPage(layout->GetLevels().front().page);
  return page.samples == 1 ? std::shared_ptr<const gigapixel::TIFFPage>(layout, &page) : nullptr;
}

/** Whether the pyramid's values are labels, of whatever format the slide is. */
bool
PyramidTIFFConverter::DecideLabels() const
{
  using Content = PyramidTIFFImageIO::Content;
  if (m_ImageIO->GetContent() != Content::Automatic)
  {
    return m_ImageIO->GetContent() == Content::Labels;
  }
  gigapixel::PyramidDescription own;
  if (gigapixel::PyramidDescription::Parse(GetText(m_Slide->GetMetaDataDictionary(), "tiff.ImageDescription"), own))
  {
    return own.labels;
  }
  if (!m_Slide->GetChannelChoice().empty() || m_Slide->GetMetaDataDictionary().HasKey("gigapixel.focal-plane"))
  {
    return false;
  }
  const auto        page = FindPageOfLabels(*m_Slide);
  const std::string stored = page && m_CopyTiles ? GetCompressor(page->compression) : "";
  for (const std::string & compressor : { std::string(m_ImageIO->GetCompressor()), stored })
  {
    if (compressor == "JPEG" || compressor == "WEBP")
    {
      return false;
    }
  }
  return (page != nullptr || m_Slide->GetNumberOfComponents() == 1) && !IsMeasured(*m_Slide);
}

bool
PyramidTIFFConverter::HoldsLabels() const
{
  return FindPageOfLabels(*m_Slide) != nullptr && DecideLabels();
}

const WholeSlideImageIO *
PyramidTIFFConverter::GetReadSlide()
{
  m_HoldsLabels = DecideLabels();
  m_ReadSlide = m_Slide;
  if (m_HoldsLabels && !m_Slide->GetStoredValues() && FindPageOfLabels(*m_Slide))
  {
    const auto reader = OpenSlide();
    reader->StoredValuesOn(); // and not the colors of a palette
    reader->ReadImageInformation();
    reader->GiveWarningsOn(); // of damaged tiles, which it alone meets
    m_ReadSlide = reader;
  }
  return m_ReadSlide;
}

void
PyramidTIFFConverter::ChooseCompressor()
{
  using Content = PyramidTIFFImageIO::Content;
  const Content content = m_ImageIO->GetContent();
  const bool    isBytes = m_Slide->GetComponentType() == IOComponentEnum::UCHAR;
  const bool    isColor = m_Slide->GetNumberOfComponents() == 3 && FindPageOfLabels(*m_Slide) == nullptr;
  const bool    isPicture =
    content == Content::Picture || isColor || m_Slide->GetDecoder().find("JPEG") != std::string::npos;
  // Channels that were chosen are wanted with their values, unless a window makes a picture of them.
  const bool areValues = !m_Slide->GetChannels().empty() && m_Slide->GetWindow().empty() && !m_Slide->GetAsPicture();
  const bool mayLose = isBytes && isPicture && content != Content::Labels && !areValues && !HasChannels(*m_Slide);
  m_ImageIO->SetCompressor(mayLose ? "JPEG" : "DEFLATE");
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
  const auto downsamples = m_Slide->GetLevelDownsamples(level);
  RegionType region{};
  for (std::size_t axis = 0; axis < 2; ++axis)
  {
    const SizeValueType begin = m_Region[axis];
    const SizeValueType size = m_Region[axis + 2];
    if (size == 0 || begin >= base[axis] || size > base[axis] - begin)
    {
      std::ostringstream value;
      value << m_Region[0] << ',' << m_Region[1] << ',' << m_Region[2] << ',' << m_Region[3];
      std::ostringstream why;
      why << "the region " << value.str() << " is not inside the slide, which has " << base[0] << " x " << base[1]
          << " pixels";
      itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-REGION", why.str(), "choose a region inside it")
                                   .OfFile(m_Slide->GetFileName())
                                   .OfOption("--region", value.str()));
    }
    const auto stretch = ScaleStretch(begin, size, downsamples[axis], all[axis]);
    region[axis] = stretch[0];
    region[axis + 2] = stretch[1];
  }
  return region;
}

PyramidTIFFConverter::CopiedLevels
PyramidTIFFConverter::FindCopiedLevels() const
{
  CopiedLevels copied;
  const bool   convertsColors = m_ReadSlide->GetMetaDataDictionary().HasKey("gigapixel.colors");
  // Of other slides, tiles need more than their places: an order of their own, overlaps, tables elsewhere.
  const auto layout = OpenShared(*m_ReadSlide)->GetTIFFLayout();
  if (!m_CopyTiles || !layout || convertsColors || HasChannels(*m_ReadSlide))
  {
    return copied;
  }
  const auto first = m_ReadSlide->GetLevel();
  for (unsigned int level = first; level < m_ReadSlide->GetNumberOfLevels(); ++level)
  {
    const RegionType region = GetRegionOfLevel(level);
    auto             found = gigapixel::CopiedLevel::Find(layout, level, region[0], region[1], region[2], region[3]);
    const double     downsample = m_ReadSlide->GetLevelDownsample(level);
    // A tile's edge has to be the same place as on the level above, not only the nearest pixel to it.
    const bool isSamePlace = std::all_of(m_Region.begin(), m_Region.begin() + 2, [downsample](SizeValueType at) {
      return std::fmod(static_cast<double>(at), downsample) < 1e-6;
    });
    if (!found || !isSamePlace || found->GetPage().samples != m_ReadSlide->GetNumberOfComponents() ||
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
  if (m_ImageIO->GetContent() == PyramidTIFFImageIO::Content::Automatic && !m_HoldsLabels)
  {
    m_ImageIO->SetContent(PyramidTIFFImageIO::Content::Picture);
  }
}

void
PyramidTIFFConverter::PrepareImageIO(const RegionType & region)
{
  const double downsample = m_ReadSlide->GetLevelDownsample(m_ReadSlide->GetLevel());
  m_ImageIO->SetNumberOfDimensions(2);
  for (unsigned int axis = 0; axis < 2; ++axis)
  {
    const double spacing = m_ReadSlide->GetSpacing(axis);
    m_ImageIO->SetDimensions(axis, region[axis + 2]);
    m_ImageIO->SetSpacing(axis, spacing);
    m_ImageIO->SetOrigin(axis, m_ReadSlide->GetOrigin(axis) + static_cast<double>(region[axis]) * spacing);
  }
  m_ImageIO->SetComponentType(m_ReadSlide->GetComponentType());
  m_ImageIO->SetPixelType(m_ReadSlide->GetPixelType());
  m_ImageIO->SetNumberOfComponents(m_ReadSlide->GetNumberOfComponents());
  MetaDataDictionary dictionary = m_ReadSlide->GetMetaDataDictionary();
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
    itkGigapixelExceptionMacro(gigapixel::Diagnostic(
      "E-OPTION-MISSING", "a slide and an ImageIO have to be set", "call SetSlide and SetImageIO"));
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(m_Slide->GetFileName(), m_ImageIO->GetFileName(), ignored))
  {
    itkGigapixelExceptionMacro(
      gigapixel::Diagnostic("E-OUTPUT-INPUT", "the output is the slide itself", "choose another name")
        .OfFile(m_ImageIO->GetFileName()));
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
    itkGigapixelExceptionMacro(gigapixel::Diagnostic("E-MEMORY",
                                                     "there is not enough memory for a row of tiles",
                                                     "write a region, or a coarser level")
                                 .OfFile(m_Slide->GetFileName()));
  }
  catch (const std::exception & error)
  {
    m_ImageIO->m_Writer.reset();
    const gigapixel::Diagnostic inner = gigapixel::Diagnostic::Of(error);
    itkGigapixelExceptionMacro(inner.file.empty() ? inner.OfFile(m_ImageIO->GetFileName()) : inner);
  }
  this->UpdateProgress(1);
  this->InvokeEvent(EndEvent());
}

void
PyramidTIFFConverter::Convert()
{
  GetReadSlide();
  const unsigned int first = m_ReadSlide->GetLevel();
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
      m_ReadSlide->GetLevelDownsample(first + static_cast<unsigned int>(i)) / m_ReadSlide->GetLevelDownsample(first);
    m_PixelsToDo += CopyingShare * static_cast<double>(pages[i].width) * static_cast<double>(pages[i].height);
  }
  const auto pictures = m_KeepLabel ? OpenAssociatedImages() : std::vector<WholeSlideImageIO::Pointer>();
  const bool keepsText = m_KeepText || m_KeepLabel;
  m_ImageIO->SetKeepText(keepsText);
  const auto page = m_ReadSlide->GetStoredValues() ? FindPageOfLabels(*m_ReadSlide) : nullptr; // whose palette is kept
  const auto source = page ? gigapixel::CopiedLevel::Describe(*page) : gigapixel::PyramidPage();
  auto properties = keepsText ? GetTexts(m_ReadSlide->GetMetaDataDictionary()) : std::map<std::string, std::string>();
  m_ImageIO->Begin(pages, properties, page ? &source : nullptr);
  const RegionType fedRegion = GetRegionOfLevel(fed);
  const bool       hasRows = m_ImageIO->m_Writer->GetNumberOfWantedRows() > 0;
  const unsigned   planes = HasChannels(*m_ReadSlide) ? m_ReadSlide->GetNumberOfComponents() : 1;
  m_PixelsToDo += hasRows ? planes * static_cast<double>(fedRegion[2]) * static_cast<double>(fedRegion[3]) : 0;
  CopyLevels(copied);
  for (unsigned plane = 0; hasRows && plane < planes; ++plane)
  {
    WriteRows(plane, fed, fedRegion);
  }
  CopyAssociatedImages(pictures);
  if (m_CopyTiles && (copied.empty() || m_ReadSlide->GetStrict())) // all were decoded, which else nobody could know
  {
    m_ImageIO->m_Description->properties[gigapixel::RecordedDamageKey] = "0";
  }
  m_ImageIO->Finish(m_ReadSlide);
}

/** Reads a tile, for what a strict slide says of it. */
void
PyramidTIFFConverter::CheckTile(unsigned int level, const RegionType & tile) const
{
  const unsigned int         channels = m_ReadSlide->GetNumberOfComponents();
  std::vector<unsigned char> pixels(tile[2] * tile[3] * channels * m_ReadSlide->GetComponentSize());
  m_ReadSlide->ReadRegion(level, tile[0], tile[1], tile[2], tile[3], channels, pixels.data());
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
    const auto       levelOfSlide = m_ReadSlide->GetLevel() + static_cast<unsigned int>(level);
    const RegionType region = GetRegionOfLevel(levelOfSlide);
    for (std::uint64_t tile = 0; tile < copied[level]->GetNumberOfTiles(); ++tile)
    {
      if (m_ReadSlide->GetStrict())
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
  reader->CopySettings(*(m_ReadSlide ? m_ReadSlide : m_Slide));
  return reader;
}

/** Channels are read one after another, each from end to end. */
void
PyramidTIFFConverter::WriteRows(unsigned int plane, unsigned int level, const RegionType & region)
{
  const auto reader = OpenSlide();
  if (HasChannels(*m_ReadSlide))
  {
    reader->SetChannels({ m_ReadSlide->GetChannels().empty() ? gigapixel::NumberMark + std::to_string(plane + 1)
                                                             : m_ReadSlide->GetChannels()[plane] });
  }
  if (level != m_ReadSlide->GetLevel())
  {
    reader->SetLevel(level);
  }
  reader->SetPickPixels(m_ReadSlide->GetPickPixels() || m_HoldsLabels);
  reader->ReadImageInformation();
  const SizeValueType pixelBytes = reader->GetNumberOfComponents() * reader->GetComponentSize();
  const SizeValueType rowBytes = region[2] * pixelBytes;
  const auto          page = m_ReadSlide->GetStoredValues() ? FindPageOfLabels(*m_ReadSlide) : nullptr;
  const bool          isBit = page && page->bits == 1 && m_ImageIO->GetBilevel(); // 0 or 255 for the writer
  const SizeValueType tileSize = m_ImageIO->GetTileSize();
  const auto          stored = reader->GetLevelTileSize(reader->GetSourceLevel());
  const Bands         bands = MakeBands(reader->GetLevelTileSize(level),
                                region,
                                pixelBytes * stored[0] * stored[1],
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
    if (isBit)
    {
      std::replace(rows.get(), rows.get() + rowBytes * count, std::uint8_t{ 1 }, std::uint8_t{ 255 });
    }
    m_ImageIO->m_Writer->WriteRowsOfPlane(plane, rows.get(), band.GetSize(1));
    Advance(static_cast<double>(band.GetNumberOfPixels()));
  }
}

std::vector<WholeSlideImageIO::Pointer>
PyramidTIFFConverter::OpenAssociatedImages() const
{
  std::vector<WholeSlideImageIO::Pointer> readers;
  for (const std::string & name : m_ReadSlide->GetAssociatedImageNames())
  {
    readers.push_back(OpenSlide());
    readers.back()->SetAssociatedImage(name);
    readers.back()->StoredValuesOff(); // it holds no labels
    readers.back()->ReadImageInformation();
    const auto channels = readers.back()->GetNumberOfComponents();
    if (readers.back()->GetComponentType() != IOComponentEnum::UCHAR || (channels != 1 && channels != 3))
    {
      const std::string why = "its image '" + name + "' has " + gigapixel::FormatCount(channels, "channel") + " of " +
                              std::to_string(8 * readers.back()->GetComponentSize()) +
                              " bit, where a pyramid keeps gray or RGB of 8 bit";
      itkGigapixelExceptionMacro(
        gigapixel::Diagnostic("E-SLIDE-CHANNELS", why, "leave label and other images out (without --keep-label)")
          .OfFile(m_ReadSlide->GetFileName())
          .OfValue(name));
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
  os << indent << "KeepText: " << (m_KeepText ? "On" : "Off") << '\n';
  os << indent << "NumberOfCopiedLevels: " << m_NumberOfCopiedLevels << '\n';
  os << indent << "NumberOfCopiedTiles: " << m_NumberOfCopiedTiles << '\n';
}

} // namespace itk
