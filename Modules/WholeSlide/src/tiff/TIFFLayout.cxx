/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#include "TIFFLayout.h"

#include "files/NumberText.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>

namespace gigapixel
{
namespace
{

bool
IsAlike(const TIFFPage & one, const TIFFPage & other)
{
  return one.width == other.width && one.height == other.height && one.bits == other.bits &&
         one.sampleFormat == other.sampleFormat && one.samples == other.samples &&
         one.photometric == other.photometric && one.pieceWidth == other.pieceWidth &&
         one.pieceHeight == other.pieceHeight;
}

} // namespace

TIFFLayout::TIFFLayout(std::string path, AskedImage image)
  : m_Path(std::move(path))
  , m_AskedImage(std::move(image))
{
  AddFile(m_Path);
  m_PagesOfFirstFile = m_MainPages;
}

/** Reads the page at \a offset, behind the others; \a next becomes the offset of the page behind it, 0 for none. */
TIFFPage &
TIFFLayout::AddPage(const TIFFFile & file, std::uint64_t offset, std::uint64_t & next)
{
  auto page = std::make_unique<TIFFPage>(file, offset, next);
  // An entry is 12 bytes or more, and the children of a page may be read twice. Thousands of pages that share their
  // bytes would take the machine's memory.
  m_Entries += page->GetNumberOfEntries();
  if (m_Entries > m_Bytes / 12 * 2)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "its page tables overlap"));
  }
  m_Pages.push_back(std::move(page));
  return *m_Pages.back();
}

std::size_t
TIFFLayout::AddFile(const std::string & path)
{
  m_Files.push_back(std::make_unique<TIFFFile>(path));
  const TIFFFile &  file = *m_Files.back();
  const std::size_t first = m_Pages.size();
  m_Bytes += file.GetFile().GetSize();
  std::uint64_t next = file.GetFirstPage();
  while (next != 0 && m_Offsets.insert({ &file, next }).second && m_Pages.size() < MostPages)
  {
    std::uint64_t behind = 0;
    AddPage(file, next, behind);
    next = behind;
  }
  if (m_Files.size() > 1 && m_Pages.size() >= MostPages)
  {
    throw Refusal(Diagnostic("E-FILE-LIMIT", "the files of the slide have too many pages together"));
  }
  if (m_Pages.size() == first || m_Pages[first]->width == 0 || m_Pages[first]->height == 0)
  {
    throw Refusal(Diagnostic("E-TIFF-FORMAT", "it has no page with pixels"));
  }
  m_MainPages = m_Pages.size();
  return first;
}

bool
TIFFLayout::AddPagesWithoutTables(std::uint64_t pages)
{
  const TIFFPage &    first = *m_Pages.front();
  const std::uint64_t bytes = m_Pages.size() == 1 ? first.GetBareBytes() : 0;
  if (bytes == 0 || pages > MostPages || bytes > (m_Bytes - first.ReadPieces().offsets.front()) / pages)
  {
    return false;
  }
  for (std::uint64_t page = 1; page < pages; ++page)
  {
    m_Pages.push_back(std::make_unique<TIFFPage>(m_Pages.front()->MakeFollowing(page * bytes)));
  }
  m_MainPages = m_PagesOfFirstFile = m_Pages.size();
  return true;
}

std::vector<std::size_t>
TIFFLayout::ReadChildren(std::size_t page)
{
  const auto known = m_Children.find(page);
  if (known != m_Children.end())
  {
    return known->second;
  }
  std::vector<std::size_t> numbers;
  const TIFFEntry * const  children = m_Pages[page]->Find(TIFFTag::SubIFDs);
  if (children != nullptr)
  {
    const TIFFFile & file = m_Pages[page]->GetFile();
    for (const std::uint64_t child : file.ReadIntegers(*children, MostPages))
    {
      if (child == 0 || !m_Offsets.insert({ &file, child }).second) // one page once, be it named by several
      {
        continue;
      }
      if (m_Pages.size() >= 2 * MostPages)
      {
        throw Refusal(Diagnostic("E-TIFF-FORMAT",
                                 "it has too many pages")); // a few bytes may name the same children again and again
      }
      std::uint64_t ignored = 0;
      AddPage(file, child, ignored).subfileType |= 1; // children of a page are its reductions, marked or not
      numbers.push_back(m_Pages.size() - 1);
    }
  }
  m_Children[page] = numbers;
  return numbers;
}

void
TIFFLayout::AddLevel(std::size_t page, std::vector<std::size_t> furtherChannels)
{
  const auto behind = std::find_if(m_Levels.begin(), m_Levels.end(), [this, page](const Level & other) {
    return m_Pages[other.page]->width < m_Pages[page]->width;
  });
  m_Levels.insert(behind, { page, std::move(furtherChannels) });
}

