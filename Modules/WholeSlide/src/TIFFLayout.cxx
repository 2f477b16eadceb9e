/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TIFFLayout.h"

#include "OMEDescription.h"
#include "XMLTag.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <stdexcept>

namespace gigapixel
{
namespace
{

constexpr std::size_t pageLimit = 4096;

std::string
GetSecondLineWord(const std::string & description)
{
  const std::size_t line = description.find('\n');
  if (line == std::string::npos)
  {
    return {};
  }
  const std::size_t first = description.find_first_not_of(" \r\n", line);
  return first == std::string::npos ? std::string()
                                    : description.substr(first, description.find_first_of(" \r\n", first) - first);
}

/** The usual names of associated images, if the page's texts hold one. */
std::string
GetUsualName(const TIFFPage & page)
{
  std::string text = page.GetText(TIFFTag::ImageDescription);
  text += ' ' + page.GetText(TIFFTag::DocumentName);
  std::transform(
    text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text.size() > 4096)
  {
    return {}; // a description of a whole slide, which may mention anything
  }
  for (const char * const name : { "label", "macro", "thumbnail", "overview" })
  {
    if (text.find(name) != std::string::npos)
    {
      return name;
    }
  }
  return {};
}

bool
HasColorChannels(const TIFFPage & page)
{
  const auto photometric = static_cast<TIFFPhotometric>(page.photometric);
  if (page.samples == 1)
  {
    return photometric == TIFFPhotometric::MinIsBlack || photometric == TIFFPhotometric::MinIsWhite ||
           photometric == TIFFPhotometric::Palette;
  }
  const bool coded = page.compression == static_cast<unsigned>(TIFFCompression::AperioJPEG2000YCbCr) ||
                     page.compression == static_cast<unsigned>(TIFFCompression::JPEG) ||
                     page.compression == static_cast<unsigned>(TIFFCompression::JPEG2000);
  return photometric == TIFFPhotometric::RGB ||
         (photometric == TIFFPhotometric::YCbCr && coded && !page.separatePlanes);
}

/** Of Ventana's level 0: whether it is one scanned area from the corner on, of tiles that do not overlap. Where others'
 * tiles belong is for OpenSlide to find out. */
bool
HasTilesSideBySide(const TIFFPage & page)
{
  const std::string xml = page.GetText(TIFFTag::XMLPacket);
  const std::string area = "<ImageInfo ";
  const std::string joint = "<TileJointInfo ";
  const std::size_t only = xml.find(area);
  const auto        isZero = [](const std::string & text, const char * name) {
    const std::string number = GetXMLAttribute(text, name);
    return !number.empty() && number.find_first_not_of("0.") == std::string::npos;
  };
  if (xml.empty())
  {
    return page.tiled; // Ventana's TIFF, which has neither areas nor overlaps
  }
  if (!page.tiled || only == std::string::npos || only != xml.rfind(area) || !isZero(xml, "Pos-X") ||
      !isZero(xml, "Pos-Y") || !isZero(xml, "OriginX") || !isZero(xml, "OriginY"))
  {
    return false;
  }
  for (std::size_t at = xml.find(joint); at != std::string::npos; at = xml.find(joint, at + 1))
  {
    const std::string element = GetXMLTag(xml, at);
    if (!isZero(element, "OverlapX") || !isZero(element, "OverlapY"))
    {
      return false;
    }
  }
  return true;
}

} // namespace

std::string
GetCompressionName(const TIFFPage & page)
{
  switch (static_cast<TIFFCompression>(page.compression))
  {
    case TIFFCompression::None:
      return "uncompressed";
    case TIFFCompression::LZW:
      return "LZW";
    case TIFFCompression::JPEG:
      return "JPEG";
    case TIFFCompression::AdobeDeflate:
    case TIFFCompression::Deflate:
      return "deflate";
    case TIFFCompression::PackBits:
      return "PackBits";
    case TIFFCompression::AperioJPEG2000YCbCr:
    case TIFFCompression::AperioJPEG2000RGB:
    case TIFFCompression::JPEG2000:
      return "JPEG 2000";
    case TIFFCompression::Zstandard:
      return "zstd";
    case TIFFCompression::WebP:
      return "WebP";
  }
  return {};
}

bool
IsImageCodec(const TIFFPage & page)
{
  const std::string name = GetCompressionName(page);
  return name == "JPEG" || name == "JPEG 2000" || name == "WebP";
}

TIFFAlpha
GetAlpha(const TIFFPage & page)
{
  if (page.samples != 4 || page.bits != 8 || page.photometric != static_cast<unsigned>(TIFFPhotometric::RGB))
  {
    return TIFFAlpha::None;
  }
  switch (page.GetInteger(TIFFTag::ExtraSamples, 0))
  {
    case 1:
      return TIFFAlpha::Premultiplied;
    case 2:
      return TIFFAlpha::Straight;
    default:
      return page.compression == static_cast<unsigned>(TIFFCompression::WebP) ? TIFFAlpha::Straight : TIFFAlpha::None;
  }
}

bool
IsStoredOnly(const TIFFPage & page)
{
  if (page.bits != 8 || page.samples == 1)
  {
    return page.bits > 8;
  }
  const auto photometric = static_cast<TIFFPhotometric>(page.photometric);
  const bool isGray = photometric == TIFFPhotometric::MinIsWhite || photometric == TIFFPhotometric::MinIsBlack ||
                      photometric == TIFFPhotometric::Palette;
  const bool isUnstated = photometric == TIFFPhotometric::RGB && page.samples == 4 && GetAlpha(page) == TIFFAlpha::None;
  return isGray || isUnstated || (page.samples != 3 && page.samples != 4);
}

TIFFObstacle
FindObstacle(const TIFFPage & page)
{
  const auto photometric = static_cast<TIFFPhotometric>(page.photometric);
  const bool isNumber = page.uniformBits && (page.bits == 32 ? page.sampleFormat == 3 && page.predictor == 1
                                                             : (page.bits == 8 || page.bits == 16) &&
                                                                 page.sampleFormat != 2 && page.sampleFormat != 3);
  if (IsStoredOnly(page) && isNumber && page.samples > 0 && page.samples <= 64 && !IsImageCodec(page) &&
      !GetCompressionName(page).empty() && page.predictor <= 2 && page.fillOrder == 1 &&
      (photometric == TIFFPhotometric::MinIsBlack || photometric == TIFFPhotometric::RGB))
  {
    return {};
  }
  const std::string useITK = "read it with itk::TIFFImageIO, or convert it to 8-bit gray or RGB";
  const bool        isBilevel = page.bits == 1 && page.samples == 1 && !IsImageCodec(page);
  if ((page.bits != 8 && !isBilevel) || !page.uniformBits)
  {
    return { "its samples are of " + std::to_string(page.bits) + " bit, where slides have 8", useITK };
  }
  if (page.sampleFormat == 2 || page.sampleFormat == 3)
  {
    return { "its samples are signed, where slides have unsigned ones", useITK };
  }
  if (page.samples != 1 && page.samples != 3 && page.samples != 4)
  {
    return { "it has " + std::to_string(page.samples) + " samples per pixel, where slides have 1, 3 or 4", useITK };
  }
  const std::string name = GetCompressionName(page);
  if (IsStoredOnly(page)) // OpenSlide, by libtiff, would make colors of them, or leave all but the first out
  {
    return { "no tag says that its " + std::to_string(page.samples) + " samples per pixel are colors, and as " +
               (name.empty() ? "compression " + std::to_string(page.compression) : name) + " they are not read",
             "convert it to RGB, or to channels in deflate" };
  }
  if (name.empty())
  {
    return { "its compression (" + std::to_string(page.compression) + ") is not supported",
             "convert it to JPEG or deflate tiles",
             true };
  }
  const bool coded = IsImageCodec(page);
  if (!HasColorChannels(page))
  {
    return { "its colors (photometric interpretation " + std::to_string(page.photometric) + ", " + name +
               ") are not supported",
             "convert it to RGB",
             true };
  }
  if (page.samples == 4 && name != "WebP" && coded)
  {
    return { "it has 4 samples per pixel in " + name, "convert it to RGB" };
  }
  if (!coded && (page.predictor > 2 || page.fillOrder != 1))
  {
    return { "its predictor or bit order is not supported", "convert it with tiffcp", true };
  }
  return {};
}

std::string
FindVendorMark(const std::string & path)
{
  try
  {
    const TIFFFile    file(path);
    std::uint64_t     next = 0;
    const TIFFPage    page(file, file.GetFirstPage(), next);
    const std::string software = page.GetText(TIFFTag::Software);
    if (page.Find(TIFFTag::HamamatsuFormat) != nullptr)
    {
      return "hamamatsu";
    }
    if (software.rfind("MedScan", 0) == 0)
    {
      return "trestle";
    }
    if (page.GetText(TIFFTag::ImageDescription).find("leica-microsystems.com") != std::string::npos)
    {
      return "leica";
    }
    if (software.rfind("Philips", 0) == 0)
    {
      return "philips";
    }
    return page.GetText(TIFFTag::XMLPacket).find("iScan") != std::string::npos ? "ventana" : "";
  }
  catch (const std::runtime_error &)
  {
    return {};
  }
}

TIFFLayout::TIFFLayout(const std::string & path)
  : m_File(new TIFFFile(path))
{
  ReadPages();
  const TIFFPage &  first = *m_Pages.front();
  const std::string description = first.GetText(TIFFTag::ImageDescription);
  if (first.tiled && description.rfind("Aperio", 0) == 0)
  {
    m_Vendor = "aperio";
    SortOutAperio();
  }
  else if (first.tiled && first.GetText(TIFFTag::Software).rfind("Philips", 0) == 0 &&
           description.find("DPUfsImport") != std::string::npos)
  {
    m_Vendor = "philips";
    SortOutPhilips();
  }
  else if (SortOutVentana())
  {
    m_Vendor = "ventana";
  }
  else if (!SortOutChannels())
  {
    SortOutPages();
  }
  std::stable_sort(m_Levels.begin(), m_Levels.end(), [this](std::size_t a, std::size_t b) {
    return m_Pages[a]->width > m_Pages[b]->width;
  });
  m_FurtherChannels.resize(m_Levels.size());
}

/** The children of a page, which become pages behind the others. */
std::vector<std::size_t>
TIFFLayout::ReadChildren(std::size_t page)
{
  std::vector<std::size_t> numbers;
  const TIFFEntry * const  children = m_Pages[page]->Find(TIFFTag::SubIFDs);
  if (children != nullptr)
  {
    for (const std::uint64_t child : m_File->ReadIntegers(*children, pageLimit))
    {
      if (m_Pages.size() >= 2 * pageLimit)
      {
        throw std::runtime_error("it has too many pages"); // a few bytes may name the same children again and again
      }
      std::uint64_t ignored = 0;
      m_Pages.push_back(std::make_unique<TIFFPage>(*m_File, child, ignored));
      m_Pages.back()->subfileType |= 1;
      numbers.push_back(m_Pages.size() - 1);
    }
  }
  return numbers;
}

/** Pages that are as large as the first and no reductions of it. */
std::size_t
TIFFLayout::CountAlikePages() const
{
  const TIFFPage & base = *m_Pages.front();
  const auto       end = m_Pages.begin() + static_cast<std::ptrdiff_t>(m_MainPages);
  return static_cast<std::size_t>(std::count_if(m_Pages.begin(), end, [&base](const auto & page) {
    return !page->IsReduced() && page->width == base.width && page->height == base.height;
  }));
}

/** OME-TIFF: one page per channel, each with its reductions as children. Of stacks in depth or time nothing is made,
 * nor of pages that are others than the XML says. */
bool
TIFFLayout::SortOutChannels()
{
  const TIFFPage & base = *m_Pages.front();
  const auto       described = OMEDescription::Parse(base.GetText(TIFFTag::ImageDescription));
  if (!described)
  {
    return false;
  }
  m_ChannelNames = described->names;
  m_Obstacle.what = described->FindContradiction(base.samples, m_MainPages, CountAlikePages());
  if (!m_Obstacle.what.empty())
  {
    m_Obstacle.remedy = "write what is wanted of it as an OME-TIFF of one plane, e.g. with bfconvert of Bio-Formats";
    m_Levels.push_back(0);
    return true;
  }
  if (base.samples != 1 || described->channels < 2)
  {
    return false;
  }
  const std::size_t channels = described->channels;
  m_ChannelNames.resize(channels);
  const auto isAlike = [this](std::size_t a, std::size_t b) {
    const TIFFPage & one = *m_Pages[a];
    const TIFFPage & other = *m_Pages[b];
    return one.width == other.width && one.height == other.height && one.bits == other.bits &&
           one.sampleFormat == other.sampleFormat && one.samples == other.samples &&
           one.pieceWidth == other.pieceWidth && one.pieceHeight == other.pieceHeight;
  };
  std::vector<std::vector<std::size_t>> pagesOfChannels;
  for (std::size_t channel = 0; channel < channels; ++channel)
  {
    std::vector<std::size_t> pages{ described->pages[channel] };
    const auto               children = ReadChildren(pages.front());
    pages.insert(pages.end(), children.begin(), children.end());
    pagesOfChannels.push_back(std::move(pages));
    if (pagesOfChannels.back().size() != pagesOfChannels.front().size())
    {
      throw std::runtime_error("its channels have different numbers of levels");
    }
  }
  for (std::size_t level = 0; level < pagesOfChannels.front().size(); ++level)
  {
    m_Levels.push_back(pagesOfChannels.front()[level]);
    m_FurtherChannels.emplace_back();
    for (std::size_t channel = 1; channel < channels; ++channel)
    {
      if (m_Pages[m_Levels.back()]->samples != 1 || !isAlike(m_Levels.back(), pagesOfChannels[channel][level]))
      {
        throw std::runtime_error("its channels are of different sizes or kinds");
      }
      m_FurtherChannels.back().push_back(pagesOfChannels[channel][level]);
    }
  }
  if (!std::is_sorted(m_Levels.begin(), m_Levels.end(), [this](std::size_t a, std::size_t b) {
        return m_Pages[a]->width > m_Pages[b]->width;
      }))
  {
    throw std::runtime_error("its levels are not in the order of their sizes");
  }
  for (std::size_t page = 0; page < m_MainPages; ++page)
  {
    if (std::find(described->pages.begin(), described->pages.end(), page) == described->pages.end())
    {
      AddAssociated(GetUsualName(*m_Pages[page]), page);
    }
  }
  return true;
}

void
TIFFLayout::ReadPages()
{
  std::set<std::uint64_t> seen;
  std::uint64_t           next = m_File->GetFirstPage();
  while (next != 0 && seen.insert(next).second && m_Pages.size() < pageLimit)
  {
    std::uint64_t behind = 0;
    m_Pages.push_back(std::make_unique<TIFFPage>(*m_File, next, behind));
    next = behind;
  }
  if (m_Pages.empty() || m_Pages.front()->width == 0 || m_Pages.front()->height == 0)
  {
    throw std::runtime_error("it has no page with pixels");
  }
  m_MainPages = m_Pages.size();
  const TIFFEntry * const children = m_Pages.front()->Find(TIFFTag::SubIFDs);
  if (children != nullptr)
  {
    for (const std::uint64_t child : m_File->ReadIntegers(*children, pageLimit))
    {
      if (child != 0 && seen.insert(child).second)
      {
        std::uint64_t ignored = 0;
        m_Pages.push_back(std::make_unique<TIFFPage>(*m_File, child, ignored));
        m_Pages.back()->subfileType |= 1; // children of a page are its reductions, marked or not
      }
    }
  }
}

void
TIFFLayout::AddAssociated(std::string name, std::size_t page)
{
  const bool taken = std::any_of(
    m_Associated.begin(), m_Associated.end(), [&name](const Associated & other) { return other.name == name; });
  if (!FindObstacle(*m_Pages[page]).what.empty() || m_Pages[page]->width == 0 || m_Pages[page]->height == 0)
  {
    return;
  }
  m_Associated.push_back({ taken || name.empty() ? "page " + std::to_string(page + 1) : std::move(name), page });
}

/** Tiled pages are levels, the second page is the thumbnail, other pages say their names in their second line. */
void
TIFFLayout::SortOutAperio()
{
  for (std::size_t i = 0; i < m_Pages.size(); ++i)
  {
    const TIFFPage & page = *m_Pages[i];
    if (page.tiled && page.GetInteger(TIFFTag::ImageDepth, 1) <= 1 && page.width <= m_Pages.front()->width &&
        page.width > 0 && page.height > 0)
    {
      m_Levels.push_back(i);
    }
    else if (!page.tiled)
    {
      AddAssociated(i == 1 ? "thumbnail" : GetSecondLineWord(page.GetText(TIFFTag::ImageDescription)), i);
    }
  }
}

/** Tiled pages are levels, others say what they are. Older files keep their pictures in the XML instead. */
void
TIFFLayout::SortOutPhilips()
{
  for (std::size_t i = 0; i < m_Pages.size(); ++i)
  {
    if (m_Pages[i]->tiled)
    {
      m_Levels.push_back(i);
    }
    else
    {
      AddAssociated(GetUsualName(*m_Pages[i]), i);
    }
  }
  const std::string xml = m_Pages.front()->GetText(TIFFTag::ImageDescription);
  if (m_Associated.empty() && xml.find("PIM_DP_IMAGE_DATA") != std::string::npos)
  {
    throw std::runtime_error("its pictures stand in its XML");
  }
}

/** Ventana's TIFF, and its BIF where tiles lie side by side. Pages say what they are in their descriptions. */
bool
TIFFLayout::SortOutVentana()
{
  if (m_Pages.front()->GetText(TIFFTag::XMLPacket).find("<iScan") == std::string::npos)
  {
    return false;
  }
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < m_Pages.size(); ++i)
  {
    const bool isLevel = m_Pages[i]->GetText(TIFFTag::ImageDescription).find("level=") != std::string::npos;
    (isLevel ? m_Levels : others).push_back(i);
  }
  if (m_Levels.empty() || !HasTilesSideBySide(*m_Pages[m_Levels.front()]))
  {
    m_Levels.clear();
    return false;
  }
  for (const std::size_t page : others)
  {
    const std::string name = GetUsualName(*m_Pages[page]);
    AddAssociated(name == "label" ? "macro" : name, page); // it shows the whole glass
  }
  return true;
}

