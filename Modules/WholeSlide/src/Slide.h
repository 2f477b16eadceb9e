/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef Slide_h
#define Slide_h

#include "TileCache.h"
#include "TileDecoder.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace gigapixel
{

/** What goes wrong with a slide: one sentence that names the file, what is wrong, and what to do. */
class SlideError : public std::runtime_error
{
public:
  SlideError(const std::string & path, const std::string & what, const std::string & remedy);
};

/** Rectangle of pixels of one plane. */
struct Rectangle
{
  std::uint64_t x;
  std::uint64_t y;
  std::uint64_t width;
  std::uint64_t height;
};

/** A picture cut into tiles of one size, all but those at the right and bottom edge wholly inside it. */
struct SlidePlane
{
  std::uint64_t width = 0;
  std::uint64_t height = 0;
  std::uint32_t tileWidth = 0;
  std::uint32_t tileHeight = 0;
  unsigned      channels = 3;     // 1 or 3: what is stored, hence what is read unless gray is asked for
  bool          hasAlpha = false; // pixels say one by one whether they were scanned
  double        downsample = 1.0; // of a level
  std::string   name;             // of an associated image

  std::uint64_t
  GetTilesAcross() const
  {
    return (width + tileWidth - 1) / tileWidth;
  }
  std::uint64_t
  GetTilesDown() const
  {
    return (height + tileHeight - 1) / tileHeight;
  }
};

/** An open slide: levels (finest first) and associated images as planes of tiles, and its properties.
 *
 * After its constructor a slide does not change; all its functions may be called by any number of threads. */
class Slide
{
public:
  Slide(const Slide &) = delete;
  Slide & operator=(const Slide &) = delete;
  virtual ~Slide();

  /** The slide of this file: the one that is open already, if the file has not changed since, else a new one. Throws
   * SlideError. */
  static std::shared_ptr<const Slide> Open(const std::string & path);

  /** Whether a reader that serves all TIFFs and slides by default should take this file; see
   * itk::WholeSlideImageIO::CanReadFile(). Never throws. */
  static bool IsClaimed(const std::string & path) noexcept;

  const std::string &
  GetPath() const
  {
    return m_Path;
  }

  /** Levels first, then associated images. */
  const std::vector<SlidePlane> &
  GetPlanes() const
  {
    return m_Planes;
  }
  unsigned
  GetNumberOfLevels() const
  {
    return m_NumberOfLevels;
  }

  const std::map<std::string, std::string> &
  GetProperties() const
  {
    return m_Properties;
  }
  const std::string &
  GetColorProfile() const
  {
    return m_ColorProfile;
  }
  const std::string &
  GetDecoder() const
  {
    return m_Decoder;
  }
  /** What the user should know about this file, in sentences. */
  const std::vector<std::string> &
  GetWarnings() const
  {
    return m_Warnings;
  }

  /** Micrometers per pixel at level 0 in x and y; {0, 0} = unknown or implausible. */
  std::array<double, 2>
  GetMicronsPerPixel() const
  {
    return m_MicronsPerPixel;
  }

  /** Where the center of the first pixel of level 0 stands, in mm: (0, 0) in slides, and where the region stood that
   * was written in our own pyramids. */
  std::array<double, 2>
  GetOrigin() const
  {
    return m_Origin;
  }

  /** Pixels of the rectangle, which lies inside the plane, into `out`: rows without gaps, 1 or 3 channels. Tiles are
   * shared among `threads` threads. Throws SlideError. */
  void ReadRegion(unsigned          plane,
                  const Rectangle & rectangle,
                  unsigned          channels,
                  unsigned char *   out,
                  unsigned          threads) const;

  /** 255 where the rectangle was scanned, 0 where not, into `scanned`; returns whether it was everywhere. */
  bool ReadScanned(unsigned plane, const Rectangle & rectangle, unsigned char * scanned) const;

protected:
  explicit Slide(std::string path);

  /** False where the file holds nothing for the tile: nobody scanned it. */
  virtual bool HasTile(unsigned plane, std::uint64_t tile) const = 0;

  /** Fills `out` (tileWidth x tileHeight of the plane, 1 or 3 channels) with the tile; beyond the plane's edges
   * anything. Where the plane has alpha and `scanned` is not null, sets it as in DecodedTile. Throws std::exception
   * with what is wrong in a few words. */
  virtual void DecodeTile(unsigned                           plane,
                          std::uint64_t                      tile,
                          const PixelSpan &                  out,
                          std::unique_ptr<unsigned char[]> * scanned) const = 0;

  /** Sets the downsamples of the levels from their sizes: integers, where the sizes allow. */
  void SetDownsamples();

  /** Sets the resolution, or a warning where it is implausible (design: outside 0.05 to 20 micrometers per pixel). */
  void SetMicronsPerPixel(double x, double y);

  /** From openslide.background-color, RRGGBB; white without it. */
  void SetBackground();

  std::string                        m_Path;
  std::vector<SlidePlane>            m_Planes;
  unsigned                           m_NumberOfLevels{ 0 };
  std::map<std::string, std::string> m_Properties;
  std::string                        m_ColorProfile;
  std::string                        m_Decoder;
  std::vector<std::string>           m_Warnings;
  std::array<double, 2>              m_Origin{ { 0.0, 0.0 } };
  std::array<unsigned char, 3>       m_Background{ { 255, 255, 255 } };

private:
  struct Placement;

  void               ReadTile(unsigned          plane,
                              std::uint64_t     tile,
                              const Placement & placement,
                              unsigned          channels,
                              unsigned char *   out) const;
  void               DecodeInto(unsigned                           plane,
                                std::uint64_t                      tile,
                                const PixelSpan &                  out,
                                std::unique_ptr<unsigned char[]> * scanned) const;
  DecodedTilePointer GetTile(unsigned plane, std::uint64_t tile, unsigned channels) const;
  void               FillBackground(const PixelSpan & out) const;
  void               CheckRectangle(unsigned plane, const Rectangle & rectangle) const;

  std::uint64_t         m_Number;
  std::array<double, 2> m_MicronsPerPixel{ { 0.0, 0.0 } };
};

} // namespace gigapixel

#endif
