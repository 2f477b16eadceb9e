/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef DICOMSlide_h
#define DICOMSlide_h

#include "DICOMFile.h"
#include "DICOMPixels.h"
#include "slide/Slide.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace gigapixel
{

/** What to do about files of a series. */
inline constexpr const char * fetchOrMove =
  "get that file again from where it came, or move it away if it is of no slide";
inline constexpr const char * fetchParts = "get the missing files of the series from where it came";

/** A file of the series, with what its header says. */
struct DICOMPart
{
  /** Throws std::exception where a value is damaged. */
  explicit DICOMPart(std::unique_ptr<const DICOMFile> opened)
    : owned(std::move(opened))
    , file(*owned)
    , pixels(file)
    , flavor(file.GetFlavor())
    , width(file.GetInteger(DICOMTag::TotalColumns, pixels.columns))
    , height(file.GetInteger(DICOMTag::TotalRows, pixels.rows))
    , concatenation(file.GetText(DICOMTag::Concatenation))
    , number(file.GetInteger(DICOMTag::ConcatenationNumber, 0))
    , total(file.GetInteger(DICOMTag::ConcatenationTotal, 0))
    , offset(file.GetInteger(DICOMTag::ConcatenationFrameOffset, unknown))
    , focalPlanes(std::max<std::uint64_t>(file.GetInteger(DICOMTag::FocalPlanes, 1), 1))
    , opticalPaths(file.GetInteger(DICOMTag::OpticalPaths, 0))
    , z(file.GetZ())
    , isPlaced(file.GetText(DICOMTag::DimensionOrganization) != "TILED_FULL" && !file.GetPlaces().empty())
    , isFull(file.GetText(DICOMTag::DimensionOrganization) == "TILED_FULL")
  {}

  static constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();

  std::unique_ptr<const DICOMFile> owned;

  const DICOMFile & file;

  DICOMPixels   pixels;
  std::string   flavor; // see DICOMFile::GetFlavor()
  std::uint64_t width;
  std::uint64_t height;
  std::string   concatenation; // that it is a part of; empty: none
  std::uint64_t number;        // among the parts, from 1; 0: not stated
  std::uint64_t total;         // parts; 0: not stated
  std::uint64_t offset;        // of its first frame among those of all parts
  std::uint64_t focalPlanes;
  std::uint64_t opticalPaths; // 0: not stated
  double        z;            // of frames that do not say it themselves
  bool          isPlaced;     // each frame says where it belongs
  bool          isFull;       // all tiles are there, in order
};

/** The parts of one image, in their order. */
using DICOMImage = std::vector<const DICOMPart *>;

/** A frame and what it shows. */
struct PlacedFrame
{
  std::size_t       path; // among the names of optical paths
  std::uint64_t     tile;
  double            z;
  const DICOMPart * part;
  DICOMFile::Frame  frame;

  std::tuple<std::size_t, std::uint64_t, double>
  GetOrder() const
  {
    return { path, tile, z };
  }
};

/** The optical path of frames that do not say it themselves. */
std::string GetSharedPath(const DICOMPart & part);

/** The name of the file without its folder. */
std::string GetFileName(const DICOMPart & part);

/** DICOM whole-slide image: the files of one series in a folder, each a level, a part of one (concatenation), a channel
 * or focal plane of one, or an associated image (label, macro, thumbnail). Frames are JPEG, JPEG 2000 or uncompressed;
 * tiles may be absent. */
class DICOMSlide : public Slide
{
public:
  /** Any file of the series. Throws std::exception in a few words.
   * \param image whose focal plane is read; none: the middle one */
  explicit DICOMSlide(const std::string & path, AskedImage image = {});

protected:
  bool        HasTile(unsigned plane, std::uint64_t tile) const override;
  std::string DecodeReducedTile(unsigned          plane,
                                std::uint64_t     tile,
                                unsigned          reduction,
                                const PixelSpan & out) const override;
  unsigned    GetLargestReduction(unsigned plane) const override;
  std::size_t GetDecodingBytes(unsigned plane) const override;
  void        Prefetch(unsigned plane, std::uint64_t first, std::uint64_t last) const override;

private:
  /** Where a tile is. */
  struct Tile
  {
    const DICOMFile * file;
    DICOMFile::Frame  frame;
  };

  /** The stored tiles of one channel; a small file may name millions that are not stored. */
  using Tiles = std::map<std::uint64_t, Tile>;

  struct Source
  {
    const DICOMPixels * pixels = nullptr;
    std::vector<Tiles>  channels; // one for each optical path
  };

  void                    FindFiles();
  void                    FindFilesIn(const std::string & folder);
  void                    AddFile(const std::string & name);
  void                    MissFile(const std::string & name, const std::string & what, const std::string & remedy);
  void                    LeaveOut(const DICOMPart & part, const std::string & why, const std::string & remedy);
  void                    MissTiles(const std::string & why);
  void                    Miss(const Diagnostic & missing, const std::string & consequence);
  std::vector<DICOMImage> FindImages();
  void                    AddLevels(const std::vector<DICOMImage> & images);
  void                    AddAssociatedImages(const std::vector<DICOMImage> & images);
  std::vector<DICOMImage> SelectAlike(const std::vector<DICOMImage> & images);
  void                    AddPlane(const std::vector<DICOMImage> & images, const std::string & name);
  DICOMImage              OrderParts(const DICOMImage & image, std::vector<std::uint64_t> & offsets);
  void                    FindFrames(const SlidePlane &         plane,
                                     const DICOMImage &         image,
                                     std::vector<std::string> & paths,
                                     std::vector<PlacedFrame> & frames);
  void                    KeepShown(const std::vector<PlacedFrame> & frames, const std::vector<std::string> & paths);
  void                    RequireShown(const std::vector<PlacedFrame> & frames,
                                       const std::vector<std::string> & paths,
                                       const std::string &              file) const;
  void                    ChooseFocalPlane(const std::vector<PlacedFrame> & frames);
  void                    ListFocalPlanes(const std::map<double, std::size_t> & tiles, const std::set<double> & depths);
  std::size_t FillSource(const std::vector<PlacedFrame> & frames, Source & source, const std::string & file);
  void        MissTilesOfPaths(const Source & source, const std::vector<std::string> & paths, const std::string & file);
  void        NameChannels(const std::vector<DICOMImage> & images, const std::vector<std::string> & paths);
  const Tile * FindTile(unsigned plane, std::size_t channel, std::uint64_t tile) const;
  std::string  DecodeFrame(unsigned plane, const Tile & tile, unsigned reduction, const PixelSpan & out) const;
  void         FillProperties(const DICOMPart & base);

  std::vector<std::unique_ptr<const DICOMPart>> m_Parts;
  std::vector<Source>                           m_Sources;  // one per plane; those of reduced levels are empty
  std::vector<std::string>                      m_Paths;    // optical paths of the finest level
  std::set<double>                              m_Depths;   // its focal planes, or of its tiles
  double                                        m_Z{ 0.0 }; // of the focal plane that is read
  AskedImage                                    m_AskedImage;
  bool                                          m_HasZ{ false }; // there are several
};

} // namespace gigapixel

#endif
