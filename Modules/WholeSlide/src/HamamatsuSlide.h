/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef HamamatsuSlide_h
#define HamamatsuSlide_h

#include "Slide.h"
#include "TIFFDirectory.h"

namespace gigapixel
{

/** Hamamatsu NDPI: a TIFF whose pages are one JPEG image each, of any size, cut by restart markers.
 *
 * The page says where the pieces between the markers begin. A tile is some of them, one below the other, between the
 * page's JPEG header and an end: a small JPEG image. Levels are numbered as by OpenSlide: those that are absent, at
 * 1/2, 1/4 and 1/8 of a stored one, are levels, too, decoded smaller. */
class HamamatsuSlide : public Slide
{
public:
  /** Throws std::exception in a few words. */
  HamamatsuSlide(const std::string & path, std::unique_ptr<const TIFFFile> file);

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeReducedTile(unsigned          plane,
                                std::uint64_t     tile,
                                unsigned          reduction,
                                const PixelSpan & out) const override;
  unsigned    GetLargestReduction(unsigned plane) const override;
  void        Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const override;

private:
  /** One JPEG image of the file. */
  struct Source
  {
    std::uint64_t              begin = 0;  // in the file
    std::vector<std::uint64_t> pieces;     // where each begins, and where the last one ends, in the image
    std::string                header;     // up to the first piece
    std::size_t                sizeAt = 0; // where the header says height and width
    std::uint32_t              pieceWidth = 0;
    std::uint32_t              pieceHeight = 0;
    std::uint64_t              piecesAcross = 0;
  };

  void                       AddPage(const TIFFPage & page, const std::string & name);
  void                       ReadHeader(const TIFFPage & page, Source & source) const;
  void                       SortLevels();
  void                       FillProperties(const TIFFPage & base);
  std::vector<unsigned char> MakeImage(unsigned plane, std::uint64_t tile, StoredSize & stored) const;

  std::unique_ptr<const TIFFFile> m_File;
  std::vector<Source>             m_Sources; // one per plane; those of planes that are decoded smaller are empty
};

} // namespace gigapixel

#endif
