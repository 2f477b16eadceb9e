/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TIFFLayout_h
#define TIFFLayout_h

#include "TIFFDirectory.h"

#include <memory>
#include <string>
#include <vector>

namespace gigapixel
{

/** TIFF's numbers for compression, as far as this library decodes them. */
enum class TIFFCompression : unsigned
{
  None = 1,
  LZW = 5,
  JPEG = 7,
  AdobeDeflate = 8,
  PackBits = 32773,
  Deflate = 32946,
  AperioJPEG2000YCbCr = 33003,
  AperioJPEG2000RGB = 33005,
  JPEG2000 = 34712,
  Zstandard = 50000,
  WebP = 50001
};

/** TIFF's numbers for what samples mean. */
enum class TIFFPhotometric : unsigned
{
  MinIsWhite = 0,
  MinIsBlack = 1,
  RGB = 2,
  Palette = 3,
  YCbCr = 6
};

/** Name of the page's compression, e.g. "JPEG"; empty where this library does not decode it. */
std::string GetCompressionName(const TIFFPage & page);

/** True where each tile is an image of its own (JPEG, JPEG 2000, WebP), false where it is compressed bytes. */
bool IsImageCodec(const TIFFPage & page);

/** Why a page cannot be decoded here. */
struct TIFFObstacle
{
  std::string what;   // empty: there is none
  std::string remedy; // what to do
  bool        compression = false;
};

TIFFObstacle FindObstacle(const TIFFPage & page);

/** What a fourth sample is to the first three. */
enum class TIFFAlpha
{
  None,
  Premultiplied,
  Straight
};

/** As the tag ExtraSamples states it of RGB of 8 bit; WebP's fourth sample is alpha without it. */
TIFFAlpha GetAlpha(const TIFFPage & page);

/** Whether the pixels of a page only come as they are stored: of 16 bit, of floats, or of samples that no tag makes
 * gray, RGB or RGBA. */
bool IsStoredOnly(const TIFFPage & page);

/** The vendor whose mark the first page bears, without which OpenSlide takes no TIFF for that vendor's (its pages on
 * formats, openslide.org/formats): "hamamatsu", "leica", "philips", "trestle" or "ventana"; empty for none, or where
 * the page cannot be read. */
std::string FindVendorMark(const std::string & path);

/** Which page of a TIFF is what: levels of a pyramid, associated images, others. */
class TIFFLayout
{
public:
  struct Associated
  {
    std::string name;
    std::size_t page;
  };

  /** Throws std::runtime_error, in a few words, where the page tables are damaged. */
  explicit TIFFLayout(const std::string & path);

  /** In OpenSlide's words: "aperio"; "philips" or "ventana", whose XML says how large levels really are; or empty: a
   * TIFF that says all in its tags. */
  const std::string &
  GetVendor() const
  {
    return m_Vendor;
  }

  /** Why the pages are not the levels of one slide, whatever each of them is. */
  const TIFFObstacle &
  GetObstacle() const
  {
    return m_Obstacle;
  }

  /** Whether itk::WholeSlideImageIO takes the file unasked, if it is no vendor's slide. */
  bool IsTiledPyramid() const;

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
  /** Page numbers, finest level first. */
  const std::vector<std::size_t> &
  GetLevels() const
  {
    return m_Levels;
  }
  /** Of level \a level of an OME-TIFF: the pages of its second and further channels, in their order. */
  const std::vector<std::size_t> &
  GetFurtherChannels(std::size_t level) const
  {
    return m_FurtherChannels[level];
  }
  /** As OME-XML names them; fewer than there are where they have no names. */
  const std::vector<std::string> &
  GetChannelNames() const
  {
    return m_ChannelNames;
  }
  const std::vector<Associated> &
  GetAssociated() const
  {
    return m_Associated;
  }

private:
  void                     ReadPages();
  void                     SortOutAperio();
  void                     SortOutPhilips();
  bool                     SortOutVentana();
  void                     SortOutPages();
  bool                     SortOutChannels();
  std::size_t              CountAlikePages() const;
  std::vector<std::size_t> ReadChildren(std::size_t page);
  bool                     IsLevelOf(const TIFFPage & base, const TIFFPage & page) const;
  void                     AddAssociated(std::string name, std::size_t page);

  std::unique_ptr<TIFFFile>              m_File;
  std::vector<std::unique_ptr<TIFFPage>> m_Pages;
  std::string                            m_Vendor;
  std::vector<std::size_t>               m_Levels;
  std::vector<std::vector<std::size_t>>  m_FurtherChannels; // one list per level
  std::vector<std::string>               m_ChannelNames;
  std::vector<Associated>                m_Associated;
  TIFFObstacle                           m_Obstacle;
  std::size_t                            m_MainPages{ 0 }; // the others are children of these
  bool                                   m_HasOtherPages{ false };
};

} // namespace gigapixel

#endif
