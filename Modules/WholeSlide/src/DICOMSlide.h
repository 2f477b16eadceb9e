/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DICOMSlide_h
#define DICOMSlide_h

#include "DICOMFile.h"
#include "Slide.h"

namespace gigapixel
{

/** DICOM whole-slide image: the files of one series in a folder, each a level, a part of one (concatenation) or an
 * associated image (label, macro, thumbnail). Frames are JPEG, JPEG 2000 or uncompressed; tiles may be absent. */
class DICOMSlide : public Slide
{
public:
  /** Any file of the series. Throws std::exception in a few words. */
  explicit DICOMSlide(const std::string & path);

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeReducedTile(unsigned          plane,
                                std::uint64_t     tile,
                                unsigned          reduction,
                                const PixelSpan & out) const override;
  unsigned    GetLargestReduction(unsigned plane) const override;
  void        Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const override;

private:
  enum class Codec
  {
    None,
    JPEG,
    JPEG2000
  };

  /** Where a tile is: nowhere, where `file` is null. */
  struct Tile
  {
    const DICOMFile * file = nullptr;
    DICOMFile::Frame  frame{ 0, 0 };
  };

  struct Source
  {
    Codec             codec = Codec::None;
    ColorModel        model = ColorModel::RGB;
    std::vector<Tile> tiles;
  };

  void FindFiles();
  void FindFilesIn(const std::string & folder);
  void AddPlane(const std::vector<const DICOMFile *> & parts, const std::string & name);
  void AddTiles(const SlidePlane & plane, const DICOMFile & part, bool isWhole, Source & source) const;
  void FillProperties(const DICOMFile & base);

  std::vector<std::unique_ptr<const DICOMFile>> m_Files;
  std::vector<Source>                           m_Sources; // one per plane; those of reduced levels are empty
};

} // namespace gigapixel

#endif
