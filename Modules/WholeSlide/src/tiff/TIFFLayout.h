/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TIFFLayout_h
#define TIFFLayout_h

#include "slide/Slide.h"
#include "TIFFPixels.h"

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace gigapixel
{

/** The usual name of an associated image that a text holds: "label", "macro", "thumbnail", "overview"; else empty. */
std::string FindUsualName(std::string text);

/** Whether a text is one of the usual names and nothing else, apart from the word "image" behind it. */
bool IsUsualName(std::string text);

/** FindUsualName() of the page's texts. Empty for descriptions of whole slides, which may mention anything. */
std::string GetUsualName(const TIFFPage & page);

/** A line "key=value" of the description that ImageJ writes; empty where there is none. */
std::string GetImageJValue(const TIFFPage & page, const std::string & key);

/** What a format knows of a page before the images of the file are found. */
struct PageRole
{
  enum class Kind
  {
    Unknown,    // the rules decide
    Associated, // an associated image with this name
    Image,      // an image of its own, no level of another one
    Ignored
  };

  Kind                  kind = Kind::Unknown;
  std::string           name;      // of an associated image, or of the image whose finest level the page is
  std::string           part;      // channel or focal plane: only pages with the same one make a pyramid
  std::optional<double> depth;     // of a focal plane: 0 is the one in focus
  std::size_t           stack = 0; // see SlideImage
  std::string           stackName;
};

/** How a format differs from a TIFF that says all in its tags. */
struct PageRules
{
  std::vector<PageRole> roles;                       // of the first pages; others are Unknown
  bool                  hasUnmarkedLevels = false;   // levels have no mark in NewSubfileType, their ratio may be any
  bool                  isPadded = false;            // sizes of levels are filled up to whole tiles
  bool                  arePartsChannels = false;    // parts of one size are channels of one image
  bool                  areTextsNames = true;        // texts of pages may name associated images
  bool                  othersAreAssociated = false; // smaller pages that are no levels are associated images
};

/** The pages of a TIFF, and what a format (formats/SlideFormat.h) makes of them: levels of a pyramid, associated
 * images, channels; and what else it knows of the slide. */
class TIFFLayout
{
public:
  static constexpr std::size_t MostPages = 4096; // of the main ones

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

  /** One image of the file with its pyramid. */
  struct Image
  {
    std::string           name; // empty for none
    std::vector<Level>    levels;
    std::optional<double> depth; // see PageRole
    std::size_t           stack = 0;
    std::string           stackName;

    std::vector<std::size_t> masks; // transparency masks of its levels
  };

  /** Reads the tables of the pages. Throws std::runtime_error, in a few words, where they are damaged. */
  explicit TIFFLayout(std::string path, AskedImage image = {});

  const std::string &
  GetPath() const
  {
    return m_Path;
  }
  /** Reads the pages of another file, behind those of the others, before children of any are read. Throws as the
   * constructor does. \return the number of the first one */
  std::size_t AddFile(const std::string & path);

  std::size_t
  GetNumberOfFiles() const
  {
    return m_Files.size();
  }
  /** Pages of the file that was opened that are no children of others; those of further files follow. */
  std::size_t
  GetNumberOfPagesOfFirstFile() const
  {
    return m_PagesOfFirstFile;
  }
  /** Bytes of all files together. */
  std::uint64_t
  GetNumberOfBytes() const
  {
    return m_Bytes;
  }
  const TIFFPage &
  GetPage(std::size_t index) const
  {
    return *m_Pages[index];
  }
  /** All that were read so far: those of the files, then children of some of them. */
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

  /** Adds the pages that follow the only one without tables of their own: their pixels are stored as they are, each
   * page behind the one before it. \param pages in all
   * \return whether they are there; else nothing is added */
  bool AddPagesWithoutTables(std::uint64_t pages);

  /** Reads the children (SubIFDs) of a page, which become pages behind the others, once. */
  std::vector<std::size_t> ReadChildren(std::size_t page);

  /** To its place by its width. */
  void AddLevel(std::size_t page, std::vector<std::size_t> furtherChannels = {});

  /** Leaves out a page that cannot be decoded, with a warning. */
  void AddAssociated(std::string name, std::size_t page);

  /** Adds the associated images, then finds the images and the levels of each: the one rule of all formats for this,
   * see README.md. */
  std::vector<Image> FindImages(const PageRules & rules = {});

  /** Reads one of these images: the one that was asked for, else the largest one. Of equal ones that one is read whose
   * focal plane is nearest to the focus, else the first one. Throws SlideError where there is none as asked for. */
  void SetImages(std::vector<Image> images);

  /** All images of the file in their order; of one alone nothing needs to be said. */
  std::vector<SlideImage> DescribeImages() const;

  /** Channels of the image that is read, where the format places them itself: a page each, whose children are its
   * reductions. Throws std::runtime_error where they are of different sizes or kinds. */
  void PlaceChannels(const std::vector<std::size_t> & pages);

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
  /** Pages that say what was scanned of the image that is read. */
  const std::vector<std::size_t> &
  GetTransparencyMasks() const
  {
    return m_Masks;
  }
  /** Width and height of each level; empty where they are those of the pages. */
  const std::vector<std::array<std::uint64_t, 2>> &
  GetSizes() const
  {
    return m_Sizes;
  }

  /** Whether FindImages() found pages that are neither levels nor have one of the usual names. */
  bool
  HasOtherPages() const
  {
    return m_HasOtherPages;
  }

  /** Whether FindImages() found a pyramid of tiles that any TIFF reader would decode, and nothing beside it. */
  bool IsTiledPyramid() const;

  /** The first of what keeps the file from being read as one slide, or the levels' pages, those of further channels
   * among them, from being decoded. */
  TIFFObstacle FindObstacle() const;

  TIFFReading                          reading{ TIFFReading::Colors };
  TIFFObstacle                         obstacle;        // why the pages are not one slide, whatever each of them is
  std::map<std::string, std::string>   properties;      // beside those of TIFF's tags, in OpenSlide's words
  std::optional<std::array<double, 2>> micronsPerPixel; // 0: unknown; unset: as the tags say
  std::vector<SlideChannel>            channels;        // fewer than there are where nothing is said of them
  bool                                 areChannelsColors{ false }; // three pages are red, green and blue
  std::vector<Diagnostic>              warnings;                   // that the user should know

private:
  TIFFPage &  AddPage(const TIFFFile & file, std::uint64_t offset, std::uint64_t & next);
  void        AssignMasks(std::vector<Image> & images);
  void        MergeChannels(std::vector<Image> & images, const std::vector<std::string> & parts);
  std::size_t FindMainImage(const std::vector<Image> & images) const;
  std::size_t ChooseImage(const std::vector<Image> & images) const;
  bool        IsLarger(const Image & one, const Image & other) const;
  std::string DescribeSize(const Image & image) const;
  std::string ListImages(const std::vector<Image> & images) const;

  std::vector<SlideImage> NameImages(const std::vector<Image> & images) const;

  std::string                            m_Path;
  AskedImage                             m_AskedImage;
  std::vector<std::unique_ptr<TIFFFile>> m_Files;
  std::uint64_t                          m_Bytes{ 0 };
  std::vector<Image>                     m_Images;
  std::size_t                            m_ImageNumber{ 0 };
  std::vector<std::unique_ptr<TIFFPage>> m_Pages;

  std::set<std::pair<const TIFFFile *, std::uint64_t>> m_Offsets; // of pages that were read

  std::map<std::size_t, std::vector<std::size_t>> m_Children; // of pages whose children were read

  std::size_t                               m_MainPages{ 0 };
  std::size_t                               m_PagesOfFirstFile{ 0 };
  std::uint64_t                             m_Entries{ 0 }; // of all pages
  std::vector<Level>                        m_Levels;
  std::vector<std::size_t>                  m_Masks;
  std::vector<Associated>                   m_Associated;
  std::vector<std::array<std::uint64_t, 2>> m_Sizes;
  bool                                      m_HasOtherPages{ false };
};

} // namespace gigapixel

#endif
