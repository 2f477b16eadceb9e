/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TIFFLayout_h
#define TIFFLayout_h

#include "TIFFPixels.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gigapixel
{

/** The usual names of associated images, if the page's texts hold one: "label", "macro", "thumbnail", "overview". */
std::string GetUsualName(const TIFFPage & page);

/** The pages of a TIFF, and what a format (formats/SlideFormat.h) makes of them: levels of a pyramid, associated
 * images, channels; and what else it knows of the slide. */
class TIFFLayout
{
public:
  struct Level
  {
    std::size_t              page;
    std::vector<std::size_t> furtherChannels; // pages of the second and further channels, in their order
  };

  struct Associated
  {
    std::string name;
    std::size_t page;
  };

  /** Reads the tables of the pages. Throws std::runtime_error, in a few words, where they are damaged. */
  explicit TIFFLayout(std::string path);

  const std::string &
  GetPath() const
  {
    return m_Path;
  }
  const TIFFFile &
  GetFile() const
  {
    return *m_File;
  }
  const TIFFPage &
  GetPage(std::size_t index) const
  {
    return *m_Pages[index];
  }
  /** All that were read so far: those of the file, then children of some of them. */
  std::size_t
  GetNumberOfPages() const
  {
    return m_Pages.size();
  }
  /** Pages that are no children of others. */
  std::size_t
  GetNumberOfMainPages() const
  {
    return m_MainPages;
  }

  /** Reads the children (SubIFDs) of a page, which become pages behind the others. */
  std::vector<std::size_t> ReadChildren(std::size_t page);

  /** To its place by its width. */
  void AddLevel(std::size_t page, std::vector<std::size_t> furtherChannels = {});

  /** Leaves out a page that cannot be decoded. */
  void AddAssociated(std::string name, std::size_t page);

  /** The first page, and those that the tags call its reductions, are levels; others are associated images. */
  void AddPagesByTags();

  /** Takes properties, resolution and the sizes of levels, which may be smaller than what is stored, from OpenSlide.
   * Throws std::runtime_error where it does not tell the sizes. */
  void TakeFromOpenSlide(std::map<std::string, std::string> openSlideProperties);

  /** Finest first. */
  const std::vector<Level> &
  GetLevels() const
  {
    return m_Levels;
  }
  const std::vector<Associated> &
  GetAssociated() const
  {
    return m_Associated;
  }
  /** Width and height of each level; empty where they are those of the pages. */
  const std::vector<std::array<std::uint64_t, 2>> &
  GetSizes() const
  {
    return m_Sizes;
  }

  /** Whether AddPagesByTags() found pages that are neither levels nor have one of the usual names. */
  bool
  HasOtherPages() const
  {
    return m_HasOtherPages;
  }

  /** Whether AddPagesByTags() found a pyramid of tiles that any TIFF reader would decode, and nothing beside it. */
  bool IsTiledPyramid() const;

  /** The first of what keeps the file from being read as one slide, or the levels' pages, those of further channels
   * among them, from being decoded. */
  TIFFObstacle FindObstacle() const;

  TIFFObstacle                         obstacle;        // why the pages are not one slide, whatever each of them is
  std::map<std::string, std::string>   properties;      // beside those of TIFF's tags, in OpenSlide's words
  std::optional<std::array<double, 2>> micronsPerPixel; // 0: unknown; unset: as the tags say
  std::vector<std::string>             channelNames;    // fewer than there are where they have no names

private:
  TIFFPage & AddPage(std::uint64_t offset, std::uint64_t & next);
  void       ReadPages();
  bool       IsLevelOf(const TIFFPage & base, const TIFFPage & page) const;

  std::string                               m_Path;
  std::unique_ptr<TIFFFile>                 m_File;
  std::vector<std::unique_ptr<TIFFPage>>    m_Pages;
  std::size_t                               m_MainPages{ 0 };
  std::uint64_t                             m_Entries{ 0 }; // of all pages
  std::vector<Level>                        m_Levels;
  std::vector<Associated>                   m_Associated;
  std::vector<std::array<std::uint64_t, 2>> m_Sizes;
  bool                                      m_HasOtherPages{ false };
};

} // namespace gigapixel

#endif
