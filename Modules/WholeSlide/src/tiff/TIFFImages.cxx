/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
// Which pages of a TIFF are associated images, which are levels. One rule for all formats.
#include "TIFFLayout.h"

#include "gigapixelDiagnostic.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <set>

namespace gigapixel
{
namespace
{

constexpr unsigned maskPhotometric = 4;

constexpr TIFFTag namingTags[] = { TIFFTag::ImageDescription, TIFFTag::DocumentName, TIFFTag::PageName };

bool
HasSameSize(const TIFFPage & one, const TIFFPage & other)
{
  return one.width == other.width && one.height == other.height;
}

/** Whether NewSubfileType says that the page is one of a document of several pages, and no reduced one: its picture is
 * another one than that of the pages beside it. */
bool
IsOfDocument(const TIFFPage & page)
{
  return (page.subfileType & 3) == 2;
}

/** Whether pages hold pixels of one kind in one kind of pieces, as the levels of an image do. */
bool
IsSameKind(const TIFFPage & one, const TIFFPage & other)
{
  return one.tiled == other.tiled && one.samples == other.samples && one.bits == other.bits &&
         IsStoredOnly(one) == IsStoredOnly(other);
}

/** Whether the page has the aspect ratio of the base, apart from \a slack pixels. */
bool
HasSameAspect(const TIFFPage & base, const TIFFPage & page, double slack)
{
  const double ratio = static_cast<double>(base.width) / static_cast<double>(page.width);
  const double expected = static_cast<double>(base.height) / ratio;
  // The width of the page is rounded, too.
  return std::abs(expected - static_cast<double>(page.height)) <= slack * (1.0 + expected / page.width);
}

/** Whether the page is smaller by one whole number along both sides, apart from rounding. */
bool
IsWholeReduction(const TIFFPage & base, const TIFFPage & page)
{
  const double width = static_cast<double>(base.width);
  const double factor = std::round(width / static_cast<double>(page.width));
  return factor >= 2.0 && std::abs(width / factor - static_cast<double>(page.width)) <= 1.0 &&
         std::abs(static_cast<double>(base.height) / factor - static_cast<double>(page.height)) <= 1.0;
}

bool
IsLevelOf(const TIFFPage & base, const TIFFPage & page, const PageRules & rules)
{
  if (!IsSameKind(base, page) || page.width >= base.width || page.height > base.height)
  {
    return false;
  }
  if (!page.IsReduced() && !rules.hasUnmarkedLevels)
  {
    return !IsOfDocument(page) && IsWholeReduction(base, page);
  }
  return HasSameAspect(base, page, rules.isPadded ? static_cast<double>(page.pieceHeight + page.pieceWidth) : 1.0);
}

std::string
ToLower(std::string text)
{
  std::transform(
    text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/** Sorts the pages of one file. */
class PageSorting
{
public:
  PageSorting(TIFFLayout & layout, const PageRules & rules)
    : m_Layout(layout)
    , m_Rules(rules)
    , m_Roles(rules.roles)
  {
    m_Roles.resize(layout.GetNumberOfMainPages());
  }

  void
  Sort()
  {
    this->FindMasks();
    this->FindNames();
    this->FindMarks();
    this->FindRuns();
    for (std::size_t page = 0; page < m_Roles.size(); ++page)
    {
      if (IsUndecided(page))
      {
        this->Place(page);
      }
      else if (m_Roles[page].kind == PageRole::Kind::Associated)
      {
        associated[page] = m_Roles[page].name;
      }
    }
    this->MoveLevelsBefore();
    this->MoveSmallImages();
  }

  /** An image whose finest level is the page \a base. */
  struct Head
  {
    std::size_t              base;
    std::vector<std::size_t> levels; // without the base
  };

  std::vector<Head>                  heads;
  std::map<std::size_t, std::string> associated; // names by pages; a name may be empty
  bool                               hasOtherPages = false;

  const PageRole &
  GetRole(std::size_t page) const
  {
    return m_Roles[page];
  }

private:
  /** Pages of one size that follow each other, apart from associated images. */
  struct Run
  {
    std::size_t number = 0;
    std::size_t position = 0;
    std::size_t length = 1;
  };

  const TIFFPage &
  GetPage(std::size_t page) const
  {
    return m_Layout.GetPage(page);
  }

  bool
  IsUndecided(std::size_t page) const
  {
    return m_Roles[page].kind == PageRole::Kind::Unknown || m_Roles[page].kind == PageRole::Kind::Image;
  }

  void
  FindMasks()
  {
    bool hasPicture = false; // else the first page is read as one, or refused
    for (std::size_t i = 0; i < m_Roles.size(); ++i)
    {
      hasPicture = hasPicture || (!IsTransparencyMask(GetPage(i)) && GetPage(i).GetArea() > 0);
    }
    for (std::size_t i = 0; i < m_Roles.size(); ++i)
    {
      const TIFFPage & page = GetPage(i);
      const bool       isMask = (page.subfileType & 4) != 0 || page.photometric == maskPhotometric;
      const bool       isTransparency = (i > 0 || hasPicture) && IsUndecided(i) && IsTransparencyMask(page);
      if (page.width == 0 || page.height == 0 || isTransparency)
      {
        m_Roles[i].kind = PageRole::Kind::Ignored;
      }
      else if (isMask && m_Roles.size() > 1 && IsUndecided(i) && i > 0)
      {
        m_Roles[i].kind = PageRole::Kind::Associated;
        m_Roles[i].name = GetUsualName(page);
        hasOtherPages = true;
      }
    }
  }

  /** In a file that marks a level as reduced, pages without the mark are images. A label or a macro may have the mark
   * where levels have none. */
  void
  FindMarks()
  {
    for (std::size_t i = 0; i < m_Roles.size(); ++i)
    {
      const bool isMarked = i != m_Largest && IsUndecided(i) && GetPage(i).IsReduced();
      m_MarksLevels = m_MarksLevels || (isMarked && IsLevelOf(GetPage(m_Largest), GetPage(i), m_Rules));
    }
    m_MarksLevels = m_MarksLevels && !m_Rules.hasUnmarkedLevels;
  }

  /** The largest of the pages that may be an image; the first one of several. */
  std::size_t
  FindLargest() const
  {
    std::size_t largest = m_Roles.size();
    for (std::size_t i = 0; i < m_Roles.size(); ++i)
    {
      if (IsUndecided(i) && (largest == m_Roles.size() || GetPage(i).GetArea() > GetPage(largest).GetArea()))
      {
        largest = i;
      }
    }
    return largest;
  }

  /** Associated images by what the texts of pages say. A text that only mentions a name does not make the largest page
   * one, nor pages whose largest one says the same: these are levels of a mask of labels, for instance. */
  void
  FindNames()
  {
    if (m_Rules.areTextsNames)
    {
      for (std::size_t i = 0; i < m_Roles.size(); ++i)
      {
        const TIFFPage & page = GetPage(i);
        const bool       isNamed = std::any_of(std::begin(namingTags), std::end(namingTags), [&page](TIFFTag tag) {
          return IsUsualName(page.GetShortText(tag));
        });
        if (isNamed && m_Roles[i].kind == PageRole::Kind::Unknown)
        {
          m_Roles[i].kind = PageRole::Kind::Associated;
          m_Roles[i].name = GetUsualName(page);
        }
      }
    }
    m_Largest = this->FindLargest();
    if (m_Largest == m_Roles.size() && !m_Roles.empty()) // all are associated images: the largest one is the slide
    {
      const auto largest =
        std::max_element(m_Roles.begin(), m_Roles.end(), [this](const auto & one, const auto & other) {
          return GetPage(&one - m_Roles.data()).GetArea() < GetPage(&other - m_Roles.data()).GetArea();
        });
      const std::string name = largest->name;
      for (PageRole & role : m_Roles) // those with its name may be its levels
      {
        role = role.kind == PageRole::Kind::Associated && role.name == name ? PageRole() : role;
      }
      m_Largest = this->FindLargest();
    }
    if (m_Largest == m_Roles.size())
    {
      throw Refusal(Diagnostic("E-TIFF-FORMAT", "it has no page with pixels"));
    }
    const std::string ofLargest = GetUsualName(GetPage(m_Largest));
    for (std::size_t i = 0; i < m_Roles.size() && m_Rules.areTextsNames; ++i)
    {
      const std::string name = GetUsualName(GetPage(i));
      const bool        isUndecided = i != m_Largest && m_Roles[i].kind == PageRole::Kind::Unknown;
      if (isUndecided && !name.empty() && name != ofLargest && !HasSameSize(GetPage(i), GetPage(m_Largest)))
      {
        m_Roles[i].kind = PageRole::Kind::Associated;
        m_Roles[i].name = name;
      }
    }
  }

  void
  FindRuns()
  {
    m_Runs.resize(m_Roles.size());
    std::size_t begin = m_Roles.size();
    std::size_t last = begin;
    for (std::size_t i = 0; i < m_Roles.size(); ++i)
    {
      if (!IsUndecided(i))
      {
        continue;
      }
      const bool goesOn = last < m_Roles.size() && HasSameSize(GetPage(last), GetPage(i));
      begin = goesOn ? begin : i;
      m_Runs[i] = { begin, goesOn ? m_Runs[last].position + 1 : 0, 1 };
      last = i;
    }
    std::map<std::size_t, std::size_t> lengths;
    for (std::size_t i = 0; i < m_Roles.size(); ++i)
    {
      lengths[m_Runs[i].number] = std::max(lengths[m_Runs[i].number], m_Runs[i].position + 1);
    }
    for (Run & run : m_Runs)
    {
      run.length = lengths[run.number];
    }
  }

  bool
  HasLevelOfSize(const Head & head, const TIFFPage & page) const
  {
    return std::any_of(head.levels.begin(), head.levels.end(), [this, &page](std::size_t level) {
      return HasSameSize(GetPage(level), page);
    });
  }

  /** The image before the page that it is a level of. Where several images lie behind each other and then as many
   * pages that are smaller, the first one is of the first image, and so on. */
  Head *
  FindHead(std::size_t page)
  {
    const std::string & part = m_Roles[page].part;
    Head *              found = nullptr;
    for (Head & head : heads)
    {
      const std::string & ofHead = m_Roles[head.base].part;
      const bool          isSamePart = part.empty() || ofHead.empty() || part == ofHead;
      const bool          isImage = m_MarksLevels && !GetPage(page).IsReduced();
      if (!isSamePart || isImage || !IsLevelOf(GetPage(head.base), GetPage(page), m_Rules) ||
          HasLevelOfSize(head, GetPage(page)))
      {
        continue;
      }
      const Run & run = m_Runs[page];
      const bool  isParallel = part.empty() && run.length > 1 && m_Runs[head.base].length == run.length;
      if (!isParallel || m_Runs[head.base].position == run.position)
      {
        found = &head;
      }
    }
    return found;
  }

  void
  Place(std::size_t number)
  {
    const TIFFPage & page = GetPage(number);
    const bool       mayBeLevel = m_Roles[number].kind == PageRole::Kind::Unknown && number != m_Largest;
    Head * const     head = mayBeLevel ? this->FindHead(number) : nullptr;
    if (head != nullptr)
    {
      head->levels.push_back(number);
      return;
    }
    const TIFFPage & largest = GetPage(m_Largest);
    const bool       isLarge = 2 * page.width > largest.width && 2 * page.height > largest.height;
    const bool       isImage = !page.IsReduced() && (isLarge || IsOfDocument(page) || IsSameKind(largest, page));
    if (mayBeLevel && !isImage)
    {
      const bool isThumbnail = number < m_Largest && HasSameAspect(largest, page, 1.0);
      hasOtherPages = hasOtherPages || (!page.IsReduced() && !isThumbnail);
      associated[number] = isThumbnail ? "thumbnail" : "";
      return;
    }
    heads.push_back({ number, {} });
    this->AddChildren(heads.back());
  }

  void
  AddChildren(Head & head)
  {
    for (const std::size_t child : m_Layout.ReadChildren(head.base))
    {
      const TIFFPage & page = GetPage(child);
      if (IsTransparencyMask(page))
      {
        continue;
      }
      const std::string name = m_Rules.areTextsNames ? GetUsualName(page) : std::string();
      const bool        isNamed = !name.empty() && name != GetUsualName(GetPage(head.base));
      const bool        isMask = (page.subfileType & 4) != 0 || page.photometric == maskPhotometric;
      const bool        isEmpty = page.width == 0 || page.height == 0;
      hasOtherPages = hasOtherPages || isMask;
      if (!isEmpty && !isNamed && !isMask && IsLevelOf(GetPage(head.base), page, m_Rules) &&
          !this->HasLevelOfSize(head, page))
      {
        head.levels.push_back(child);
      }
      else if (!isEmpty)
      {
        associated[child] = name;
      }
    }
  }

  /** Several pages before the largest one that are its reductions, each larger than the one before, are its levels: of
   * a pyramid that is stored from its coarsest level on. One alone is a thumbnail. */
  void
  MoveLevelsBefore()
  {
    std::vector<std::size_t> before;
    for (const Head & head : heads)
    {
      const bool isPlain = m_Roles[head.base].kind == PageRole::Kind::Unknown && head.levels.empty();
      if (head.base < m_Largest && isPlain && IsLevelOf(GetPage(m_Largest), GetPage(head.base), m_Rules) &&
          (before.empty() || GetPage(head.base).width > GetPage(before.back()).width))
      {
        before.push_back(head.base);
      }
    }
    if (before.size() < 2)
    {
      return;
    }
    const auto isBefore = [&before](const Head & head) {
      return std::find(before.begin(), before.end(), head.base) != before.end();
    };
    heads.erase(std::remove_if(heads.begin(), heads.end(), isBefore), heads.end());
    const auto largest =
      std::find_if(heads.begin(), heads.end(), [this](const Head & head) { return head.base == m_Largest; });
    largest->levels.insert(largest->levels.end(), before.begin(), before.end());
  }

  /** A smaller page before the largest one that shows the same is its thumbnail. */
  void
  MoveSmallImages()
  {
    const TIFFPage & largest = GetPage(m_Largest);
    const auto       move = [this, &largest](const Head & head) {
      const TIFFPage & page = GetPage(head.base);
      const bool       isOwn = m_Roles[head.base].kind == PageRole::Kind::Image || !m_Roles[head.base].part.empty();
      if (head.base == m_Largest || !head.levels.empty() || isOwn || page.GetArea() == largest.GetArea())
      {
        return false;
      }
      const bool isThumbnail = head.base < m_Largest && 2 * page.width <= largest.width && !IsOfDocument(page) &&
                               HasSameAspect(largest, page, 1.0);
      if (isThumbnail || m_Rules.othersAreAssociated)
      {
        associated[head.base] = isThumbnail ? "thumbnail" : "";
        return true;
      }
      return false;
    };
    heads.erase(std::remove_if(heads.begin(), heads.end(), move), heads.end());
    hasOtherPages = hasOtherPages || heads.size() > 1;
  }

  TIFFLayout &          m_Layout;
  const PageRules &     m_Rules;
  std::vector<PageRole> m_Roles;
  std::vector<Run>      m_Runs;
  std::size_t           m_Largest = 0;
  bool                  m_MarksLevels = false;
};

} // namespace

std::string
FindUsualName(std::string text)
{
  text = ToLower(std::move(text));
  const auto isLetter = [&text](std::size_t at) {
    return at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) != 0;
  };
  for (const std::string name : { "label", "macro", "thumbnail", "overview" })
  {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    {
      const std::size_t end = at + name.size();
      const bool isWord = (at == 0 || !isLetter(at - 1)) && (!isLetter(end) || text.compare(end, 5, "image") == 0);
      if (isWord) // and not "macrophages" or "unlabeled"
      {
        return name;
      }
    }
  }
  return {};
}

bool
IsUsualName(std::string text)
{
  text = ToLower(std::move(text));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  const std::string behind = "image";
  if (text.size() > behind.size() && text.compare(text.size() - behind.size(), behind.size(), behind) == 0)
  {
    text.erase(text.size() - behind.size());
    text.erase(text.find_last_not_of(" _-") + 1);
  }
  return !text.empty() && FindUsualName(text) == text;
}

std::string
GetUsualName(const TIFFPage & page)
{
  std::string text;
  for (const TIFFTag tag : namingTags)
  {
    text += (text.empty() ? "" : " ") + page.GetShortText(tag);
  }
  return text.size() > 4096 ? std::string() : FindUsualName(text);
}

std::vector<TIFFLayout::Image>
TIFFLayout::FindImages(const PageRules & rules)
{
  PageSorting sorting(*this, rules);
  sorting.Sort();
  m_HasOtherPages = sorting.hasOtherPages;
  std::vector<Image>       images;
  std::vector<std::string> parts;
  for (const PageSorting::Head & head : sorting.heads)
  {
    Image image;
    image.name = sorting.GetRole(head.base).name;
    image.depth = sorting.GetRole(head.base).depth;
    image.stack = sorting.GetRole(head.base).stack;
    image.stackName = sorting.GetRole(head.base).stackName;
    image.levels.push_back({ head.base, {} });
    for (const std::size_t level : head.levels)
    {
      image.levels.push_back({ level, {} });
    }
    std::stable_sort(image.levels.begin(), image.levels.end(), [this](const Level & one, const Level & other) {
      return GetPage(one.page).width > GetPage(other.page).width;
    });
    images.push_back(std::move(image));
    parts.push_back(sorting.GetRole(head.base).part);
  }
  if (rules.arePartsChannels)
  {
    MergeChannels(images, parts);
  }
  for (const auto & [page, name] : sorting.associated)
  {
    AddAssociated(name, page);
  }
  AssignMasks(images);
  return images;
}

namespace
{

/** The image of each page that is a level or a channel of one. */
std::map<std::size_t, TIFFLayout::Image *>
FindOwners(std::vector<TIFFLayout::Image> & images)
{
  std::map<std::size_t, TIFFLayout::Image *> owners;
  for (TIFFLayout::Image & image : images)
  {
    for (const auto & level : image.levels)
    {
      owners[level.page] = &image;
      for (const std::size_t further : level.furtherChannels)
      {
        owners[further] = &image;
      }
    }
  }
  return owners;
}

} // namespace

/** Gives each transparency mask to its image: that of its parent, else that of the page of its size before it (which
 * may be an associated image), or behind it, else the image before it that has its shape. Where several pages of one
 * size are followed by as many masks, the first one belongs to the first page, and so on. */
void
TIFFLayout::AssignMasks(std::vector<Image> & images)
{
  const auto owners = FindOwners(images);
  const auto isMask = [this](std::size_t page) {
    return IsTransparencyMask(GetPage(page)) && GetPage(page).GetArea() > 0;
  };
  const auto give = [&owners](std::size_t mask, std::size_t page) {
    const auto owner = owners.find(page);
    if (owner != owners.end())
    {
      owner->second->masks.push_back(mask);
    }
  };
  for (const auto & [parent, children] : m_Children)
  {
    for (const std::size_t child : children)
    {
      if (isMask(child))
      {
        give(child, parent);
      }
    }
  }
  bool hasPictures = false;
  for (std::size_t page = 0; page < m_MainPages; ++page)
  {
    hasPictures = hasPictures || !isMask(page);
  }
  std::set<std::size_t> served; // pages that have a mask
  for (std::size_t mask = 0; mask < m_MainPages; ++mask)
  {
    if (!isMask(mask))
    {
      continue;
    }
    std::vector<std::size_t> before;
    std::vector<std::size_t> behind;
    std::size_t              shape = m_MainPages;
    for (std::size_t page = 0; page < m_MainPages; ++page)
    {
      if (isMask(page))
      {
        continue;
      }
      if (HasSameSize(GetPage(page), GetPage(mask)) && served.count(page) == 0)
      {
        (page < mask ? before : behind).push_back(page);
      }
      const bool isBase = owners.count(page) != 0 && owners.at(page)->levels.front().page == page;
      shape = isBase && page < mask && HasSameAspect(GetPage(page), GetPage(mask), 1.0) ? page : shape;
    }
    std::size_t run = 1;
    while (mask + run < m_MainPages && isMask(mask + run) && HasSameSize(GetPage(mask + run), GetPage(mask)))
    {
      ++run;
    }
    const std::size_t page = !before.empty()   ? before[before.size() - std::min(run, before.size())]
                             : !behind.empty() ? behind.front()
                                               : shape;
    served.insert(page);
    give(mask, page);
    if (page == m_MainPages && hasPictures) // else it is the image
    {
      warnings.push_back(Diagnostic("W-SLIDE-TRANSPARENCY",
                                    "its page " + std::to_string(mask + 1) +
                                      " is a transparency mask of none of its images, and is ignored",
                                    "check the file with the program that wrote it")
                           .OfFile(m_Path)
                           .OfValue(std::to_string(mask + 1)));
    }
  }
}

/** Makes one image of images that are channels of one size, if each has a name of its own. */
void
TIFFLayout::MergeChannels(std::vector<Image> & images, const std::vector<std::string> & parts)
{
  const std::set<std::string> names(parts.begin(), parts.end());
  if (images.size() < 2 || names.size() < images.size() || names.count("") != 0)
  {
    return;
  }
  for (const Image & image : images)
  {
    bool isAlike = image.levels.size() == images.front().levels.size();
    for (std::size_t level = 0; isAlike && level < image.levels.size(); ++level)
    {
      const TIFFPage & page = GetPage(image.levels[level].page);
      const TIFFPage & first = GetPage(images.front().levels[level].page);
      isAlike = page.samples == 1 && HasSameSize(page, first) && IsSameKind(page, first) &&
                page.photometric == first.photometric && page.sampleFormat == first.sampleFormat &&
                page.pieceWidth == first.pieceWidth && page.pieceHeight == first.pieceHeight;
    }
    if (!isAlike)
    {
      return;
    }
  }
  Image merged = images.front();
  merged.name.clear();
  for (std::size_t channel = 1; channel < images.size(); ++channel)
  {
    for (std::size_t level = 0; level < merged.levels.size(); ++level)
    {
      merged.levels[level].furtherChannels.push_back(images[channel].levels[level].page);
    }
  }
  channels.clear();
  for (const std::string & part : parts)
  {
    channels.push_back({ part });
  }
  images = { merged };
}

} // namespace gigapixel