void
TIFFLayout::PlaceChannels(const std::vector<std::size_t> & firstPages)
{
  std::vector<std::vector<std::size_t>> pagesOfChannels;
  for (const std::size_t page : firstPages)
  {
    const auto               children = ReadChildren(page);
    std::vector<std::size_t> pages{ page };
    pages.insert(pages.end(), children.begin(), children.end());
    pagesOfChannels.push_back(std::move(pages));
    if (pagesOfChannels.back().size() != pagesOfChannels.front().size())
    {
      throw Refusal(Diagnostic("E-TIFF-FORMAT", "its channels have different numbers of levels"));
    }
  }
  m_Levels.clear();
  for (std::size_t level = 0; level < pagesOfChannels.front().size(); ++level)
  {
    const std::size_t        first = pagesOfChannels.front()[level];
    std::vector<std::size_t> further;
    for (std::size_t channel = 1; channel < pagesOfChannels.size(); ++channel)
    {
      further.push_back(pagesOfChannels[channel][level]);
      if (GetPage(first).samples != 1 || !IsAlike(GetPage(first), GetPage(further.back())))
      {
        throw Refusal(Diagnostic("E-TIFF-FORMAT", "its channels are of different sizes or kinds"));
      }
    }
    if (level > 0 && GetPage(first).width > GetPage(pagesOfChannels.front()[level - 1]).width)
    {
      throw Refusal(Diagnostic("E-TIFF-FORMAT", "its levels are not in the order of their sizes"));
    }
    AddLevel(first, std::move(further));
  }
}

void
TIFFLayout::AddAssociated(std::string name, std::size_t page)
{
  const bool taken = std::any_of(
    m_Associated.begin(), m_Associated.end(), [&name](const Associated & other) { return other.name == name; });
  const TIFFPage & of = *m_Pages[page];
  if (of.width == 0 || of.height == 0)
  {
    return;
  }
  const TIFFObstacle found = gigapixel::FindObstacle(of);
  if (!found.what.empty())
  {
    // It may be a label that is to be kept, or a level.
    warnings.push_back(Diagnostic("W-SLIDE-CODEC",
                                  "its page " + std::to_string(page + 1) + " (" + (name.empty() ? "" : name + ", ") +
                                    std::to_string(of.width) + " x " + std::to_string(of.height) +
                                    ") is left out: " + found.what,
                                  found.remedy + " if that page is wanted")
                         .OfFile(m_Path)
                         .OfValue(DescribeCompression(of)));
    return;
  }
  m_Associated.push_back({ taken || name.empty() ? "page " + std::to_string(page + 1) : std::move(name), page });
}

void
TIFFLayout::TakeFromOpenSlide(std::map<std::string, std::string> openSlideProperties)
{
  properties = std::move(openSlideProperties);
  const auto getNumber = [this](const std::string & name) {
    const auto found = properties.find("openslide." + name);
    return found == properties.end() ? 0.0 : ToNumber(found->second);
  };
  micronsPerPixel = { getNumber("mpp-x"), getNumber("mpp-y") };
  for (std::size_t level = 0; level < m_Levels.size(); ++level)
  {
    const TIFFPage &  page = *m_Pages[m_Levels[level].page];
    const std::string prefix = "level[" + std::to_string(level) + "].";
    const double      width = getNumber(prefix + "width");
    const double      height = getNumber(prefix + "height");
    if (!(width >= 1.0) || !(height >= 1.0) || width > static_cast<double>(page.width) ||
        height > static_cast<double>(page.height))
    {
      throw Refusal(Diagnostic("E-TIFF-FORMAT", "the sizes of its levels are not known"));
    }
    m_Sizes.push_back({ { static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height) } });
  }
}

bool
TIFFLayout::IsTiledPyramid() const
{
  const TIFFPage & base = *m_Pages[m_Levels.front().page];
  // What libtiff may decode and we do not stays with who uses libtiff.
  constexpr unsigned libtiffs[] = { 2, 3, 4, 6, 32766, 32809, 34661, 34676, 34677, 34887, 34925 };
  const bool isLibtiffs = std::find(std::begin(libtiffs), std::end(libtiffs), base.compression) != std::end(libtiffs);
  const TIFFObstacle found = FindObstacle();
  if (!found.what.empty() && !found.isOpenSlides)
  {
    return false;
  }
  const bool isBilevel = base.bits == 1 && base.samples == 1;
  return base.tiled && (base.bits == 8 || isBilevel) && base.uniformBits && base.sampleFormat != 2 &&
         base.sampleFormat != 3 && (base.samples == 1 || base.samples == 3) && !IsStoredOnly(base) && !isLibtiffs &&
         !m_HasOtherPages;
}

TIFFObstacle
TIFFLayout::FindObstacle() const
{
  if (!obstacle.what.empty())
  {
    return obstacle;
  }
  for (const Level & level : m_Levels)
  {
    std::vector<std::size_t> pages = level.furtherChannels;
    pages.insert(pages.begin(), level.page);
    for (const std::size_t page : pages)
    {
      TIFFObstacle found = gigapixel::FindObstacle(*m_Pages[page], reading);
      if (!found.what.empty())
      {
        return found;
      }
    }
  }
  return {};
}

} // namespace gigapixel