bool
TIFFLayout::IsLevelOf(const TIFFPage & base, const TIFFPage & page) const
{
  if (!page.IsReduced() || (page.subfileType & 4) != 0 || page.tiled != base.tiled || page.samples != base.samples ||
      page.bits != base.bits || IsStoredOnly(page) != IsStoredOnly(base) || page.width == 0 || page.height == 0 ||
      page.width >= base.width || page.height > base.height)
  {
    return false;
  }
  // The same picture: one downsample for both sides, but for the rounding of the level's size by a pixel.
  const double acrossRatio = static_cast<double>(base.width) / static_cast<double>(page.width);
  const double expected = static_cast<double>(base.height) / acrossRatio;
  const double slack = 1.0 + expected / static_cast<double>(page.width);
  return std::abs(expected - static_cast<double>(page.height)) <= slack;
}

void
TIFFLayout::SortOutPages()
{
  const TIFFPage & base = *m_Pages.front();
  m_Levels.push_back(0);
  for (std::size_t i = 1; i < m_Pages.size(); ++i)
  {
    const TIFFPage & page = *m_Pages[i];
    if (IsLevelOf(base, page))
    {
      m_Levels.push_back(i);
      continue;
    }
    const std::string name = GetUsualName(page);
    m_HasOtherPages = m_HasOtherPages || (page.subfileType & 4) != 0 || (!page.IsReduced() && name.empty());
    AddAssociated(name, i);
  }
}

bool
TIFFLayout::IsTiledPyramid() const
{
  const TIFFPage & base = *m_Pages.front();
  // What libtiff may decode and we do not stays with who uses libtiff.
  constexpr unsigned libtiffs[] = { 2, 3, 4, 6, 32766, 32809, 34661, 34676, 34677, 34887, 34925 };
  const bool isLibtiffs = std::find(std::begin(libtiffs), std::end(libtiffs), base.compression) != std::end(libtiffs);
  if (!m_Obstacle.what.empty())
  {
    return false;
  }
  if (!m_ChannelNames.empty() && !m_HasOtherPages && base.tiled && m_Levels.size() > 1 &&
      FindObstacle(base).what.empty())
  {
    return true; // a pyramid of OME-TIFF, of which other readers would make a stack
  }
  const bool isBilevel = base.bits == 1 && base.samples == 1;
  return base.tiled && (base.bits == 8 || isBilevel) && base.uniformBits && base.sampleFormat != 2 &&
         base.sampleFormat != 3 && (base.samples == 1 || base.samples == 3) && !IsStoredOnly(base) && !isLibtiffs &&
         !m_HasOtherPages;
}

} // namespace gigapixel
