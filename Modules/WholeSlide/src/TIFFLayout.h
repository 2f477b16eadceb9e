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

  bool
  IsAperio() const
  {
    return m_Aperio;
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
  const std::vector<Associated> &
  GetAssociated() const
  {
    return m_Associated;
  }

private:
  void ReadPages();
  void SortOutAperio();
  void SortOutPages();
  bool IsLevelOf(const TIFFPage & base, const TIFFPage & page) const;
  void AddAssociated(std::string name, std::size_t page);

  std::unique_ptr<TIFFFile>              m_File;
  std::vector<std::unique_ptr<TIFFPage>> m_Pages;
  std::vector<std::size_t>               m_Levels;
  std::vector<Associated>                m_Associated;
  bool                                   m_Aperio{ false };
  bool                                   m_HasOtherPages{ false };
};

} // namespace gigapixel

#endif
